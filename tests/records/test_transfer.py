"""Copying a store and making a store equal to another: every row, a snapshot, a transaction, ordinary changes."""

import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from cognition_engines.errors import ComponentFailed, ConfigurationError
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Decision, DecisionDetails, Sensitivity
from cognition_engines.store.database import begin_read
from cognition_engines.store.opening import open_store
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.schema import TABLES, metadata
from cognition_engines.store.transfer.backup import opened_backup, restore_backup, write_backup
from cognition_engines.store.transfer.copy import PAGE, Source, Watcher, contents, copy_records
from cognition_engines.store.values import Entry, FloatArray
from cstp.values.decisions import Alternative, Reason
from tests.stored import Removal, Upsert, changes_of

Make = Callable[..., Entry]
Floats = Callable[[int, float], FloatArray]
Rows = Callable[[str], dict[str, Any]]
MANY = PAGE * 2 + 3
WRITTEN = {"revisions", "reviews", "decision_links", "ended_links", "receipts", "receipt_names"}
CARRIED = {
    *("records", "vectors", "links", "erasures", "audit_rows", "audit_records", "audit_head"),
    *WRITTEN,
    *(table.name for table in TABLES.values()),
}
LEFT_OUT = {"meta", "counter", "tombstones", "departures"}  # each store's own
# these are made of the others
DERIVED = {
    *("project", "sensitivity", "at", "context", "system", "importance", "parent", "source_key", "since", "until"),
    *("author", "people"),
}


@dataclass
class Doing:
    """A watcher that acts after a given record count."""

    after: int
    act: Callable[[], object]
    seen: int = 0

    def start(self, step: str, records: int) -> None: ...

    def advance(self, records: int) -> None:
        before, self.seen = self.seen, self.seen + records
        if before < self.after <= self.seen:
            self.act()


FULL = Decision(
    id="ü-full",
    title="A “title” with 漢字 and 🦆",
    text="One\nTwo \\ 'three' \"four\"\t" * 50,
    category="storage",
    confidence=0.1 + 0.2,
    stakes="high",
    status="superseded",
    status_text="Accepted on Monday",
    outcome="success",
    date=datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
    reasons=(Reason("pattern"), Reason("analysis", "mesuré")),
    tags=("a", "b"),
    supersedes=("1",),
    superseded_by=("x", "y"),
    feature="checkout",
    pr="17",
    valid_from=datetime(2026, 1, 1, tzinfo=UTC),
    valid_to=datetime(2027, 1, 1, tzinfo=UTC),
    details=DecisionDetails("A “title”", alternatives=(Alternative("none", "too late"),), trace=[{"step": 1}]),
    project="alpha",
    sensitivity=Sensitivity.HIGHLY_SENSITIVE,
    metadata={"decided_by": ["Zoë"], "nested": {"a": None}},
)

LATER = datetime(2126, 1, 1, 0, 0, 0, 1, UTC)


@pytest.fixture
def other_url(postgresql_url: str, url: str, tmp_path: Path) -> str:
    """Return a second location, on the other kind of database."""
    return postgresql_url if url.startswith("sqlite") else f"sqlite:///{tmp_path}/other/records.sqlite3"


@pytest.fixture
def other(other_url: str) -> Iterator[Records]:
    store = open_records(other_url)
    yield store
    store.close()


@pytest.fixture
def filled(records: Records, entry: Make, floats: Floats) -> Records:
    """Store more than two pages, written and changed in another order than by key, with vectors of two models."""
    records.put([Entry(FULL, Origin("/notes/ü.md", 7, "beta", "digest"), floats(3, 0.5), expires_at=LATER)], "first")
    records.put([entry(f"d-{number}", f"text {number}", windows=1, first=number) for number in range(MANY)], "first")
    records.put([entry("bare", "")], None)
    records.put_vectors([(1, floats(2, 9.0)), (6, floats(1, -1.5))], "Second")
    records.put([entry("d-3", "changed", windows=2)], "first")
    records.delete(Kind.DECISION, ["d-7"])
    return records


def upserts(records: Records) -> list[Upsert]:
    return [change for change in changes_of(records, 0, 10_000, None) if isinstance(change, Upsert)]


@pytest.mark.long("writes many records")
def test_a_copy_equals_its_source_in_everything_but_key_and_seq(
    filled: Records, url: str, other: Records, other_url: str, rows: Rows, quiet: Watcher
) -> None:
    done = copy_records(filled.store, other.store, quiet)
    assert rows(other_url) == rows(url)
    assert len(rows(url)) == done.records == MANY + 1
    assert dict(done.windows) == {"Second": 3, "first": 3 + MANY}
    full = other.reads.find([(Kind.DECISION, "ü-full")], None)[0]
    assert (full.record, full.expires_at) == (FULL, LATER)  # type: ignore[union-attr]
    # in the order of the source, under new keys
    before = {change.stored.key: change.stored.record.id for change in upserts(filled)}
    after = {change.stored.key: change.stored.record.id for change in upserts(other)}
    assert [after[key] for key in sorted(after)] == [before[key] for key in sorted(before)]
    assert sorted(after) == list(range(1, MANY + 2))
    assert other.store_id != filled.store_id


