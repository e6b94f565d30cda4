"""Keyword search: BM25 with stemming over one text per record, in a tantivy folder.

The folder is derived from the records and can be thrown away. Nothing of a text is stored in it but its terms; a hit is
an integer key and a score. How far the index has followed the records (`seq`) is a document of the same commit as the
changes, so the two cannot disagree, however the process ends.

Everything here raises `ComponentFailed("keywords", ...)` when tantivy fails or panics.
"""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np
import tantivy
from numpy.typing import NDArray

from cognition_engines.errors import ComponentFailed, ConfigurationError, FolderInUse
from cognition_engines.foreign import ForeignCalls
from cognition_engines.indexes.folder_watch import FolderWatch
from cognition_engines.indexes.keyword_files import (
    COMPONENT,
    SetAside,
    Signature,
    check_files,
    is_empty,
    is_touched,
    move_aside,
    writer_lock,
)
from cognition_engines.indexes.keyword_schema import (
    CHECKPOINT,
    make_analyzer,
    make_document,
    make_schema,
    read_checkpoint,
    write_checkpoint,
)
from cognition_engines.indexes.marks import Marks
from cognition_engines.indexes.word_statistics import count, rarity, total_documents, visible_to
from cognition_engines.models import EVERYTHING, Viewer
from cognition_engines.records.values import Text

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float32]

COUNTS_KEPT: Final = 20_000
_NAMED: Final = (
    1500  # up to so many keys, a query of a term each takes less than one of a set: half at 100, as much here
)
# From so many texts on, a word that one of two has is searched for only if the query has no other: to look through the
# texts that have it takes longer than all else, and says next to nothing of them.
MANY_TEXTS: Final = 10_000
COMMON: Final = 2
_WRITER_BYTES: Final = 64_000_000


@dataclass(frozen=True, slots=True)
class ViewedWords:
    """The index as one reader sees it: words weigh what they weigh in the texts that the reader may see."""

    index: "KeywordIndex"
    viewer: Viewer

    def search(self, query: str, limit: int, marks: Marks = ()) -> tuple[IntArray, FloatArray]:
        return self.index.search(query, limit, self.viewer, marks)

    def search_among(self, query: str, keys: Sequence[int]) -> tuple[IntArray, FloatArray]:
        return self.index.search_among(query, keys, self.viewer)


@dataclass(frozen=True, slots=True)
class _Term:
    """A word of a query, its weight, and whether it is in so many texts that it does not tell which are meant."""

    query: tantivy.Query
    weight: float
    common: bool


