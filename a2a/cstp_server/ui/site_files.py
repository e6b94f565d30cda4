"""Files of a site: the folder, replaced whole; the data, written as scripts; and the page."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from secrets import token_hex
from typing import Final

from cstp_server.ui.assets import INDEX, PLACEHOLDER, TYPES

MARKER: Final = "cstp-site.json"  # names all files of a site, so a later site replaces these and no others


class FolderRefused(Exception):
    """A folder with files of no site: they would be lost; the message gives the remedy."""


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
    """Return the site files in a folder by relative path; None without a site."""
    try:
        document = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    match document:
        case {"files": list(names)}:
            return frozenset((MARKER, *(name for name in names if isinstance(name, str))))
    return None


@contextmanager
def replace_folder(folder: Path, *, private: bool) -> Iterator[Path]:
    """Yield a new folder; it replaces `folder` at the end, or is removed after an exception.

    A private site is readable by its owner only: files 0600, folders 0700.

    Raise FolderRefused as `check_replaceable`, and OSError.
    """
    place = folder.resolve()  # links stay links
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


LIST_BYTES: Final = 1_000_000  # of a list file; a list's files are loaded together
BUNDLE_BYTES: Final = 256_000  # of a file loaded for a single record
BUNDLES: Final = ("texts", "passageTexts")


@dataclass(slots=True)
class _Open:
    """The list file being filled: number from 0, and the records' JSON."""

    number: int = 0
    records: list[str] = field(default_factory=list)
    size: int = 0


class DataFiles:
    """Data files `NAME-N.js` in a folder, each with an array of records in added order."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, _Open] = {}

    def add(self, name: str, record: str) -> int:
        """Add a record's JSON to the list; return the file number. Raise OSError."""
        size = len(record.encode()) + 1
        file = self._open.setdefault(name, _Open())
        if file.records and file.size + size > (BUNDLE_BYTES if name in BUNDLES else LIST_BYTES):
            self._write_data_file(name, file)
            file = self._open[name] = _Open(file.number + 1)
        file.records.append(record)
        file.size += size
        return file.number

    def close(self) -> Mapping[str, int]:
        """Write the rest; return the number of files per list. Raise OSError."""
        for name, file in self._open.items():
            self._write_data_file(name, file)
        return {name: file.number + 1 for name, file in self._open.items()}

    def _write_data_file(self, name: str, file: _Open) -> None:
        text = script(name, file.number, f"[{','.join(file.records)}]")
        (self._folder / f"{name}-{file.number}.js").write_text(text, encoding="utf-8", newline="\n")


def script(name: str, number: int, json: str) -> str:
    """Return a script for passing JSON text to the page; a literal would interpret `__proto__`."""
    escaped = json.replace("\\", "\\\\").replace("'", "\\'").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"cstp.site.add('{name}', {number}, '{escaped}');\n"


# `file:` is for browsers in which a page of a disk is not of the same origin as its files; nothing is ever fetched
_FROM: Final = "'self' file:"
POLICY: Final = (
    f"default-src 'none'; script-src {_FROM}; style-src {_FROM}; img-src {_FROM} data:; font-src {_FROM}; "
    "base-uri 'none'; form-action 'none'"
)
_CHARSET: Final = '<meta charset="utf-8">\n'
_NO_REFERRER: Final = '<meta name="referrer" content="no-referrer">\n'
_TITLE: Final = "<title>CSTP</title>"
_LIVE: Final = ("page/sign_in.js", "page/start.js")  # parts only for a page with a server
_LOCAL: Final = ("page/site.js", "page/site_decisions.js", "page/site_search.js", "page/site_start.js")


def write_page(static: Path, folder: Path, title: str) -> None:
    """Write `index.html` and copy the page's files. Raise OSError."""
    for path in sorted(static.rglob("*")):
        name = path.relative_to(static).as_posix()
        if path.suffix in TYPES and path.is_file() and name not in (INDEX, *_LIVE):
            _copy(path, folder / name)
    for path in sorted(static.parent.glob("licences/*.txt")):
        _copy(path, folder / "licences" / path.name)
    (folder / INDEX).write_text(site_index((static / INDEX).read_text(encoding="utf-8"), title), encoding="utf-8")


def site_index(template: str, title: str) -> str:
    """Return a site's `index.html`, with relative links. Raise ValueError if the template differs."""
    live = "".join(map(_script, _LIVE))
    local = "".join(map(_script, _LOCAL))
    guards = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n{_NO_REFERRER}'
    page = template.replace(PLACEHOLDER.decode(), "")
    for old, new in ((_CHARSET, _CHARSET + guards), (_TITLE, f"<title>{escape(title)}</title>"), (live, local)):
        if page.count(old) != 1:
            raise ValueError(f"{INDEX} must have once: {old}")
        page = page.replace(old, new)
    return page


def _script(name: str) -> str:
    return f'<script defer src="{name}"></script>\n'


def _copy(source: Path, target: Path) -> None:
    """Copy only the contents: installed files may be read-only."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
