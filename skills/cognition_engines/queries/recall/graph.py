"""From the results to the names in them, and on to other records with the same names or names one edge away."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cognition_engines.indexes.columns.snapshot import Bools, Floats, Ints, Snapshot
from cognition_engines.kinds.artifacts import Artifact
from cognition_engines.kinds.fields import normal
from cognition_engines.kinds.graph import Event
from cognition_engines.kinds.registry import SPECS, Record, names_in
from cognition_engines.kinds.spec import Kind, Role
from cognition_engines.models import Conditions, OneOf, Viewer
from cognition_engines.queries.recall.selection import groups, is_kind
from cognition_engines.search.candidates import KeywordSource, RankedRows
from cognition_engines.search.legs import nearest_of
from cognition_engines.spaces import MEMORY
from cognition_engines.store.reads.memories import NamedEntity, Neighbourhood
from cognition_engines.store.values import StoredRecord
from cognition_engines.unicode_forms import fold_text
from cstp.values.recall import EntityReason

SEEDS: Final = 5  # results whose events are looked at
MOST_REFS: Final = 64  # names to start from
MOST_ENTITIES: Final = 50
# The kinds of memory naming people or things, apart from events.
_NAMING: Final = tuple(kind for kind in MEMORY.kinds if SPECS[kind].names is not None and kind is not Kind.EVENT)
EDGE_WEIGHT: Final = 0.8  # of a record reached by an edge, relative to a record with the same name
DECIMALS: Final = 6


@dataclass(frozen=True, slots=True)
class Node:
    """A person or thing in the graph, by all names; `name` is the entity's, None without an entity."""

    name: str | None
    names: frozenset[str]
    reason: EntityReason


def refs_of(record: Record) -> dict[str, str]:
    """Return the actors and subjects named by a record: in compared form, each with the record's spelling."""
    return {normal(ref): ref for _, ref in _refs(record)}


def _refs(record: Record) -> list[tuple[Role, str]]:
    return [(role, name) for role, name in names_in(record) if role in (Role.ACTOR, Role.SUBJECT)]


def seeds(results: Iterable[StoredRecord], named: Mapping[tuple[str, Role], int]) -> dict[str, EntityReason]:
    """Return the names to start from: those in the results and those counted by `named`, actors before subjects.

    At most MOST_REFS, the most frequent, ties by name; in that order.
    """
    counts: Counter[str] = Counter()
    actors: set[str] = set()
    for (ref, role), count in named.items():
        counts[ref] += count
        actors.update([ref] if role is Role.ACTOR else [])
    for stored in results:
        for role, ref in dict.fromkeys((role, normal(ref)) for role, ref in _refs(stored.record)):
            counts[ref] += 1
            actors.update([ref] if role is Role.ACTOR else [])
    kept = sorted(counts, key=lambda ref: (-counts[ref], ref))[:MOST_REFS]
    kept.sort(key=lambda ref: ref not in actors)
    return {ref: "same_actor" if ref in actors else "same_subject" for ref in kept}


def nodes_of(refs: Mapping[str, EntityReason], around: Neighbourhood) -> list[Node]:
    """Return the nodes denoted by the names, in order, then the nodes one edge away."""
    entities: dict[str, list[NamedEntity]] = {}
    for entity in around.here:
        for name in entity.names:
            entities.setdefault(name, []).append(entity)
    found: dict[int | str, Node] = {}
    for ref, reason in refs.items():
        if ref not in entities:
            found[ref] = Node(None, frozenset((ref,)), reason)
        for entity in entities.get(ref, []):
            found.setdefault(entity.stored.key, Node(entity.name, entity.names, reason))
    for entity in around.beyond:
        found.setdefault(entity.stored.key, Node(entity.name, entity.names, "edge"))
    return list(found.values())


def candidates(
    snapshot: Snapshot,
    conditions: Conditions,
    viewer: Viewer,
    categories: Sequence[str] | None,
    nodes: Sequence[Node],
    without: Iterable[int],
) -> tuple[Ints, Ints]:
    """Return the rows naming a node, ascending, and the first node named by each, as an index of `nodes`.

    Events of the categories, artifacts and turns, and the artifacts of such events. Only rows that the viewer sees and
    the conditions accept, without the keys `without`.
    """
    wanted = () if categories is None else (OneOf(("category",), tuple(categories)),)
    events = snapshot.mask((*conditions, _of_kinds(Kind.EVENT), *wanted), viewer)
    others = snapshot.mask((*conditions, _of_kinds(*_NAMING)), viewer)
    naming = [np.empty(0, np.int64)]
    for node in nodes:
        rows = _spelling(snapshot, node.names)
        parents = snapshot.numbers["parent"][rows[events[rows]]]
        owners = snapshot.rows_of(np.unique(parents[parents >= 0]))
        naming.append(np.concatenate((rows[events[rows] | others[rows]], owners[others[owners]])))
    rows, first = np.unique(np.concatenate(naming), return_index=True)
    node_of = np.repeat(np.arange(-1, len(nodes)), [len(each) for each in naming])[first]
    kept = ~np.isin(rows, snapshot.rows_of(np.array(sorted(without), np.int64)))
    return rows[kept], node_of[kept]


