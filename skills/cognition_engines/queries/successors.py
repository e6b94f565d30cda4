"""Decisions and memories that replaced others: ranked before them if they match about equally."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from cognition_engines.models import Viewer, microseconds
from cognition_engines.queries.found_links import links_of
from cognition_engines.retrieval.fusion import Hit, Part
from cognition_engines.set_aside import Part as DerivedPart, SetAside
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.reads.memories import ended_memories
from cognition_engines.store.reads.row_reader import RowReader
from cognition_engines.store.records import Records

LOOKED_AT: Final = 20  # hits
NEAR: Final = 0.3  # of the best score, within which two decisions match about equally
_STEP: Final = 1e-9
# words of a question about the past, which wants what was decided then
_PAST: Final = re.compile(
    r"\b(?:before(?=\W*$)|earlier|previous(?:ly)?|formerly|original(?:ly)?|initially|used to|no longer|history of|"
    r"replaced|superseded|abandoned)\b|^before,",
    re.IGNORECASE,
)


def is_about_the_past(query: str) -> bool:
    """Return whether a question asks for what was decided before."""
    return _PAST.search(query) is not None


def prefer_successors(
    records: Records,
    viewer: Viewer,
    parts: Sequence[Part],
    hits: Sequence[Hit],
    as_of: datetime | None,
    set_aside: SetAside,
) -> Sequence[Hit]:
    """Return the hits, records before those that they replaced if their score is lower by a share of NEAR at most.

    Such a decision or memory gets the score of the other one. Only the first LOOKED_AT hits count. The successors of a
    record out of force among them are read once for each state of the index. A record whose successors cannot be read
    keeps its place.
    """
    seen = as_of or datetime.now(UTC)
    moment = microseconds(seen if seen.tzinfo is not None else seen.replace(tzinfo=UTC))
    first = hits[:LOOKED_AT]
    ended = [hit for hit in first if _has_ended(parts[hit.part], hit.row, moment)]
    if not ended:
        return hits
    found: dict[int, Sequence[str]] = {}
    for number in dict.fromkeys(hit.part for hit in ended):
        keys = [_key(parts, hit) for hit in ended if hit.part == number]
        snapshot, read = parts[number].snapshot, partial(_read_successors, records, viewer, RowReader(set_aside))
        read_all = partial(set_aside.read_all, DerivedPart.SNIPPETS, read=read, version_of=snapshot.version_of)
        found |= snapshot.masks.values(("successors", viewer), keys, read_all)
    best_first = dict.fromkeys(_key(parts, hit) for hit in ended)
    return _exchange(parts, hits, {key: found[key] for key in best_first if key in found})


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


def _exchange(parts: Sequence[Part], hits: Sequence[Hit], successors: Mapping[int, Sequence[str]]) -> list[Hit]:
    ranked = list(hits)
    for key, ids in successors.items():
        place = next(number for number, hit in enumerate(ranked) if _key(parts, hit) == key)
        after = range(place + 1, min(len(ranked), LOOKED_AT))
        newer = next((number for number in after if _has_id(parts, ranked[number], ids)), None)
        if newer is None or ranked[place].score - ranked[newer].score > NEAR * hits[0].score:
            continue
        old, new = ranked[place], ranked.pop(newer)
        ranked.insert(place, replace(new, score=old.score, current=True))
        ranked[place + 1] = replace(old, score=round(old.score - _STEP, 9))
    return ranked


def _has_ended(part: Part, row: int, moment: int) -> bool:
    until = part.snapshot.numbers.get("until")
    return until is not None and int(until[row]) <= moment


def _key(parts: Sequence[Part], hit: Hit) -> int:
    return int(parts[hit.part].snapshot.keys[hit.row])


def _has_id(parts: Sequence[Part], hit: Hit, ids: Sequence[str]) -> bool:
    return parts[hit.part].snapshot.ids[hit.row] in ids
