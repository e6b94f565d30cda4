"""Every field of every method, wrong in every way: -32602 with the path, and no change."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from cstp.methods.registry import METHODS
from tests.chaos.values import Parameter, parameters, variants
from tests.serving import SeededEmbedder, Serving

LONG = pytest.mark.long("waits until records expire, or asks with every wrong value")
CALLED = [pytest.param(method.name, marks=LONG if method.writes else ()) for method in METHODS]
LONGEST = 32_768


def wrong_values(parameter: Parameter, blank: Sequence[str]) -> Iterator[object]:
    """Yield values permitted by no schema variant."""
    allowed = variants(parameter.schema, parameter.definitions)
    kinds = {one.get("type") for one in allowed} | {"string" for one in allowed if "enum" in one or "const" in one}
    if None in kinds:
        return
    yield from ([None] if "null" not in kinds and "default" not in parameter.schema else [])
    yield from ([True] if "boolean" not in kinds else [])
    yield from ([7, 0.5, -1, 2**80] if not kinds & {"integer", "number"} else [])
    yield from (["text", ""] if "string" not in kinds else [])
    yield from ([[]] if "array" not in kinds else [])
    yield from ([{"unknownMember": 1}] if "object" not in kinds else [])
    for one in allowed:
        wrong = beyond(one, blank)
        yield from (value for value in wrong if not (isinstance(value, str) and "string" in kinds - {one.get("type")}))


def beyond(one: Mapping[str, Any], blank: Sequence[str]) -> Iterator[object]:
    """Yield right-typed values just outside a variant's bounds; `blank` values for texts with a least length."""
    match one.get("type"):
        case "string":
            yield from (["", "SUCCESS "] if "enum" in one else blank if one.get("minLength", len(blank) > 1) else [])
            yield from (["x" * (one["maxLength"] + 1)] if "maxLength" in one else [])
            yield from (["yesterday", "2026-02-30"] if "format" in one else [])
            yield from (["a b", "\u00e9"] if "pattern" in one else [])
        case "integer" | "number":
            yield from ([one["minimum"] - 1, -(2**70)] if "minimum" in one else [])
            yield from ([one["maximum"] + 1, 1e300] if "maximum" in one else [])
            yield from ([0.5, "1"] if one["type"] == "integer" else ["0.5"])
        case "array":
            yield from ([["x"] * (one["maxItems"] + 1)] if "maxItems" in one else [])
            yield from ([[{}] if "object" not in str(one["items"]) else [7], [[]]] if "items" in one else [])
        case "object":
            yield from ([{"unknownMember": 1}] if "properties" in one else [])
            yield from ([{"x": "y"}, {"": 1}] if "additionalProperties" in one and "properties" not in one else [])


PARAMETERS = parameters()


@pytest.fixture
def serving(serve: Callable[..., Serving]) -> Serving:
    return serve(SeededEmbedder(), limits={"default": "1000000/second", "writes": "1000000/second"})


@pytest.fixture
def decision(serving: Serving) -> str:
    id: str = serving.ask("recordDecision", decision="Bake bread", confidence=0.5)["id"]
    return id


def state(serving: Serving) -> tuple[int, int]:
    return serving.records.last_seq(), sum(serving.records.counts().values())


def refused(serving: Serving, method: str, params: Mapping[str, Any], field: str) -> None:
    reply = serving.send(method.removeprefix("cstp."), **params)
    about = f"{method} {field}: {str(params)[:300]}"
    assert "error" in reply, f"{about} was taken: {reply}"
    assert reply["error"]["code"] == -32602, f"{about}: {reply}"
    fields = [each["field"] for each in reply["error"]["data"]["violations"]]
    assert any(each.startswith(field) for each in fields), f"{about} is named as {fields}"


def test_every_method_has_its_parameters_here() -> None:
    without = {"cstp.whoami", "rpc.discover"}
    assert {each.method for each in PARAMETERS} == {method.name for method in METHODS} - without


@pytest.mark.parametrize("method", CALLED)
def test_every_wrong_value_is_refused_by_its_path(serving: Serving, decision: str, method: str) -> None:
    before, tried = state(serving), 0
    blank = ["", " ", "\t\n"] if next(each for each in METHODS if each.name == method).writes else [""]
    for parameter in (each for each in PARAMETERS if each.method == method):
        for value in wrong_values(parameter, blank):
            refused(serving, method, parameter.params(value), parameter.field)
            tried += 1
    schema = next(each for each in METHODS if each.name == method).params.model_json_schema(by_alias=True)
    for name in schema.get("required", ()):
        rest = {key: value for key, value in PARAMETERS_BASE[method].items() if key != name}
        refused(serving, method, rest, name)
    refused(serving, method, {**PARAMETERS_BASE.get(method, {}), "unknownMember": 1}, "unknownMember")
    assert tried >= sum(each.method == method for each in PARAMETERS)
    assert state(serving) == before


