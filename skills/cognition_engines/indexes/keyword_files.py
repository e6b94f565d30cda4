"""The files of a keyword index: whether they are as tantivy wrote them, and setting a damaged folder aside.

tantivy writes a checksum into each file, but reads past a changed byte without a word, and what it has mapped into
memory it reads as it is now.
"""

import fcntl
import json
import os
import shutil
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cognition_engines.errors import ComponentFailed, ConfigurationError, FolderInUse

Signature = tuple[int, int, int]  # inode, size and time of change: another one after whatever was done to a file

COMPONENT: Final = "keywords"
KEPT_ASIDE: Final = 3
_ATTEMPTS: Final = 10
_BLOCK: Final = 1 << 22
_TABLE: Final = "meta.json"
_FILE_LIST: Final = ".managed.json"
_LARGEST_TABLE: Final = 1 << 26
_SEGMENT_FILES: Final = ("fast", "fieldnorm", "idx", "pos", "store", "term")
_FOOTER_MAGIC: Final = 1337
_FOOTER_ENDS: Final = 8  # bytes: its length and the magic number
_LONGEST_FOOTER: Final = 4096


@dataclass(frozen=True, slots=True)
class SetAside:
    """A folder that could not be used: where it is now, and why."""

    folder: Path
    reason: str


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """tantivy's own lock, for a look at the files before it opens them. Raises FolderInUse when another has it."""
    lock = os.open(folder / ".tantivy-writer.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise FolderInUse(f"the index folder {folder} is held by another process") from error
    finally:
        os.close(lock)


def is_empty(folder: Path) -> bool:
    """Whether nothing was ever committed to the folder."""
    some = [name for name in (_TABLE, _FILE_LIST) if (folder / name).exists()]
    return not some and next(folder.glob("*.store"), None) is None


def check_files(folder: Path, known: Mapping[str, Signature]) -> dict[str, Signature]:
    """Compares every live file with its checksum, except those that have their `known` signature; the signatures.

    Raises ComponentFailed for a folder that is damaged. A merge may replace files meanwhile.
    """
    table = _table_of_contents(folder)
    for _ in range(_ATTEMPTS):
        try:
            return _check_live_files(folder, table, known)
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            now = _table_of_contents(folder)
            if now == table:
                raise ComponentFailed(COMPONENT, f"damaged index: {error}") from error
            table = now
    raise ComponentFailed(COMPONENT, "damaged index: its files change all the time")


def is_touched(folder: Path, known: Mapping[str, Signature]) -> bool:
    """Whether a file has lost its `known` signature. One that a merge has removed has not."""
    return any(_signature(folder / name) not in (signature, None) for name, signature in known.items())


def _signature(path: Path) -> Signature | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _table_of_contents(folder: Path) -> bytes:
    """tantivy reads two small files whole, so they must be small."""
    try:
        for name in (_TABLE, _FILE_LIST):
            if (folder / name).stat().st_size > _LARGEST_TABLE:
                raise ComponentFailed(COMPONENT, f"damaged index: {name} is too large")
        return (folder / _TABLE).read_bytes()
    except OSError as error:
        raise ComponentFailed(COMPONENT, f"damaged index: {error}") from error


def _check_live_files(folder: Path, table: bytes, known: Mapping[str, Signature]) -> dict[str, Signature]:
    found: dict[str, Signature] = {}
    for segment in json.loads(table)["segments"]:
        name = segment["segment_id"].replace("-", "")
        suffixes = list(_SEGMENT_FILES)
        if segment["deletes"] is not None:
            suffixes.append(f"{segment['deletes']['opstamp']}.del")
        for suffix in suffixes:
            path = folder / f"{name}.{suffix}"
            signature = _signature(path)
            if signature is None:
                raise ValueError(f"{path.name} is missing")
            if known.get(path.name) != signature:
                _check_file(path, size=signature[1])
            found[path.name] = signature
    return found


def _check_file(path: Path, size: int) -> None:
    """The footer first: a damaged file may have grown to a terabyte."""
    with path.open("rb") as file:
        file.seek(max(0, size - _FOOTER_ENDS))
        ends = file.read(_FOOTER_ENDS)
        length, magic = (int.from_bytes(ends[at : at + 4], "little") for at in (0, 4))
        content = size - _FOOTER_ENDS - length
        if magic != _FOOTER_MAGIC or length > _LONGEST_FOOTER or content < 0:
            raise ValueError(f"{path.name} has no footer")
        file.seek(content)
        footer = json.loads(file.read(length))
        file.seek(0)
        crc = 0
        while content > 0:
            block = file.read(min(_BLOCK, content))
            if not block:
                raise ValueError(f"{path.name} has shrunk")
            crc = zlib.crc32(block, crc)
            content -= len(block)
    if crc != footer["crc"]:
        raise ValueError(f"{path.name} differs from its checksum")


def move_aside(folder: Path) -> Path:
    """Renames the folder to `<folder>.damaged-<n>`, of which the newest few are kept. Raises ConfigurationError."""
    numbered: dict[int, Path] = {}
    for path in folder.parent.glob(f"{folder.name}.damaged-*"):
        suffix = path.name.rpartition("-")[2]
        if suffix.isdecimal():
            numbered[int(suffix)] = path
    target = folder.with_name(f"{folder.name}.damaged-{max(numbered, default=0) + 1}")
    try:
        folder.rename(target)
        for old in sorted(numbered, reverse=True)[KEPT_ASIDE - 1 :]:
            shutil.rmtree(numbered[old])
    except OSError as error:
        raise ConfigurationError(
            f"the damaged index folder {folder} cannot be set aside ({error.strerror}); make its parent writable"
        ) from error
    return target
