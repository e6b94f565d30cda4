"""Patterns made to be slow: their cost for others, the bounds of each door, and older records."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import process_time
from typing import Any

import pytest

from cognition_engines.exchange.lines import UnreadableLine, line_of, read_line
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Viewer
from cstp.values.decisions import AffectedPart
from tests.ingest.decisions import read_file
from tests.kinds import entry
from tests.serving import Serving

Serve = Callable[..., Serving]
FILES = [f"{'a' * 500}00{'a' * 450}{number:03d}" for number in range(256)]
HOSTILE = [f"*{'a' * (20 + number % 100)}00?*{'a' * (20 + number // 100)}b*" for number in range(500)]
ORDINARY = [f"*name{number}x*" for number in range(500)]
MANY = ["*a?*b*"] * 51  # 204 wildcards
REASON = "must have at most 200 wildcards in all patterns together"
LONE = "?" * 17
LONE_REASON = "must have at most 16 wildcards"


def write(serving: Serving, token: str, patterns: list[str]) -> None:
    for start in range(0, len(patterns), 40):
        affects = [{"type": "path", "pattern": one} for one in patterns[start : start + 40]]
        serving.ask("recordDecision", token, decision=f"Bake {start}", confidence=0.5, affects=affects)


def cost(serving: Serving, token: str) -> float:
    began = process_time()
    assert serving.ask("getDecisionContext", token, files=FILES)["governing"] == []
    return process_time() - began


@pytest.mark.long("compares costs of a server with two sets of patterns")
def test_hostile_patterns_cost_others_little_more_than_ordinary_patterns(serve: Serve) -> None:
    costs = []
    for patterns in (ORDINARY, HOSTILE):
        serving = serve()
        writer, reader = serving.token(scopes=("read", "write")), serving.token()
        write(serving, writer, patterns)
        costs.append(cost(serving, reader))
    assert costs[1] < 20 * costs[0]


@pytest.mark.long("writes hundreds of patterns")
def test_other_calls_are_answered_while_hostile_patterns_are_matched(serve: Serve) -> None:
    serving = serve()
    writer, reader = serving.token(scopes=("read", "write")), serving.token()
    write(serving, writer, HOSTILE)
    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(serving.ask, "getDecisionContext", reader, files=FILES[place:]) for place in range(4)]
        for _ in range(20):
            assert serving.ask("listDecisions", reader, limit=1)["total"] == 13
        assert [one.result()["governing"] for one in asked] == [[]] * 4


def test_a_call_costs_more_with_more_patterns_and_files(serve: Serve) -> None:
    serving = serve(limits={"default": "10/hour", "writes": "1000/second"})
    parts = tuple(AffectedPart("path", one) for one in ORDINARY[:100])
    serving.put([entry(Kind.DECISION, f"d-{place}", title="A", affects=parts) for place in range(2)])
    others = tuple(AffectedPart("path", one) for one in HOSTILE)
    serving.put([entry(Kind.DECISION, "others", title="A", affects=others)])
    assert [spent(serving, "getDecisionContext", files=FILES[:count]) for count in (1, 100, 256)] == [1, 2, 4]
    assert spent(serving, "listDecisions", paths=FILES) == 4
    assert spent(serving, "listDecisions") == 1
    assert spent(serving, "queryDecisions", query="a", filters={"paths": FILES}) == 2 + 3
    assert spent(serving, "search", query="a", paths=FILES) == 2 + 3
    assert spent(serving, "getSessionContext", files=FILES) - spent(serving, "getSessionContext", files=["a"]) == 3


def spent(serving: Serving, method: str, **params: Any) -> int:
    """Return the units that a call costs a separate agent, after an agent that reads the records."""
    token = serving.token()
    serving.ask("listDecisions", token, limit=1)
    request = {"jsonrpc": "2.0", "id": 1, "method": f"cstp.{method}", "params": params}
    answer = serving.client.post(serving.url, json=request, headers={"Authorization": f"Bearer {token}"})
    assert "result" in answer.json(), answer.text
    left = answer.headers["ratelimit"].split("r=")[1].split(";")[0]
    return 10 - 1 - int(left)


def test_too_many_wildcards_are_refused_at_every_door(serve: Serve) -> None:
    serving = serve()
    id = serving.ask("recordDecision", decision="Bake", confidence=0.5)["id"]
    for patterns, place, reason in ((MANY, "", REASON), (["ok", LONE], "[1].pattern", LONE_REASON)):
        affects = [{"type": "path", "pattern": one} for one in patterns]
        for method, within, params in (
            ("recordDecision", "", {"decision": "Bake", "confidence": 0.5, "affects": affects}),
            ("updateDecision", "updates.", {"id": id, "updates": {"affects": affects}}),
        ):
            (violation,) = serving.send(method, **params)["error"]["data"]["violations"]
            assert (violation["field"], violation["message"]) == (f"{within}affects{place}", reason)
        title = "# Bake\n\n## Context and Problem Statement\n\nIt is so.\n"
        front = f"---\nstatus: accepted\naffects: {json.dumps(patterns)}\n---\n{title}"
        written = json.dumps({"title": "Bake", "affects": patterns})
        for name, text in (("docs/adr/0001-x.md", front), ("decisions.json", written)):
            (refused,) = read_file(name, text.encode()).rejected
            assert refused.reason.startswith("affects: ")
            assert reason in refused.reason
        stored = serving.records.reads.find([(Kind.DECISION, id)], Viewer())[0]
        line = json.loads(line_of(stored))
        line["record"]["affects"] = affects
        with pytest.raises(UnreadableLine, match=reason):
            read_line(json.dumps(line).encode())


def test_a_stored_decision_above_the_bounds_is_read_matched_and_exported(serve: Serve) -> None:
    serving = serve()
    parts = tuple(AffectedPart("path", one) for one in [*MANY, LONE, "?" * 200])
    serving.put([entry(Kind.DECISION, "old", title="Bake", status="accepted", affects=parts)])
    assert len(serving.ask("getDecision", id="old")["decision"]["affects"]) == len(parts)
    for file in ("a1b", "x" * 17, "x" * 200):
        found = serving.ask("getDecisionContext", files=[file])["governing"]
        assert [one["id"] for one in found] == ["old"], file
    (stored,) = serving.records.reads.find([(Kind.DECISION, "old")], Viewer())
    assert len(json.loads(line_of(stored))["record"]["affects"]) == len(parts)
