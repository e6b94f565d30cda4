"""Keyword search: BM25 with stemming over a text per record, in a tantivy folder.

The folder is derived from the records and can be thrown away. It stores only a text's terms; a hit is an integer key
and a score. The last applied change (`seq`) is a document in the same commit as the changes, so the two cannot
disagree, however the process ends.

A score is computed from the text and from the texts visible to the reader, with whole numbers that tantivy only adds
up: nothing else in the index can change a digit of it (decision 0033).

Everything here raises `ComponentFailed("keywords", ...)` when tantivy fails or panics.
"""

import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np
import tantivy

from cognition_engines.errors import ComponentFailed, ConfigurationError, ForeignCalls
from cognition_engines.indexes.keywords.files import (
    COMPONENT,
    NOTHING,
    DoubleArray,
    Files,
    IntArray,
    SetAside,
    any_of,
    best_texts,
    check_files,
    index_in,
    is_empty,
    is_touched,
    move_aside,
    read_list,
    write_list,
    writer_lock,
    writer_of,
)
from cognition_engines.indexes.keywords.language import QueryAnalyzer
from cognition_engines.indexes.keywords.term_weights import KnownWeights, WordCounts, having_all, visible_to
from cognition_engines.indexes.keywords.text_documents import (
    Counted,
    DocumentMaker,
    Marks,
    make_schema,
    make_splitter,
    read_checkpoint,
    write_checkpoint,
    written_by,
)
from cognition_engines.models import EVERYTHING, Viewer
from cognition_engines.relevance import RELEVANCE, Relevance
from cognition_engines.store.values import Text


@dataclass(frozen=True, slots=True)
class ViewerKeywords:
    """The index for a reader: only texts visible to the reader are found and counted."""

    index: "KeywordIndex"
    viewer: Viewer

    def search(self, query: str, limit: int, marks: Marks = ()) -> tuple[IntArray, DoubleArray]:
        return self.index.search(query, limit, self.viewer, marks)

    def search_among(self, query: str, keys: Sequence[int]) -> tuple[IntArray, DoubleArray]:
        return self.index.search_among(query, keys, self.viewer)

    def highest(self, query: str) -> float:
        return self.index.highest(query, self.viewer)

    def holders(self, item: str, limit: int) -> tuple[IntArray, DoubleArray]:
        return self.index.holders(item, limit, self.viewer)


@dataclass(frozen=True, slots=True)
class _Commit:
    """A state of the index, as seen by searches, and the counts over it."""

    searcher: tantivy.Searcher
    weights: KnownWeights


@dataclass(frozen=True, slots=True)
class _Identity:
    """The store and the columns of an index, which the checkpoint must name."""

    store_id: str
    columns: str