class KeywordIndex:
    """One folder of terms, opened by one process.

    Any number of threads may search while one applies changes; a search sees the state of one commit.
    """

    def __init__(
        self,
        index: tantivy.Index,
        writer: tantivy.IndexWriter,
        schema: tantivy.Schema,
        store_id: str,
        folder: Path,
        signatures: Mapping[str, Signature],
        set_aside: SetAside | None,
    ) -> None:
        """Not for callers: see `open`."""
        self._folder = folder
        self._signatures = signatures
        self._watch = FolderWatch(folder)
        self._looking = threading.Lock()
        self._doubts = self._dispelled = 0
        self._index = index
        self._writer: tantivy.IndexWriter | None = writer
        self._schema = schema
        self._store_id = store_id
        self._analyzer = make_analyzer()
        self._writing = threading.Lock()
        self._searcher: tantivy.Searcher | None = index.searcher()
        self._counted: tuple[tantivy.Searcher | None, dict[tuple[Viewer, str], int]] = (None, {})
        self._seq = 0
        self.set_aside: Final = set_aside

    @classmethod
    def open(cls, folder: Path, store_id: str) -> "KeywordIndex":
        """Open the index in `folder`, or make an empty one there with `seq` 0.

        A folder that is damaged, of another store or of another format is renamed to `<folder>.damaged-<n>` (the
        newest three are kept) and replaced by an empty one; `set_aside` then tells where it went and why.

        Raises FolderInUse when another writer holds the folder, ConfigurationError when it cannot be written.
        """
        try:
            return _opened(folder, store_id, None)
        except ComponentFailed as error:
            reason = str(error)
        # Outside the handler, whose traceback would keep the damaged index and its lock open.
        return _opened(folder, store_id, SetAside(move_aside(folder), reason))

    @property
    def is_open(self) -> bool:
        return self._searcher is not None

    @property
    def seq(self) -> int:
        """Every change up to this number is in the index and visible to searches; 0 when new or closed."""
        return self._seq if self.is_open else 0

    @property
    def count(self) -> int:
        """How many texts the index holds."""
        return int(self._snapshot().num_docs) - 1  # the checkpoint is a document too

    def apply(self, upserts: Sequence["tuple[int, str] | Text"], deletes: Sequence[int], seq: int) -> None:
        """Replace texts by key, remove keys, commit once, and show the result to searches that start later.

        A `seq` that is not above the current one changes nothing: those changes are in already. Removing an absent
        key is no error. On failure nothing of the call is kept.

        Raises ValueError when a key is given twice, or both replaced and removed.
        """
        texts = [Text(*upsert) for upsert in upserts]
        keys = [text.key for text in texts]
        keys.extend(deletes)
        if len(set(keys)) != len(keys):
            raise ValueError("upserts and deletes: a key is named more than once")
        with self._writing:
            writer = self._writer
            if writer is None:
                raise ComponentFailed(COMPONENT, "the index is closed")
            if seq <= self._seq:
                return
            try:
                with ForeignCalls(COMPONENT):
                    for key in keys:
                        writer.delete_documents_by_term("key", key)
                    for text in texts:
                        writer.add_document(make_document(text))
                    write_checkpoint(writer, self._store_id, seq)
                    writer.commit()
            except ComponentFailed as error:
                with ForeignCalls(COMPONENT):
                    writer.rollback()
                if "StorageFull" in str(error.__cause__):
                    raise ComponentFailed(COMPONENT, "the disk is full") from error
                raise
            with ForeignCalls(COMPONENT):
                self._index.reload()
                self._searcher = self._index.searcher()
            self._seq = seq

    def skip(self, seq: int) -> None:
        """Notes that no change up to `seq` concerns a text. Nothing is written: the next start asks once more."""
        with self._writing:
            self._seq = max(self._seq, seq)

    def search(
        self, query: str, limit: int, viewer: Viewer = EVERYTHING, marks: Marks = ()
    ) -> tuple[IntArray, FloatArray]:
        """Keys and BM25 scores (above 0) of the best `limit` texts that share a term with `query`.

        Best first; equal scores come in any order, and of several with the last score any may be among them.
        `query` is plain text: no character in it is an operator, and a term that it repeats counts as often. Without
        any term the answer is empty. Among MANY_TEXTS a term of more than half of those that the viewer sees does not
        count beside rarer ones. `limit` is at least 1. `viewer` decides what the words weigh, not which texts
        are found: that is the caller's mask. With `marks`, only texts that have one of each are found.
        """
        if limit < 1:
            raise ValueError("limit must be at least 1")
        searcher = self._snapshot()
        with ForeignCalls(COMPONENT):
            terms = self._terms(query, searcher, viewer)
            required = [self._any_of("mark", alternatives) for alternatives in marks]
            found = _found(searcher, required, terms, limit) if terms else _nothing()
        self._confirm()
        return found

    def search_among(self, query: str, keys: Sequence[int], viewer: Viewer = EVERYTHING) -> tuple[IntArray, FloatArray]:
        """As `search`, over the texts of `keys` alone: those that share a term with `query`, all of them.

        The scores are those of `search`. A key that the index does not hold is no match.
        """
        if not len(keys):
            return _nothing()
        searcher = self._snapshot()
        with ForeignCalls(COMPONENT):
            terms = self._terms(query, searcher, viewer)
            if not terms:
                self._confirm()
                return _nothing()
            found = _found(searcher, [self._any_of("key", keys)], terms, len(keys))
        self._confirm()
        return found

    def check(self) -> None:
        """Raises ComponentFailed when a file is not as it was written. Reads only those touched since the last time.

        For the thread that applies changes.
        """
        doubts = self._doubts
        self._signatures = check_files(self._folder, self._signatures)
        self._dispelled = doubts

    def _confirm(self) -> None:
        """What was found counts unless somebody has written into the files: they are read as they are now."""
        with self._looking:
            if self._watch.anything() and is_touched(self._folder, self._signatures):
                self._doubts += 1
            if self._doubts != self._dispelled:
                raise ComponentFailed(COMPONENT, "damaged index: its files were changed")

    def close(self) -> None:
        """Wait for merges and release the folder. Later searches and changes raise ComponentFailed."""
        with self._writing:
            with self._looking:
                self._watch.close()
            writer, self._writer, self._searcher = self._writer, None, None
            if writer is not None:
                with ForeignCalls(COMPONENT):
                    writer.wait_merging_threads()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _snapshot(self) -> tantivy.Searcher:
        searcher = self._searcher
        if searcher is None:
            raise ComponentFailed(COMPONENT, "the index is closed")
        return searcher

    def _terms(
        self, query: str, searcher: tantivy.Searcher, viewer: Viewer
    ) -> list[tuple[tantivy.Occur, tantivy.Query]]:
        visible = visible_to(self._schema, viewer)
        seen = 0 if visible is None else self._count(viewer, "", searcher, visible)
        if seen == searcher.num_docs - 1:
            visible = None  # nothing is hidden, so all statistics are the reader's own
        total = 0 if visible is None else total_documents(searcher, self._checkpoint())
        texts = searcher.num_docs - 1 if visible is None else seen
        found: list[_Term] = []
        for token, times in Counter(self._analyzer.analyze(query)).items():
            term = tantivy.Query.term_query(self._schema, "body", token, index_option="freq")
            weight, containing = float(times), searcher.doc_freq("body", token)
            if visible is not None and containing:
                everywhere, containing = containing, self._count(viewer, token, searcher, visible, term)
                if containing:
                    # the checkpoint counts too, as it does where nothing is hidden
                    weight *= rarity(seen + 1, containing) / rarity(total, everywhere)
            if containing:
                found.append(_Term(term, weight, common=texts >= MANY_TEXTS and containing * COMMON > texts))
        telling = [each for each in found if not each.common] or found
        return [(tantivy.Occur.Should, tantivy.Query.boost_query(each.query, each.weight)) for each in telling]

    def _any_of(self, field: str, numbers: Sequence[int]) -> tantivy.Query:
        """The texts that have one of these numbers in the field."""
        if len(numbers) > _NAMED:
            return tantivy.Query.term_set_query(self._schema, field, [int(number) for number in numbers])
        terms = [tantivy.Query.term_query(self._schema, field, int(one), index_option="basic") for one in numbers]
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])

    def _count(self, viewer: Viewer, token: str, searcher: tantivy.Searcher, *conditions: tantivy.Query) -> int:
        """How many texts meet the conditions, for this viewer and token ("" for none): counted once in a commit."""
        known, counts = self._counted
        if known is not searcher or len(counts) > COUNTS_KEPT:
            counts = {}
            self._counted = (searcher, counts)
        if (viewer, token) not in counts:
            counts[viewer, token] = count(searcher, *conditions)
        return counts[viewer, token]

    def _checkpoint(self) -> tantivy.Query:
        return tantivy.Query.term_query(self._schema, "kind", CHECKPOINT, index_option="basic")


