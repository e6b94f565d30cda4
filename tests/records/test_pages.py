"""Following the store page by page: the columns that come of it are those that the decisions themselves state."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from cognition_engines.indexes.columns.builder import ABSENT, Columns, Snapshot
from cognition_engines.indexes.columns.sketches import sketch
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Decision, Sensitivity
from cognition_engines.spaces import DECISIONS as SPACE, NO_NUMBER
from cognition_engines.store.records import Records
from cognition_engines.store.values import Entry
from tests.stored import Upsert, changes_of

DIM = 130  # long enough for sketches, and no multiple of their words
LABELS = ("category", "stakes", "status", "status_text", "project")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LABEL = st.sampled_from([None, "High", "high", "LOW", "straße"])
DECISIONS = st.builds(
    Decision,
    id=st.sampled_from("abcdef"),
    title=st.just("A title"),
    category=LABEL,
    confidence=st.none() | st.floats(0, 1),
    stakes=LABEL,
    status=LABEL,
    status_text=LABEL,
    date=st.none() | st.integers(-(10**15), 10**15).map(lambda number: EPOCH + timedelta(microseconds=number)),
    project=LABEL,
    sensitivity=st.sampled_from(Sensitivity),
)
# A number of windows, 0 for a decision without vectors; a decision to put; or an id to delete.
WRITES = st.tuples(st.integers(0, 3), DECISIONS) | st.sampled_from("abcdef")


def write(records: Records, step: int, change: Any) -> None:
    if isinstance(change, str):
        records.delete(Kind.DECISION, [change])
        return
    windows, decision = change
    vectors = np.random.default_rng(step).standard_normal((windows, DIM)).astype(np.float32) if windows else None
    origin = Origin("/notes/a.md", 0, None, f"{step} {Random().random()}")
    records.put([Entry(decision, origin, vectors)], "m" if windows else None)


def stated(records: Records) -> dict[str, Any]:
    """What every decision says of itself."""
    found: dict[str, Any] = {}
    for change in changes_of(records, 0, 10_000, "m"):
        if isinstance(change, Upsert):
            decision = change.stored.record
            assert isinstance(decision, Decision)
            found[decision.id] = {
                "key": change.stored.key,
                "seq": change.seq,
                "confidence": decision.confidence,
                "date": None if decision.date is None else (decision.date - EPOCH) // timedelta(microseconds=1),
                "sensitivity": decision.sensitivity,
                "vectors": [] if change.vectors is None else change.vectors.tolist(),
                **{label: folded(label, getattr(decision, label)) for label in LABELS},
            }
    return found


def folded(label: str, text: str | None) -> str | None:
    return text if text is None or label == "project" else text.casefold()


def told(snapshot: Snapshot) -> dict[str, Any]:
    """What a snapshot says of every decision."""
    living = np.flatnonzero(snapshot.alive)
    assert sorted(snapshot.row_of[snapshot.row_of >= 0]) == living.tolist()
    names = {label: {code: name for name, code in codes.items()} for label, codes in snapshot.codes.items()}
    return {snapshot.ids[row]: told_of(snapshot, row, names) for row in living.tolist()}


def told_of(snapshot: Snapshot, row: int, names: Mapping[str, Mapping[int, str]]) -> dict[str, Any]:
    start, end = snapshot.starts[row], snapshot.starts[row] + snapshot.counts[row]
    assert snapshot.row_of[snapshot.keys[row]] == row
    assert (snapshot.owners[start:end] == row).all()
    if start < end:
        sketches = np.stack([words[start:end] for words in snapshot.sketches], axis=1)
        assert (sketches == sketch(snapshot.vectors[start:end])).all()
    codes = {label: int(snapshot.labels[label][row]) for label in LABELS}
    confidence, date = snapshot.numbers["confidence"][row], snapshot.numbers["at"][row]
    return {
        "key": snapshot.keys[row],
        "seq": snapshot.seqs[row],
        "confidence": None if np.isnan(confidence) else confidence,
        "date": None if date == NO_NUMBER else date,
        "sensitivity": snapshot.sensitivity[row],
        "vectors": snapshot.vectors[start:end].tolist(),
        **{label: None if code == ABSENT else names[label][code] for label, code in codes.items()},
    }


def follow(records: Records, columns: Columns, limit: int) -> Snapshot:
    while page := records.changes.page(SPACE, columns.seq, limit, "m"):
        assert len(page) <= limit
        columns.apply(page)
    columns.apply(page)
    return columns.publish()


@pytest.mark.long("writes many records")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=st.lists(WRITES, max_size=15), limit=st.integers(1, 5), stops=st.sets(st.integers(0, 15)))
def test_columns_agree_with_the_decisions(records: Records, writes: list[Any], limit: int, stops: set[int]) -> None:
    in_steps = Columns(SPACE, DIM)
    for step, change in enumerate(writes):
        write(records, step, change)
        if step in stops:
            follow(records, in_steps, limit)
    at_once = Columns(SPACE, DIM)
    expected = stated(records)
    for columns in (in_steps, at_once):
        snapshot = follow(records, columns, limit if columns is in_steps else 10_000)
        assert told(snapshot) == expected
        assert (np.diff(snapshot.seqs) > 0).all()
        assert snapshot.seq == records.last_seq()


@pytest.mark.long("writes many records")
def test_a_snapshot_stays_as_it_was_while_later_changes_are_applied(records: Records) -> None:
    columns = Columns(SPACE, DIM)
    for step, id in enumerate("abcdef" * 20):
        write(records, step, (step % 4, Decision(id, "A title", category=f"c-{step}", confidence=step / 200)))
    before = follow(records, columns, 7)
    known = told(before)
    for step, id in enumerate("abcxyz" * 20):
        write(records, step, id if step % 7 == 0 else (2, Decision(id, "A title", stakes=f"s-{step}")))
    follow(records, columns, 7)
    assert told(before) == known


def test_a_page_that_begins_elsewhere_is_refused(records: Records) -> None:
    columns = Columns(SPACE, DIM)
    for step, id in enumerate("abc"):
        write(records, step, (1, Decision(id, "A title")))
    columns.apply(records.changes.page(SPACE, 0, 2, "m"))
    last = columns.seq
    for after in (0, last - 1):
        with pytest.raises(ValueError, match=f"begins after {after} instead of {last}"):
            columns.apply(records.changes.page(SPACE, after, 10, "m"))
    columns.apply(records.changes.page(SPACE, last, 10, "m"))
    assert len(told(columns.publish())) == 3


def test_a_page_without_changes_is_empty_and_ends_where_it_began(records: Records) -> None:
    assert not records.changes.page(SPACE, 0, 10, "m")
    write(records, 0, (1, Decision("a", "A title")))
    assert len(records.changes.page(SPACE, 0, 10, None)) == 1
    page = records.changes.page(SPACE, records.last_seq(), 10, "m")
    assert (len(page), page.seq) == (0, records.last_seq())


def test_a_page_of_less_than_one_change_is_refused(records: Records) -> None:
    with pytest.raises(ValueError, match="limit: must be at least 1"):
        records.changes.page(SPACE, 0, 0, None)
