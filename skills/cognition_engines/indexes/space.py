"""A search space's index: columns, keywords and neighbours that follow the records in the background."""

import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final

from cognition_engines.background import Background, BackgroundThread, Outage
from cognition_engines.embedding.base import Embedder
from cognition_engines.errors import ComponentFailed, EngineError
from cognition_engines.indexes.columns.builder import Columns
from cognition_engines.indexes.columns.isolation import Isolation
from cognition_engines.indexes.columns.saved import ColumnsFile, Identity
from cognition_engines.indexes.columns.snapshot import Floats, Snapshot
from cognition_engines.indexes.keywords.index import KeywordIndex, ViewerKeywords
from cognition_engines.indexes.keywords.text_documents import add_label_terms, columns_of
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.indexes.vectors.live import LiveVectors
from cognition_engines.models import Viewer
from cognition_engines.relevance import Relevance
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.spaces import Space
from cognition_engines.store.records import Records
from cognition_engines.store.values import Page, Text

PAGE: Final = 1000
RETRY_SECONDS: Final = 0.25  # between two attempts after a failure, at first
IDLE_SECONDS: Final = 1.0  # between two looks, if the watcher finds no commit
LONGEST_PAUSE: Final = 2.0  # between two attempts to follow
# After changes that came while others were applied: as long as that took, up to this, so that a commit of the words
# takes in several writes. A caller with sequential writes never waits for it.
LONGEST_REST: Final = 0.1
_ATTEMPTS: Final = 3  # to find the saved columns and the records at the same state
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HeldKeys:
    """The numbers of some records' texts and windows in the indexes; `all_vectors` is false if one was not checked."""

    texts: int
    windows: int
    all_vectors: bool


class LiveKeywords:
    """The owner of a store's keyword index. One thread applies, checks and closes; any may read.

    A damaged folder is set aside, and the index is rebuilt while queries are answered.
    """

    index: KeywordIndex

    def __init__(self, folder: Path, store_id: str, columns: str, last_seq: int, relevance: Relevance) -> None:
        """Open the index in `folder`, or begin a new index there if it is damaged or ahead of `last_seq`.

        Raise FolderInUse, ConfigurationError or ComponentFailed.
        """
        self._folder = folder
        self._asked = store_id, columns, relevance
        self._open_index()
        if self.index.seq > last_seq:
            self.start_over()  # the records were replaced by older ones

    def start_over(self) -> None:
        """Begin a new index, which is empty."""
        self.index.close()
        shutil.rmtree(self._folder)
        self._open_index()

    def check(self) -> None:
        """Begin a new index if the files of this one are not as written.

        On failure raise ConfigurationError, ComponentFailed or OSError; then try again.
        """
        try:
            if self.index.is_open:
                self.index.check()
                return
        except ComponentFailed as error:
            _log.warning("%s; rebuilding", error)
            with suppress(ComponentFailed):
                self.index.close()
        self._open_index()

    def _open_index(self) -> None:
        self.index = KeywordIndex.open(self._folder, *self._asked)
        if (left := self.index.set_aside) is not None:
            _log.warning("the keyword index was set aside at %s (%s)", left.folder, left.reason)


