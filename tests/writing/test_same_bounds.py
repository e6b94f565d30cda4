"""Calls and files accept equal texts and numbers for each decision member."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings, strategies as st

from cognition_engines.sync_engine import SyncEngine
from tests.serving import Serving

BOUNDS = (0, 1, 64, 65, 100, 101, 200, 201, 256, 257, 1000, 1001)
LONG_LINES = (32_768, 32_769)  # around the bound of a title
LENGTHS = st.one_of(st.sampled_from(BOUNDS), st.integers(0, 300))
MEMBERS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "title": lambda text: {"title": text},
    "category": lambda text: {"category": text},
    "project": lambda text: {"project": text},
    "tags": lambda text: {"tags": [text]},
    "number of tags": lambda text: {"tags": [f"tag {number}" for number in range(len(text))]},
    "affects": lambda text: {"affects": [{"type": "path", "pattern": text}]},
    "number of parts": lambda text: {"affects": [{"type": "api", "pattern": f"{n}"} for n in range(len(text))]},
    "package": lambda text: {"affects": [{"type": "package", "pattern": text}]},
    "reason": lambda text: {"reasons": [{"type": "analysis", "text": f"{text}."}]},
}


@pytest.mark.long("writes texts of 32,000 characters")
@pytest.mark.parametrize("member", MEMBERS)
def test_a_call_and_a_file_accept_the_same_lengths(serve: Callable[..., Serving], tmp_path: Path, member: str) -> None:
    serving = serve(limits={"default": "1000000/second", "writes": "1000000/second"})
    file = tmp_path / "decisions.jsonl"
    with SyncEngine.open(f"sqlite:///{tmp_path}/records.sqlite3", tmp_path / "indexes", None) as engine:
        lengths = st.one_of(LENGTHS, st.sampled_from(LONG_LINES)) if member == "title" else LENGTHS

        @settings(max_examples=15, deadline=None)
        @given(lengths=st.lists(lengths, min_size=6, max_size=6), character=st.sampled_from("xé👩"))
        def compare(lengths: list[int], character: str) -> None:
            made = [{"title": "Keep it"} | MEMBERS[member](character * length) for length in lengths]
            file.write_text(
                "".join(json.dumps({"kind": "decision", "id": f"d{n}", **one}) + "\n" for n, one in enumerate(made))
            )
            refused = {one.line for one in engine.ingest([file]).rejected}
            by_call = {number for number, one in enumerate(made, 1) if not accepts(serving, one)}
            assert refused == by_call, [lengths[number - 1] for number in refused ^ by_call]

        compare()


def accepts(serving: Serving, members: Mapping[str, Any]) -> bool:
    params = {("decision" if name == "title" else name): value for name, value in members.items()}
    reply = serving.send("recordDecision", **params, confidence=0.5, dryRun=True)
    assert "result" in reply or reply["error"]["code"] == -32602, reply
    return "result" in reply


@pytest.mark.parametrize("digits", ["9223372036854775808.0", "1e19", "-1e19", "1.7976931348623157e308", "5e-324"])
def test_a_number_with_a_fraction_or_an_exponent_is_read_back_equal(serve: Callable[..., Serving], digits: str) -> None:
    serving = serve()
    reply = post(serving, digits)
    whole = serving.ask("getDecision", id=reply["result"]["id"])["decision"]
    assert whole["trace"] == {"n": float(digits)}
    assert isinstance(whole["trace"]["n"], float)


@pytest.mark.parametrize("digits", ["9223372036854775808", "-9223372036854775809", "1" + "0" * 30])
def test_a_whole_number_beyond_64_bits_is_refused_by_name(serve: Callable[..., Serving], digits: str) -> None:
    assert post(serve(), digits)["error"]["data"]["violations"] == [
        {"field": "trace", "message": "must have whole numbers of at most 64 bits"}
    ]


def post(serving: Serving, digits: str) -> Any:
    params = f'{{"decision": "Keep it", "confidence": 0.5, "trace": {{"n": {digits}}}}}'
    body = f'{{"jsonrpc": "2.0", "id": 1, "method": "cstp.recordDecision", "params": {params}}}'
    serving.ask("getStats")  # makes a token
    fields = {"Authorization": f"Bearer {serving.tokens[0]}", "Content-Type": "application/json"}
    return httpx.post(serving.url, content=body, headers=fields, trust_env=False).json()


BRACES = "must have no alternatives in braces: give one pattern for each; a \\ makes a brace literal"


@pytest.mark.parametrize("pattern", ["src/*.{ts,tsx}", "{a,b}/**", "src/{a/b,c}.py", "!docs/{de,en}/", "[x]{a,}"])
def test_alternatives_in_braces_are_refused_by_name_in_calls_and_files(
    serve: Callable[..., Serving], tmp_path: Path, pattern: str
) -> None:
    part = {"type": "path", "pattern": pattern}
    reply = serve().send("recordDecision", decision="Keep it", confidence=0.5, affects=[part])
    (violation,) = reply["error"]["data"]["violations"]
    assert violation["field"].startswith("affects")
    assert BRACES in violation["message"]
    file = tmp_path / "decisions.jsonl"
    file.write_text(json.dumps({"kind": "decision", "id": "d", "title": "Keep it", "affects": [pattern]}) + "\n")
    front = (
        f"---\naffects: {json.dumps([pattern])}\n---\n# 1. Keep it\n\n## Status\n\nAccepted\n\n## Decision\n\nKeep.\n"
    )
    (tmp_path / "0001-keep.md").write_text(front)
    with SyncEngine.open(f"sqlite:///{tmp_path}/records.sqlite3", tmp_path / "indexes", None) as engine:
        summary = engine.ingest([file, tmp_path / "0001-keep.md"])
    said = [one.reason for one in (*summary.rejected, *summary.warnings) if "affects" in one.reason]
    assert len(said) == 2
    assert all(BRACES in one for one in said)


@pytest.mark.parametrize(
    "pattern", ["{{cookiecutter.name}}/*.py", "src/\\{a,b\\}.py", "src/[{]a,b[}].py", "{a}", "a,b"]
)
def test_braces_without_alternatives_are_literal(serve: Callable[..., Serving], pattern: str) -> None:
    serving = serve()
    id = serving.ask(
        "recordDecision", decision="Keep it", confidence=0.5, affects=[{"type": "path", "pattern": pattern}]
    )["id"]
    literal = pattern.replace("\\", "").replace("[{]", "{").replace("[}]", "}").replace("*", "x")
    assert [one["id"] for one in serving.ask("getDecisionContext", files=[literal])["proposals"]] == [id]
