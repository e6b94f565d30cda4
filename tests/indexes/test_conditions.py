"""Three readings of conditions, a mask, a rule on a record and SQL: they agree, and mean the intended condition."""

from dataclasses import replace
from datetime import timedelta
from random import Random

import numpy as np
import pytest

from cognition_engines.indexes.columns.builder import Columns
from cognition_engines.indexes.columns.matching import accepts
from cognition_engines.indexes.columns.snapshot import MaskCache, Snapshot
from cognition_engines.kinds.fields import normal
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import (
    AtLeast,
    AtMost,
    Conditions,
    Governs,
    HasAll,
    HasAny,
    Not,
    OneOf,
    Sensitivity,
    Viewer,
    microseconds,
)
from cognition_engines.queries.answers.filter_conditions import memory_conditions, query_conditions
from cognition_engines.spaces import (
    DECISIONS,
    EPISODES,
    EXTRACTIONS,
    KNOWLEDGE,
    LISTED,
    MEMORY,
    SEARCHED,
    TIMELINE,
    Space,
)
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord
from cstp.values.decision_searches import QueryFilters
from cstp.values.memories import ListMemoriesParams
from tests.indexes.made import (
    CATEGORIES,
    EPOCH,
    MADE,
    PEOPLE,
    PROJECTS,
    TOPICS,
    Maker,
    entry,
    may_see,
    page_of,
    random_viewer,
)

ALL = Viewer(Sensitivity.HIGHLY_SENSITIVE)
TEXTS: dict[str, tuple[str, ...]] = {
    "kind": tuple(kind.label for kind in MADE),
    "project": (*PROJECTS, "ALPHA"),
    "context": ("meeting", "EMAIL", "decision", "conversation", "meet"),
    "system": ("MANUAL", "slack", "kindle", "sla"),
    "author": tuple(map(normal, PEOPLE)),
    "people": tuple(map(normal, PEOPLE)),
    "category": (*CATEGORIES, "DECISION", "quality"),
    "stakes": ("LOW", "high"),
    "status": ("accepted", "OTHER"),
    "status_text": ("accepted", "ACCEPTED"),
    "feature": ("checkout", "CHECKOUT", "check"),
    "pr": ("17", "18"),
    "recorded_by": ("ann", "ANN"),
    "has_outcome": ("yes", "no"),
    "type": ("chunk", "pattern", "warning", "CHUNK"),
    "source_id": ("s-1", "S-1"),
    "topics": (*TOPICS, "STRASSE", "Rag", "rest"),
    "tags": (*TOPICS, "STRASSE", "Rag"),
    "conversation_id": ("c-1", "c-2"),
    "actors": tuple(map(normal, PEOPLE)),
    "subjects": tuple(map(normal, PEOPLE)),
    "governs": ("path:src/**", "path:*.py", "path:docs/*.md\n!docs/a.md", "package:orders"),
    "mentions": ("src/a.py", "docs/a.md"),
    "repository": ("", "github.com/acme/shop"),
}
FILES = ("src/a.py", "docs/a.md", "docs/b.md", "notes.txt")
NUMBERS: dict[str, tuple[float, ...]] = {
    "at": tuple(microseconds(EPOCH + timedelta(days=day)) for day in range(-1, 6)),
    "since": tuple(microseconds(EPOCH + timedelta(days=day)) for day in range(-1, 6)),
    "until": tuple(microseconds(EPOCH + timedelta(days=day)) for day in range(-1, 6)),
    "review_by": tuple(microseconds(EPOCH + timedelta(days=day)) for day in range(-1, 6)),
    "importance": (0.0, 0.5, 0.6, 1.0),
    "sensitivity": (0, 1, 2),
    "confidence": (0.0, 0.5, 1.0),
    "reward": (-1.0, 0.0, 0.5),
}


@pytest.fixture
def mixed(records: Records) -> Records:
    """Store records of all kinds, some changed and some deleted since."""
    maker = Maker(5)
    for _ in range(60):
        records.put([entry(maker.record(kind)) for kind in MADE], None)
    for number, kind in enumerate(MADE, 1):
        records.put([entry(maker.record(kind, number + 8 * n)) for n in range(8)], None)
    records.delete(Kind.TURN, [f"art_{7 + 8 * n:05}" for n in range(20, 30)])
    return records


def columns_of(records: Records, space: Space) -> Snapshot:
    columns = Columns(space, 1)
    more = True
    while more:
        page = records.changes.page(space, columns.seq, 37, None)
        columns.apply(page)
        more = len(page) == 37
    return columns.publish()


def random_conditions(random: Random, space: Space) -> Conditions:
    """Draw random conditions, sometimes with the negation of several together."""
    conditions = some_conditions(random, space)
    others = some_conditions(random, space)
    return (*conditions, Not(others)) if random.random() < 0.3 else conditions


