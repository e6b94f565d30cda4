"""Answers over MCP fit a token count: texts are cut to their best passages, and a call gives the whole text."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.embedding.open import EmbeddingChoice, open_embedder
from cognition_engines.ingest.options import Options, Silent
from cognition_engines.ingest.run import ingest
from cstp.contract import ANSWER_TOKENS
from tests.mcp.conftest import body_of, mcp_url, over_http
from tests.serving import Serving, start
from tests.stores import Stores, wait_for

pytestmark = pytest.mark.long("embeds records with the packaged model")
TOKEN_BYTES = 3
FILLER = 'The canteen serves soup on Mondays, and "noodles" on Thursdays.\nThe lift is slow in the morning. '
ANSWER = "Number {}: two engineers on call already know how to restore the database after an outage."
SHORT = "An outage of the database needs two engineers on call."
OWNER = {"ref": "Mara", "role": "owner"}
QUERY = "who has experience with disaster recovery"

WHOLE: Mapping[str, Mapping[str, Any]] = {
    "recall": {"include_events": False, "snippets": False},
    "search_knowledge": {"snippets": False},
}


def long_text(number: int) -> str:
    return FILLER * 35 + ANSWER.format(number) + " " + FILLER * 35


def decisions() -> Iterator[dict[str, Any]]:
    yield {"kind": "decision", "id": "dec-0", "title": "Choice 0", "text": SHORT}
    for number in range(1, 60):
        text = FILLER * 10 + ANSWER.format(number) + " " + FILLER * 10
        yield {"kind": "decision", "id": f"dec-{number}", "title": f"Choice {number}", "text": text}


def lines() -> Iterator[dict[str, Any]]:
    for number in range(12):
        long = {"content": long_text(number)}
        mail = {"kind": "artifact", "id": f"mail-{number}", "title": f"Mail {number}", "context": "email"}
        yield mail | long | {"source_system": "mail", "participants": ["Mara", "Jonas"]}
        page = {"kind": "chunk", "id": f"chk-{number}", "title": f"Page {number}"}
        yield page | long | {"chunk_index": 0, "total_chunks": 1}
        turn = {"kind": "turn", "conversation_id": "talk", "turn_index": number, "role": "user"}
        yield turn | long | {"source_system": "chat"}
        event = {"kind": "event", "id": f"event-{number}", "category": "Decision", "artifact_id": f"mail-{number}"}
        yield event | {"narrative": f"Mara takes part {number} of the work. " * 20, "actors": [OWNER]}


@contextmanager
def over(records: Iterable[dict[str, Any]], folder: Path, stores: Stores) -> Iterator[Serving]:
    """Start a server over these records, with the packaged model."""
    file = folder / "records.jsonl"
    file.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    embedder = open_embedder(EmbeddingChoice("minilm"))
    serving, stop = start(folder / "data", stores, embedder, None)
    tally = ingest([file], Options(), serving.records, embedder, Silent(), 1)
    assert not tally.rejected, tally
    wait_for(lambda: all(index.snapshot.seq == serving.records.last_seq() for index in serving.indexes.all_spaces))
    yield serving
    stop()


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores) -> Iterator[Serving]:
    with over(lines(), tmp_path_factory.mktemp("long"), lasting_stores) as serving:
        yield serving


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores) -> Iterator[Serving]:
    with over(decisions(), tmp_path_factory.mktemp("decided"), lasting_stores) as serving:
        yield serving


async def asked(serving: Serving, tool: str, **arguments: Any) -> tuple[Any, int]:
    """Return a tool's answer, and the byte count."""
    async with over_http(mcp_url(serving), serving.token()) as client:
        result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    assert result.structured_content == body_of(result)
    return result.structured_content, len(result.content[0].text.encode())


@pytest.mark.parametrize("tool", ["recall", "search_knowledge"])
async def test_long_results_are_cut_to_the_answering_passage(long: Serving, tool: str) -> None:
    found, size = await asked(long, tool, query=QUERY, **WHOLE[tool])
    assert size <= ANSWER_TOKENS * TOKEN_BYTES
    assert size > ANSWER_TOKENS * TOKEN_BYTES * 0.7
    assert len(found["results"]) == 10
    assert found["omitted"] == 0
    for one in found["results"]:
        assert one["truncated"]
        assert ANSWER.partition(": ")[2] in one["content"]


async def test_the_id_of_a_cut_result_gives_the_whole(long: Serving) -> None:
    found, _ = await asked(long, "recall", query=QUERY, include_events=False)
    for one in found["results"][:3]:
        whole, _ = await asked(long, "recall", id=one["id"])
        (record,) = whole["results"]
        assert one["content"] in record["content"]
        (plain,) = long.ask("recall", id=one["id"])["results"]
        assert len(one["content"]) < len(record["content"]) == len(plain["content"])
        assert record["truncated"] is False
    found, _ = await asked(long, "search_knowledge", query=QUERY, limit=1)
    (one,) = found["results"]
    whole, _ = await asked(long, "get_chunk", chunk_id=one["chunk_id"])
    assert whole["content"] == long_text(int(one["id"].rpartition("-")[2]))


async def test_a_conversation_is_cut_turn_by_turn(long: Serving) -> None:
    found, size = await asked(long, "recall", conversation_id="talk", limit=12)
    assert size <= ANSWER_TOKENS * TOKEN_BYTES
    assert [turn["turn_index"] for turn in found["turns"]] == list(range(12))
    assert all(turn["truncated"] for turn in found["turns"])
    assert found["total_turns"] == 12


