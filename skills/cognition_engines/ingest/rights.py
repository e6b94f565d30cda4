"""Projects and sensitivities from the options of runs, for records that state none.

An option applies to a record until another run names exactly the same path, or a path below it, with another value: a
run without the option, or over a larger folder, changes no rights. A sensitivity also applies to new records below that
path: a renamed file, a record with another id, a folder turned into a checkout.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from cognition_engines.ingest.repository import EVERYTHING, FilePlace, scope_within
from cognition_engines.models import Sensitivity
from cognition_engines.store.values import GuardedFile, KnownRecord


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a run, None if not given, and the path it was given: see `repository.FilePlace.scope`."""

    project: str | None
    sensitivity: Sensitivity | None
    scope: str


@dataclass(frozen=True, slots=True)
class Rights:
    """A record's rights, None if no run gave them, and the scope of each."""

    project: str | None = None
    project_scope: str | None = None
    sensitivity: Sensitivity | None = None
    guard_scope: str | None = None


class Ambiguous(ValueError):
    """A record is in several projects, and the run does not say which project it means."""


class Guards:
    """The sensitivities from options, by each option's absolute path or collection address."""

    def __init__(self, found: Iterable[GuardedFile]) -> None:
        self._levels: dict[str, Sensitivity] = {}
        for each in found:
            for place in (each.source, scope_folder(each.source, each.path, each.scope)):
                self._levels[place] = max(each.level, self._levels.get(place, each.level))

    def over(self, place: FilePlace) -> tuple[Sensitivity, str] | None:
        """Return the sensitivity of new records in a file, and its scope, from the option for the nearest path.

        None if no option was given for the file or for a folder above it.
        """
        path = PurePosixPath(place.source)
        for each in (place.source, *map(str, path.parents)):
            if (level := self._levels.get(each)) is not None:
                return level, named_scope(place, PurePosixPath(each))
        return None


def scope_folder(source: str, path: str, scope: str | None) -> str:
    """Return the path given to a run when it read a file, absolute or an address; `path` is in the repository."""
    if not source.startswith("/"):
        return scope or source
    if scope is None or scope == path:
        return source
    if scope != EVERYTHING and scope.startswith("/"):
        return scope
    root = source.removesuffix(f"/{path}")
    if root == source:  # the file was moved: everything in its folder now
        return str(PurePosixPath(source).parent)
    return root if scope == EVERYTHING else str(PurePosixPath(root) / scope)


def named_scope(place: FilePlace, folder: PurePosixPath) -> str:
    """Return the scope of a path given to a run: of a folder or file at or above a file."""
    in_checkout = place.root is not None and (place.scope == EVERYTHING or not place.scope.startswith("/"))
    if place.root is None or not in_checkout:
        return str(folder) if place.root is not None else place.scope
    return folder.relative_to(place.root).as_posix() if folder.is_relative_to(place.root) else EVERYTHING


def rights_of(asked: RunOptions, before: Sequence[KnownRecord], guard: tuple[Sensitivity, str] | None = None) -> Rights:
    """Return a record's rights; `before` is its stored version, in any project. Raise `Ambiguous`.

    `guard` applies to records not stored yet: see `Guards.over`.
    """
    project, project_scope = _project(asked, before)
    own = [known for known in before if known.origin.ingested_as == project] or before
    sensitivity, guard_scope = _sensitivity(asked, own, None if before else guard)
    return Rights(project, project_scope, sensitivity, guard_scope)


def _project(asked: RunOptions, before: Sequence[KnownRecord]) -> tuple[str | None, str | None]:
    scopes = {known.origin.ingested_as: known.origin.project_scope for known in before}
    if not before or asked.project in scopes:
        return asked.project, scopes.get(asked.project, asked.scope if asked.project is not None else None)
    named = {name: scope for name, scope in scopes.items() if name is not None}
    if asked.project is not None:
        named = {name: scope for name, scope in named.items() if not scope_within(asked.scope, scope)}
    if len(named) > 1:
        raise Ambiguous(f"was read with several projects before: {', '.join(sorted(named))}; name one with --project")
    return next(iter(named.items()), (asked.project, asked.scope))


def _sensitivity(
    asked: RunOptions, before: Sequence[KnownRecord], guard: tuple[Sensitivity, str] | None
) -> tuple[Sensitivity | None, str | None]:
    levels: list[tuple[Sensitivity, str | None]] = [
        (level, known.origin.guard_scope) for known in before if (level := known.origin.guarded_as) is not None
    ]
    if guard is not None:
        levels.append(guard)
    if not levels:
        return asked.sensitivity, asked.scope if asked.sensitivity is not None else None
    level, scope = max(levels, key=lambda each: each[0])
    if asked.sensitivity is None or asked.sensitivity == level:
        return level, scope
    if asked.sensitivity > level or scope_within(asked.scope, scope):
        return asked.sensitivity, asked.scope
    return level, scope
