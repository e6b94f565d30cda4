"""Work in progress in a checkout, as git shows it: the changed files, and words that name the task."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from cognition_engines.git_program import GitFailed, run_git

_MAIN: Final = ("origin/HEAD", "main", "master")  # the first that exists is the main branch
_UNNAMED: Final = frozenset({"HEAD", "main", "master"})  # these name no task
_COMMITS: Final = 5
_MOST_FILES: Final = 256
_LONGEST_PATH: Final = 1024
_LONGEST: Final = 1000  # characters of the words
_SECONDS: Final = 1.0  # for each call of git
_LARGEST: Final = 4 * 1024 * 1024  # bytes of each answer


class Touched(NamedTuple):
    """Files changed since the main branch, from the root; and the branch's name with the last commits' subjects."""

    files: Sequence[str]
    words: str


def touched_in(root: str) -> Touched:
    """Return the work in progress in the checkout at `root`; nothing if git does not answer in time."""
    main = next(
        (name for name in _MAIN if _git(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")), "HEAD"
    )
    options = ("--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules", "--merge-base")
    names = _git(root, "diff", *options, main, "--").split("\0")
    files = [name for name in names if name.isprintable() and 0 < len(name) <= _LONGEST_PATH][:_MOST_FILES]
    branch = _git(root, "rev-parse", "--abbrev-ref", "HEAD").strip()
    named = "" if branch in _UNNAMED else branch.replace("-", " ").replace("_", " ").replace("/", " ")
    subjects = _git(root, "log", f"-{_COMMITS}", "--format=%s")
    words = " ".join(f"{named} {subjects}".encode(errors="replace").decode().split())
    return Touched(files, words[:_LONGEST])


def _git(root: str, *words: str) -> str:
    try:
        return os.fsdecode(run_git(Path(root), *words, seconds=_SECONDS, largest=_LARGEST))
    except (GitFailed, OSError):
        return ""