@pytest.mark.parametrize("max_tokens", [500, 700, 1000, 3000, 20_000])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("recall", {"query": QUERY, "limit": 50, "graph_budget": 50}),
        ("recall", {"context": "email", "limit": 50}),
        ("recall", {"conversation_id": "talk", "limit": 50}),
        ("search_knowledge", {"query": QUERY, "limit": 100}),
    ],
    ids=str,
)
async def test_answers_stay_within_tokens(long: Serving, tool: str, arguments: dict[str, Any], max_tokens: int) -> None:
    await is_bounded(long, tool, arguments, max_tokens)


@pytest.mark.parametrize("max_tokens", [500, 700, 1000, 3000, 20_000])
@pytest.mark.parametrize("include", [["snippet", "links", "provenance"], []], ids=str)
async def test_decisions_stay_within_tokens(decided: Serving, include: list[str], max_tokens: int) -> None:
    await is_bounded(decided, "query_decisions", {"query": QUERY, "limit": 50, "include": include}, max_tokens)


async def is_bounded(long: Serving, tool: str, arguments: dict[str, Any], max_tokens: int) -> None:
    found, size = await asked(long, tool, **arguments, max_tokens=max_tokens)
    assert size <= max_tokens * TOKEN_BYTES
    everything, _ = await asked(long, tool, **arguments, max_tokens=1_000_000)
    assert everything["omitted"] == 0

    def items(answer: Any) -> int:
        events = sum(len(one.get("events", ())) for one in answer.get("results", ()))
        names = ("results", "turns", "related", "entities", "decisions")
        return events + sum(len(answer.get(name, ())) for name in names)

    assert items(found) + found["omitted"] == items(everything)


async def test_many_decisions_get_shorter_snippets_and_those_without_room_are_counted(decided: Serving) -> None:
    found, size = await asked(decided, "query_decisions", query=QUERY, limit=50)
    assert size <= ANSWER_TOKENS * TOKEN_BYTES
    assert size > ANSWER_TOKENS * TOKEN_BYTES * 0.7
    assert found["total"] == len(found["decisions"]) == 50 - found["omitted"]
    assert found["omitted"] > 0
    everything, _ = await asked(decided, "query_decisions", query=QUERY, limit=50, max_tokens=1_000_000)
    assert [one["id"] for one in found["decisions"]] == [one["id"] for one in everything["decisions"]][: found["total"]]
    shorter = 0
    for one, before in zip(found["decisions"], everything["decisions"], strict=False):
        assert one["snippet"] in before["snippet"]
        assert one["truncated"] == before["truncated"] == (one["snippet"] != SHORT)
        shorter += len(one["snippet"]) < len(before["snippet"])
    assert shorter > 0
    assert {one["truncated"] for one in found["decisions"]} == {False, True}


async def test_ten_decisions_come_as_they_are_on_cstp(decided: Serving) -> None:
    found, _ = await asked(decided, "query_decisions", query=QUERY)
    plain = decided.ask("queryDecisions", query=QUERY, include=["snippet", "links", "provenance"])
    assert found["omitted"] == 0
    assert [one["snippet"] for one in found["decisions"]] == [one["snippet"] for one in plain["decisions"]]
    assert all("truncated" not in one for one in plain["decisions"])
    assert "omitted" not in plain


async def test_decisions_without_a_snippet_have_nothing_to_cut(decided: Serving) -> None:
    found, _ = await asked(decided, "query_decisions", query=QUERY, include=[])
    assert len(found["decisions"]) == 10
    assert all("truncated" not in one for one in found["decisions"])


async def test_fitting_results_are_whole_and_not_marked_as_cut(long: Serving) -> None:
    found, _ = await asked(long, "recall", query=QUERY, limit=2, **WHOLE["recall"], max_tokens=1_000_000)
    assert [one["truncated"] for one in found["results"]] == [False, False]
    assert all(len(one["content"]) > 2_000 for one in found["results"])


async def test_found_records_come_before_related_records(long: Serving) -> None:
    found, _ = await asked(long, "recall", query=QUERY, limit=4, graph_budget=20, **WHOLE["recall"])
    least = min(len(one["content"]) for one in found["results"])
    assert all(len(one["content"]) <= least for one in found["related"])


def test_without_a_number_of_tokens_everything_is_whole_on_cstp(long: Serving) -> None:
    found = long.ask("recall", query=QUERY, includeEvents=False)
    assert "omitted" not in found
    for one in [*found["results"], *found["related"]]:
        assert "truncated" not in one
    assert all("truncated" not in one for one in long.ask("searchKnowledge", query=QUERY)["results"])
    assert sum(len(one["content"]) for one in found["results"]) > 30_000


@pytest.mark.parametrize("wrong", [0, 499, 1_000_001, "8000", 500.5, True])
def test_an_invalid_number_of_tokens_is_refused(long: Serving, wrong: Any) -> None:
    assert long.refused("recall", query=QUERY, maxTokens=wrong) == ["maxTokens"]
    assert long.refused("searchKnowledge", query=QUERY, maxTokens=wrong) == ["maxTokens"]
    assert long.refused("queryDecisions", query=QUERY, maxTokens=wrong) == ["maxTokens"]
