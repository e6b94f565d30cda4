"""The chain of audit rows: violations are detected, and pruning, copies and backups keep it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import sqlalchemy as sa

from cognition_engines.errors import ConfigurationError
from cognition_engines.store.audit.chain import START, AuditedRecord, AuditEntry
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.transfer.backup import opened_backup, restore_backup, write_backup
from cognition_engines.store.transfer.copy import Watcher, copy_records
from cstp.values.system import AuditParams
from tests.stored import changes_of

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
Alter = Callable[..., None]


def entry(number: int, **given: Any) -> AuditEntry:
    """Return the entry of a numbered call: two records each, one shared."""
    records = (AuditedRecord("decision", f"d-{number}"), AuditedRecord("decision", "d-all", number % 2 == 0))
    fixed = {"at": BEGIN + timedelta(hours=number), "agent": "ann", "via": "cstp", "method": "cstp.getDecision"}
    return AuditEntry(**{**fixed, "request_id": f"r-{number}", "records": records, **given})


def fill(records: Records, first: int, last: int) -> None:
    records.audit.append([entry(number) for number in range(first, last + 1)], [])


@pytest.fixture
def alter(records: Records, url: str) -> Iterator[Alter]:
    """Change the tables, bypassing the program."""
    engine = sa.create_engine(url)

    def run(*statements: str) -> None:
        with engine.begin() as connection:
            for statement in statements:
                connection.execute(sa.text(statement))

    yield run
    engine.dispose()


def problems(records: Records, noted: tuple[int, str] | None = None) -> list[tuple[str, int]]:
    return [(one.problem, one.number) for one in records.audit.verify(noted).breaks]


def numbers(records: Records, **filters: Any) -> list[int]:
    return [row.number for row in records.audit.page(AuditParams(limit=100, **filters)).rows]


@pytest.mark.long("writes many records")
def test_a_row_is_read_as_it_was_written_newest_first(records: Records) -> None:
    odd = entry(3, query='NUL \0 and "quotes" and é', code=-32007, records=(), agent="bén")
    records.audit.append([entry(1), entry(2), odd], [])
    page = records.audit.page(AuditParams(limit=2))
    assert [row.entry for row in page.rows] == [odd, entry(2)]
    rest = records.audit.page(AuditParams(limit=2, before=page.before))
    assert ([row.entry for row in rest.rows], rest.before) == ([entry(1)], None)
    assert page.head.number == 3
    assert page.head.hash == page.rows[0].hash


def test_every_filter_selects_rows(records: Records) -> None:
    records.audit.append([entry(1), entry(2, agent="ben"), entry(3, method="cstp.recall"), entry(4)], [])
    assert numbers(records, agent="ben") == [2]
    assert numbers(records, method="cstp.recall") == [3]
    assert numbers(records, id="d-2") == [2]
    assert numbers(records, id="d-all") == [4, 3, 2, 1]
    assert numbers(records, since=BEGIN + timedelta(hours=3)) == [4, 3]
    assert numbers(records, until=BEGIN + timedelta(hours=2)) == [2, 1]
    assert numbers(records, id="d-all", agent="ann", since=BEGIN + timedelta(hours=3)) == [4, 3]


def test_an_untouched_chain_is_intact(records: Records) -> None:
    assert records.audit.verify().intact
    fill(records, 1, 3)
    fill(records, 4, 6)
    report = records.audit.verify()
    assert (report.intact, report.rows, report.head.number) == (True, 6, 6)


@pytest.mark.parametrize("name", ["at", "agent", "via", "method", "request_id", "code", "query", "hash"])
def test_a_row_with_another_value_in_any_column_is_altered(records: Records, alter: Alter, name: str) -> None:
    fill(records, 1, 6)
    alter(
        f"UPDATE audit_rows SET {name} = {'7' if name in ('at', 'code') else chr(39) + '7' + chr(39)} WHERE number = 3"
    )
    assert ("altered", 3) in problems(records)


RECORD = "UPDATE audit_records SET {} WHERE number = 3 AND place = 0"
BREAKS: dict[str, tuple[tuple[str, ...], list[tuple[str, int]]]] = {
    "another kind": ((RECORD.format("kind = 'chunk'"),), [("altered", 3)]),
    "another id": ((RECORD.format("id = 'd-9'"),), [("altered", 3)]),
    "a write instead of a read": ((RECORD.format("written = 1"),), [("altered", 3)]),
    "a record less": (("DELETE FROM audit_records WHERE number = 3 AND place = 1",), [("altered", 3)]),
    "a record more": (("INSERT INTO audit_records VALUES (5, 2, 'decision', 'd-9', 0)",), [("altered", 5)]),
    "rows less": (
        ("DELETE FROM audit_records WHERE number IN (1, 4)", "DELETE FROM audit_rows WHERE number IN (1, 4)"),
        [("missing", 1), ("missing", 4)],
    ),
    "no end": (
        ("DELETE FROM audit_records WHERE number > 4", "DELETE FROM audit_rows WHERE number > 4"),
        [("truncated", 5)],
    ),
    "another head": ((f"UPDATE audit_head SET hash = '{START}'",), [("head", 6)]),
}


@pytest.mark.parametrize("case", BREAKS)
def test_each_break_of_a_chain_is_found(records: Records, alter: Alter, case: str) -> None:
    statements, found = BREAKS[case]
    fill(records, 1, 6)
    alter(*statements)
    assert problems(records) == found


def test_rows_with_exchanged_places_are_reordered(records: Records, alter: Alter) -> None:
    fill(records, 1, 6)
    for table in ("audit_rows", "audit_records"):
        for before, after in ((3, 100), (4, 3), (100, 4)):
            alter(f"UPDATE {table} SET number = {after} WHERE number = {before}")
    found = problems(records)
    assert {number for _, number in found} >= {3, 4}
    assert ("reordered", 3) in found


def test_a_row_taken_out_with_the_rest_renumbered_is_found(records: Records, alter: Alter) -> None:
    fill(records, 1, 6)
    for table in ("audit_records", "audit_rows"):
        alter(f"DELETE FROM {table} WHERE number = 3")
        for number in (4, 5, 6):
            alter(f"UPDATE {table} SET number = {number - 1} WHERE number = {number}")

    assert ("truncated", 6) in problems(records)


def test_a_row_above_the_head_is_found(records: Records, alter: Alter) -> None:
    fill(records, 1, 6)
    alter("UPDATE audit_head SET number = 5")
    assert ("extra", 6) in problems(records)


def test_an_external_note_reveals_a_chain_cut_with_its_head(records: Records, alter: Alter) -> None:
    fill(records, 1, 6)
    head = records.audit.head()
    kept = records.audit.page(AuditParams(limit=1, before=5)).rows[0]
    alter("DELETE FROM audit_records WHERE number > 4", "DELETE FROM audit_rows WHERE number > 4")
    alter(f"UPDATE audit_head SET number = 4, hash = '{kept.hash}'")
    assert problems(records) == []  # a chain alone cannot show it
    assert problems(records, (head.number, head.hash)) == [("noted", 6)]
    assert problems(records, (4, kept.hash)) == []
    assert problems(records, (4, START)) == [("noted", 4)]


def test_a_pruned_chain_begins_at_the_hash_of_the_cut(records: Records, alter: Alter) -> None:
    fill(records, 1, 9)
    cut = records.audit.page(AuditParams(limit=1, before=5)).rows[0]
    assert records.audit.prune(BEGIN + timedelta(hours=5)) == 4
    report = records.audit.verify()
    assert (report.intact, report.rows, report.head.pruned, report.head.pruned_hash) == (True, 5, 4, cut.hash)
    assert problems(records, (4, cut.hash)) == []
    fill(records, 10, 12)
    assert records.audit.verify().intact
    alter("DELETE FROM audit_records WHERE number = 5", "DELETE FROM audit_rows WHERE number = 5")
    assert problems(records) == [("missing", 5)]


def test_a_fully_pruned_chain_continues(records: Records) -> None:
    fill(records, 1, 3)
    assert records.audit.prune(BEGIN + timedelta(days=300)) == 3
    assert records.audit.prune(BEGIN + timedelta(days=300)) == 0
    fill(records, 4, 5)
    report = records.audit.verify()
    assert (report.intact, report.rows, report.head.number) == (True, 2, 5)


def test_rows_given_again_after_an_unreported_commit_exist_once(records: Records) -> None:
    attempts: list[Any] = []
    records.audit.append([entry(1), entry(2)], attempts)
    fill(records, 3, 3)
    records.audit.append([entry(1), entry(2)], attempts)
    assert numbers(records) == [3, 2, 1]


def test_audit_rows_change_neither_the_counter_nor_reads_of_followers(records: Records, entry: Any) -> None:
    records.put([entry("d-1")], None)
    before = records.last_seq(), changes_of(records, 0, 100, None)
    fill(records, 1, 3)
    assert (records.last_seq(), changes_of(records, 0, 100, None)) == before


def test_several_processes_append_to_one_chain(records: Records, url: str) -> None:
    others = [open_records(url) for _ in range(3)]

    def run(one: Records, base: int) -> None:
        for number in range(20):
            one.audit.append([entry(base + number, request_id=f"{base}-{number}-{part}") for part in range(3)], [])

    threads = [Thread(target=run, args=(one, 100 * place)) for place, one in enumerate(others)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report = records.audit.verify()
    assert (report.intact, report.rows) == (True, 180)
    rows = [row for before in (None, 101) for row in records.audit.page(AuditParams(limit=100, before=before)).rows]
    assert len({row.entry.request_id for row in rows}) == 180
    for one in others:
        one.close()


def test_copies_have_the_whole_chain(records: Records, tmp_path: Path, quiet: Watcher) -> None:
    fill(records, 1, 9)
    records.audit.prune(BEGIN + timedelta(hours=4))
    target = open_records(f"sqlite:///{tmp_path}/copy/records.sqlite3")
    copy_records(records.store, target.store, quiet)
    assert target.audit.verify() == records.audit.verify()
    assert target.audit.page(AuditParams(limit=100)) == records.audit.page(AuditParams(limit=100))
    fill(target, 10, 11)
    assert target.audit.verify().intact
    target.close()


def test_a_copy_into_a_store_with_an_audit_is_refused(records: Records, tmp_path: Path, quiet: Watcher) -> None:
    target = open_records(f"sqlite:///{tmp_path}/copy/records.sqlite3")
    fill(target, 1, 1)
    with pytest.raises(ConfigurationError, match="audit"):
        copy_records(records.store, target.store, quiet)
    target.close()


def test_a_restored_store_gets_missing_rows(records: Records, tmp_path: Path, quiet: Watcher) -> None:
    fill(records, 1, 5)
    write_backup(records.store, tmp_path / "older", "1", {}, replace=False, watcher=quiet)
    fill(records, 6, 8)
    write_backup(records.store, tmp_path / "newer", "1", {}, replace=False, watcher=quiet)
    chain = records.audit.verify()
    with opened_backup(tmp_path / "older", quiet) as older:
        restore_backup(older, records.store, replace=True, watcher=quiet)
    assert records.audit.verify() == chain  # an older backup erases no row
    target = open_records(f"sqlite:///{tmp_path}/new/records.sqlite3")
    for name, last in (("older", 5), ("newer", 8)):
        with opened_backup(tmp_path / name, quiet) as backup:
            restore_backup(backup, target.store, replace=True, watcher=quiet)
        report = target.audit.verify()
        assert (report.intact, report.head.number) == (True, last)
    assert target.audit.verify() == chain
    target.close()


def test_a_store_of_another_history_keeps_its_own(records: Records, tmp_path: Path, quiet: Watcher) -> None:
    fill(records, 1, 5)
    write_backup(records.store, tmp_path / "backup", "1", {}, replace=False, watcher=quiet)
    target = open_records(f"sqlite:///{tmp_path}/other/records.sqlite3")
    fill(target, 21, 22)
    own = target.audit.verify()
    with opened_backup(tmp_path / "backup", quiet) as backup:
        restore_backup(backup, target.store, replace=True, watcher=quiet)
    assert target.audit.verify() == own
    target.close()
