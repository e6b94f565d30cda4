"""New attempts to index records set aside by parts, for `cstp reindex --record`."""

from collections.abc import Sequence, Set
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Final

from cognition_engines.errors import ConfigurationError
from cognition_engines.indexes.index_folder import is_held
from cognition_engines.indexes.indexes import fill_vectors, open_indexes
from cognition_engines.set_aside import STORED, SetAsideRecord, read_set_aside
from cognition_engines.spaces import SEARCHED
from cognition_engines.store.records import Records
from cstp_server.holder.taking import take_folder
from cstp_server.open_engine import relevance, vector_choice
from cstp_server.process.model import open_model
from cstp_server.settings import Settings

_SECONDS: Final = 15.0  # for a server to try again
_LOOK_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Attempt:
    """A record processed again: whether any part had set it aside, and the remaining notes."""

    id: str
    was_set_aside: bool
    left: Sequence[SetAsideRecord]


def retry_records(settings: Settings, records: Records, ids: Sequence[str]) -> list[Attempt]:
    """Let all parts process the records with these ids again.

    A server holding the folder does it, otherwise this process. Raise ConfigurationError for an id without a record.
    """
    found = records.keys_of(ids)
    if missing := [id for id in ids if id not in found]:
        raise ConfigurationError(f"{', '.join(missing)}: no record has this id")
    keys = {key for keys in found.values() for key in keys}
    folder = settings.indexes_path
    noted = {note.key for note in read_set_aside(folder)}
    before = _stored_notes(folder, keys)
    records.touch(keys)
    if is_held(folder):
        _wait_for_attempts(folder, keys, before)
    else:
        _attempt_here(settings, records)
    left = _stored_notes(folder, keys)
    return [
        Attempt(id, not noted.isdisjoint(found[id]), [note for note in left if note.key in found[id]]) for id in ids
    ]


def _stored_notes(folder: Path, keys: Set[int]) -> list[SetAsideRecord]:
    """Return the notes about indexes in files; the other parts try again when they next read the record."""
    return [note for note in read_set_aside(folder) if note.key in keys and note.part in STORED]


def _wait_for_attempts(folder: Path, keys: Set[int], before: Sequence[SetAsideRecord]) -> None:
    """Wait until a server has tried again, or for _SECONDS."""
    until = monotonic() + _SECONDS
    while monotonic() < until and not set(before).isdisjoint(_stored_notes(folder, keys)):
        sleep(_LOOK_SECONDS)


def _attempt_here(settings: Settings, records: Records) -> None:
    embedder, choice = open_model(settings), vector_choice(settings.vectors)
    with closing(take_folder(settings.indexes_path, settings.server.grace_seconds)) as lock:
        lock.name_holder("cstp reindex")
        weights = relevance(settings.search)
        indexes = open_indexes(settings.indexes_path, records, embedder, choice, relevance=weights, lock=lock)
        with closing(indexes):
            indexes.start()
            for space in SEARCHED:
                fill_vectors(records, space, embedder, Event(), set_aside=indexes.set_aside)
