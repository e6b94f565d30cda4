"""Embedded Chroma's folders, without Chroma: the trusted folder, and the marks that decide.

A folder is trusted only with the mark left by a clean shutdown, since Chroma loses data silently when killed while it
persists. An untrusted folder is left unchanged, and a new folder gets the next number: Chroma keeps a path open as long
as the process lives, so a failed folder can neither be moved nor rebuilt in place.
"""

import json
import shutil
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.vectors.backend import FolderState
from cognition_engines.indexes.vectors.collection import COMPONENT
from cognition_engines.indexes.whole_file import draft_of, write_json

Signatures = dict[str, tuple[int, int, int]]
Sums = Mapping[str, tuple[tuple[int, int, int], int]]  # signature and CRC-32 by file

_BLOCK: Final = 1 << 22
_LARGE: Final = 1 << 28


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The mark left by a clean shutdown next to a collection; a start trusts the folder only if every field holds."""

    store_id: str
    collection: str
    folder: str
    seq: int
    files: dict[str, list[int]]  # size and CRC-32 by path


@dataclass(frozen=True, slots=True)
class OpenedFolder:
    """A folder for this process's collection, which covers every change up to `seq`, and the file checksums."""

    folder: Path
    seq: int
    sums: Sums


def take_folder(parent: Path, name: str, store_id: str, last_seq: int) -> OpenedFolder:
    """Return the folder under `parent` if it was closed cleanly and not changed since; else a new, empty folder.

    A folder ahead of `last_seq`, the last change of the records, follows another history and is not trusted either. The
    latest untrusted folder is kept. Raise ComponentFailed, or OSError if none can be made.
    """
    checkpoint = _read_checkpoint(parent)
    _remove_mark(parent)
    if (
        checkpoint is not None
        and (checkpoint.store_id, checkpoint.collection) == (store_id, name)
        and checkpoint.seq <= last_seq
        and (folder := _numbered_folders(parent).get(checkpoint.folder)) is not None
        and (sums := _verify_sums(folder, checkpoint.files)) is not None
    ):
        return OpenedFolder(folder, checkpoint.seq, sums)
    return OpenedFolder(_new_folder(parent), 0, {})


def leave_mark(taken: OpenedFolder, name: str, store_id: str, seq: int) -> None:
    """Leave the mark of a clean shutdown next to a folder that is no longer written. Raise ComponentFailed or OSError.

    Read only files written since they were opened: at a million vectors all files are two gigabytes, and a shutdown has
    seconds.
    """
    files = _checksums(taken.folder, taken.sums)
    checkpoint = Checkpoint(store_id, name, taken.folder.name, seq, files)
    write_json(_mark(taken.folder.parent), asdict(checkpoint), durable=True)


def file_signatures(folder: Path) -> Signatures:
    """Return inode, size and time of change for every file: any file change gives another signature.

    Raise ComponentFailed if a large file is mostly holes: after a kill during a write, Chroma may continue at an offset
    a terabyte further. Raise OSError if a file cannot be read.
    """
    found: Signatures = {}
    for path in folder.rglob("*"):
        status = path.stat()
        if status.st_size > _LARGE and status.st_blocks * 512 < status.st_size // 2:
            raise ComponentFailed(COMPONENT, f"{path.name} is mostly holes")
        if path.is_file():
            found[str(path.relative_to(folder))] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return found


def has_folders(parent: Path) -> bool:
    """Return whether `take_folder` made a folder under `parent`."""
    return bool(_numbered_folders(parent))


def remove_folders(parent: Path) -> None:
    """Remove every folder made by `take_folder`; no process may be using any."""
    _remove_mark(parent)
    for folder in _numbered_folders(parent).values():
        shutil.rmtree(folder)


def _numbered_folders(parent: Path) -> dict[str, Path]:
    """Return the folders by name, oldest first."""
    found = [path for path in parent.glob("chroma-*") if path.name.removeprefix("chroma-").isdecimal()]
    return {path.name: path for path in sorted(found, key=_number)}


def _number(folder: Path) -> int:
    return int(folder.name.removeprefix("chroma-"))


def _new_folder(parent: Path) -> Path:
    """Make the folder with the next number and return it; keep only the latest earlier folder."""
    existing = list(_numbered_folders(parent).values())
    for folder in existing[:-1]:
        shutil.rmtree(folder)
    folder = parent / f"chroma-{_number(existing[-1]) + 1 if existing else 1}"
    folder.mkdir(parents=True, mode=0o700)
    return folder


def inspect_folder(parent: Path, name: str, store_id: str) -> FolderState | None:
    """Return the state that `take_folder` would find under `parent`, None without folders; open and change nothing."""
    folders = _numbered_folders(parent)
    if not folders:
        return None
    checkpoint = _read_checkpoint(parent)
    if checkpoint is None:
        return FolderState(0, "it was not closed cleanly", damaged=False)
    if (checkpoint.store_id, checkpoint.collection) != (store_id, name):
        return FolderState(0, "it belongs to another store or model", damaged=False)
    folder = folders.get(checkpoint.folder)
    damaged = folder is None or _verify_sums(folder, checkpoint.files) is None
    distrust = f"its files in {checkpoint.folder} differ from their sizes and checksums" if damaged else None
    return FolderState(checkpoint.seq, distrust, damaged)


def _remove_mark(parent: Path) -> None:
    for path in (_mark(parent), draft_of(_mark(parent))):  # a process was killed while it wrote the draft
        path.unlink(missing_ok=True)


def _mark(parent: Path) -> Path:
    return parent / "chroma.clean.json"


def _read_checkpoint(parent: Path) -> Checkpoint | None:
    try:
        if _mark(parent).stat().st_size > _LARGE:
            return None
        return Checkpoint(**json.loads(_mark(parent).read_bytes()))
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def _checksums(folder: Path, known: Sums) -> dict[str, list[int]]:
    """Return size and CRC-32 for every file: Chroma reads damaged files without an error, or until it crashes.

    Files with the signature in `known` are not read again.
    """
    found = {}
    for name, signature in sorted(file_signatures(folder).items()):
        before, sum = known.get(name, (None, 0))
        found[name] = [signature[1], sum if before == signature else _crc(folder / name)]
    return found


def _verify_sums(folder: Path, files: dict[str, list[int]]) -> Sums | None:
    """Return the checksums of the folder's files if it has exactly these; else None.

    Compare sizes first: a damaged file may have grown to a terabyte.
    """
    sizes = {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    if sizes != {name: size for name, (size, _) in files.items()}:
        return None
    signatures = file_signatures(folder)  # before the reading: files written meanwhile are read again at the end
    if any(_crc(folder / name) != files[name][1] for name in sizes):
        return None
    return {name: (signature, files[name][1]) for name, signature in signatures.items()}


def _crc(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            value = zlib.crc32(block, value)
    return value
