"""`minSeq`: a read shows another process's writes, or reports that it cannot."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from time import time_ns
from typing import Any

import pytest

from cognition_engines.engine import Engine, EngineOptions
from cognition_engines.errors import ComponentBusy, ComponentFailed
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import open_records
from cstp.methods.registry import METHODS
from cstp.values.reads import ReadParams
from tests.kinds import entry
from tests.serving import Serving
from tests.stores import Stores

# required parameters of every method with `minSeq`
REQUIRED: dict[str, dict[str, Any]] = {
    "queryDecisions": {"query": "ovens"},
    "searchKnowledge": {"query": "ovens"},
    "search": {"query": "ovens"},
    "fetch": {"id": "dec_1"},
    "recall": {"query": "ovens"},
    "getDecision": {"id": "dec_1"},
    "getGraph": {"nodeId": "dec_1"},
    "getChunk": {"chunkId": "chk_1"},
    "getEpisode": {"id": 1},
    "findEpisodes": {"query": "ovens"},
    "getDecisionContext": {"files": ["oven.py"]},
}
READS = [method for method in METHODS if issubclass(method.params, ReadParams)]
NEVER = 2**63 - 1


def asked(name: str) -> dict[str, Any]:
    return REQUIRED.get(name, {})


@pytest.fixture
def engine(tmp_path: Path, stores: Stores) -> Iterator[Engine]:
    opened = Engine.open(stores.records(tmp_path), tmp_path / "indexes", None, EngineOptions(waiting_reads=4))
    yield opened
    opened.close()


def decision(id: str, title: str) -> Any:
    return entry(Kind.DECISION, id, title=title)


def test_every_method_reading_records_takes_a_min_seq() -> None:
    reading = {method.name for method in METHODS if method.scope == "read"}
    assert {method.name for method in READS} >= reading - {"cstp.changes"}


def test_a_seq_of_no_write_is_refused_by_every_read(serve: Callable[..., Serving]) -> None:
    serving = serve()
    for method in READS:
        name = method.name.removeprefix("cstp.")
        assert serving.failed_part(name, **asked(name), minSeq=NEVER) == "indexes", name
        assert serving.refused(name, **asked(name), minSeq=-1) == ["minSeq"], name


def test_a_seq_between_the_last_change_and_now_does_not_reveal_its_time(serve: Callable[..., Serving]) -> None:
    serving = serve()
    serving.records.put([decision("dec_1", "Buy an oven")], None)
    last = serving.records.last_seq()
    for seq in (last - 1, last, last + 1, time_ns() // 1000):
        assert serving.ask("listDecisions", minSeq=seq)["total"] == 1
        assert serving.ask("queryDecisions", query="oven", mode="keyword", minSeq=seq)["total"] == 1


@pytest.mark.long("makes many records")
def test_min_seq_waits_for_writes_of_another_process(serve: Callable[..., Serving], stores: Stores) -> None:
    serving = serve()
    other = open_records(serving.settings.store_url)
    for number in range(20):
        other.put([decision(f"dec_{number}", f"Bake number{number}")], None)
        seq = other.last_seq()
        found = serving.ask("queryDecisions", query=f"number{number}", minSeq=seq)
        assert [one["id"] for one in found["decisions"]] == [f"dec_{number}"]
    other.close()


@pytest.mark.long("makes many records")
def test_reads_of_stale_indexes_fail_and_reads_of_records_answer(serve: Callable[..., Serving]) -> None:
    serving = serve()
    for index in serving.indexes.all_spaces:
        index.stop()
    serving.records.put([decision("dec_1", "Bake bread")], None)
    seq = serving.records.last_seq()
    assert serving.ask("listDecisions", minSeq=seq)["total"] == 1
    assert serving.ask("getDecision", id="dec_1", minSeq=seq)["decision"]["title"] == "Bake bread"
    assert serving.failed_part("queryDecisions", query="bread", minSeq=seq) == "indexes"
    assert serving.ask("queryDecisions", query="bread", minSeq=0)["decisions"] == []


async def test_an_agent_has_half_of_the_waiting_reads(engine: Engine) -> None:
    for index in engine.indexes.all_spaces:
        index.stop()
    engine.records.put([decision("dec_1", "Bake bread")], None)
    seq = engine.records.last_seq()

    def wait(agent: str, seconds: float = 60.0) -> Any:
        return asyncio.ensure_future(engine.reached(seq, agent, seconds=seconds))

    greedy = [wait("greedy") for _ in range(3)]
    done, waiting = await asyncio.wait(greedy, return_when=asyncio.FIRST_COMPLETED)
    assert (len(done), len(waiting)) == (1, 2)
    assert isinstance(done.pop().exception(), ComponentBusy)
    with pytest.raises(ComponentFailed, match="have not followed"):
        await wait("modest", 0.01)
    for one in waiting:
        one.cancel()
    await asyncio.wait(waiting)
    with pytest.raises(ComponentFailed, match="have not followed"):
        await wait("greedy", 0.01)
