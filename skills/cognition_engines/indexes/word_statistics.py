"""How rare a word is, counted over the texts that a reader may see.

BM25 weighs a word by its rarity (Robertson and Walker 1994): idf = ln(1 + (N - n + 0.5) / (n + 0.5)) for n of N texts.
tantivy counts all texts, so a reader could tell from the order of its own hits which words are common in texts it may
not see. A factor on each word puts the reader's own rarity in its place.
"""

import json
from math import log
from typing import Final

import tantivy

from cognition_engines.models import Sensitivity, Viewer

_TOTAL: Final = "N, total number of docs"


def rarity(texts: int, containing: int) -> float:
    """The idf of a word that is in `containing` of `texts` texts."""
    return log(1 + (texts - containing + 0.5) / (containing + 0.5))


def total_documents(searcher: tantivy.Searcher, query: tantivy.Query) -> int:
    """The N that tantivy computes with (it counts removed documents until they are merged away).

    `query` is a term query with at least one hit; only an explanation of a hit tells the number.
    """
    _, address = searcher.search(query, 1, count=False).hits[0]
    pending = [json.loads(query.explain(searcher, address).to_json())]
    while pending:
        step = pending.pop()
        if step["description"] == _TOTAL:
            return int(step["value"])
        pending += step.get("details") or []
    raise ValueError("the explanation of a hit names no total")


def visible_to(schema: tantivy.Schema, viewer: Viewer) -> tantivy.Query | None:
    """The texts that `viewer` sees; None when it is barred from none."""
    conditions = []
    if viewer.clearance < max(Sensitivity):
        levels = tantivy.Query.term_set_query(schema, "level", list(range(viewer.clearance + 1)))
        conditions.append((tantivy.Occur.Must, levels))
    if viewer.projects is not None:
        projects = tantivy.Query.term_set_query(schema, "project", sorted(viewer.projects))
        conditions.append((tantivy.Occur.Must, projects))
    return tantivy.Query.boolean_query(conditions) if conditions else None


def count(searcher: tantivy.Searcher, *conditions: tantivy.Query) -> int:
    """How many documents meet all conditions."""
    both = tantivy.Query.boolean_query([(tantivy.Occur.Must, condition) for condition in conditions])
    found: int = searcher.search(both, 1, count=True).count  # type: ignore[attr-defined]  # not in its stub
    return found