def still_reached(record: Record, node: Node, categories: Sequence[str] | None) -> bool:
    """Return whether a changed record still names the node; an event must be of the categories, too.

    An artifact may be reached by the names in its events, which are not checked again.
    """
    if isinstance(record, Artifact):
        return True
    wanted = None if categories is None else {fold_text(category) for category in categories}
    if isinstance(record, Event) and wanted is not None and fold_text(record.category) not in wanted:
        return False
    return not node.names.isdisjoint(refs_of(record))


def via(node: Node, record: Record, spelled: Mapping[str, str]) -> str:
    """Return a node's name: as its entity, else as the record spells it, else as others do."""
    if node.name is not None:
        return node.name
    (name,) = node.names
    return refs_of(record).get(name) or spelled.get(name, name)


def mentions(
    snapshot: Snapshot, conditions: Conditions, viewer: Viewer, entities: Sequence[NamedEntity]
) -> list[tuple[StoredRecord, int]]:
    """Return the entities, each with the number of events, artifacts and turns that name it, without unnamed entities.

    The most named first, ties by name and id; at most MOST_ENTITIES.
    """
    mask = snapshot.mask((*conditions, _of_kinds(Kind.EVENT, *_NAMING)), viewer)
    counted = [(entity, len(_rows_naming(snapshot, mask, entity.names))) for entity in entities]
    ordered = sorted(counted, key=lambda pair: (-pair[1], pair[0].name, str(pair[0].stored.record.id)))
    return [(entity.stored, count) for entity, count in ordered if count][:MOST_ENTITIES]


def _of_kinds(*kinds: Kind) -> OneOf:
    return OneOf(("kind",), tuple(kind.label for kind in kinds))


def _rows_naming(snapshot: Snapshot, mask: Bools, names: Iterable[str]) -> Ints:
    """Return the rows under the mask with a name as an actor or subject, ascending."""
    rows = _spelling(snapshot, names)
    return rows[mask[rows]]


def _spelling(snapshot: Snapshot, names: Iterable[str]) -> Ints:
    """Return the rows with one of the names as an actor or subject, ascending."""
    texts = list(names)
    return np.union1d(snapshot.rows_with("actors", texts), snapshot.rows_with("subjects", texts))


