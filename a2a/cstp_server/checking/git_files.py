"""A work tree as seen by git: root, changed and tracked files, and commit trailers.

A NUL ends each name in git's output.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cognition_engines.git_program import GitFailed, run_git

DECISION: Final = "Decision"  # the commit trailer naming a decision
_MOST_FILES: Final = 100_000
_LISTED: Final = ("ls-files", "--recurse-submodules", "-z")


def find_root(folder: Path) -> Path:
    """Return the top folder of the work tree around a folder. Raise GitFailed outside of a work tree."""
    try:
        return Path(os.fsdecode(run_git(folder, "rev-parse", "--show-toplevel")).rstrip("\n"))
    except GitFailed as error:
        remedy = "run it in a repository, or name one with -C"
        raise GitFailed(f"{folder} is in no git work tree: {remedy} ({error})") from None


def changed_files(root: Path, base: str | None, *, staged: bool) -> list[str]:
    """Return the changed files, deleted ones too: in the index, since the merge base with `base`, or since HEAD.

    Without a commit, only the index counts. Raise GitFailed for an unknown `base`.
    """
    options = ("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules")
    if staged:
        return _names(run_git(root, *options, "--cached"))
    if base is not None:
        return _names(run_git(root, *options, f"{_commit(root, base)}...HEAD", "--"))
    if not _is_commit(root, "HEAD"):
        return _names(run_git(root, *options, "--cached"))
    return _names(run_git(root, *options, "HEAD", "--"))


def tracked_files(root: Path) -> list[str]:
    """Return the files in the index. Raise GitFailed for more than may be compared."""
    return _names(run_git(root, *_LISTED))


def files_of(root: Path, folder: Path, paths: Sequence[str]) -> list[str]:
    """Return the named files, and the tracked files in named folders, from the root. Raise GitFailed outside of it."""
    found: dict[str, None] = {}
    for path in paths:
        place = Path(os.path.normpath(folder / path))
        if not place.is_relative_to(root):
            raise GitFailed(f"{path} is outside of the repository {root}")
        name = place.relative_to(root).as_posix()
        if place.is_dir():
            found |= dict.fromkeys(_names(run_git(root, *_LISTED, "--", f":(literal){name}")))
        else:
            found[name] = None
    return list(found)


def named_decisions(root: Path, base: str) -> frozenset[str]:
    """Return the values of `Decision` trailers in commits since `base`: ids, numbers or paths."""
    form = f"%(trailers:key={DECISION},valueonly,separator=%x2C)"
    text = os.fsdecode(run_git(root, "log", f"--format={form}", f"{_commit(root, base)}..HEAD", "--"))
    return frozenset(name.strip() for line in text.split("\n") for name in line.split(",") if name.strip())


def _commit(root: Path, name: str) -> str:
    try:
        found = run_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except GitFailed:
        raise GitFailed(f"{name!r} names no commit here: fetch it first (in a workflow: fetch-depth: 0)") from None
    return os.fsdecode(found).strip()


def _is_commit(root: Path, name: str) -> bool:
    try:
        _commit(root, name)
    except GitFailed:
        return False
    return True


def _names(output: bytes) -> list[str]:
    names = [os.fsdecode(name) for name in output.split(b"\0") if name]
    if len(names) > _MOST_FILES:
        raise GitFailed(f"{len(names):,} files are more than {_MOST_FILES:,}: name some")
    return names
