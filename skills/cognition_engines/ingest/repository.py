"""Finds a file's repository, so equal paths and ids in two repositories stay two records.

A repository is named by the host and path of its remote as in `.git/config`, whatever the protocol; without a remote by
the absolute folder of the checkout, for a worktree the main one; outside a checkout by the absolute folder of the file.

Inside a given folder, `.git` leads to no file outside it, unless that file names the checkout in return.
"""

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final

from cognition_engines.checkouts import git_folder, join_path, name_of_checkout, remote_name, values_in
from cognition_engines.open_file import NotAFile, open_file

_LARGEST: Final = 1_000_000  # read bytes of a git file
EVERYTHING: Final = "/"  # the scope of a run over a folder above the repository
STREAM: Final = "stdin:"  # the beginning of a stream's address, before the name
UNNAMED: Final = f"{STREAM}/"  # the beginning of an unnamed stream's address, before the content's digest


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A file's place: `path` is POSIX and below `root`, the top folder of the repository.

    `source` is the absolute path as it was named, or a collection's address, which has no `root`. `scope` is the path
    given to the run, relative to the root if that is a checkout: the run's options apply to everything below it.
    `history` says that the root is a checkout whose commits may be read.
    """

    source: str
    repository: str
    path: str
    scope: str
    root: Path | None
    history: bool = False


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout: the name of its repository, and whether its git folder may be read."""

    name: str
    root: Path
    readable: bool


def of_collection(address: str, repository: str | None = None) -> FilePlace:
    """Return the place of a collection or stream: it is its own repository, unless a repository is named.

    All unnamed streams share one repository and scope, so a given id means the same record in each.
    """
    scope = STREAM if address.startswith(UNNAMED) else address
    return FilePlace(address, repository or scope, address, scope, None)


class Places:
    """The places of files. `override` replaces the names of their repositories, if given as `repository`."""

    def __init__(self, repository: str | None = None) -> None:
        self.override = None if repository is None else remote_name(repository, None) or repository
        self._checkouts: dict[Path, Checkout | None] = {}  # by folder
        self._tops: dict[Path, Path] = {}  # the given path, without links

    def of(self, file: Path, run: Path) -> FilePlace:
        """Return the place of a file found by naming `run`, the file or a folder above it; both absolute."""
        # as git does: a checkout is the same through any link; a link to a file is its own file
        top = self._resolve_folder(file.parent if run == file else run)
        where = top / file.relative_to(file.parent if run == file else run)
        folder, scope = where.parent, where if run == file else top
        found = self._checkout(folder, None if run == file else top)
        if found is not None:
            placed = self._place(file, found.name, where, _scope(scope, found.root), found.root)
            return replace(placed, history=found.readable)
        if self.override is not None:
            return self._place(file, self.override, where, _scope(scope, top), top)
        return self._place(file, folder.as_posix(), where, scope.as_posix(), folder)

    def _place(self, file: Path, name: str, where: Path, scope: str, root: Path) -> FilePlace:
        path = where.relative_to(root).as_posix()
        return FilePlace(str(file), self.override or name, path, scope, root)

    def _checkout(self, folder: Path, top: Path | None) -> Checkout | None:
        """Return the checkout around a folder; `top` is the named folder."""
        passed: list[Path] = []
        found: Checkout | None = None
        for each in (folder, *folder.parents):
            if each in self._checkouts:
                found = self._checkouts[each]
                break
            passed.append(each)
            if os.path.lexists(each / ".git"):
                inside = top if top is not None and each.is_relative_to(top) else None
                found = checkout_at(each, inside)
                break
        self._checkouts.update(dict.fromkeys(passed, found))
        return found

    def _resolve_folder(self, folder: Path) -> Path:
        if folder not in self._tops:
            self._tops[folder] = Path(os.path.realpath(folder))  # unlike `resolve`, also of a link to itself
        return self._tops[folder]


def _scope(run: Path, root: Path) -> str:
    return run.relative_to(root).as_posix() if run.is_relative_to(root) else EVERYTHING


def scope_within(scope: str, other: str | None) -> bool:
    """Return whether a scope equals another scope or lies in it."""
    if other is None or other == EVERYTHING:
        return True
    return PurePosixPath(scope).is_relative_to(PurePosixPath(other))


def checkout_at(root: Path, inside: Path | None = None) -> Checkout:
    """Return the checkout whose top folder is `root`.

    `inside` is the given folder if the checkout is in it: files of others there must not lead elsewhere.
    """
    git = Path(git_folder(str(root), partial(_text_of, inside=inside)))
    if inside is not None and not git.is_relative_to(inside):
        if not _names(git, root):
            return Checkout(root.as_posix(), root, readable=False)
        inside = None
    name = name_of_checkout(str(root), str(git), partial(_text_of, inside=inside))
    return Checkout(name or root.as_posix(), root, readable=name is not None)


def _names(folder: Path, root: Path) -> bool:
    """Return whether a git folder states that it belongs to the worktree or submodule at `root`."""
    worktree = _text_of(f"{folder}/gitdir", None)
    if worktree is not None:
        return join_path(str(folder), worktree) == str(root / ".git")
    submodule = values_in(_text_of(f"{folder}/config", None) or "", "core", "worktree").get("")
    return submodule is not None and join_path(str(folder), submodule) == str(root)


def _text_of(path: str, inside: Path | None) -> str | None:
    """Return a file's text; None if it does not exist, or not inside that folder without a link."""
    if inside is not None and not Path(path).is_relative_to(inside):
        return None
    try:
        with open_file(Path(path), inside) as file:
            content = file.read(_LARGEST + 1)
    except (OSError, ValueError, NotAFile):
        return None
    return content.decode(errors="replace") if len(content) <= _LARGEST else None
