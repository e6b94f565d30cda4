"""Keyword index files: whether they are as written, and setting a damaged folder aside.

tantivy writes a segment file once and reads past a changed byte without an error, and it reads a memory-mapped file in
the current state. So the folder has a list of these files with their sizes and SHA-256 digests.
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import tantivy
from numpy.typing import NDArray

from cognition_engines.errors import ComponentFailed, ConfigurationError, FolderInUse, ForeignCalls
from cognition_engines.indexes.whole_file import write_json

Signature = tuple[int, int, int]  # inode, size and time of change: different after any file change
COMPONENT: Final = "keywords"
KEPT_ASIDE: Final = 3
LIST: Final = "files.json"
_ATTEMPTS: Final = 10
TABLE: Final = "meta.json"
MANAGED: Final = ".managed.json"
_LARGEST_TABLE: Final = 1 << 26
IntArray = NDArray[np.int64]
DoubleArray = NDArray[np.float64]
NOTHING: Final = np.empty(0, np.int64), np.empty(0, np.float64)
_NAMED: Final = 1500  # keys; up to here, single terms are faster than a set query: half the time at 100
_WRITER_BYTES: Final = 64_000_000


@dataclass(frozen=True, slots=True)
class SetAside:
    """An unusable folder: the new place, and the reason."""

    folder: Path
    reason: str


@dataclass(frozen=True, slots=True)
class Written:
    """A file as written. `signature` is None until the file has been compared with the digest once."""

    size: int
    digest: str
    signature: Signature | None = None


Files = Mapping[str, Written]


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold tantivy's lock, to check the files before it opens them. Raise FolderInUse if another process has it."""
    lock = os.open(folder / ".tantivy-writer.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise FolderInUse(f"the index folder {folder} is held by another process") from error
    finally:
        os.close(lock)


def is_empty(folder: Path) -> bool:
    """Return whether nothing was ever committed to the folder."""
    some = [name for name in (TABLE, MANAGED) if (folder / name).exists()]
    return not some and next(folder.glob("*.store"), None) is None


def read_list(folder: Path) -> dict[str, Written]:
    """Return the files as the folder lists them; none without a list. Raise ComponentFailed if the list is damaged."""
    try:
        _check_size(folder / LIST)
        listed = json.loads((folder / LIST).read_bytes())
        return {str(name): Written(int(size), str(digest)) for name, (size, digest) in listed.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ComponentFailed(COMPONENT, f"damaged index: {LIST}: {error}") from error


def write_list(folder: Path, files: Files) -> None:
    """Replace the list. Raise OSError on failure."""
    write_json(folder / LIST, {name: [file.size, file.digest] for name, file in files.items()}, durable=False)


def check_files(folder: Path, known: Files) -> dict[str, Written]:
    """Return all files in use, after checking that the `known` files among them are as written.

    Read files without a signature or with a changed signature. Raise ComponentFailed if the folder is damaged. A merge
    may replace files meanwhile.
    """
    table = _table_of_contents(folder)
    for _ in range(_ATTEMPTS):
        try:
            return {name: _check_files(folder / name, known.get(name)) for name in files_in_use(folder, table, known)}
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            now = _table_of_contents(folder)
            if now == table:
                raise ComponentFailed(COMPONENT, f"damaged index: {error}") from error
            table = now
    raise ComponentFailed(COMPONENT, "damaged index: its files change all the time")


def is_touched(folder: Path, files: Files) -> bool:
    """Return whether a file's signature changed. A file removed by a merge does not count."""
    prefix = os.path.join(folder, "")  # every search asks: to make a Path of each takes longer than the rest
    return any(_signature(prefix + name) not in (file.signature, None) for name, file in files.items())


def _signature(path: Path | str) -> Signature | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _table_of_contents(folder: Path) -> bytes:
    """Return the bytes of TABLE. Raise ComponentFailed if it or MANAGED is too large: tantivy reads both whole."""
    try:
        for name in (TABLE, MANAGED):
            _check_size(folder / name)
        return (folder / TABLE).read_bytes()
    except (OSError, ValueError) as error:
        raise ComponentFailed(COMPONENT, f"damaged index: {error}") from error


def _check_size(path: Path) -> None:
    if path.stat().st_size > _LARGEST_TABLE:
        raise ValueError(f"{path.name} is too large")


def files_in_use(folder: Path, table: bytes, known: Iterable[str]) -> list[str]:
    """Return the files of the segments named in the table: a merge may still be writing files for other segments.

    Known files are included even if they are absent, except lists of deletions, which are replaced.
    """
    segments = {segment["segment_id"].replace("-", "") for segment in json.loads(table)["segments"]}
    names = {*os.listdir(folder), *(name for name in known if not name.endswith(".del"))}
    return sorted(name for name in names if name.partition(".")[0] in segments)


def _check_files(path: Path, known: Written | None) -> Written:
    signature = _signature(path)
    if signature is None:
        raise ValueError(f"{path.name} is missing")
    if known is None:
        return Written(signature[1], _digest(path), signature)
    if known.signature == signature:
        return known
    # the size first: a damaged file may have grown to a terabyte
    if known.size != signature[1] or known.digest != _digest(path):
        raise ValueError(f"{path.name} is not as it was written")
    return Written(known.size, known.digest, signature)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def move_aside(folder: Path) -> Path:
    """Rename the folder to `<folder>.damaged-<n>`; keep the newest few. Raise ConfigurationError on failure."""
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


def copy_index(source: Path, target: Path) -> bool:
    """Make `target` a copy of the index in `source`, which another process may write; return whether it succeeded.

    It takes no time and hardly any space: a segment is written once, so its files are linked, and only their lists are
    copied. On failure, `target` is absent. Raise OSError if `target` cannot be written.
    """
    for _ in range(_ATTEMPTS):
        if target.exists():
            shutil.rmtree(target)
        if not (source / TABLE).exists():
            return False
        target.mkdir(parents=True)
        if _copy_commit(source, target):
            return True
    shutil.rmtree(target)
    return False


def _copy_commit(source: Path, target: Path) -> bool:
    """Copy a commit's files; return whether all are there."""
    try:
        table = (source / TABLE).read_bytes()
        names = files_in_use(source, table, ())
        for name in names:
            _link(source / name, target / name)
        if (source / LIST).exists():
            shutil.copyfile(source / LIST, target / LIST)
        (target / MANAGED).write_text(json.dumps([*names, TABLE]), encoding="utf-8")
        (target / TABLE).write_bytes(table)
        return (source / TABLE).read_bytes() == table
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # removed meanwhile, or damaged
        return False


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:  # a file system without links
        shutil.copyfile(source, target)


def index_in(folder: Path, schema: tantivy.Schema) -> tantivy.Index:
    """Return a folder's index, existing or new. Raise ComponentFailed on failure."""
    try:
        with ForeignCalls(COMPONENT):
            return tantivy.Index(schema, path=str(folder))
    except ComponentFailed as error:
        if "schema does not match" in str(error.__cause__):
            raise ComponentFailed(COMPONENT, "the index is of another version") from error
        raise


def writer_of(index: tantivy.Index, folder: Path) -> tantivy.IndexWriter:
    """Return a folder's only writer. Raise FolderInUse if another process has it, or ComponentFailed."""
    try:
        with ForeignCalls(COMPONENT):
            return index.writer(_WRITER_BYTES, 1)
    except ComponentFailed as error:
        if "LockBusy" in str(error.__cause__):
            raise FolderInUse(f"the index folder {folder} is held by another process") from error
        raise


def any_of(schema: tantivy.Schema, field: str, numbers: Sequence[int]) -> tantivy.Query:
    """Return a query for the texts with any of these numbers in the field."""
    if len(numbers) > _NAMED:
        return tantivy.Query.term_set_query(schema, field, [int(number) for number in numbers])
    terms = [tantivy.Query.term_query(schema, field, int(one), index_option="basic") for one in numbers]
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])


def best_texts(searcher: tantivy.Searcher, query: tantivy.Query, limit: int) -> tuple[IntArray, DoubleArray]:
    """Return the keys and sums of the best `limit` texts, best first."""
    hits = searcher.search(query, min(limit, max(1, searcher.num_docs)), count=False).hits
    if not hits:
        return NOTHING
    scores, addresses = zip(*hits, strict=True)
    keys = np.array(searcher.fast_field_values("key", list(addresses)), np.int64)
    return keys, np.array(scores, np.float64)