class SpaceIndex:
    """Columns, keywords and neighbours over a space's records, following them until closed.

    Every change is in the keyword index before it is in a snapshot, so every record in a snapshot can be found by
    words. A rebuilt keyword index catches up in the background, and cannot be searched until then.
    """

    def __init__(
        self,
        space: Space,
        records: Records,
        embedder: Embedder | None,
        words: LiveKeywords,
        vectors: LiveVectors | None,
        saved: ColumnsFile,
        set_aside: SetAside,
        background: Background,
    ) -> None:
        self.space: Final = space
        self.vectors: Final = vectors
        self.model: Final = embedder.model if embedder else None
        self._records = records
        self._dim = embedder.dim if embedder else 1
        self._columns = Columns(space, self._dim)
        self._words = words
        self._saved = saved
        self._set_aside = set_aside
        self._column_rows = Isolation(Part.COLUMNS, records, space, set_aside)
        self._texts = Isolation(Part.KEYWORDS, records, space, set_aside)
        self._failure: str | None = None  # the component that kept it from following
        self._following = Outage(f"the indexes cannot follow the records ({space.name})")
        self._rebuilding = Outage(f"the keyword index cannot be rebuilt ({space.name})")
        self._retry_seconds = RETRY_SECONDS
        self._compact = False  # true if the keyword index must be written again
        self.words_compacted = 0  # no file has words of records deleted up to this seq
        self._published: Callable[[], object] = lambda: None
        outage = f"the indexes do not follow the records ({space.name})"
        self._thread = BackgroundThread(f"{space.name}-follower", self._follow_records, background, outage)

    def watch(self, published: Callable[[], object]) -> None:
        """Call `published` from the index's thread whenever a newer snapshot is shown."""
        self._published = published

    def follow_now(self) -> None:
        """Follow without waiting for the next check of the records."""
        self._thread.wake()

    @property
    def snapshot(self) -> Snapshot:
        return self._columns.snapshot

    @property
    def keywords(self) -> KeywordIndex:
        return self._words.index

    @property
    def keywords_state(self) -> str:
        """Return `ready`, or `down` while the keyword index cannot follow the records or is being rebuilt."""
        return (
            "down"
            if self._thread.has_ended or self._failure == "keywords" or self.keywords.seq < self.snapshot.seq
            else "ready"
        )

    def words(self, viewer: Viewer, snapshot: Snapshot) -> ViewerKeywords:
        """Return a keyword searcher as fresh as `snapshot`. Raise ComponentFailed if it would not find all."""
        index = self.keywords
        if index.seq < snapshot.seq:
            raise ComponentFailed("keywords", "the index is being rebuilt")
        return ViewerKeywords(index, viewer)

    def start(self) -> None:
        """Catch up with the store, then continue in the background. Raise ComponentFailed on failure.

        A keyword index set aside as damaged is rebuilt in the background.
        """
        damaged = self.keywords.set_aside is not None
        windows = 0
        if self.model is not None:
            windows = self._records.reads.windows(self.space, self.model, self._records.last_seq())
            self._leave_vectors(windows)
        saved = self._restore()
        self._first_follow(windows, skip_words=damaged)
        if saved and not self._agrees(saved, skip_words=damaged):
            _log.warning("the indexes of %s are of another state of the records; rebuilding", self.space.name)
            self._saved.discard(0)
            self._words.start_over()
            self._columns = Columns(self.space, self._dim)
            self._leave_vectors(windows)
            self._first_follow(windows, skip_words=False)
        self._thread.start()
        if self.vectors is not None:
            self.vectors.start()

    def _agrees(self, saved: int, *, skip_words: bool) -> bool:
        """Return whether the saved columns are of these records, and not of a copy with other changes."""
        for _ in range(_ATTEMPTS):  # others may write meanwhile
            if self.snapshot.fingerprint(saved) == self._records.changes.fingerprint(self.space, saved):
                return True
            self._first_follow(0, skip_words=skip_words)
        return False

    def _first_follow(self, windows: int, *, skip_words: bool) -> None:
        """Bring words and columns up to the records, and show them."""
        self._columns.reserve(windows)
        while not skip_words and self._rebuild_words():  # they may be behind the saved columns
            pass
        while self._step(skip_words=skip_words):
            pass
        self._publish()

    def _restore(self) -> int:
        """Begin with the saved columns, if there are any; return their `seq`, or 0."""
        saved = self._saved.read(self._records.last_seq())
        if saved is None:
            return 0
        try:
            self._columns.restore(saved)
        except (LookupError, ValueError, TypeError) as error:
            _log.warning("the saved columns of %s are not used (%s)", self.space.name, error)
            self._saved.discard(0)
            return 0
        return saved.seq

    def save_columns(self, least: int) -> None:
        """Save the columns for the next start if at least `least` rows are unsaved."""
        snapshot = self.snapshot
        if len(snapshot.newer_than(self._saved.seq)) >= least:
            self._saved.save(snapshot)

    def find_held(self, keys: Sequence[int]) -> HeldKeys:
        """Return the numbers of these records' searchable texts and windows, and whether all indexes were checked."""
        shown = self.snapshot
        rows = [row for key in keys if key < len(shown.row_of) and (row := int(shown.row_of[key])) >= 0]
        windows = sum(int(shown.counts[row]) for row in rows if shown.alive[row])
        near = 0 if self.vectors is None else self.vectors.count_held(keys)
        return HeldKeys(self.keywords.count_held(keys), windows + (near or 0), all_vectors=near is not None)

    def compact_words(self) -> None:
        """Let the following thread write the words again without deleted records' words."""
        self._compact = True
        self._thread.wake()

    def stop(self) -> None:
        """Ask the threads to end, without waiting for them."""
        self._thread.stop()
        if self.vectors is not None:
            self.vectors.stop()

    def close(self, deadline: float) -> None:
        """Stop following. A part that does not end by `deadline` (monotonic) is left to the next start."""
        self.stop()
        self._thread.close(max(0.0, deadline - monotonic()))
        if self.vectors is not None:
            self.vectors.close(max(0.0, deadline - monotonic()))
        if not self._thread.is_alive:
            self.keywords.close()

    def _follow_records(self) -> float:
        """Follow the records once; return the pause until the next time."""
        failure, behind = None, False
        try:
            self._words.check()
            behind = self._rebuild_words()
            self._rebuilding.over()
        except (EngineError, OSError) as error:
            self._rebuilding.note(error)
            self._thread.note_failure(error)
            failure = "keywords"
        began = monotonic()
        try:
            # changes applied by a failed attempt are published by the next attempt
            if self._records.last_seq() > self.snapshot.seq:
                while (
                    self._step(skip_words=self.keywords.seq < self._columns.seq) and not self._thread.stopping.is_set()
                ):
                    pass
                self._publish()
            self._write_words_again()
            self._following.over()
        except ComponentFailed as error:
            self._following.note(error)
            self._thread.note_failure(error)
            failure = error.component
        self._failure = failure
        if self._thread.is_woken:
            self._thread.stopping.wait(min(LONGEST_REST, monotonic() - began))
        if failure is None:
            self._retry_seconds = RETRY_SECONDS
            return 0.0 if behind else IDLE_SECONDS
        pause, self._retry_seconds = self._retry_seconds, min(LONGEST_PAUSE, 2 * self._retry_seconds)
        return pause

    def _publish(self) -> None:
        if self.vectors is not None:
            self.vectors.expect(self._columns.seq)
            self._leave_vectors(self._columns.windows)
        self._column_rows.note_patterns(self._columns.publish())
        self._published()

    def _leave_vectors(self, windows: int) -> None:
        """Stop keeping vectors in memory if there are too many windows."""
        if self.vectors is not None and not self._columns.fetches and self.vectors.exceeds_memory(windows):
            self._columns.fetch_vectors(self._fetch)

    def _fetch(self, keys: Sequence[int]) -> dict[int, Floats]:
        assert self.model is not None
        return self._records.reads.vectors_of(keys, self.model)

    def _rebuild_words(self) -> bool:
        """Apply a page to a keyword index that is behind the columns; return whether it still is."""
        if self.keywords.seq >= self._columns.seq:
            return False
        self._texts.apply(self._texts.read(self.keywords.seq, PAGE).page, self._apply_words)
        return self.keywords.seq < self._columns.seq

    def _write_words_again(self) -> None:
        """Replace the word files if requested and nothing is being rebuilt."""
        if not self._compact or self.keywords.seq < self._columns.seq:
            return
        seq = self.keywords.seq
        self.keywords.rewrite(self._all_texts())
        self.words_compacted = seq
        self._compact = False

    def _all_texts(self) -> Iterator[list[Text]]:
        after, more = 0, True
        while more:
            if self._thread.stopping.is_set():
                raise ComponentFailed("keywords", "the index is being closed")
            page, more = self._texts.read(after, PAGE)
            left_out = self._set_aside.keys(Part.KEYWORDS)
            yield self._texts_of(page, [key for key in page.keys.tolist() if key not in left_out])
            after = page.seq

    def _texts_of(self, page: Page, keys: Sequence[int]) -> list[Text]:
        """Return the texts of some records in a page, with their marks."""
        return add_label_terms(self._records.keyword_texts.by_keys(keys), page, self.snapshot.read)

    def _step(self, *, skip_words: bool) -> bool:
        """Apply a page of changes, to words and columns or to columns alone; return whether there may be more."""
        page, more = self._column_rows.read(self._columns.seq, PAGE, self.model)
        if len(page.removed):
            self._saved.discard(page.seq)
        if not skip_words:
            self._texts.apply(page, self._apply_words)
        self._column_rows.apply(page, self._columns.apply)
        return more

    def _apply_words(self, page: Page) -> None:
        """Add the page's texts, or newer versions, to the keyword index; skip texts already in it."""
        if page.seq <= self.keywords.seq:
            return
        newer: list[int] = page.keys[page.seqs > self.keywords.seq].tolist()
        if not newer and not len(page.removed):
            self.keywords.skip(page.seq)
            return
        texts = self._texts_of(page, newer)
        # a record may have lost its text
        gone = set(newer) - {text.key for text in texts}
        self.keywords.apply(texts, [*gone, *page.removed.tolist()], page.seq)


