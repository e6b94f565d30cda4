"""A store's indexes, one for each search space: opening, start and close."""

import logging
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from sys import maxsize
from threading import Event
from time import monotonic
from typing import Final

from cognition_engines.background import Background, BackgroundThread
from cognition_engines.embedding.base import Embedder
from cognition_engines.embedding.refused import RefusedText, embed_alone
from cognition_engines.errors import ComponentFailed, ConfigurationError
from cognition_engines.indexes.columns.saved import remove_columns
from cognition_engines.indexes.index_folder import (
    ALONE,
    FolderLock,
    WorkerNumber,
    prepare_folder,
    read_marks,
    remove_copy,
    remove_set_aside,
    write_marks,
)
from cognition_engines.indexes.space import SpaceIndex, open_space, worst
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.indexes.vectors.registry import BACKENDS
from cognition_engines.indexes.watcher import Watcher
from cognition_engines.kinds.registry import embedding_text
from cognition_engines.relevance import RELEVANCE, Relevance
from cognition_engines.set_aside import Part, RecordVersion, SetAside
from cognition_engines.spaces import SEARCHED, Space
from cognition_engines.store.change_feed import ChangeWatch
from cognition_engines.store.records import Records
from cognition_engines.store.values import FloatArray, StoredRecord

FILL_SECONDS: Final = 2.0
FILL_PAGE: Final = 16
SAVE_SECONDS: Final = 15.0  # columns unchanged between two looks are saved
SAVED_ROWS: Final = 1000  # minimum of unsaved rows
SAVED_SECONDS: Final = 300.0  # between two times: if records expire all the time, each removes the file
_log = logging.getLogger(__name__)
DEFAULT: Final = VectorChoice()


