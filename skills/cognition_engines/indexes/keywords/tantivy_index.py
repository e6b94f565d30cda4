"""tantivy's index of a folder: opened, written, and asked for texts by number and for the best of a query."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import tantivy
from numpy.typing import NDArray

from cognition_engines.errors import ComponentFailed, FolderInUse
from cognition_engines.foreign import ForeignCalls
from cognition_engines.indexes.keywords.files import COMPONENT

IntArray = NDArray[np.int64]
DoubleArray = NDArray[np.float64]

NOTHING: Final = np.empty(0, np.int64), np.empty(0, np.float64)
_NAMED: Final = 1500  # keys; up to here a query of a term each takes less than one of a set: half at 100, as much here
_WRITER_BYTES: Final = 64_000_000


def index_in(folder: Path, schema: tantivy.Schema) -> tantivy.Index:
    """The index of a folder, new or as it is. Raises ComponentFailed."""
    try:
        with ForeignCalls(COMPONENT):
            return tantivy.Index(schema, path=str(folder))
    except ComponentFailed as error:
        if "schema does not match" in str(error.__cause__):
            raise ComponentFailed(COMPONENT, "the index is of another version") from error
        raise


def writer_of(index: tantivy.Index, folder: Path) -> tantivy.IndexWriter:
    """The one writer of a folder. Raises FolderInUse where another process has it, ComponentFailed."""
    try:
        with ForeignCalls(COMPONENT):
            return index.writer(_WRITER_BYTES, 1)
    except ComponentFailed as error:
        if "LockBusy" in str(error.__cause__):
            raise FolderInUse(f"the index folder {folder} is held by another process") from error
        raise


def any_of(schema: tantivy.Schema, field: str, numbers: Sequence[int]) -> tantivy.Query:
    """The texts that have one of these numbers in the field."""
    if len(numbers) > _NAMED:
        return tantivy.Query.term_set_query(schema, field, [int(number) for number in numbers])
    terms = [tantivy.Query.term_query(schema, field, int(one), index_option="basic") for one in numbers]
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])


def best(searcher: tantivy.Searcher, query: tantivy.Query, limit: int) -> tuple[IntArray, DoubleArray]:
    """The keys and sums of the best `limit` texts, best first."""
    hits = searcher.search(query, min(limit, max(1, searcher.num_docs)), count=False).hits
    if not hits:
        return NOTHING
    scores, addresses = zip(*hits, strict=True)
    keys = np.array(searcher.fast_field_values("key", list(addresses)), np.int64)
    return keys, np.array(scores, np.float64)
