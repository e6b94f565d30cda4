"""Known items: a record that alone has an id, a version, a code, a symbol, a path or a quoted phrase of the query.

It comes first in every mode. The keyword index gives the few texts that have all words of an item, and the texts
themselves decide, since a turn is also found by the words of the turns around it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Final

import numpy as np

from cognition_engines.indexes.columns.snapshot import Floats
from cognition_engines.indexes.keywords.words import compose_words, find_id_terms, find_tokens, is_exact
from cognition_engines.models import Viewer
from cognition_engines.queries.phrase_lift import Phrases, fold_phrase
from cognition_engines.queries.pools import Pools, Work
from cognition_engines.retrieval.fusion import Hit, Part, record_key
from cognition_engines.retrieval.legs import KeywordSource, accepted_hits, cosines, distances
from cognition_engines.unicode_forms import fold_text

MOST_ITEMS: Final = 8  # pieces of a query
LONGEST: Final = 200  # characters of an item, which bounds the terms to look up
MOST_HOLDERS: Final = 32  # texts with all words of an item, beyond which it is no known item
MOST_FILTERED: Final = 1024  # of them, of which a filter may leave few
# any two marks of a family, as languages differ in their order; an apostrophe within a word is no mark
_QUOTED: Final = re.compile(
    "|".join(f"[{marks}]([^{marks}]{{2,{LONGEST}}})[{marks}]" for marks in ('"“”„‟', "«»", "‹›", "「」", "『』", "`"))
    + rf"|[‘‚]((?:[^‘’‚]|\b’\b){{2,{LONGEST}}})[’‘](?!\w)"
)
# a possessive, the line of a file or the port of a host, and the `@`, `-` or `v` before a version
_SHORTER: Final = (
    (re.compile("['’]s$"), ""),
    (re.compile(r"(\.[a-z]\w{0,7}|^\d+(?:\.\d+){3})(?::\d+){1,2}$", re.IGNORECASE), r"\1"),
    (re.compile(r"(?:^v|(?<=\w)[@-]v?)(?=\d+\.\d+\.\d)"), " "),
)
_LIKE_ID: Final = re.compile(r"[\d\-_.:/#@]")


def read_items(query: str) -> tuple[str, ...]:
    """Return the items of at most MOST_ITEMS pieces of a query, quotations and exact tokens before possible ids.

    A possible id of a record begins with `=`.
    """
    alone = len(query.split()) == 1
    quoted = (" ".join(next(filter(None, each.groups())).split()).lstrip("= ") for each in _QUOTED.finditer(query))
    shouted = query.isupper() and not alone
    exact = (
        (token, _shorten(token))
        for token in find_tokens(compose_words(query))
        if len(token) <= LONGEST and is_exact(token) and not (shouted and token.isalpha())
    )
    ids = (term for term in find_id_terms(query) if alone or _LIKE_ID.search(term[1:]))
    pieces: dict[str, list[str]] = {}
    for items in chain(zip(quoted), exact, zip(ids)):
        pieces.setdefault(fold_text(items[0].removeprefix("=")), []).extend(items)
    return tuple(dict.fromkeys(chain.from_iterable(islice(pieces.values(), MOST_ITEMS))))


def _shorten(token: str) -> str:
    """Return a form in which an exact token may stand in a text."""
    for longer, shorter in _SHORTER:
        token = longer.sub(shorter, token)
    return token.strip()


def find_known(
    items: Sequence[str],
    viewer: Viewer,
    parts: Sequence[Part],
    sources: Sequence[KeywordSource],
    pools: Pools,
    phrases: Phrases,
) -> Work[list[Part]]:
    """Return the parts with their known items, a keyword index for each part; end in the pool of records."""
    yield pools.keywords
    holders = [[_holders(item, part, words) for part, words in zip(parts, sources, strict=True)] for item in items]
    yield pools.records
    known: list[set[int]] = [set() for _ in parts]
    for item, found in zip(items, holders, strict=True):
        held = [(number, row) for number, rows in enumerate(found) for row in rows or ()]
        having = _having(item, viewer, parts, held, phrases) if None not in found and len(held) <= MOST_HOLDERS else []
        if len(owners := {_owner(parts[number], row) for number, row in having}) == 1:
            for number, row in _shown(parts, having, *owners):
                known[number].add(row)
    return [replace(part, known=tuple(sorted(rows))) for part, rows in zip(parts, known, strict=True)]


def put_known_first(
    parts: Sequence[Part], hits: Sequence[Hit], vector: Floats | None, numbers: Sequence[int]
) -> Sequence[Hit]:
    """Return the hits with the known rows of these parts, which come first."""
    known = {record_key(parts[number], row): (number, row) for number in numbers for row in parts[number].known}
    if not known:
        return hits
    found = {key: hit for hit in hits if (key := record_key(parts[hit.part], hit.row)) in known}
    first = []
    for key, (number, row) in known.items():
        away = None
        if vector is not None:
            (away,) = distances(cosines(parts[number].snapshot, np.array([row]), vector))
        first.append(replace(found.get(key) or Hit(number, row, 0.0 if hits else 1.0, away), exact=True))
    return order_hits(parts, [*first, *(hit for hit in hits if hit not in found.values())])


def order_hits(parts: Sequence[Part], hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits by score, ties by id, known ones first: with the best score, which no other hit then has."""
    if any(hit.exact for hit in hits):
        best = max(hit.score for hit in hits)
        lower = round(best - 1e-9, 9)
        hits = [replace(hit, score=best if hit.exact else min(hit.score, lower)) for hit in hits]
    return sorted(hits, key=lambda hit: (-hit.score, parts[hit.part].snapshot.ids[hit.row]))


def _holders(item: str, part: Part, words: KeywordSource) -> list[int] | None:
    """Return the rows of the part whose texts have all words of the item; None if there are too many."""
    for most in (MOST_HOLDERS, MOST_FILTERED):
        hits = words.holders(item, most + 1)
        rows: list[int] = accepted_hits(part.snapshot, part.mask, hits)[0].tolist()
        if len(rows) > MOST_HOLDERS:
            return None
        if len(hits[0]) <= most:
            return rows
    return None


def _owner(part: Part, row: int) -> int:
    """Return the key of the artifact of an event or a passage, else the record's own."""
    parent = int(part.snapshot.numbers["parent"][row])
    return parent if parent >= 0 else int(part.snapshot.keys[row])


def _shown(parts: Sequence[Part], having: Sequence[tuple[int, int]], owner: int) -> Iterator[tuple[int, int]]:
    """Yield the row to put first of those with an item: the artifact or a passage of it, before its events.

    The artifact of an event also comes first in other parts, as events are shown with it if they are searched apart.
    """
    first = next((each for each in having if record_key(parts[each[0]], each[1]) == owner), having[0])
    yield first
    for number, part in enumerate(parts):
        for row in part.snapshot.rows_of(np.array([owner], np.int64)).tolist() if number != first[0] else ():
            if part.mask[row]:
                yield number, row


def _having(
    item: str, viewer: Viewer, parts: Sequence[Part], held: Sequence[tuple[int, int]], phrases: Phrases
) -> list[tuple[int, int]]:
    """Return the rows, each with the number of its part, whose own text has the item, or whose id it is."""
    if item.startswith("="):
        return [(number, row) for number, row in held if fold_text(parts[number].snapshot.ids[row]) == item[1:]]
    records = [(int(parts[number].snapshot.keys[row]), int(parts[number].snapshot.seqs[row])) for number, row in held]
    texts = phrases.texts_of((fold_phrase(item),), viewer, records)
    return [each for each, text in zip(held, texts, strict=True) if text.share]
