"""The indexes of one store, kept up to date: who holds them, how they follow, how they are closed."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Final

from cognition_engines.embedding.base import Embedder
from cognition_engines.errors import ComponentFailed, EngineError
from cognition_engines.indexes.columns import Columns, Snapshot
from cognition_engines.indexes.keywords import EVERYTHING, KeywordIndex, Text, ViewedWords
from cognition_engines.indexes.lock import FolderLock
from cognition_engines.indexes.neighbours import LEAST_DEADLINE, VectorSide
from cognition_engines.indexes.outage import Outage
from cognition_engines.indexes.words import WordSide
from cognition_engines.models import Decision, Viewer
from cognition_engines.records.store import Records
from cognition_engines.records.values import Page, Stored

PAGE: Final = 1000
POLL_SECONDS: Final = 0.25
LONGEST_PAUSE: Final = 2.0  # between two attempts to follow
FILL_SECONDS: Final = 2.0
FILL_PAGE: Final = 16


def searchable_text(decision: Decision) -> str:
    """What is embedded and indexed of a decision: its title, a newline, its text."""
    return f"{decision.title}\n{decision.text}"


class Indexes:
    """Columns, keywords and neighbours over one store, following it until closed.

    Every change is in the keyword index before it is in a snapshot, so whatever a snapshot shows can be found by its
    words. A keyword index that is built anew catches up beside the snapshots, and cannot be asked until it has.
    """

    def __init__(
        self,
        records: Records,
        embedder: Embedder | None,
        words: WordSide,
        vectors: VectorSide | None,
        lock: FolderLock,
    ) -> None:
        self._records = records
        self._embedder = embedder
        self._lock = lock
        self._columns = Columns(embedder.dim if embedder else 1)
        self._words = words
        self.vectors = vectors
        self._failure: str | None = None  # the component that kept it from following
        self._stop = Event()
        self._thread = Thread(target=self._follow, name="follower", daemon=True)
        self._filler = Thread(target=self._fill, name="filler", daemon=True)

    @property
    def snapshot(self) -> Snapshot:
        return self._columns.snapshot

    @property
    def keywords(self) -> KeywordIndex:
        return self._words.index

    @property
    def keywords_state(self) -> str:
        """`ready`, or `down` while the keyword index cannot follow the records or is being built anew."""
        ended = self._thread.ident is not None and not self._thread.is_alive()
        return "down" if ended or self._failure == "keywords" or self._words.seq < self.snapshot.seq else "ready"

    def words(self, viewer: Viewer, snapshot: Snapshot) -> ViewedWords:
        """What finds words in the decisions of `snapshot`. Raises ComponentFailed while it would not find all."""
        return self._words.viewed(viewer, snapshot.seq)

    def start(self) -> None:
        """Catches up with the store, then goes on in the background. Raises ComponentFailed if it cannot.

        A keyword index that was set aside is built anew in the background.
        """
        damaged = self.keywords.set_aside is not None
        while self._step(skip_words=damaged):
            pass
        self._columns.publish()
        self._thread.start()
        if self.vectors is not None:
            self.vectors.start()
        if self._embedder is not None:
            self._filler.start()

    def close(self, wait_seconds: float = 5.0) -> None:
        """Stops following and releases the folder. A part that does not end in time is left to the next start."""
        deadline = monotonic() + wait_seconds
        self._stop.set()
        if self.vectors is not None:
            self.vectors.stop()
        for thread in (self._thread, self._filler):
            if thread.ident is not None:
                thread.join(max(0.0, deadline - monotonic()))
        if self.vectors is not None:
            self.vectors.close(max(0.0, deadline - monotonic()))
        if not self._thread.is_alive():
            self._words.close()
        self._lock.close()

    def _follow(self) -> None:
        following = Outage("the indexes cannot follow the records")
        rebuilding = Outage("the keyword index cannot be built anew")
        pause = POLL_SECONDS
        while not self._stop.wait(pause):
            failure, behind = None, False
            try:
                self._words.check()
                behind = self._rebuild_words()
                rebuilding.over()
            except (EngineError, OSError) as error:
                rebuilding.note(error)
                failure = "keywords"
            try:
                self._catch_up()
                following.over()
            except ComponentFailed as error:
                following.note(error)
                failure = error.component
            self._failure = failure
            if failure is not None:
                pause = min(LONGEST_PAUSE, 2 * max(pause, POLL_SECONDS))
            else:
                pause = 0.0 if behind else POLL_SECONDS

    def _catch_up(self) -> None:
        # what an attempt that failed has applied is published by the next one
        if self._records.last_seq() > self.snapshot.seq:
            while self._step(skip_words=self._words.seq < self._columns.seq) and not self._stop.is_set():
                pass
            self._columns.publish()

    def _rebuild_words(self) -> bool:
        """Applies one page to a keyword index that is behind the columns; whether it still is."""
        if self._words.seq >= self._columns.seq:
            return False
        self._apply_words(self._records.page(self._words.seq, PAGE, None))
        return self._words.seq < self._columns.seq

    def _step(self, *, skip_words: bool) -> bool:
        """Applies one page of changes, to words and columns or to columns alone; whether there may be more."""
        model = self._embedder.model if self._embedder else None
        page = self._records.page(self._columns.seq, PAGE, model)
        if page:
            if not skip_words:
                self._apply_words(page)
            self._columns.apply(page)
        return len(page) == PAGE

    def _apply_words(self, page: Page) -> None:
        """Gives the page's texts to the keyword index, or newer ones, unless it has them: then none is even read."""
        if page.seq > self._words.seq:
            found = self._records.by_keys(page.keys.tolist(), EVERYTHING)
            self._words.apply([_text(stored) for stored in found.values()], page.removed.tolist(), page.seq)

    def _fill(self) -> None:
        """Embeds what was written without vectors of this model: by another configuration, or before a change of it."""
        outage = Outage("records without vectors cannot be embedded")
        filled = -1
        while not self._stop.is_set():
            try:
                # looking for them reads every record, so only after something was written
                if filled != (last := self._records.last_seq()):
                    fill_vectors(self._records, self._embedder, self._stop)
                    filled = last
                outage.over()
            except ComponentFailed as error:
                outage.note(error)
            self._stop.wait(FILL_SECONDS)