class KeywordIndex:
    """A folder of terms, opened by one process.

    Any number of threads may search while one applies changes; a search sees a single commit's state.
    """

    def __init__(
        self,
        index: tantivy.Index,
        writer: tantivy.IndexWriter,
        schema: tantivy.Schema,
        identity: _Identity,
        folder: Path,
        files: Files,
        set_aside: SetAside | None,
        relevance: Relevance,
    ) -> None:
        """Take over the parts of an opened index; callers use `open`."""
        self._folder = folder
        self._files = files
        self._doubts = self._dispelled = 0
        self._index = index
        self._writer: tantivy.IndexWriter | None = writer
        self._schema = schema
        self._identity = identity
        self._documents = DocumentMaker(relevance)
        self._queries = QueryAnalyzer(relevance)
        self._writing = threading.Lock()
        self._commit: _Commit | None = _commit(index.searcher(), schema)
        self._seq = 0
        self.set_aside: Final = set_aside

    @classmethod
    def open(cls, folder: Path, store_id: str, columns: str = "", relevance: Relevance = RELEVANCE) -> "KeywordIndex":
        """Open the index in `folder`, or make an empty index there with `seq` 0.

        `columns` identifies the texts' marks (see `columns_of`). A folder that is damaged, or from another store,
        columns, relevance or format, is renamed to `<folder>.damaged-<n>` (the newest three stay) and replaced by an
        empty folder; `set_aside` then has the new name and the reason. Raise FolderInUse if another writer holds the
        folder, ConfigurationError if it cannot be written.
        """
        identity = _Identity(store_id, written_by(columns, relevance))
        try:
            return _open_index(folder, identity, None, relevance)
        except ComponentFailed as error:
            reason = str(error)
        # Outside the handler, whose traceback would keep the damaged index and its lock open.
        return _open_index(folder, identity, SetAside(move_aside(folder), reason), relevance)

    @property
    def is_open(self) -> bool:
        return self._commit is not None

    @property
    def seq(self) -> int:
        """Every change up to this number is in the index and visible to searches; 0 when new or closed."""
        return self._seq if self.is_open else 0

    @property
    def count(self) -> int:
        """Number of texts in the index."""
        return int(self._state().searcher.num_docs) - 1  # the checkpoint is a document too

    def apply(self, upserts: Sequence["tuple[int, str] | Text"], deletes: Sequence[int], seq: int) -> None:
        """Replace texts by key, remove keys, commit once, and show the result to searches that start later.

        A `seq` not above the current `seq` changes nothing: those changes are in already. Removing an absent key is no
        error. On failure no change from the call is kept.

        Raise ValueError if a key is given twice, or both replaced and removed.
        """
        texts = [Text(*upsert) for upsert in upserts]
        if len(set(keys := [*(text.key for text in texts), *deletes])) != len(texts) + len(deletes):
            raise ValueError("upserts and deletes: a key is named more than once")
        with self._writing:
            writer = self._writer
            if writer is None:
                raise ComponentFailed(COMPONENT, "the index is closed")
            if seq <= self._seq:
                return
            counts, gone = self._state().weights.counts, self._read_counts(keys)
            new: list[Counted] = []
            try:
                with ForeignCalls(COMPONENT):
                    for key in keys:
                        writer.delete_documents_by_term("key", key)
                    for text in texts:
                        document, counted = self._documents.make(text)
                        writer.add_document(document)
                        new.append(counted)
                    write_checkpoint(writer, self._identity.store_id, self._identity.columns, seq)
                    writer.commit()
            except ComponentFailed:
                with ForeignCalls(COMPONENT):
                    writer.rollback()
                raise
            with ForeignCalls(COMPONENT):
                self._index.reload()
                searcher = self._index.searcher()
            self._commit = _Commit(searcher, KnownWeights(self._schema, counts.after(searcher, gone, new)))
            self._seq = seq
            self.check()  # before anything can happen to the new files

    def skip(self, seq: int) -> None:
        """Note that no change up to `seq` concerns a text. Nothing is written: the next start checks again."""
        with self._writing:
            self._seq = max(self._seq, seq)

    def rewrite(self, batches: Iterable[Sequence[Text]]) -> None:
        """Replace all files by files for these texts, which must be all texts up to `seq`.

        Removed texts are then in no file; a search sees the old state or the new state. For the thread that applies
        changes. On failure nothing changes.
        """
        with self._writing:
            writer = self._writer
            if writer is None:
                raise ComponentFailed(COMPONENT, "the index is closed")
            try:
                with ForeignCalls(COMPONENT):
                    writer.delete_all_documents()
                for batch in batches:
                    with ForeignCalls(COMPONENT):
                        for text in batch:
                            writer.add_document(self._documents.make(text)[0])
                with ForeignCalls(COMPONENT):
                    write_checkpoint(writer, self._identity.store_id, self._identity.columns, self._seq)
                    writer.commit()
            except ComponentFailed:
                with ForeignCalls(COMPONENT):
                    writer.rollback()
                raise
            with ForeignCalls(COMPONENT):
                self._index.reload()
                self._commit = _commit(self._index.searcher(), self._schema)
                writer.garbage_collect_files()
            self.check()

    def count_held(self, keys: Sequence[int]) -> int:
        """Return the number of keys with a text in the index."""
        state = self._state()
        with ForeignCalls(COMPONENT):
            found = tantivy.Query.const_score_query(any_of(self._schema, "key", keys), 1.0)
            return len(state.searcher.search(found, len(keys), count=False).hits) if keys else 0

    def search(
        self, query: str, limit: int, viewer: Viewer = EVERYTHING, marks: Marks = ()
    ) -> tuple[IntArray, DoubleArray]:
        """Return the keys and BM25 scores (above 0) of the best `limit` texts that share a term with `query`.

        Best first; equal scores come in any order, and among texts with the last score any may be included. `query` is
        plain text without operators, and a repeated term counts as often. Without any term the answer is empty. Of many
        terms the rarest MOST_WORDS count, and from MANY_TEXTS texts on a term in more than half of the texts visible to
        the viewer counts only if there are no rarer ones. `limit` is at least 1. Only texts visible to `viewer` are
        found and counted. With `marks`, a text must have a mark from each group.
        """
        if limit < 1:
            raise ValueError("limit must be at least 1")
        state = self._state()
        with ForeignCalls(COMPONENT):
            required = [any_of(self._schema, "mark", alternatives) for alternatives in marks]
            found = self._find_best(state, query, viewer, required, limit)
        self._confirm()
        return found

    def search_among(
        self, query: str, keys: Sequence[int], viewer: Viewer = EVERYTHING
    ) -> tuple[IntArray, DoubleArray]:
        """Return the keys and scores of all texts among `keys` that share a term with `query`, best first.

        The scores are the same as in `search`. A key without a text in the index is no match.
        """
        if not len(keys):
            return NOTHING
        state = self._state()
        with ForeignCalls(COMPONENT):
            found = self._find_best(state, query, viewer, [any_of(self._schema, "key", keys)], len(keys))
        self._confirm()
        return found

    def highest(self, query: str, viewer: Viewer = EVERYTHING) -> float:
        """Return the highest BM25 score possible for a text with the whole query; 0 if no text has any of its words."""
        with ForeignCalls(COMPONENT):
            weights = self._state().weights.of(viewer, query, self._queries)
        return 0.0 if weights is None else weights.highest

    def holders(self, item: str, limit: int, viewer: Viewer = EVERYTHING) -> tuple[IntArray, DoubleArray]:
        """Return the keys of at most `limit` texts with all words and names of `item`, which may be an id's term."""
        terms = [item] if item.startswith("=") else self._queries.terms_of(item)
        with ForeignCalls(COMPONENT):
            found = (
                best_texts(self._state().searcher, having_all(self._schema, terms, viewer), limit) if terms else NOTHING
            )
        self._confirm()
        return found

    def check(self) -> None:
        """Raise ComponentFailed if a file is not as written. Read only files touched since the last check.

        For the thread that applies changes.
        """
        doubts, files = self._doubts, check_files(self._folder, self._files)
        if files.keys() != self._files.keys():
            self._write_file_list(files)
        self._files = files
        self._dispelled = doubts

    def _confirm(self) -> None:
        """Raise ComponentFailed if another process has written into the files, which are read unchanged."""
        if is_touched(self._folder, self._files):
            self._doubts += 1
        if self._doubts != self._dispelled:
            raise ComponentFailed(COMPONENT, "damaged index: its files were changed")

    def _write_file_list(self, files: Files) -> None:
        # with an older list the next start compares fewer files
        with suppress(OSError):
            write_list(self._folder, files)

    def close(self) -> None:
        """Wait for merges and release the folder. Later searches and changes raise ComponentFailed."""
        with self._writing:
            writer, self._writer, self._commit = self._writer, None, None
            if writer is not None:
                with ForeignCalls(COMPONENT):
                    writer.wait_merging_threads()
                with suppress(ComponentFailed):  # the next start finds the damage again
                    self._write_file_list(check_files(self._folder, self._files))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _state(self) -> _Commit:
        state = self._commit
        if state is None:
            raise ComponentFailed(COMPONENT, "the index is closed")
        return state

    def _find_best(
        self, state: _Commit, query: str, viewer: Viewer, required: Sequence[tantivy.Query], limit: int
    ) -> tuple[IntArray, DoubleArray]:
        """Return the best texts by the query's words, among those visible to the viewer and accepted by `required`."""
        weights = state.weights.of(viewer, query, self._queries)
        if weights is None:
            return NOTHING
        hidden = state.weights.counts.texts(viewer) < state.searcher.num_docs - 1
        every = [*required, *(visible_to(self._schema, viewer) if hidden else ())]
        musts = [(tantivy.Occur.Must, tantivy.Query.const_score_query(one, 0.0)) for one in every]
        keys, sums = best_texts(state.searcher, tantivy.Query.boolean_query([*musts, *weights.terms]), limit)
        # If something is required, the terms only add to the sum: faster than requiring any of them.
        matching = int(np.count_nonzero(sums > 0))
        return keys[:matching], sums[:matching] / weights.unit

    def _read_counts(self, keys: Sequence[int]) -> list[Counted]:
        """Return the counted parts of the texts with these keys; none if nothing was counted."""
        state = self._state()
        if not keys or not state.weights.counts:
            return []
        with ForeignCalls(COMPONENT):
            held = tantivy.Query.const_score_query(any_of(self._schema, "key", keys), 1.0)
            addresses = [address for _, address in state.searcher.search(held, len(keys), count=False).hits]
            documents = [state.searcher.doc(address) for address in addresses]
            return [
                Counted((one.get_first("word") or "").split(), one.get_first("project"), min(one.get_all("clearance")))
                for one in documents
            ]


def _commit(searcher: tantivy.Searcher, schema: tantivy.Schema) -> _Commit:
    return _Commit(searcher, KnownWeights(schema, WordCounts(searcher, schema)))


def _open_index(folder: Path, identity: _Identity, set_aside: SetAside | None, relevance: Relevance) -> KeywordIndex:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"the index folder {folder} cannot be made: {error.strerror}") from error
    files: Files = {}
    if not is_empty(folder):
        with writer_lock(folder):
            files = check_files(folder, read_list(folder))
    schema = make_schema()
    index = index_in(folder, schema)
    with ForeignCalls(COMPONENT):
        index.config_reader("manual")
        index.register_tokenizer("words", make_splitter())
    writer = writer_of(index, folder)
    with ForeignCalls(COMPONENT):
        if index.searcher().num_docs == 0:
            write_checkpoint(writer, identity.store_id, identity.columns, 0)
            writer.commit()
            index.reload()
        opened = KeywordIndex(index, writer, schema, identity, folder, files, set_aside, relevance)
        opened._seq = read_checkpoint(index.searcher(), schema, identity.store_id, identity.columns)
    opened.check()
    return opened