def test_copies_fit_dimensions(filled: Records, other: Records, entry: Make, floats: Floats, quiet: Watcher) -> None:
    wide = Entry(Decision("wide", "t"), Origin("/s", 0, None, "x"), np.ones((1, 8), np.float32))
    other.put([wide], "first")
    other.delete(Kind.DECISION, ["wide"])
    copy_records(filled.store, other.store, quiet)
    assert [other.dimension(model) for model in ("first", "Second")] == [3, 3]
    with pytest.raises(ComponentFailed, match="vectors of 8 dimensions; those stored of first have 3"):
        other.put([wide], "first")


def test_a_copy_is_a_moment(filled: Records, url: str, other: Records, other_url: str, rows: Rows, entry: Make) -> None:
    before = rows(url)

    def write() -> None:
        filled.delete(Kind.DECISION, [f"d-{MANY - 1}"])
        filled.put([entry("late")], None)
        filled.put([entry("d-2", "late", windows=1)], "first")

    copy_records(filled.store, other.store, Doing(PAGE, write))
    assert rows(other_url) == before != rows(url)


def test_a_copy_of_an_emptied_store_numbers_on(filled: Records, other: Records, entry: Make, quiet: Watcher) -> None:
    other.put([entry("a"), entry("b")], None)
    other.delete(Kind.DECISION, ["a", "b"])
    before = other.last_seq()
    copy_records(filled.store, other.store, quiet)
    assert len(changes_of(other, before, 10_000, None)) == MANY + 1
    assert sorted(change.stored.key for change in upserts(other)) == list(range(3, 3 + MANY + 1))


def test_a_target_storing_other_data_is_detected(filled: Records, tmp_path: Path, quiet: Watcher) -> None:
    target = open_records(f"sqlite:///{tmp_path}/altering.sqlite3")
    engine = sa.create_engine(f"sqlite:///{tmp_path}/altering.sqlite3")
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER alters AFTER INSERT ON decisions WHEN new.key = 9 "
            "BEGIN UPDATE decisions SET tags = '[\"x\"]' WHERE key = 9; END"
        )
    engine.dispose()
    with pytest.raises(ComponentFailed, match="target: what was written reads back otherwise") as caught:
        copy_records(filled.store, target.store, quiet)
    assert caught.value.component == "target"
    assert sum(target.counts().values()) == 0
    target.close()


def test_a_failing_target_is_named_as_such(filled: Records, other: Records, other_url: str, quiet: Watcher) -> None:
    engine = sa.create_engine(other_url)
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE vectors"))
    engine.dispose()
    with pytest.raises(ComponentFailed, match=r"^target: (OperationalError|ProgrammingError)$"):
        copy_records(filled.store, other.store, quiet)


@pytest.mark.long("writes many records")
def test_memory_does_not_grow_with_the_number_of_records(tmp_path: Path, entry: Make, quiet: Watcher) -> None:
    peaks = []
    for count in (PAGE * 2, PAGE * 6):
        source, target = (open_records(f"sqlite:///{tmp_path}/{count}-{name}.sqlite3") for name in "ab")
        for start in range(0, count, PAGE):
            batch = [entry(f"d-{start + number}", "text " * 200) for number in range(PAGE)]
            vectors = np.ones((4, 384), np.float32)
            source.put([Entry(one.record, one.origin, vectors) for one in batch], "m")
        tracemalloc.start()
        copy_records(source.store, target.store, quiet)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        source.close()
        target.close()
    assert peaks[1] < peaks[0] * 1.3


def digest(url: str, watcher: Watcher) -> str:
    store = open_store(url)
    with begin_read(store) as connection:
        found = contents(Source(connection), watcher)
    store.reader.dispose()
    return found.digest