def _text(stored: Stored) -> Text:
    decision = stored.decision
    return Text(stored.key, searchable_text(decision), decision.project, decision.sensitivity)


def fill_vectors(
    records: Records, embedder: Embedder | None, stop: Event, on_page: Callable[[int], object] = id
) -> int:
    """Embeds every record that has no vectors of `embedder`'s model; how many there were. Ends early on `stop`.

    `on_page` is told how many records each step did.
    """
    if embedder is None:
        return 0
    done = after = 0
    while not stop.is_set():
        seq = records.last_seq()
        lacking = records.without_vectors(embedder.model, after, FILL_PAGE)
        if not lacking:
            break
        vectors = [(stored.key, embedder.embed_text(searchable_text(stored.decision))) for stored in lacking]
        records.put_vectors(vectors, embedder.model, seq)
        done += len(lacking)
        on_page(len(lacking))
        after = lacking[-1].key
    return done


def open_indexes(
    folder: Path,
    records: Records,
    embedder: Embedder | None,
    vectors_url: str | None,
    vectors_deadline: float = LEAST_DEADLINE,
) -> Indexes:
    """Takes the lock of `folder` and opens the indexes in it, not yet started.

    A Chroma server at `vectors_url` has `vectors_deadline` seconds for each answer. Raises FolderInUse,
    ConfigurationError, ComponentFailed.
    """
    side = None
    if embedder is not None:
        side = VectorSide(records, embedder.model, embedder.dim, folder, vectors_url, vectors_deadline)
    with ExitStack() as undo:
        lock = FolderLock(folder)
        undo.callback(lock.close)
        words = WordSide(folder / "keywords", records.store_id, records.last_seq())
        undo.pop_all()
    return Indexes(records, embedder, words, side, lock)
