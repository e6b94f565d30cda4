"""Successors: records in force come before the records they replaced, if both match about equally."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from time import time_ns
from typing import Any, Final

from cognition_engines.models import Viewer, microseconds
from cognition_engines.search.candidates import DATE, DECIMALS, Hit, SpaceCandidates
from cognition_engines.search.query import QueryText
from cognition_engines.search.signals.signal import OrderSignal, RankedHits, StoredState
from cognition_engines.set_aside import Part
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.reads.by_key import RowReader
from cognition_engines.store.reads.memories import ended_memories
from cognition_engines.store.records import Records

LOOKED_AT: Final = 20  # hits
NEAR: Final = 0.3  # of the best score, within which two decisions match about equally
_STEP: Final = 1e-9


def _put_successors_first(query: QueryText, ranked: RankedHits, stored: StoredState) -> Sequence[Hit]:
    """Return the hits, with records before those they replaced if their score is lower by a share of NEAR at most.

    Such a decision or memory gets the other's score. Only the first LOOKED_AT hits count. The successors of a record
    out of force among them are read once for each state of the index. A record whose successors cannot be read keeps
    its place. So do all if the query asks about the past or names a time.
    """
    spaces, hits = ranked.spaces, ranked.hits
    if query.is_about_past or any(boost.name == DATE for boost in spaces[0].boosts):
        return hits
    moment = time_ns() // 1000 if stored.as_of is None else _moment(stored.as_of)
    ended = _ended_keys(spaces, hits[:LOOKED_AT], moment)
    if not ended:
        return hits
    found: dict[int, Sequence[str]] = {}
    read = partial(_read_successors, stored.records, stored.viewer, RowReader(stored.set_aside))
    for number, keys in ended.items():
        snapshot = spaces[number].snapshot
        read_all = partial(stored.set_aside.read_all, Part.SNIPPETS, read=read, version_of=snapshot.version_of)
        found |= snapshot.masks.values(("successors", stored.viewer), keys, read_all)
    return _exchange(spaces, hits, found)


def _moment(as_of: datetime) -> int:
    return microseconds(as_of if as_of.tzinfo is not None else as_of.replace(tzinfo=UTC))


def _ended_keys(spaces: Sequence[SpaceCandidates], hits: Sequence[Hit], moment: int) -> dict[int, list[int]]:
    """Return the keys of the hits out of force at `moment`, by space number."""
    ended: dict[int, list[int]] = {}
    for hit in hits:
        snapshot = spaces[hit.space].snapshot
        until = snapshot.numbers.get("until")
        if until is not None and int(until[hit.row]) <= moment:
            ended.setdefault(hit.space, []).append(int(snapshot.keys[hit.row]))
    return ended


def _read_successors(
    records: Records, viewer: Viewer, rows: RowReader, keys: Sequence[int]
) -> Mapping[int, Sequence[str]]:
    """Return the ids of decisions' and memories' successors by key, if visible to the viewer."""
    stored = list(records.reads.by_keys(keys, viewer, rows=rows).values())
    decisions = [one for one in stored if one.kind in DECISIONS.kinds]
    links = records.decisions.links(decisions, viewer) if decisions else {}
    found: dict[int, Sequence[str]] = {key: its.superseded_by for key, its in links.items()}
    if len(decisions) == len(stored):
        return found
    ended = ended_memories(stored)
    return found | records.conversations.successors(ended, viewer) if ended else found


def _exchange(
    spaces: Sequence[SpaceCandidates], hits: Sequence[Hit], successors: Mapping[int, Sequence[str]]
) -> Sequence[Hit]:
    ranked = list(hits[:LOOKED_AT])
    keys = [int(spaces[hit.space].snapshot.keys[hit.row]) for hit in ranked]
    ids = [spaces[hit.space].snapshot.ids[hit.row] for hit in ranked]
    # the best hit first, as an exchange changes the scores
    for key in keys.copy():
        if not (wanted := successors.get(key)):
            continue
        place = keys.index(key)
        newer = _place_of_successor(ids, place, wanted)
        if newer is None or ranked[place].score - ranked[newer].score > NEAR * hits[0].score:
            continue
        old, new = ranked[place], ranked[newer]
        ranked[place] = replace(old, score=round(old.score - _STEP, DECIMALS))
        ranked[newer] = replace(new, score=old.score, gains=(*new.gains, (SIGNAL.name, True)))
        for each in (ranked, keys, ids):
            _move(each, newer, place)
    return [*ranked, *hits[LOOKED_AT:]]


def _move(items: list[Any], place: int, before: int) -> None:
    items.insert(before, items.pop(place))


def _place_of_successor(ids: Sequence[str], place: int, wanted: Sequence[str]) -> int | None:
    """Return the first place after `place` with any of the wanted ids; None if there is none."""
    for number in range(place + 1, len(ids)):
        if ids[number] in wanted:
            return number
    return None


SIGNAL: Final = OrderSignal(name="current", reorder=_put_successors_first)
