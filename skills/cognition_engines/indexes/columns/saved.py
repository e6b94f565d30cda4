"""Columns in a file: a start reads them, and only later changes from the records.

The file is derived and can be thrown away: it is not read if it is damaged, or from another store, model, columns or
format. It is read whole and not mapped, so later file changes alter no answer. It contains nothing from removed
records: a removal deletes the file before searches show the removal.
"""

import json
import logging
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.columns.snapshot import ABSENT, Ints, Snapshot, window_indices

FORMAT: Final = 1
NAME: Final = "columns.zip"
_LAYOUT: Final = "layout.json"
_BLOCK: Final = 1 << 14  # rows written at a time: between two of them a removal can stop it
_log = logging.getLogger(__name__)

# possible errors on reading a damaged file
_DAMAGE: Final = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    ArithmeticError,
    RuntimeError,
    MemoryError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of saved columns: all fields must agree."""

    store_id: str
    columns: str
    model: str | None
    dim: int


@dataclass(frozen=True, slots=True)
class SavedColumns:
    """Columns up to `seq`, all rows alive. `codes` are each label's texts by code, `posted` each set's texts.

    `arrays` has `keys`, `seqs`, `sensitivity`, `starts`, `counts`, `owners`, `vectors`, and by a prefix `number.`,
    `label.`, `sketch.`, `rows.` (all postings of a set, concatenated) and `ends.` (the end of each posting in them).
    """

    seq: int
    single: bool
    ids: Sequence[str]
    codes: Mapping[str, Sequence[str]]
    posted: Mapping[str, Sequence[str | int]]
    arrays: Arrays

    def numbered_arrays(self, prefix: str) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the arrays with a prefix, by the rest of their names."""
        return ((name.removeprefix(prefix), array) for name, array in self.arrays.items() if name.startswith(prefix))


class ColumnsFile:
    """A space's file. One thread saves while another discards."""

    def __init__(self, folder: Path, identity: Identity) -> None:
        self._path: Final = folder / NAME
        self._new: Final = folder / f"{NAME}.new"
        self._identity: Final = identity
        self._writing = Lock()
        self._removed = 0  # the seq of the last removal: an older snapshot is not saved
        self.seq = 0  # the last change in the file; 0 without one

    def read(self, last_seq: int) -> SavedColumns | None:
        """Return the columns in the file; None if it is absent, unusable or newer than `last_seq`.

        Raise ComponentFailed if an unusable file cannot be removed.
        """
        _remove(self._new)  # left by a killed process
        if not self._path.is_file():  # a pipe would be waited for
            return None
        try:
            with zipfile.ZipFile(self._path) as file:
                saved = _load_columns(file, self._identity)
        except _DAMAGE as error:
            _log.warning("the saved columns in %s are not used (%s)", self._path.parent, error)
            saved = None
        if saved is None or saved.seq > last_seq:
            self.discard(0)
            return None
        self.seq = saved.seq
        return saved

    def save(self, snapshot: Snapshot) -> None:
        """Replace the file by this snapshot, unless a record in the snapshot was removed since."""
        with self._writing:
            try:
                self._write_file(snapshot)
            except OSError as error:
                _log.warning("the columns cannot be saved in %s (%s)", self._path.parent, error)
            finally:
                with suppress(OSError):
                    self._new.unlink(missing_ok=True)

    def discard(self, removed: int) -> None:
        """Remove the file, and stop writing any snapshot from before the seq `removed`.

        Raise ComponentFailed if the file cannot be removed.
        """
        self._removed = max(self._removed, removed)
        with self._writing:
            _remove(self._path)
            self.seq = 0

    def _write_file(self, snapshot: Snapshot) -> None:
        saved = living_columns(snapshot)
        layout = {
            "format": FORMAT,
            "of": astuple(self._identity),
            "seq": saved.seq,
            "single": saved.single,
            "ids": saved.ids,
            "codes": saved.codes,
            "posted": saved.posted,
            "arrays": {name: [array.dtype.str, array.shape] for name, array in saved.arrays.items()},
        }
        with zipfile.ZipFile(self._new, "w", zipfile.ZIP_STORED) as file:
            self._new.chmod(0o600)
            file.writestr(_LAYOUT, json.dumps(layout))
            for name, array in saved.arrays.items():
                with file.open(name, "w", force_zip64=True) as member:
                    for start in range(0, len(array), _BLOCK):
                        if saved.seq < self._removed:
                            return
                        member.write(array[start : start + _BLOCK].tobytes())
        with self._new.open("rb") as written:
            os.fsync(written.fileno())
        if saved.seq >= self._removed:
            self._new.replace(self._path)
            self.seq = saved.seq


def _remove(path: Path) -> None:
    """Remove a file. A folder was not written here, and stays."""
    try:
        path.unlink(missing_ok=True)
    except IsADirectoryError:
        return
    except OSError as error:
        reason = f"{path} cannot be removed ({error.strerror}), which may hold what was deleted; remove it"
        raise ComponentFailed("indexes", reason) from error