class Indexes:
    """A store's indexes, one per search space, under a common folder lock.

    `folder` belongs to the first worker; the others have theirs in it.
    """

    def __init__(
        self,
        records: Records,
        embedder: Embedder | None,
        spaces: Mapping[str, SpaceIndex],
        lock: FolderLock,
        folder: Path,
        worker: WorkerNumber = ALONE,
        set_aside: SetAside | None = None,
        background: Background | None = None,
    ) -> None:
        self.set_aside: Final = set_aside or SetAside()
        self.background: Final = background or Background()
        self._records = records
        self._embedder = embedder
        self._spaces = spaces
        self._lock = lock
        self._root = folder
        self._folder = worker.folder(folder)
        self._worker = worker
        self._marks = read_marks(self._folder)
        self._filled = -1  # the last change up to which all records have vectors
        self._seen, self._save_at = -1, 0.0
        embedding = "records without vectors cannot be embedded"
        self._filler = BackgroundThread("filler", self._fill, self.background, embedding)
        self._saver = BackgroundThread(
            "saver", self._save, self.background, "columns cannot be saved for the next start"
        )
        self._watcher = Watcher(ChangeWatch(records.store), self._follow_lagging_indexes, self.background)

    def __getitem__(self, space: Space) -> SpaceIndex:
        return self._spaces[space.name]

    @property
    def all_spaces(self) -> tuple[SpaceIndex, ...]:
        return tuple(self._spaces.values())

    @property
    def keywords_state(self) -> str:
        """Return `down` while a keyword index cannot follow the records or is being rebuilt, else `ready`."""
        return worst([index.keywords_state for index in self.all_spaces])

    @property
    def vectors_state(self) -> str:
        """Return `off` without a model; else the worst of `ready`, `rebuilding` (answers stay exact) and `down`."""
        if self._embedder is None:
            return "off"
        return worst([index.vectors.state for index in self.all_spaces if index.vectors is not None])

    def start(self) -> None:
        """Catch up with the store, then continue in the background. Raise ComponentFailed on failure."""
        if self._worker.writes:
            self._retry_set_aside()
        for index in self.all_spaces:
            index.start()
        self._watcher.start()
        if self._embedder is not None and self._worker.writes:
            self._filler.start()
        if self._worker.writes:
            self._saver.start()

    def _retry_set_aside(self) -> None:
        """Let all indexes read records again that the previous process set aside."""
        keys = self.set_aside.load()
        if not keys:
            return
        try:
            there = self._records.touch(keys)
        except ComponentFailed as error:  # the next start tries again
            _log.warning("records that were set aside cannot be tried again: %s", error)
            return
        self.set_aside.clear(None, ((key, maxsize) for key in keys - there))

    def watch(self, published: Callable[[], object]) -> None:
        """Call `published` from now on whenever an index shows more."""
        for index in self.all_spaces:
            index.watch(published)

    def follow_now(self) -> None:
        """Let all indexes look for changes at once."""
        for index in self.all_spaces:
            index.follow_now()

    def save_columns(self) -> None:
        """Save each index's columns for the next start if enough has changed since the last save."""
        if self._worker.writes:
            for index in self.all_spaces:
                index.save_columns(SAVED_ROWS)

    def compact_words(self, most_texts: int) -> bool:
        """Let every index write its words again without deleted records, unless one has more than `most_texts` texts.

        Return whether it was begun; `words_compacted` shows when it is done.
        """
        if any(index.keywords.count > most_texts for index in self.all_spaces):
            return False
        for index in self.all_spaces:
            index.compact_words()
        return True

    @property
    def words_compacted(self) -> int:
        """Return the `seq` up to which, as far as is known, no file has words of deleted records."""
        return max(self._marks.keywords, min(index.words_compacted for index in self.all_spaces))

    @property
    def vectors_compacted(self) -> int | None:
        """Do as `words_compacted`, for vectors in this process's files; None if there are no such files."""
        some = any(index.vectors is not None and index.vectors.in_folder for index in self.all_spaces)
        return self._marks.vectors if some else None

    @property
    def is_alone(self) -> bool:
        """Return whether no other worker has indexes over these records: this process could not check them."""
        return self._worker.count == 1

    @property
    def vectors_on_server(self) -> bool:
        """Return whether a Chroma server has vectors for this store."""
        return any(index.vectors is not None and index.vectors.on_server for index in self.all_spaces)

    def note_compacted(self) -> None:
        """Store the last compacted change for the next start, and remove indexes set aside as damaged."""
        words = self.words_compacted
        if words > self._marks.keywords:
            remove_set_aside(self._folder)
            self._marks = replace(self._marks, keywords=words)
            write_marks(self._folder, self._marks)

    def _follow_lagging_indexes(self) -> None:
        """Wake indexes that lack a change; they have already followed this process's own changes."""
        last = self._records.last_seq()
        for index in self.all_spaces:
            if index.snapshot.seq < last:
                index.follow_now()

    def name_holder(self, name: str) -> None:
        """Write the folder holder's name: a server address, or a command."""
        self._lock.name_holder(name)

    def copy_lock(self) -> int:
        """Return an open file that keeps the folder locked after the indexes are closed."""
        return self._lock.copy()

    def wait_until_vectors_are_ready(self) -> bool:
        """Wait until every record is covered, and return True; return False if an index fails instead."""
        return all(index.vectors is None or index.vectors.wait_until_ready() for index in self.all_spaces)

    def close(self, wait_seconds: float = 5.0) -> None:
        """Stop following and release the folder. A part that does not end in time is left to the next start."""
        deadline = monotonic() + wait_seconds
        for thread in (self._filler, self._saver):
            thread.stop()
        self._watcher.stop()
        for index in self.all_spaces:
            index.stop()
        self._watcher.close(max(0.0, deadline - monotonic()))
        for thread in (self._filler, self._saver):
            thread.close(max(0.0, deadline - monotonic()))
        for index in self.all_spaces:
            index.close(deadline)
        remove_copy(self._root, self._worker)
        self._lock.close()

    def _save(self) -> float:
        """Save the columns if they did not change since the last round."""
        before, self._seen = self._seen, min(index.snapshot.seq for index in self.all_spaces)
        if before == self._seen and monotonic() >= self._save_at:
            self.save_columns()
            self._save_at = monotonic() + SAVED_SECONDS
        return SAVE_SECONDS

    def _fill(self) -> float:
        """Embed records without vectors of this model: from another configuration, or from before a change of model."""
        # looking for them reads every record, so only after something was written
        if self._filled != (last := self._records.last_seq()):
            for index in self.all_spaces:
                fill_vectors(
                    self._records, index.space, self._embedder, self._filler.stopping, set_aside=self.set_aside
                )
            self._filled = last
        return FILL_SECONDS


