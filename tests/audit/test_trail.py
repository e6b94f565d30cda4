"""Storage of audit rows: with the write, in batches, while waiting, and after a kill."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cognition_engines.engine import Engine, EngineOptions
from cognition_engines.errors import ComponentFailed
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import EVERYTHING
from cognition_engines.store.audit.chain import AuditedRecord, AuditEntry
from cognition_engines.store.audit.trail import CAPACITY, AuditOptions, AuditTrail
from cognition_engines.store.records import open_records
from cognition_engines.writing.requests import WriteCaller
from cstp.values.decision_links import LinkDecisionsParams
from cstp.values.decision_writes import SetStatusParams
from cstp.values.system import AuditCall, AuditParams
from tests.audit.conftest import refusing
from tests.stores import Stores, wait_for
from tests.writing.conftest import engine
from tests.writing.written import new, review, update, write

__all__ = ["engine"]
ANN = WriteCaller("ann", EVERYTHING, frozenset({"read", "write", "review"}), "mcp", "cstp.some", "r-1")


def call(number: int = 1) -> AuditEntry:
    return AuditEntry(datetime.now(UTC), "ann", "cstp", "cstp.getDecision", f"r-{number}")


async def rows(engine: Engine) -> list[AuditCall]:
    """Return the rows, oldest first."""
    page = await engine.list_audit(AuditParams(limit=500))
    return page.rows[::-1]


def named(row: AuditCall) -> tuple[AuditedRecord, ...]:
    return tuple(AuditedRecord(one.kind, one.id, one.written) for one in row.records)


def written(*ids: str) -> tuple[AuditedRecord, ...]:
    return tuple(AuditedRecord("decision", id, True) for id in ids)


async def test_every_write_row_names_agent_records_and_call(engine: Engine) -> None:
    old = (await write(engine, ANN, new("Bake bread"))).id
    successor = (await write(engine, ANN, new("Bake cake", supersedes=(old,)))).id
    await write(engine, ANN, update(old, pr="1"))
    await write(engine, ANN, review(old, "success"))
    await write(engine, ANN, SetStatusParams(id=old, status="draft", reason="x"))
    await write(engine, ANN, LinkDecisionsParams(source_id=old, target_id=successor, edge_type="blocks"))
    await write(engine, ANN, review(successor, "success"))
    found = await rows(engine)
    both = set(written(old, successor))  # the last review lets the successor supersede the old one
    assert [set(named(one)) for one in found] == [
        set(written(old)),
        both,
        *[set(written(old))] * 3,
        both,
        both,
    ]
    assert {(one.agent, one.via, one.method, one.request_id, one.code) for one in found} == {
        ("ann", "mcp", "cstp.some", "r-1", 0)
    }
    assert engine.records.audit.verify().intact


async def test_a_write_without_a_row_is_no_write(engine: Engine, tmp_path: Path, stores: Stores) -> None:
    kept = (await write(engine, ANN, new("Bake bread"))).id
    with refusing(stores.records(tmp_path)):
        with pytest.raises(ComponentFailed) as failed:
            await write(engine, ANN, new("Bake cake"))
        assert failed.value.component == "records"
    assert engine.records.ids(Kind.DECISION) == [kept]
    assert [named(one) for one in await rows(engine)] == [written(kept)]


async def test_rows_of_repeated_and_dry_run_writes_are_marked(engine: Engine) -> None:
    first = await write(engine, ANN, new("Bake bread"), "key")
    await write(engine, ANN, new("Bake bread"), "key")
    await write(engine, ANN, new("Bake cake"), dry_run=True)
    assert [named(one) for one in await rows(engine)] == [
        written(first.id),
        (AuditedRecord("decision", first.id),),
        (),
    ]


async def test_two_concurrent_calls_with_one_key_write_one_record_and_two_rows(engine: Engine) -> None:
    await asyncio.gather(*(write(engine, ANN, new("Bake bread"), "key") for _ in range(2)))
    (id,) = engine.records.ids(Kind.DECISION)
    found = await rows(engine)
    assert {named(one) for one in found} == {written(id), (AuditedRecord("decision", id),)}
    assert len(found) == 2


async def test_rows_change_no_seq_and_keep_their_order(engine: Engine) -> None:
    before = engine.records.last_seq()
    for number in range(700):
        await engine.audit.add(call(number))
    await engine.audit.flush()
    assert engine.records.last_seq() == before
    report = engine.records.audit.verify()
    assert (report.intact, report.rows) == (True, 700)
    assert [one.request_id for one in await rows(engine)] == [f"r-{number}" for number in range(200, 700)]


async def test_rows_are_stored_in_time_and_when_the_engine_closes(tmp_path: Path, stores: Stores) -> None:
    engine = Engine.open(stores.records(tmp_path), tmp_path / "indexes", None)
    await engine.audit.add(call(1))
    wait_for(lambda: engine.records.audit.head().number == 1)
    for number in range(2, 1500):
        await engine.audit.add(call(number))
    engine.close()
    assert engine.audit_rows_lost == 0
    records = open_records(stores.records(tmp_path))
    assert records.audit.verify().rows == 1499
    records.close()


@pytest.mark.long("kills processes, or waits for a store")
async def test_rows_and_then_calls_wait_for_a_failing_store(engine: Engine, tmp_path: Path, stores: Stores) -> None:
    trail = engine.audit
    with refusing(stores.records(tmp_path)):
        for number in range(CAPACITY):
            await trail.add(call(number))
        wait_for(lambda: trail.state.failing)
        assert trail.state.full
        with pytest.raises(ComponentFailed) as failed:
            await trail.add(call(CAPACITY))
        assert failed.value.component == "records"
        with pytest.raises(ComponentFailed):
            await engine.list_audit(AuditParams())
    await trail.add(call(CAPACITY))
    await trail.flush()
    assert (trail.state.waiting, trail.state.failing) == (0, False)
    report = engine.records.audit.verify()
    assert (report.intact, report.rows) == (True, CAPACITY + 1)


@pytest.mark.long("kills processes, or waits for a store")
async def test_a_durable_trail_stores_the_row_first_or_fails_the_call(tmp_path: Path, stores: Stores) -> None:
    records = open_records(stores.records(tmp_path))
    trail = AuditTrail(records.audit, AuditOptions(durable=True), 15.0)
    await asyncio.gather(*(trail.add(call(number)) for number in range(20)))
    assert records.audit.head().number == 20
    with refusing(stores.records(tmp_path)):
        with pytest.raises(ComponentFailed) as failed:
            await trail.add(call(21))
        assert failed.value.component == "records"
        assert trail.state.failing
    await trail.add(call(22))
    page = records.audit.page(AuditParams(limit=2))
    assert [row.entry.request_id for row in page.rows] == ["r-22", "r-19"]
    assert (trail.close(5.0), trail.state.failing) == (0, False)
    records.close()


async def test_old_rows_are_pruned_when_the_engine_starts(tmp_path: Path, stores: Stores) -> None:
    records = open_records(stores.records(tmp_path))
    old = AuditEntry(datetime(2020, 1, 1, tzinfo=UTC), "ann", "cstp", "cstp.recall", "r-0")
    records.audit.append([old, old, call(3)], [])
    records.close()
    options = EngineOptions(audit=AuditOptions(days=30))
    engine = Engine.open(stores.records(tmp_path), tmp_path / "indexes", None, options)
    wait_for(lambda: engine.records.audit.head().pruned == 2)
    report = engine.records.audit.verify()
    assert (report.intact, report.rows) == (True, 1)
    engine.close()


async def test_a_clock_jump_prunes_nothing_at_engine_start(tmp_path: Path, stores: Stores) -> None:
    records = open_records(stores.records(tmp_path))
    old = AuditEntry(datetime.now(UTC) - timedelta(days=40), "ann", "cstp", "cstp.recall", "r-0")
    records.audit.append([old], [])
    trail = AuditTrail(records.audit, AuditOptions(days=30), 15.0)
    trail.start()
    await trail.add(call(1))
    await trail.flush()
    assert trail.close(5.0) == 0
    assert (records.audit.head().pruned, records.audit.verify().rows) == (0, 2)
    records.close()


WRITES = """
import asyncio, json, sys
from cognition_engines.engine import Engine
from cognition_engines.models import EVERYTHING
from cognition_engines.writing.requests import WriteCaller
from cstp.values.decision_writes import RecordDecisionParams