def remove_columns(folder: Path) -> None:
    """Remove the saved columns in a space's folder. Raise OSError on failure."""
    for name in (NAME, f"{NAME}.new"):
        (folder / name).unlink(missing_ok=True)


def _load_columns(file: zipfile.ZipFile, identity: Identity) -> SavedColumns | None:
    """Return the columns in a file; None if it is from another store, model, columns or format. A wrong byte raises."""
    layout = json.loads(file.read(_LAYOUT))
    if (layout["format"], layout["of"]) != (FORMAT, [*astuple(identity)]):
        return None
    arrays = {
        name: np.frombuffer(file.read(name), np.dtype(kind)).reshape(shape)
        for name, (kind, shape) in layout["arrays"].items()
    }
    saved = SavedColumns(layout["seq"], layout["single"], layout["ids"], layout["codes"], layout["posted"], arrays)
    _check_columns(saved)
    return saved


def _check_columns(saved: SavedColumns) -> None:
    """Raise ValueError or TypeError if the columns do not fit together."""
    arrays, rows = saved.arrays, len(saved.ids)
    if any(len(arrays[name]) != rows for name in ("keys", "seqs", "sensitivity", "starts", "counts")):
        raise ValueError("its columns have different lengths")
    if type(saved.seq) is not int or type(saved.single) is not bool or not all(type(id) is str for id in saved.ids):
        raise TypeError("its layout has values of other types")
    for name, codes in saved.numbered_arrays("label."):
        if len(codes) != rows or (rows and not ABSENT <= int(codes.min()) <= int(codes.max()) < len(saved.codes[name])):
            raise ValueError(f"its column {name} has codes without a text")
    for name, ends in saved.numbered_arrays("ends."):
        if len(ends) != len(saved.posted[name]) or (len(ends) and int(ends[-1]) != len(arrays[f"rows.{name}"])):
            raise ValueError(f"its column {name} has rows without a text")


def living_columns(snapshot: Snapshot) -> SavedColumns:
    """Return a snapshot's living rows, and their texts."""
    rows = np.flatnonzero(snapshot.alive)
    everything = len(rows) == len(snapshot.keys)
    with_windows = rows if len(snapshot.counts) else rows[:0]  # the rows of a listing have none
    counts = snapshot.counts[with_windows]
    windows = np.arange(0) if everything else window_indices(snapshot.starts[with_windows], counts)

    def of_rows(column: NDArray[Any]) -> NDArray[Any]:
        return column if everything else column[rows]

    def of_windows(column: NDArray[Any]) -> NDArray[Any]:
        return column if everything or not len(column) else column[windows]

    arrays: dict[str, NDArray[Any]] = {
        "keys": of_rows(snapshot.keys),
        "seqs": of_rows(snapshot.seqs),
        "sensitivity": of_rows(snapshot.sensitivity),
        "starts": np.cumsum(counts) - counts,
        "counts": counts,
        "owners": np.repeat(np.arange(len(counts)), counts),
        "vectors": of_windows(snapshot.vectors),
    }
    arrays |= {f"number.{name}": of_rows(column) for name, column in snapshot.numbers.items()}
    arrays |= {f"sketch.{number}": of_windows(column) for number, column in enumerate(snapshot.sketches)}
    codes: dict[str, Sequence[str]] = {}
    for name, column in snapshot.labels.items():
        codes[name], arrays[f"label.{name}"] = _renumber_labels([*snapshot.codes[name]], of_rows(column))
    posted: dict[str, Sequence[str | int]] = {}
    moved = np.full(len(snapshot.keys), -1, np.int32)
    moved[rows] = np.arange(len(rows))
    for name in snapshot.postings:
        posted[name], arrays[f"rows.{name}"], arrays[f"ends.{name}"] = _postings(snapshot, name, moved)
    ids = list(snapshot.ids[: len(snapshot.keys)])
    living = ids if everything else [ids[row] for row in rows.tolist()]
    return SavedColumns(snapshot.seq, bool((counts == 1).all()), living, codes, posted, arrays)


def _renumber_labels(texts: Sequence[str], column: NDArray[Any]) -> tuple[list[str], NDArray[Any]]:
    """Return the texts used in the column, and the column with their new codes."""
    used = np.unique(column)
    used = used[used != ABSENT]
    new = np.full(len(texts) + 1, ABSENT, column.dtype)  # ABSENT reads the last place
    new[used] = np.arange(len(used))
    return [texts[code] for code in used.tolist()], new[column]


def _postings(snapshot: Snapshot, name: str, moved: NDArray[np.int32]) -> tuple[list[str | int], Ints, Ints]:
    """Return a set's texts in living rows, these rows text by text, and the end of each text's rows."""
    texts: list[str | int] = []
    parts: list[NDArray[np.int32]] = []
    for text, held in list(snapshot.postings[name].items()):
        rows = np.array(held[: len(held)], np.int32)
        living = moved[rows[rows < len(moved)]]
        living = living[living >= 0]
        if len(living):
            texts.append(text)
            parts.append(living)
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return texts, np.concatenate(parts) if parts else np.empty(0, np.int32), ends
