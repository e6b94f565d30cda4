"""Asking a searcher of tantivy: for texts by their numbers, and for the best of a query with their keys."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import tantivy
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
DoubleArray = NDArray[np.float64]

NOTHING: Final = np.empty(0, np.int64), np.empty(0, np.float64)
_NAMED: Final = 1500  # keys; up to here a query of a term each takes less than one of a set: half at 100, as much here


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