def fill_vectors(
    records: Records,
    space: Space,
    embedder: Embedder | None,
    stop: Event,
    on_page: Callable[[int], object] = id,
    set_aside: SetAside | None = None,
) -> int:
    """Embed every record in `space` without vectors from `embedder`'s model; return their number.

    End early on `stop`. Call `on_page` with the number of records in each step. If the model works but refuses a text,
    raise ComponentFailed, which names the record; with `set_aside`, note the record there and skip it from then on.
    """
    if embedder is None:
        return 0
    done = after = 0
    while not stop.is_set():
        seq = records.last_seq()
        lacking = records.reads.without_vectors(space, embedder.model, after, FILL_PAGE)
        if not lacking:
            break
        vectors = []
        for stored in lacking:
            if stop.is_set():
                return done  # a model takes its time for each text, and the process waits for this
            vectors += [(stored.key, made) for made in _embed_record(stored, embedder, set_aside)]
        records.put_vectors(vectors, embedder.model, seq)
        done += len(lacking)
        on_page(len(lacking))
        after = lacking[-1].key
    return done


def _embed_record(stored: StoredRecord, embedder: Embedder, set_aside: SetAside | None) -> list[FloatArray]:
    """Return a record's vectors; none if it has no text, or if the model refuses it."""
    text = embedding_text(stored.record)
    version = RecordVersion(stored.key, stored.seq, stored.kind.label, str(stored.record.id))
    if text is None or (set_aside is not None and set_aside.holds(Part.VECTORS, version)):
        return []
    try:
        made = embed_alone(text, embedder)
    except RefusedText as error:
        if set_aside is None:
            raise ComponentFailed(
                error.component, f"{error.reason} for the text of {version.kind} {version.id}"
            ) from error
        set_aside.note(Part.VECTORS, version, error)
        return []
    if set_aside is not None:
        set_aside.clear(Part.VECTORS, [(version.key, version.seq + 1)])
    return [made]


def remove_indexes(folder: Path) -> None:
    """Remove the keyword and vector indexes in `folder`; the caller holds its lock or its parent's lock.

    Raise ConfigurationError if the folder cannot be written.
    """
    keywords = folder / "keywords"
    try:
        for backend in BACKENDS.values():
            backend.remove(folder)
        if keywords.exists():
            shutil.rmtree(keywords)
        remove_columns(folder)
    except OSError as error:
        reason = f"the indexes in {folder} cannot be removed ({error.strerror}); remove them"
        raise ConfigurationError(reason) from error


def open_indexes(
    folder: Path,
    records: Records,
    embedder: Embedder | None,
    choice: VectorChoice = DEFAULT,
    worker: WorkerNumber = ALONE,
    relevance: Relevance = RELEVANCE,
    lock: FolderLock | None = None,
) -> Indexes:
    """Take the lock of `folder`, or of a `worker`'s copy in it, and open the indexes there, not yet started.

    A `lock` already held by the caller is closed with the indexes. Raise FolderInUse, ConfigurationError or
    ComponentFailed.
    """
    place, chosen = worker.folder(folder), worker.choice(choice, shared=records.is_shared)
    with ExitStack() as undo:
        lock = lock or FolderLock(place)
        undo.callback(lock.close)
        prepare_folder(folder, worker)
        set_aside, background = SetAside(place), Background()
        opened: dict[str, SpaceIndex] = {}
        for space in SEARCHED:
            folders = place / space.name, folder / space.name
            index = open_space(space, *folders, records, embedder, chosen, relevance, set_aside, background)
            undo.callback(index.close, 0.0)
            opened[space.name] = index
        undo.pop_all()
    return Indexes(records, embedder, opened, lock, folder, worker, set_aside, background)