async def run(engine, name):
    writer = WriteCaller(name, EVERYTHING, frozenset({"write"}))
    for number in range(10_000):
        done = await engine.record_decision(RecordDecisionParams(decision=f"{name} {number}", confidence=0.5), writer)
        print(json.dumps(done.id), flush=True)

async def main():
    engine = Engine.open(sys.argv[1], sys.argv[2], None)
    await asyncio.gather(*(run(engine, f"agent-{number}") for number in range(4)))

asyncio.run(main())
"""


@pytest.mark.long("kills processes, or waits for a store")
@pytest.mark.parametrize("kill", range(3))
def test_every_acknowledged_write_has_its_row_after_a_kill(tmp_path: Path, stores: Stores, kill: int) -> None:
    url = stores.records(tmp_path)
    words = [sys.executable, "-c", WRITES, url, str(tmp_path / "indexes")]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(5 + 20 * kill)]
    os.kill(process.pid, signal.SIGKILL)
    said += process.stdout.read().splitlines()
    process.wait()
    process.stdout.close()
    acknowledged = {json.loads(line) for line in said if line.strip().endswith('"')}
    records = open_records(url)
    report = records.audit.verify()
    stored = set(records.ids(Kind.DECISION))
    pages = [records.audit.page(AuditParams(limit=500))]
    while pages[-1].before is not None:
        pages.append(records.audit.page(AuditParams(limit=500, before=pages[-1].before)))
    audited = {one.id for page in pages for row in page.rows for one in row.entry.records if one.written}
    records.close()
    assert report.intact
    assert acknowledged <= stored == audited
    assert len(acknowledged) > kill