def some_conditions(random: Random, space: Space) -> Conditions:
    def two_of(name: str) -> tuple[str, ...]:
        return tuple(random.sample(TEXTS[name], k=2))

    numbers = ["sensitivity", *(each.name for each in space.numbers if each.name != "parent")]
    bounds = (AtLeast, AtMost)
    held = (HasAll, HasAny)
    rare = {"governs": 0.1, "mentions": 0.0}
    return (
        *(OneOf((each.name,), two_of(each.name)) for each in space.labels if random.random() < 0.15),
        *(random.choice(bounds)(name, random.choice(NUMBERS[name])) for name in numbers if random.random() < 0.3),
        *(
            random.choice(held)(each.name, two_of(each.name))
            for each in space.sets
            if random.random() < rare.get(each.name, 0.4)
        ),
        *((Governs("governs", (random.choice(FILES),)),) if space is DECISIONS and random.random() < 0.05 else ()),
    )


@pytest.mark.long("makes columns of many records")
@pytest.mark.parametrize("space", [*SEARCHED, *LISTED], ids=lambda space: space.name)
def test_the_mask_and_the_rule_on_a_record_agree(mixed: Records, space: Space) -> None:
    snapshot = columns_of(mixed, space)
    living = np.flatnonzero(snapshot.alive)
    stored = mixed.reads.by_keys(snapshot.keys[living].tolist(), ALL)
    assert len(stored) == len(living) > 50
    found_some = 0
    for seed in range(250):
        random = Random(seed)
        conditions, viewer = random_conditions(random, space), random_viewer(random)
        masked = set(snapshot.keys[np.flatnonzero(snapshot.mask(conditions, viewer))].tolist())
        ruled = {key for key, one in stored.items() if accepts(conditions, one) and sees(viewer, one)}
        assert masked == ruled, conditions
        found_some += bool(masked)
    assert found_some > 20


def sees(viewer: Viewer, stored: StoredRecord) -> bool:
    return may_see(viewer, stored.facets.project, int(stored.facets.sensitivity))


def names(snapshot: Snapshot, conditions: Conditions, viewer: Viewer = ALL) -> set[str]:
    return {snapshot.ids[row] for row in np.flatnonzero(snapshot.mask(conditions, viewer))}