ALTERED = {
    **dict.fromkeys(("title", "text", "category", "stakes", "status", "status_text", "outcome"), "'other'"),
    **dict.fromkeys(("own_project", "source", "ingested_as", "digest", "id"), "'other'"),
    **dict.fromkeys(("repository", "path", "given", "identity", "project_scope", "guard_scope"), "'other'"),
    "guarded_as": "2",
    **dict.fromkeys(("reasons", "tags", "supersedes", "superseded_by"), "'[]'"),
    **dict.fromkeys(("feature", "pr", "recorded_by", "via", "own_status", "own_outcome", "date_source"), "'other'"),
    **dict.fromkeys(("metadata", "details"), "'{}'"),
    **dict.fromkeys(("affects", "governs", "mentions"), """'[["api", "x"]]'"""),
    **{
        name: f"{name} + 1"
        for name in ("date", "ordinal", "updated_at", "valid_from", "valid_to", "recorded_at", "revision")
    },
    "confidence": "confidence + 1e-9",
    "own_sensitivity": "0",
    **dict.fromkeys(("expires_at", "review_by"), "1"),
}
COLUMNS = [
    (table, column.name)
    for table in ("records", "decisions")
    for column in metadata.tables[table].c
    if column.name not in DERIVED | {"key", "seq", "first_seq", "kind"}
]


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_the_digest_has_all_columns(sqlite_url: str, table: str, column: str, floats: Floats, quiet: Watcher) -> None:
    records = open_records(sqlite_url)
    records.put([Entry(FULL, Origin("/notes/ü.md", 7, "beta", "digest"), floats(3, 0.5))], "first")
    before = digest(sqlite_url, quiet)
    engine = sa.create_engine(sqlite_url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f'UPDATE {table} SET "{column}" = {ALTERED[column]}')
    engine.dispose()
    assert digest(sqlite_url, quiet) != before
    records.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE vectors SET vector = x'0000000000000000000000ff' WHERE \"window\" = 1",
        "UPDATE vectors SET model = 'other'",
        'UPDATE vectors SET "window" = 9 WHERE "window" = 2',
        'DELETE FROM vectors WHERE "window" = 2',
    ],
)
def test_the_digest_covers_every_vector(sqlite_url: str, statement: str, floats: Floats, quiet: Watcher) -> None:
    records = open_records(sqlite_url)
    records.put([Entry(FULL, Origin("/notes/ü.md", 7, "beta", "digest"), floats(3, 0.5))], "first")
    before = digest(sqlite_url, quiet)
    engine = sa.create_engine(sqlite_url)
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()
    assert digest(sqlite_url, quiet) != before
    records.close()


def test_every_table_is_carried_or_left_out_on_purpose() -> None:
    assert set(metadata.tables) == CARRIED | LEFT_OUT


@pytest.mark.long("writes many records")
def test_restoring_reports_only_differences_to_followers(
    filled: Records, url: str, tmp_path: Path, rows: Rows, entry: Make, floats: Floats, quiet: Watcher
) -> None:
    file = tmp_path / "backup"
    write_backup(filled.store, file, "1", {}, replace=False, watcher=quiet)
    wanted = rows(url)
    key = filled.reads.find([(Kind.DECISION, "d-3")], None)[0].key  # type: ignore[union-attr]
    filled.put([entry("d-3", "edited", windows=1)], "first")
    filled.put([entry("new", "not in the backup")], None)
    filled.delete(Kind.DECISION, ["d-4", "d-5"])
    filled.put_vectors([(filled.reads.find([(Kind.DECISION, "d-6")], None)[0].key, floats(1, 4.0))], "third")  # type: ignore[union-attr]
    seq, last_key = filled.last_seq(), max(change.stored.key for change in upserts(filled))

    with opened_backup(file, quiet) as backup:
        done = restore_backup(backup, filled.store, replace=True, watcher=quiet)
    assert rows(url) == wanted
    assert (done.new, done.changed, done.unchanged, done.deleted) == (2, 2, MANY - 3, 1)
    changes = changes_of(filled, seq, 10_000, "first")
    told = {change.id if isinstance(change, Removal) else change.stored.record.id for change in changes}
    assert told == {"d-3", "d-4", "d-5", "d-6", "new"}
    assert len(changes) == 5
    assert filled.reads.find([(Kind.DECISION, "d-3")], None)[0].key == key  # type: ignore[union-attr]
    new = [change for change in changes if isinstance(change, Upsert) and change.stored.record.id in ("d-4", "d-5")]
    assert {change.stored.key for change in new} == {last_key + 1, last_key + 2}

    seq = filled.last_seq()
    with opened_backup(file, quiet) as backup:
        again = restore_backup(backup, filled.store, replace=True, watcher=quiet)
    assert (again.new, again.changed, again.deleted) == (0, 0, 0)
    assert filled.last_seq() == seq


def test_a_store_appearing_while_the_backup_is_read_is_not_overwritten(
    filled: Records, other: Records, other_url: str, tmp_path: Path, rows: Rows, entry: Make, quiet: Watcher
) -> None:
    file = tmp_path / "backup"
    write_backup(filled.store, file, "1", {}, replace=False, watcher=quiet)
    with opened_backup(file, quiet) as backup:
        other.put([entry("mine")], None)
        with pytest.raises(ConfigurationError, match="--replace"):
            restore_backup(backup, other.store, replace=False, watcher=quiet)
    assert list(rows(other_url)) == ["mine"]