PARAMETERS_BASE: Mapping[str, Mapping[str, Any]] = {each.method: each.base for each in PARAMETERS}
# Rules missing from schemas, by method: params beside the required ones, and the named field.
RULES: list[tuple[str, dict[str, Any], str]] = [
    ("recordDecision", {"reviewIn": "7d", "reviewBy": "2030-01-01"}, "reviewIn"),
    ("recordDecision", {"validFrom": "2030-01-02", "validTo": "2030-01-01"}, "validTo"),
    ("recordDecision", {"agentId": "another"}, "agentId"),
    ("recordDecision", {"agent_id": "x", "agentId": "x"}, "agentId"),
    ("recordDecision", {"tags": ["a", "a"]}, "tags"),
    ("recordDecision", {"supersedes": ["dec_0", "dec_0"]}, "supersedes"),
    ("recordDecision", {"trace": "a text"}, "trace"),
    ("recordDecision", {"trace": ["x" * LONGEST]}, "trace"),
    ("recordDecision", {"trace": {"n": 2**63}}, "trace"),
    ("recordDecision", {"deliberation": [-(2**63) - 1]}, "deliberation"),
    ("recordDecision", {"bridge": [[2**70]]}, "bridge"),
    ("recordDecision", {"preDecision": {"a\0": 1}}, "preDecision"),
    ("updateDecision", {"updates": {"trace": [10**300]}}, "updates.trace"),
    ("recordDecision", {"affects": [{"type": "path", "pattern": "a\u2028b"}]}, "affects[0].pattern"),
    (
        "storeKnowledge",
        {"records": [{"kind": "source", "title": "t", "metadata": {"n": 2**64}}]},
        "records[0].metadata",
    ),
    ("recordDecision", {"reviewIn": "0d"}, "reviewIn"),
    ("recordDecision", {"kpiIndicators": ["x"] * 101}, "kpiIndicators"),
    ("recordDecision", {"reasons": [{"type": "analysis", "text": "x", "strength": 1.5}]}, "reasons[0].strength"),
    ("updateDecision", {"updates": {}}, "updates"),
    ("updateDecision", {"updates": {"decision": None}}, "updates.decision"),
    ("updateDecision", {"updates": {"confidence": None}}, "updates.confidence"),
    ("updateDecision", {"updates": {"project": "x"}}, "updates.project"),
    ("updateDecision", {"updates": {"status": "accepted"}}, "updates.status"),
    ("reviewDecision", {"affectedKpis": {"x": "1"}}, "affectedKpis"),
    ("reviewDecision", {"affectedKpis": {str(n): 1 for n in range(101)}}, "affectedKpis"),
    ("reviewDecision", {"observedAt": "2999-01-01"}, "observedAt"),
    ("linkDecisions", {"targetId": "<ID>"}, "targetId"),
    ("queryDecisions", {"includeReasons": True, "include_reasons": True}, "includeReasons"),
    ("queryDecisions", {"filters": {"minConfidence": 0.1, "min_confidence": 0.1}}, "filters.minConfidence"),
    ("queryDecisions", {"filters": {"colour": "red"}}, "filters.colour"),
    ("queryDecisions", {"filters": {"no word": "red"}}, "filters"),
    ("queryDecisions", {"filters": {"status": ["a", None, " "]}}, "filters.status[1]"),
    ("queryDecisions", {"filters": {"dateBefore": "2024-01-01T25:00:00Z"}}, "filters.dateBefore"),
    ("getChunk", {"chunk_id": "c-1", "chunkId": "c-1"}, "chunkId"),
    ("getChunk", {"chunkId": "c-1", "relatedLimit": 0, "includeRelated": False}, "relatedLimit"),
    ("searchKnowledge", {"filters": {"type": ["chunk", "book"]}}, "filters.type[1]"),
    ("searchKnowledge", {"query": " \n"}, "query"),
    ("searchKnowledge", {"filters": {"source": " "}}, "filters.source"),
    ("queryDecisions", {"filters": {"category": "  "}}, "filters.category"),
    ("listEpisodes", {"dateFrom": "2026-01-02", "dateTo": "2026-01-01"}, "dateFrom"),
    ("listEpisodes", {"since": "2026-01-02", "dateTo": "2026-01-01"}, "since"),
    ("listEpisodes", {"limit": 0, "offset": -1, "tags": 1, "category": 1}, "offset"),
]


@pytest.mark.parametrize(("method", "params", "field"), RULES)
def test_unstated_rules_hold(serving: Serving, decision: str, method: str, params: dict[str, Any], field: str) -> None:
    before = state(serving)
    ids = {name: decision for name in ("id", "sourceId") if name in PARAMETERS_BASE[f"cstp.{method}"]}
    given = {name: decision if value == "<ID>" else value for name, value in params.items()}
    refused(serving, method, {**PARAMETERS_BASE[f"cstp.{method}"], **ids, **given}, field)
    assert state(serving) == before


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_a_number_missing_from_json_is_invalid_json(serving: Serving, decision: str, number: str) -> None:
    before = state(serving)
    for params in (f'{{"decision": "x", "confidence": {number}}}', f'{{"decision": "x", "trace": [{number}]}}'):
        body = f'{{"jsonrpc": "2.0", "id": 1, "method": "cstp.recordDecision", "params": {params}}}'
        fields = {"Authorization": f"Bearer {serving.tokens[0]}", "Content-Type": "application/json"}
        answer = serving.client.post(serving.url, content=body, headers=fields)
        assert json.loads(answer.text)["error"]["code"] == -32700
    assert state(serving) == before