def test_a_mask_over_more_rows_than_a_block_covers_each() -> None:
    count = 150_000
    keys, confidence = np.arange(1, count + 1), np.random.default_rng(1).random(count)
    columns = Columns(DECISIONS, 1)
    columns.apply(
        page_of(
            DECISIONS,
            keys,
            sensitivity=(keys % 5 // 4).astype(np.int8),
            labels={"category": [f"c-{key % 3}" for key in keys.tolist()]},
            numbers={"confidence": confidence},
        )
    )
    conditions = query_conditions(QueryFilters(category="C-1", min_confidence=0.2, max_confidence=0.7))
    expected = (keys % 3 == 1) & (confidence >= 0.2) & (confidence <= 0.7) & (keys % 5 < 4)
    assert np.array_equal(columns.publish().mask(conditions, Viewer()), expected)


@pytest.mark.long("makes columns of many records")
def test_a_negation_includes_records_without_such_a_number_or_text(mixed: Records) -> None:
    snapshot = columns_of(mixed, DECISIONS)
    everything = names(snapshot, ())
    of_nothing = (OneOf(("category",), ("never heard of",)),)
    assert names(snapshot, (Not(of_nothing),)) == everything
    assert names(snapshot, (Not(()),)) == set()
    for conditions in (
        (AtLeast("review_by", NUMBERS["review_by"][2]), AtMost("review_by", NUMBERS["review_by"][3])),
        (AtMost("confidence", 0.5), OneOf(("category",), ("decision",))),
        (HasAll("tags", ("rag",)), Not((OneOf(("has_outcome",), ("yes",)),))),
    ):
        found = names(snapshot, conditions)
        assert 0 < len(found) < len(everything)
        assert names(snapshot, (Not(conditions),)) == everything - found


def test_filters_of_decisions_are_conditions_on_their_columns() -> None:
    filters = QueryFilters(category="a", stakes=["x", "y"], status=["accepted"], min_confidence=0.5, date_before=EPOCH)
    assert query_conditions(filters) == (
        OneOf(("category",), ("a",)),
        OneOf(("stakes",), ("x", "y")),
        OneOf(("status",), ("accepted",)),
        AtLeast("confidence", 0.5),
        AtMost("at", microseconds(EPOCH)),
    )
    assert query_conditions(QueryFilters()) == ()


def test_an_importance_of_at_least_nothing_is_no_condition_and_a_sensitivity_is_exactly_its_level() -> None:
    assert memory_conditions(ListMemoriesParams(min_importance=0.0)) == ()
    assert memory_conditions(ListMemoriesParams(sensitivity="sensitive")) == (
        AtLeast("sensitivity", 1),
        AtMost("sensitivity", 1),
    )


@pytest.mark.long("makes columns of many records")
@pytest.mark.parametrize("space", [DECISIONS, KNOWLEDGE, MEMORY, TIMELINE], ids=lambda space: space.name)
def test_every_given_bound_leaves_out_records_without_the_field(mixed: Records, space: Space) -> None:
    snapshot = columns_of(mixed, space)
    everything = mixed.reads.by_keys(snapshot.keys[snapshot.alive].tolist(), ALL).values()
    for params, has in (
        (ListMemoriesParams(date_to=EPOCH + timedelta(days=99)), lambda one: one.facets.at is not None),
        (ListMemoriesParams(date_from=EPOCH - timedelta(days=99)), lambda one: one.facets.at is not None),
        (ListMemoriesParams(min_importance=1e-9), lambda one: (one.facets.importance or 0) > 0),
    ):
        assert names(snapshot, memory_conditions(params)) == {str(one.record.id) for one in everything if has(one)}


@pytest.mark.long("makes columns of many records")
@pytest.mark.parametrize(("space", "name"), [(EPISODES, "tags"), (EXTRACTIONS, "topics"), (MEMORY, "actors")])
def test_rows_with_a_text_are_those_of_the_mask(mixed: Records, space: Space, name: str) -> None:
    snapshot = columns_of(mixed, space)
    for text in TEXTS[name]:
        assert (
            snapshot.rows_with(name, [text]).tolist()
            == np.flatnonzero(snapshot.mask((HasAny(name, (text,)),), ALL)).tolist()
        )
    every = snapshot.rows_with(name, TEXTS[name])
    assert every.tolist() == np.flatnonzero(snapshot.mask((HasAny(name, TEXTS[name]),), ALL)).tolist()
    assert snapshot.rows_with(name, ["never heard of"]).tolist() == []


@pytest.mark.long("makes columns of many records")
def test_the_children_of_an_artifact_are_its_chunks_and_events(mixed: Records) -> None:
    snapshot = columns_of(mixed, MEMORY)
    stored = mixed.reads.by_keys(snapshot.keys[snapshot.alive].tolist(), ALL)
    parents = {one.facets.parent for one in stored.values()} - {None}
    assert parents
    for parent in parents:
        keys = set(snapshot.keys[snapshot.children([parent])].tolist())  # type: ignore[list-item]
        assert keys == {key for key, one in stored.items() if one.facets.parent == parent}


@pytest.mark.long("makes columns of many records")
def test_postings_of_an_old_snapshot_stay_as_they_were_while_rows_come_go_and_are_compacted(records: Records) -> None:
    maker = Maker(8)
    records.put([entry(maker.record(Kind.EPISODE)) for _ in range(1500)], None)
    columns = Columns(EPISODES, 1)
    columns.apply(records.changes.page(EPISODES, 0, 9000, None))
    before = columns.publish()
    known = {tag: names(before, (HasAll("tags", (tag,)),)) for tag in TOPICS}
    assert all(known.values())
    for _ in range(3):
        records.put([entry(maker.record(Kind.EPISODE, number)) for number in range(1, 1400)], None)
        columns.apply(records.changes.page(EPISODES, columns.seq, 9000, None))
        after = columns.publish()
    assert columns.compactions > 0
    assert {tag: names(before, (HasAll("tags", (tag,)),)) for tag in TOPICS} == known
    stored = records.reads.by_keys(after.keys[after.alive].tolist(), ALL).values()
    for tag in TOPICS:
        assert names(after, (HasAll("tags", (tag,)),)) == {
            str(one.record.id)
            for one in stored
            if tag in one.record.tags  # type: ignore[union-attr]
        }


@pytest.mark.long("makes columns of many records")
def test_a_snapshot_distinguishes_similar_questions_and_a_new_snapshot_remembers_nothing(mixed: Records) -> None:
    """Compare equal columns and values below and above, any and all, other clearances, no projects and all projects."""
    snapshot = columns_of(mixed, MEMORY)
    at = int(np.median(snapshot.numbers["at"]))
    questions: list[tuple[Conditions, Viewer]] = [
        ((), Viewer()),
        ((), Viewer(Sensitivity.HIGHLY_SENSITIVE)),
        ((), Viewer(Sensitivity.HIGHLY_SENSITIVE, frozenset())),
        ((AtLeast("at", at),), Viewer()),
        ((AtMost("at", at),), Viewer()),
        ((HasAny("actors", TEXTS["actors"][:2]),), Viewer()),
        ((HasAll("actors", TEXTS["actors"][:2]),), Viewer()),
    ]
    told = [snapshot.mask(*question) for question in questions]
    for question, mask in zip(questions, told, strict=True):
        assert snapshot.mask(*question) is mask
        assert np.array_equal(replace(snapshot, masks=MaskCache(1)).mask(*question), mask)
    assert len({mask.tobytes() for mask in told}) > 4


@pytest.mark.long("makes columns of many records")
def test_a_column_without_a_stated_reader_is_an_error(mixed: Records) -> None:
    """Raise instead of comparing with another column's content."""
    snapshot = columns_of(mixed, DECISIONS)
    stored = next(iter(mixed.reads.by_keys(snapshot.keys.tolist(), ALL).values()))
    for condition in (
        AtLeast("impact", 0.0),
        AtMost("impact", 1.0),
        OneOf(("outcome",), ("a",)),
        HasAny("names", ("a",)),
    ):
        with pytest.raises(KeyError):
            accepts((condition,), stored)