def passages(snapshot: Snapshot, mask: Bools, rows: Ints) -> Ints:
    """Return the rows of chunks of the artifacts at `rows`, among those under the mask."""
    children = snapshot.children(snapshot.keys[rows].tolist())
    return children[mask[children] & is_kind(snapshot, children, Kind.ARTIFACT_CHUNK)]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The vector to compare related records with, or else the words of a text, or nothing."""

    vector: Floats | None
    text: str | None = None
    words: KeywordSource | None = None


@dataclass(frozen=True, slots=True)
class ReachedRecord:
    """A related record as in a snapshot, the score, and the node through which it was reached."""

    key: int
    seq: int
    score: float | None
    node: Node


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """A row with a score, 0.0 to 1.0; None without anything to compare."""

    row: int
    score: float | None


def reach(
    snapshot: Snapshot,
    conditions: Conditions,
    viewer: Viewer,
    categories: Sequence[str] | None,
    nodes: Sequence[Node],
    without: Iterable[int],
    compared: Comparison,
    budget: int,
) -> list[ReachedRecord]:
    """Return the best `budget` records naming a node, as found by `candidates`."""
    rows, node_of = candidates(snapshot, conditions, viewer, categories, nodes, without)
    first = dict(zip(rows.tolist(), node_of.tolist(), strict=True))
    away = np.array([node.reason == "edge" for node in nodes], np.bool_)[node_of]
    near, far = rows[~away], rows[away]
    mask = snapshot.mask(conditions, viewer)
    if compared.vector is not None:
        scored = by_meaning(snapshot, mask, near, far, compared.vector, budget, viewer)
    elif compared.words is not None and compared.text is not None:
        scored = by_words(snapshot, mask, near, far, compared.words, compared.text, budget)
    else:
        scored = by_time(snapshot, near, far, budget)
    return [
        ReachedRecord(int(snapshot.keys[one.row]), int(snapshot.seqs[one.row]), one.score, nodes[first[one.row]])
        for one in scored
    ]


def by_meaning(
    snapshot: Snapshot, mask: Bools, near: Ints, far: Ints, vector: Floats, budget: int, viewer: Viewer
) -> list[ScoredRow]:
    """Return the best rows by cosine, at least 0; rows of `far` weigh less. An artifact counts with the best chunk."""
    found: list[ScoredRow] = []
    for rows, weight in ((near, 1.0), (far, EDGE_WEIGHT)):
        best = _nearest(snapshot, mask, rows, vector, budget, viewer)
        scored = {row: round(weight * max(0.0, cosine), DECIMALS) for row, cosine in best.items()}
        found += _fill_with_newest(snapshot, rows, scored, budget)
    return _sort_rows(snapshot, found, budget)


def by_words(
    snapshot: Snapshot, mask: Bools, near: Ints, far: Ints, words: KeywordSource, query: str, budget: int
) -> list[ScoredRow]:
    """Return the best rows as `by_meaning` does, by BM25 scores, of which the highest is 1."""
    both = np.concatenate((near, far))
    rows = np.concatenate((both, passages(snapshot, mask, both)))
    keys, scores = words.search_among(query, snapshot.keys[rows].tolist())
    best = _fold_scores(snapshot, RankedRows(snapshot.rows_of(keys), scores))
    top = max(best.values(), default=1.0)
    found: list[ScoredRow] = []
    for part, weight in ((near, 1.0), (far, EDGE_WEIGHT)):
        scored = {row: round(weight * best[row] / top, DECIMALS) for row in part.tolist() if row in best}
        found += _fill_with_newest(snapshot, part, scored, budget)
    return _sort_rows(snapshot, found, budget)


def by_time(snapshot: Snapshot, near: Ints, far: Ints, budget: int) -> list[ScoredRow]:
    """Return the newest of `near` and `far`, unscored."""
    return [ScoredRow(row, None) for row in _newest(snapshot, np.concatenate((near, far)), budget)]


def mean_vector(snapshot: Snapshot, key: int, viewer: Viewer) -> Floats | None:
    """Return the mean direction of a record's windows and its visible chunks' windows; None without windows."""
    row = snapshot.rows_of(np.array([key], np.int64))
    rows = np.concatenate((row, passages(snapshot, snapshot.mask((), viewer), row)))
    windows, _ = snapshot.vectors_of(rows)
    if not len(windows):
        return None
    mean: Floats = windows.mean(axis=0)
    length = float(np.linalg.norm(mean))
    return None if length == 0 else (mean / length).astype(np.float32)


def _nearest(
    snapshot: Snapshot, mask: Bools, rows: Ints, vector: Floats, budget: int, viewer: Viewer
) -> dict[int, float]:
    """Return the cosines of at least the best `budget` rows with vectors."""
    chosen = np.union1d(rows, passages(snapshot, mask, rows))
    limit = budget
    while True:
        ranked = nearest_of(snapshot, chosen, vector, limit, viewer)
        best = _fold_scores(snapshot, ranked)
        if len(best) >= budget or len(ranked.rows) < limit:
            return best
        limit *= 2


def _fold_scores(snapshot: Snapshot, ranked: RankedRows) -> dict[int, float]:
    """Return the best score of each artifact and its chunks, by the artifact's row."""
    owners = snapshot.row_of[groups(snapshot, ranked.rows)]
    best: dict[int, float] = {}
    for row, score in zip(owners.tolist(), ranked.scores.tolist(), strict=True):
        best[row] = max(score, best.get(row, score))
    return best


def _fill_with_newest(snapshot: Snapshot, rows: Ints, scored: dict[int, float], budget: int) -> list[ScoredRow]:
    """Return the scored rows and, if fewer than `budget`, the newest of the others with a score of 0."""
    found = [ScoredRow(row, score) for row, score in scored.items()]
    if len(found) < budget:
        others = rows[~np.isin(rows, list(scored))] if scored else rows
        found += [ScoredRow(row, 0.0) for row in _newest(snapshot, others, budget - len(found))]
    return found


def _newest(snapshot: Snapshot, rows: Ints, most: int) -> list[int]:
    """Return the `most` newest rows, newest first, those without a time last, ties by id."""
    at = snapshot.numbers["at"]
    if len(rows) > most > 0:
        moments = at[rows]
        rows = rows[moments >= np.partition(moments, len(rows) - most)[len(rows) - most]]
    return sorted(rows.tolist(), key=lambda row: (~int(at[row]), snapshot.ids[row]))[:most]


def _sort_rows(snapshot: Snapshot, found: Sequence[ScoredRow], budget: int) -> list[ScoredRow]:
    return sorted(found, key=lambda one: (-(one.score or 0.0), snapshot.ids[one.row]))[:budget]
