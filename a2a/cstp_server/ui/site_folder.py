"""The folder of a site: written under another name and moved to its place whole, where nothing else is lost by it."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Final

MARKER: Final = "cstp-site.json"  # names all files of a site, so that a later one replaces these and no others


class FolderRefused(Exception):
    """The folder holds what is no site, and would be lost; the message gives the remedy."""


def check_replaceable(folder: Path) -> None:
    """Raise FolderRefused unless the path is absent, empty, or an unchanged earlier site."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise FolderRefused(f"{folder} is not a folder")
    there = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
    if not there and not any(folder.iterdir()):
        return
    written = _written_files(folder)
    if written is None:
        raise FolderRefused(f"{folder} is neither empty nor an earlier site: choose another folder")
    others = [name for name in there if name not in written]
    if others:
        raise FolderRefused(f"{folder / others[0]} is not part of the earlier site: move it away first")


def _written_files(folder: Path) -> frozenset[str] | None:
    """The files of the site in a folder by their paths there; None where there is none."""
    try:
        document = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    match document:
        case {"files": list(names)}:
            return frozenset((MARKER, *(name for name in names if isinstance(name, str))))
    return None


@contextmanager
def replaced(folder: Path, *, private: bool) -> Iterator[Path]:
    """Yield a new folder, which replaces `folder` at the end, or is removed after an exception.

    All of a private one is for its owner alone: files 0600, folders 0700.

    Raises FolderRefused as `check_replaceable`, and OSError.
    """
    place = folder.resolve()  # a link stays one
    place.parent.mkdir(parents=True, exist_ok=True)
    new, old = (place.parent / f".{place.name}.{word}-{token_hex(4)}" for word in ("new", "old"))
    new.mkdir(mode=0o700 if private else 0o777)
    try:
        yield new
        _write_marker(new)
        if private:
            for path in new.rglob("*"):
                path.chmod(0o700 if path.is_dir() else 0o600)
        check_replaceable(folder)
        if place.exists():
            place.rename(old)
        try:
            new.rename(place)
        except OSError:
            if old.exists():
                old.rename(place)
            raise
    finally:
        for left in (new, old):
            shutil.rmtree(left, ignore_errors=True)


def _write_marker(folder: Path) -> None:
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    about = "Written by cstp site. The next run replaces these files."
    (folder / MARKER).write_text(json.dumps({"about": about, "files": names}, indent=1) + "\n", encoding="utf-8")
