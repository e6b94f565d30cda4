"""What the options of runs give to records that state no project or sensitivity of their own.

An option holds for a record until another run names exactly the same path, or one below it, with another value: a
run that says nothing, or that covers more, changes no rights.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cognition_engines.ingest.repository import within
from cognition_engines.models import Sensitivity
from cognition_engines.records.values import Known


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of a run, None where not given, and what it named: see `repository.FilePlace.scope`."""

    project: str | None
    sensitivity: Sensitivity | None
    scope: str


@dataclass(frozen=True, slots=True)
class Rights:
    """The values that hold for a record, None where no run gave one, and for which scope each was given."""

    project: str | None = None
    project_scope: str | None = None
    sensitivity: Sensitivity | None = None
    guard_scope: str | None = None


class Ambiguous(ValueError):
    """A record is in several projects, and the run does not say which one it is about."""


def rights_of(asked: Asked, before: Sequence[Known]) -> Rights:
    """The rights of a record; `before` is what the store has of it, in whatever project. Raises `Ambiguous`."""
    project, project_scope = _project(asked, before)
    own = [known for known in before if known.origin.ingested_as == project] or before
    sensitivity, guard_scope = _sensitivity(asked, own)
    return Rights(project, project_scope, sensitivity, guard_scope)


def _project(asked: Asked, before: Sequence[Known]) -> tuple[str | None, str | None]:
    scopes = {known.origin.ingested_as: known.origin.project_scope for known in before}
    if not before or asked.project in scopes:
        return asked.project, scopes.get(asked.project, asked.scope if asked.project is not None else None)
    named = {name: scope for name, scope in scopes.items() if name is not None}
    if asked.project is not None:
        named = {name: scope for name, scope in named.items() if not within(asked.scope, scope)}
    if len(named) > 1:
        raise Ambiguous(f"was read with several projects before: {', '.join(sorted(named))}; name one with --project")
    return next(iter(named.items()), (asked.project, asked.scope))


def _sensitivity(asked: Asked, before: Sequence[Known]) -> tuple[Sensitivity | None, str | None]:
    levels = [(level, known.origin.guard_scope) for known in before if (level := known.origin.guarded_as) is not None]
    if not levels:
        return asked.sensitivity, asked.scope if asked.sensitivity is not None else None
    level, scope = max(levels, key=lambda each: each[0])
    if asked.sensitivity is None or asked.sensitivity == level:
        return level, scope
    if asked.sensitivity > level or within(asked.scope, scope):
        return asked.sensitivity, asked.scope
    return level, scope