def open_space(
    space: Space,
    folder: Path,
    saved_in: Path,
    records: Records,
    embedder: Embedder | None,
    choice: VectorChoice,
    relevance: Relevance,
    set_aside: SetAside,
    background: Background,
) -> SpaceIndex:
    """Open the index of `space` in `folder`, whose lock is held, not yet started; `saved_in` has the saved columns.

    Raise FolderInUse, ConfigurationError or ComponentFailed.
    """
    side = None
    if embedder is not None and not choice.keeps_none:
        side = LiveVectors(
            records, space, embedder.model, embedder.dim, folder, choice, set_aside, background=background
        )
    words = LiveKeywords(folder / "keywords", records.store_id, columns_of(space), records.last_seq(), relevance)
    model, dim = (None, 1) if embedder is None else (embedder.model, embedder.dim)
    numbers = ",".join(number.name for number in space.numbers)
    saved = ColumnsFile(saved_in, Identity(records.store_id, f"{columns_of(space)} {numbers}", model, dim))
    return SpaceIndex(space, records, embedder, words, side, saved, set_aside, background)


def worst(states: Sequence[str]) -> str:
    """Return the worst state: `down` before `rebuilding` before `degraded` before `ready`."""
    return next((state for state in ("down", "rebuilding", "degraded") if state in states), "ready")
