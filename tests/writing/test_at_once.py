"""Agents that write the same content at the same moment, through two servers over a shared store."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.machine.doors import Doors, Reply, token
from tests.serving import SeededEmbedder
from tests.stores import Stores

ANN = token("ann", "read write review")
BEN = token("ben", "read write review")
SAME = {"decision": "Keep orders in PostgreSQL", "confidence": 0.5}
TIMES = 12


@pytest.fixture
def doors(tmp_path: Path, stores: Stores) -> Iterator[Doors]:
    opened = Doors(stores.records(tmp_path), tmp_path, SeededEmbedder("seeded-32", 32))
    yield opened
    opened.close()


def asking(doors: Doors, method: str, *calls: tuple[Any, dict[str, Any]]) -> list[Reply]:
    """Send all requests concurrently, every second request to the other server."""
    work: list[Callable[[], Any]] = [
        partial(doors.ask, number, who, method, params) for number, (who, params) in enumerate(calls)
    ]
    return doors.all(work)


@pytest.mark.long("waits until records expire, or asks with every wrong value")
def test_two_agents_recording_the_same_without_keys_have_a_record_each(doors: Doors) -> None:
    done = asking(doors, "recordDecision", *((who, SAME) for who in (ANN, BEN) * 3))
    assert {reply.code for reply in done} == {0}
    assert len({reply.value["id"] for reply in done}) == 6
    assert all(reply.value["created"] for reply in done)
    owners = [doors.call(0, ANN, "getDecision", {"id": reply.value["id"]}).value for reply in done]
    assert [each["decision"]["provenance"]["recordedBy"] for each in owners] == ["ann", "ben"] * 3


def test_equal_keys_at_once_make_one_record_for_each_agent(doors: Doors) -> None:
    done = asking(doors, "recordDecision", *((who, {**SAME, "idempotencyKey": "k"}) for who in (ANN, BEN) * 6))
    assert {reply.code for reply in done} == {0}
    for agent in (0, 1):
        own = [reply.value for reply in done[agent::2]]
        assert len({each["id"] for each in own}) == 1
        assert [each["created"] for each in own].count(True) == 1
    assert len(doors.ids()) == 2


def test_an_equal_key_with_other_parameters_at_once_is_one_record_and_conflicts(doors: Doors) -> None:
    calls = [(ANN, {"decision": f"Choose w{number}", "confidence": 0.5, "idempotencyKey": "k"}) for number in range(8)]
    done = asking(doors, "recordDecision", *calls)
    assert sorted(reply.code for reply in done) == [-32011] * 7 + [0]
    (won,) = [reply.value["id"] for reply in done if reply.code == 0]
    assert {(reply.value["reason"], reply.value["id"]) for reply in done if reply.code} == {("idempotency", won)}
    assert doors.ids() == [won]


@pytest.mark.long("waits until records expire, or asks with every wrong value")
def test_of_updates_expecting_the_same_revision_exactly_one_wins(doors: Doors) -> None:
    id = doors.call(0, ANN, "recordDecision", SAME).value["id"]
    for revision in range(1, 4):
        calls = [
            (ANN, {"id": id, "updates": {"context": f"Since {revision} {number}"}, "expectedRevision": revision})
            for number in range(TIMES)
        ]
        done = asking(doors, "updateDecision", *calls)
        assert sorted(reply.code for reply in done) == [-32011] * (TIMES - 1) + [0]
        lost = [reply.value for reply in done if reply.code]
        assert {(each["reason"], each["expected"], each["found"]) for each in lost} == {
            ("revision", str(revision), str(revision + 1))
        }
        won = next(number for number, reply in enumerate(done) if reply.code == 0)
        found = doors.call(1, ANN, "getDecision", {"id": id}).value["decision"]
        assert found["context"] == f"Since {revision} {won}"
        assert found["provenance"]["revision"] == revision + 1


@pytest.mark.long("waits until records expire, or asks with every wrong value")
def test_concurrent_reviews_are_all_kept_in_one_order_and_name_the_owner_of_the_decision(doors: Doors) -> None:
    id = doors.call(0, ANN, "recordDecision", SAME).value["id"]
    outcomes = ("success", "failure", "partial", "abandoned")
    calls = [(who, {"id": id, "outcome": outcome}) for outcome in outcomes for who in (ANN, BEN)]
    done = asking(doors, "reviewDecision", *calls)
    assert [reply.value["selfReview"] for reply in done] == [True, False] * 4
    reviews = doors.call(1, BEN, "getDecision", {"id": id}).value["decision"]["reviews"]
    assert [each["selfReview"] for each in reviews] == [each["reviewedBy"] == "ann" for each in reviews]
    assert [each["previousOutcome"] for each in reviews] == [None, *(each["outcome"] for each in reviews[:-1])]
    assert sorted(each["reviewId"] for each in reviews) == sorted(reply.value["reviewId"] for reply in done)


@pytest.mark.long("waits until records expire, or asks with every wrong value")
def test_links_at_once_close_no_circle(doors: Doors) -> None:
    one, other = (doors.call(0, ANN, "recordDecision", SAME).value["id"] for _ in range(2))
    ends = [(one, other), (other, one)] * 4
    calls = [(ANN, {"sourceId": a, "targetId": b, "edgeType": "depends_on"}) for a, b in ends]
    done = asking(doors, "linkDecisions", *calls)
    won = {(reply.value["edge"]["sourceId"], reply.value["edge"]["targetId"]) for reply in done if reply.code == 0}
    assert len(won) == 1
    assert {reply.value["reason"] for reply in done if reply.code} == {"state"}


DIGEST = """
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.values import Replaces
from cognition_engines.writing.requests import PutRecords
from cognition_engines.writing.kept_answers import digest_of
from cognition_engines.writing.knowledge import PUT_RECORDS

kept = frozenset((Kind.CHUNK, f"chunk-{number}") for number in range(20))
request = PutRecords(records=(), replaces=(Replaces(Kind.SOURCE, "source", kept),))
print(digest_of(PUT_RECORDS.name, PUT_RECORDS.digested(request)))
"""


@pytest.mark.long("starts two interpreters")
def test_a_request_has_the_same_digest_in_every_process() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST], env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