def _nothing() -> tuple[IntArray, FloatArray]:
    return np.empty(0, np.int64), np.empty(0, np.float32)


def _found(
    searcher: tantivy.Searcher,
    required: Sequence[tantivy.Query],
    terms: Sequence[tuple[tantivy.Occur, tantivy.Query]],
    limit: int,
) -> tuple[IntArray, FloatArray]:
    """The best by `terms`, of which each has one at least, among those that are all that is required."""
    musts = [(tantivy.Occur.Must, tantivy.Query.const_score_query(one, 0.0)) for one in required]
    found, scores = _best(searcher, tantivy.Query.boolean_query([*musts, *terms]), limit)
    # Beside what is required the terms only add to the score, which is faster than to require one: without any it is 0.
    matching = int(np.count_nonzero(scores > 0))
    return found[:matching], scores[:matching]


def _best(searcher: tantivy.Searcher, query: tantivy.Query, limit: int) -> tuple[IntArray, FloatArray]:
    hits = searcher.search(query, min(limit, max(1, searcher.num_docs)), count=False).hits
    if not hits:
        return _nothing()
    scores, addresses = zip(*hits, strict=True)
    keys = np.array(searcher.fast_field_values("key", list(addresses)), np.int64)
    return keys, np.array(scores, np.float32)


def _opened(folder: Path, store_id: str, set_aside: SetAside | None) -> KeywordIndex:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"the index folder {folder} cannot be made: {error.strerror}") from error
    signatures: dict[str, Signature] = {}
    if not is_empty(folder):
        with writer_lock(folder):
            signatures = check_files(folder, {})
    schema = make_schema()
    index = _index_in(folder, schema)
    with ForeignCalls(COMPONENT):
        index.config_reader("manual")
        index.register_tokenizer("body", make_analyzer())
    writer = _writer_of(index, folder)
    with ForeignCalls(COMPONENT), ExitStack() as undo:
        opened = KeywordIndex(index, writer, schema, store_id, folder, signatures, set_aside)
        undo.callback(opened._watch.close)
        searcher = index.searcher()
        if searcher.num_docs == 0:
            write_checkpoint(writer, store_id, 0)
            writer.commit()
            index.reload()
            opened._searcher = index.searcher()
        else:
            opened._seq = read_checkpoint(searcher, schema, store_id)
        undo.pop_all()
    return opened


def _index_in(folder: Path, schema: tantivy.Schema) -> tantivy.Index:
    try:
        with ForeignCalls(COMPONENT):
            return tantivy.Index(schema, path=str(folder))
    except ComponentFailed as error:
        if "schema does not match" in str(error.__cause__):
            raise ComponentFailed(COMPONENT, "the index is of another version") from error
        raise


def _writer_of(index: tantivy.Index, folder: Path) -> tantivy.IndexWriter:
    try:
        with ForeignCalls(COMPONENT):
            return index.writer(_WRITER_BYTES, 1)
    except ComponentFailed as error:
        if "LockBusy" in str(error.__cause__):
            raise FolderInUse(f"the index folder {folder} is held by another process") from error
        raise
