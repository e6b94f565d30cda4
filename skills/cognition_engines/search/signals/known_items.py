"""Known items: the only record with an id, a version, a code, a symbol, a path or a quoted phrase from the query.

It comes first in every mode, as do decisions called by the whole query, a number or a file. The keyword index gives the
few texts with all words of an item, and the texts themselves decide, as a turn is also found by adjacent turns' words.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from cognition_engines.models import Viewer
from cognition_engines.search.candidates import EXACT, Gains, Hit, KeywordSource, SpaceCandidates
from cognition_engines.search.fusion import order_hits, record_key
from cognition_engines.search.legs import accepted_hits, cosines, distances
from cognition_engines.search.query import QueryText, fold_phrase
from cognition_engines.search.record_texts import RecordTexts
from cognition_engines.search.signals.signal import OrderSignal, RankedHits, StoredState
from cognition_engines.unicode_forms import fold_text

MOST_HOLDERS: Final = 32  # texts with all words of an item, beyond which it is no known item
MOST_FILTERED: Final = 1024  # of them; a filter may leave few
Holders = Sequence[list[int] | None]  # for each space, the rows with all words of an item; None for too many


def find_holders(
    items: Sequence[str], spaces: Sequence[SpaceCandidates], sources: Sequence[KeywordSource]
) -> list[Holders]:
    """Return each item's holders, from a keyword index for each space."""
    return [[_find_holders(item, space, words) for space, words in zip(spaces, sources, strict=True)] for item in items]


def with_called(
    query: str, viewer: Viewer, spaces: Sequence[SpaceCandidates], texts: RecordTexts
) -> list[SpaceCandidates]:
    """Return the candidates with the decisions called by the query, if any, as known items; for the record pool."""
    keys = np.array([one.key for one in texts.records.decisions.called(query, None, viewer)], np.int64)
    rows = [space.snapshot.rows_of(keys) for space in spaces]
    called = [tuple(sorted(its[space.mask[its]].tolist())) for space, its in zip(spaces, rows, strict=True)]
    return [replace(space, known=its) if any(called) else space for space, its in zip(spaces, called, strict=True)]


def with_known(
    items: Sequence[str],
    holders: Sequence[Holders],
    viewer: Viewer,
    spaces: Sequence[SpaceCandidates],
    texts: RecordTexts,
) -> list[SpaceCandidates]:
    """Return the candidates with known items; for the record pool."""
    known: list[set[int]] = [set() for _ in spaces]
    for item, found in zip(items, holders, strict=True):
        held = [(number, row) for number, rows in enumerate(found) for row in rows or ()]
        having = _having(item, viewer, spaces, held, texts) if None not in found and len(held) <= MOST_HOLDERS else []
        if len(owners := {_owner(spaces[number], row) for number, row in having}) == 1:
            for number, row in _shown(spaces, having, *owners):
                known[number].add(row)
    return [replace(space, known=tuple(sorted(rows))) for space, rows in zip(spaces, known, strict=True)]


def _put_known_first(_: QueryText, ranked: RankedHits, __: StoredState) -> Sequence[Hit]:
    """Return the hits, with the spaces' known rows first."""
    spaces, hits = ranked.spaces, ranked.hits
    known = {
        record_key(spaces[number], row): (number, row) for number in ranked.numbers for row in spaces[number].known
    }
    if not known:
        return hits
    found = {key: hit for hit in hits if (key := record_key(spaces[hit.space], hit.row)) in known}
    first = []
    for key, (number, row) in known.items():
        away = None
        if ranked.vector is not None:
            (away,) = distances(cosines(spaces[number].snapshot, np.array([row]), ranked.vector))
        hit = found.get(key) or Hit(number, row, 0.0 if hits else 1.0, away, _boosts_of(spaces[number], row))
        first.append(replace(hit, gains=(*hit.gains, EXACT)))
    return order_hits(spaces, [*first, *(hit for hit in hits if hit not in found.values())])


def _boosts_of(space: SpaceCandidates, row: int) -> Gains:
    """Return a row's boosts; the row is not among the best hits."""
    held = [each for each in space.boosts if not each.always and each.marks(space.snapshot, np.array([row])).any()]
    return tuple((each.name, True) for each in held)


def _find_holders(item: str, space: SpaceCandidates, words: KeywordSource) -> list[int] | None:
    """Return the space's rows whose texts have all words of the item; None if there are too many."""
    for most in (MOST_HOLDERS, MOST_FILTERED):
        hits = words.holders(item, most + 1)
        rows: list[int] = accepted_hits(space.snapshot, space.mask, hits)[0].tolist()
        if len(rows) > MOST_HOLDERS:
            return None
        if len(hits[0]) <= most:
            return rows
    return None


def _owner(space: SpaceCandidates, row: int) -> int:
    """Return the artifact key for an event or a passage, else the record's own key."""
    parent = int(space.snapshot.numbers["parent"][row])
    return parent if parent >= 0 else int(space.snapshot.keys[row])


def _shown(
    spaces: Sequence[SpaceCandidates], having: Sequence[tuple[int, int]], owner: int
) -> Iterator[tuple[int, int]]:
    """Yield the row to put first among those with an item: the artifact or a passage, before the events.

    An event's artifact also comes first in other spaces, as events are shown with it if they are searched apart.
    """
    first = next((each for each in having if record_key(spaces[each[0]], each[1]) == owner), having[0])
    yield first
    for number, space in enumerate(spaces):
        for row in space.snapshot.rows_of(np.array([owner], np.int64)).tolist() if number != first[0] else ():
            if space.mask[row]:
                yield number, row


def _having(
    item: str,
    viewer: Viewer,
    spaces: Sequence[SpaceCandidates],
    held: Sequence[tuple[int, int]],
    texts: RecordTexts,
) -> list[tuple[int, int]]:
    """Return the rows, with their spaces' numbers, whose own text has the item, or whose id it is."""
    if item.startswith("="):
        return [(number, row) for number, row in held if fold_text(spaces[number].snapshot.ids[row]) == item[1:]]
    records = [(int(spaces[number].snapshot.keys[row]), int(spaces[number].snapshot.seqs[row])) for number, row in held]
    shares = texts.read((fold_phrase(item),), viewer, records)
    return [each for each, (in_text, *_) in zip(held, shares, strict=True) if in_text]


SIGNAL: Final = OrderSignal(name=EXACT[0], reorder=_put_known_first)
