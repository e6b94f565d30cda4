"""Successors: records in force come before those that they replaced, if both match about equally."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from cognition_engines.models import Viewer, microseconds
from cognition_engines.search.candidates import DATE, DECIMALS, Hit, SpaceCandidates
from cognition_engines.search.query import QueryText
from cognition_engines.search.signals.signal import OrderSignal, RankedHits, StoredState
from cognition_engines.set_aside import Part
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.found_links import links_of
from cognition_engines.store.reads.memories import ended_memories
from cognition_engines.store.reads.row_reader import RowReader
from cognition_engines.store.records import Records

LOOKED_AT: Final = 20  # hits
NEAR: Final = 0.3  # of the best score, within which two decisions match about equally
_STEP: Final = 1e-9


def _put_successors_first(query: QueryText, ranked: RankedHits, stored: StoredState) -> Sequence[Hit]:
    """Return the hits, records before those that they replaced if their score is lower by a share of NEAR at most.

    Such a decision or memory gets the score of the other one. Only the first LOOKED_AT hits count. The successors of a
    record out of force among them are read once for each state of the index. A record whose successors cannot be read
    keeps its place. So do all if the query asks about the past or names a time.
    """
    spaces, hits = ranked.spaces, ranked.hits
    if query.is_about_past or any(boost.name == DATE for boost in spaces[0].boosts):
        return hits
    seen = stored.as_of or datetime.now(UTC)
    moment = microseconds(seen if seen.tzinfo is not None else seen.replace(tzinfo=UTC))
    ended = [hit for hit in hits[:LOOKED_AT] if _has_ended(spaces[hit.space], hit.row, moment)]
    if not ended:
        return hits
    found: dict[int, Sequence[str]] = {}
    for number in dict.fromkeys(hit.space for hit in ended):
        keys = [_key(spaces, hit) for hit in ended if hit.space == number]
        read = partial(_read_successors, stored.records, stored.viewer, RowReader(stored.set_aside))
        snapshot = spaces[number].snapshot
        read_all = partial(stored.set_aside.read_all, Part.SNIPPETS, read=read, version_of=snapshot.version_of)
        found |= snapshot.masks.values(("successors", stored.viewer), keys, read_all)
    best_first = dict.fromkeys(_key(spaces, hit) for hit in ended)
    return _exchange(spaces, hits, {key: ids for key in best_first if (ids := found.get(key))})


def _read_successors(
    records: Records, viewer: Viewer, rows: RowReader, keys: Sequence[int]
) -> Mapping[int, Sequence[str]]:
    """Return the ids of the successors of decisions and memories by key, of those that the viewer sees."""
    stored = list(records.reads.by_keys(keys, viewer, rows=rows).values())
    decisions = [one for one in stored if one.kind in DECISIONS.kinds]
    links = links_of(records, decisions, viewer) if decisions else {}
    found: dict[int, Sequence[str]] = {key: its.superseded_by for key, its in links.items()}
    ended = ended_memories(stored)
    return found | records.conversations.successors(ended, viewer) if ended else found


def _exchange(
    spaces: Sequence[SpaceCandidates], hits: Sequence[Hit], successors: Mapping[int, Sequence[str]]
) -> Sequence[Hit]:
    if not successors:
        return hits
    ranked = [(_key(spaces, hit), spaces[hit.space].snapshot.ids[hit.row], hit) for hit in hits]
    for key, ids in successors.items():
        place = next(number for number, (other, _, _) in enumerate(ranked) if other == key)
        after = range(place + 1, min(len(ranked), LOOKED_AT))
        newer = next((number for number in after if ranked[number][1] in ids), None)
        if newer is None or ranked[place][2].score - ranked[newer][2].score > NEAR * hits[0].score:
            continue
        old, new = ranked[place][2], ranked[newer][2]
        raised = replace(new, score=old.score, gains=(*new.gains, (SIGNAL.name, True)))
        key_and_id = ranked.pop(newer)[:2]
        ranked.insert(place, (*key_and_id, raised))
        ranked[place + 1] = (*ranked[place + 1][:2], replace(old, score=round(old.score - _STEP, DECIMALS)))
    return [hit for _, _, hit in ranked]


def _has_ended(space: SpaceCandidates, row: int, moment: int) -> bool:
    until = space.snapshot.numbers.get("until")
    return until is not None and int(until[row]) <= moment


def _key(spaces: Sequence[SpaceCandidates], hit: Hit) -> int:
    return int(spaces[hit.space].snapshot.keys[hit.row])


SIGNAL: Final = OrderSignal(name="current", reorder=_put_successors_first)
