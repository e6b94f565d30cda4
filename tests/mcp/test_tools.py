"""Every tool through the SDK's client, over both transports and both protocol eras."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic.alias_generators import to_snake

from cognition_engines.kinds.spec import Kind
from cstp_server.mcp.profiles import chosen_tools
from cstp_server.mcp.schemas import listed_input, output_schema
from cstp_server.mcp.tools import INSTRUCTIONS, STORED_IS_DATA, TOOLS
from tests.calls import READ_TOOLS, SAMPLE, WORDS, fill, has_content, ids_of, tool_arguments
from tests.isolation.world import World
from tests.kinds import entry
from tests.mcp.conftest import Connect, body_of, mcp_url, over_http
from tests.serving import Serving

HERE = Path(__file__).parent
ERAS = ["legacy", "auto"]
SCOPES = ("read", "write", "review", "ratify", "admin")
WRITES = {name for name, tool in TOOLS.items() if tool.method.writes}


def calls(world: World) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a call of each reading tool, and others; some find something, some nothing."""
    event = world.ids[Kind.EVENT][0]
    values = {**ids_of(world), WORDS: "index record"}
    for tool in READ_TOOLS:
        yield tool, fill(tool_arguments(tool), values)
    several: Mapping[str, list[dict[str, Any]]] = {
        "query_decisions": [
            {"query": "index record", "filters": {"min_confidence": 0.25, "date_after": "2026-01-01"}, "limit": 5},
            {"query": "index", "include_reasons": True, "mode": "keyword"},
        ],
        "fetch": [{"id": values["DECISION"], "kind": "decision"}],
        "list_decisions": [{"limit": 2, "offset": 1, "category": "storage"}],
        "get_stats": [{"project": "alpha"}],
        "get_graph": [{"node_id": values["DECISION"], "edge_types": ["supersedes"]}],
        "get_decision_points": [{"topic": "rag", "limit": 2, "offset": 1}],
        "get_patterns": [{"topic": ""}],
        "get_warnings": [{"topic": "none"}],
        "get_chunk": [
            {"chunk_id": values["CHUNK"], "related_limit": 2},
            {"chunk_id": values["CHUNK"], "include_related": False},
        ],
        "list_episodes": [{"limit": 3, "date_from": "2026-01-02", "tags": ["rag"]}],
        "find_episodes": [{"query": "index record", "min_reward": 0.25, "limit": 5}],
        "recall": [
            {"query": "index record", "limit": 5},
            {"id": event},
            {"conversation_id": "talk-1", "limit": 2},
            {"context": "meeting", "include_events": False},
        ],
        "get_decision_context": [{"files": ["src/a.py"], "include": ["snippet"]}],
        "get_session_context": [
            {"task_description": "index record", "since": 0},
            {"format": "json", "include": ["ready", "episodes"]},
        ],
        "list_memories": [{"participants": ["Ana"], "limit": 2}],
        "changes": [{"since": 0, "limit": 1000}, {"since": "now"}],
        "search": [{"query": "graph vector", "kinds": ["chunk", "decision"], "include": ["content"]}],
        "search_knowledge": [{"query": "graph vector", "filters": {"type": ["chunk", "pattern"]}}],
    }
    yield from ((tool, arguments) for tool, listed in several.items() for arguments in listed)


def without_pages(tool: str, found: Any) -> Any:
    """Return an answer without additions for connectors; `metadata` of a record is as in files."""
    if tool == "fetch":
        found.pop("url", None)
        return in_snake_case(found)
    if tool == "search":  # connectors need a title, and text ids
        own = ("url", "title", "id")
        ids = [str(one["id"]) for one in found["results"]]
        rest = [{name: value for name, value in one.items() if name not in own} for one in found["results"]]
        return {**found, "results": rest, "ids": ids}
    return found


def in_snake_case(value: Any) -> Any:
    """Return an answer of `/cstp` with names as the seeds spell them."""
    if isinstance(value, dict):
        return {to_snake(name): in_snake_case(inner) for name, inner in value.items() if name != "queryTimeMs"}
    return [in_snake_case(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.long("asks every tool")
@pytest.mark.parametrize("era", ERAS)
async def test_every_tool_answers_as_its_method_in_seed_spelling(knowing: Serving, world: World, era: str) -> None:
    token = knowing.token(clearance="highly_sensitive", scopes=SCOPES)
    async with over_http(mcp_url(knowing), token, era) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == set(TOOLS)
        for name, arguments in calls(world):
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result
            found = result.structured_content
            assert found is not None
            assert body_of(result) == found
            Draft202012Validator(output_schema(TOOLS[name].method.result)).validate(found)
            # defaults of absent tool parameters are parameters of the method, too
            same = TOOLS[name].arguments(arguments)
            expected = knowing.ask(TOOLS[name].method.name.removeprefix("cstp."), token, **same)
            expected = in_snake_case(expected)
            if name == "recall":
                expected["selector"] = to_snake(expected["selector"])
            found.pop("query_time_ms", None)
            assert without_pages(name, found) == without_pages(name, expected), (name, arguments)


@pytest.mark.long("asks every tool")
@pytest.mark.parametrize("era", ERAS)
async def test_every_tool_answers_over_standard_input_and_output(sampled: Path, over_stdio: Connect, era: str) -> None:
    given = {"CSTP_MCP__OUTPUT_SCHEMAS": "true"}
    async with over_stdio("--data-dir", sampled, "--agent", "reader", mode=era, **given) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(listed) == set(TOOLS) - WRITES
        decisions = body_of(await client.call_tool("list_decisions", {"limit": 1}))["decisions"]
        values = {**SAMPLE, "DECISION": decisions[0]["id"]}
        for name in READ_TOOLS:
            result = await client.call_tool(name, fill(tool_arguments(name), values))
            assert not result.is_error, result
            Draft202012Validator(listed[name].output_schema).validate(result.structured_content)
            assert has_content(body_of(result)), name


def test_the_tools_have_the_agreed_shapes() -> None:
    """Compare with the agreed shapes; after an intended change: python -m tests.mcp.snapshot"""
    listed = {name: tool.as_listed().model_dump(by_alias=True, exclude_none=True) for name, tool in TOOLS.items()}
    assert listed == json.loads((HERE / "tools.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_explains_its_use_in_at_most_60_words(name: str) -> None:
    text = TOOLS[name].description
    assert text.startswith("Use ")
    assert len(text.split()) <= 60
    named = set(re.findall(r"[a-z]+_[a-z_]+", text)) & set(TOOLS)
    for profile in ("ask", "record"):
        if name in chosen_tools(profile):
            assert named <= chosen_tools(profile), f"a client with {profile} has no other tool"


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_states_whether_it_writes(name: str) -> None:
    tool = TOOLS[name].as_listed(output=True)
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint is not TOOLS[name].method.writes
    takes_away = ("link_decisions", "unlink_decisions", "remember", "store_knowledge", "forget")
    assert tool.annotations.destructive_hint is (name in takes_away)
    adds = ("record_decision", "review_decision", "store_episode", "remember")
    assert tool.annotations.idempotent_hint is (name not in adds if name in WRITES else None)
    Draft202012Validator.check_schema(tool.input_schema)
    Draft202012Validator.check_schema(dict(tool.output_schema or {}))
    text = json.dumps(tool.model_dump(exclude={"annotations"}))
    models = (TOOLS[name].method.params, TOOLS[name].method.result)
    aliases = {str(field.alias) for model in models for field in model.model_fields.values()}
    assert [alias for alias in aliases if alias != to_snake(alias) and alias in text] == []


@pytest.mark.parametrize("name", TOOLS)
def test_every_method_parameter_is_a_parameter_of_its_tool(name: str) -> None:
    given = set(TOOLS[name].method.params.model_fields)
    assert set(TOOLS[name].input["properties"]) == given
    of_programs = {"min_seq", "agent_id", "explain", "if_none_match"}
    short = {"include_links", "include_provenance"} if "include" in given else set()
    assert set(listed_input(TOOLS[name].input)["properties"]) == given - of_programs - short
    assert TOOLS[name].input["additionalProperties"] is False


@pytest.mark.parametrize("name", TOOLS)
def test_the_schemas_of_a_tool_have_neither_references_nor_null_as_an_alternative(name: str) -> None:
    """Check schemas for clients that cannot tell an object from null next to it, and send it as JSON text."""
    schemas = TOOLS[name].input, output_schema(TOOLS[name].method.result)
    for text in map(json.dumps, schemas):
        assert "$ref" not in text
        assert "$defs" not in text
        assert '{"type": "null"}' not in text.replace('"path": {"type": "null"}', "")  # always null
    assert '"null"' not in json.dumps(schemas[0])


async def test_an_answer_may_have_null_only_for_members_missing_from_a_record(knowing: Serving) -> None:
    output = Draft202012Validator(output_schema(TOOLS["query_decisions"].method.result))
    async with over_http(mcp_url(knowing), knowing.token()) as client:
        result = await client.call_tool("query_decisions", {"query": "index record", "limit": 1})
    assert result.structured_content is not None
    (one,) = result.structured_content["decisions"]

    def allows(**members: Any) -> bool:
        return output.is_valid({**result.structured_content, "decisions": [one | members]})

    assert allows(category=None, confidence=None, date=None)
    assert allows(provenance={"project": None, "path": "a.md", "status_text": None})
    for member in ("id", "title", "snippet", "links", "provenance", "truncated"):
        assert not allows(**{member: None}), member
    assert not allows(date=5)
    assert not allows(unknown=None)


@pytest.mark.parametrize(
    ("name", "arguments", "texts"),
    [
        ("query_decisions", {"filters": {"min_confidence": 0.25}}, {"filters": '{"min_confidence": 0.25}'}),
        ("query_decisions", {"filters": {"status": ["accepted"]}}, {"filters": {"status": '["accepted"]'}}),
        ("query_decisions", {"filters": {"status": ["accepted"]}}, {"filters": '{"status": "[\\"accepted\\"]"}'}),
        ("query_decisions", {"filters": {"minConfidence": 0.25}}, {"filters": '{"minConfidence": 0.25}'}),
        ("query_decisions", {"include": []}, {"include": "[]"}),
        ("search_knowledge", {"filters": {"type": ["chunk"]}}, {"filters": {"type": '["chunk"]'}}),
        ("list_episodes", {"tags": ["rag"]}, {"tags": '["rag"]'}),
        ("recall", {"graphFilters": ["*"], "context": "meeting"}, {"graphFilters": '["*"]', "context": "meeting"}),
    ],
    ids=str,
)
async def test_an_object_or_a_list_may_come_as_json_text(
    knowing: Serving, name: str, arguments: dict[str, Any], texts: dict[str, Any]
) -> None:
    query = {"query": "index record"} if "query" in TOOLS[name].input.get("required", ()) else {}
    async with over_http(mcp_url(knowing), knowing.token()) as client:
        plain, read = [await client.call_tool(name, {**query, **given}) for given in (arguments, texts)]
    assert not plain.is_error, plain
    for found in (plain.structured_content, read.structured_content):
        assert found is not None
        found.pop("query_time_ms", None)
    assert read.structured_content == plain.structured_content


@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("query_decisions", {"query": "index", "filters": "[1]"}, "filters"),
        ("query_decisions", {"query": "index", "filters": "{broken"}, "filters"),
        ("query_decisions", {"query": "index", "filters": '{"stakes": []}'}, "filters.stakes"),
        ("query_decisions", {"query": "index", "limit": "5"}, "limit"),
        ("query_decisions", {"query": "index", "include_reasons": "true"}, "include_reasons"),
        ("query_decisions", {"query": "index", "include": '["links", "links"]'}, "include"),
        ("get_decision_points", {"topic": ["rag"]}, "topic"),
    ],
    ids=str,
)
async def test_wrong_texts_are_refused(knowing: Serving, name: str, arguments: dict[str, Any], field: str) -> None:
    async with over_http(mcp_url(knowing), knowing.token()) as client:
        result = await client.call_tool(name, arguments)
    assert result.is_error
    violations = body_of(result)["error"]["details"]["violations"]
    assert [one["field"] for one in violations] == [field]


def test_the_endpoint_of_json_rpc_takes_no_json_text(knowing: Serving) -> None:
    assert knowing.refused("queryDecisions", query="index", filters="{}") == ["filters"]
    assert knowing.refused("listEpisodes", tags='["rag"]') == ["tags"]


async def test_a_decision_comes_with_its_content_unless_something_else_is_requested(knowing: Serving) -> None:
    parts = {"snippet", "links", "provenance"}
    async with over_http(mcp_url(knowing), knowing.token()) as client:
        for arguments, expected in (({}, parts), ({"include": ["links"]}, {"links"}), ({"include": []}, set())):
            result = await client.call_tool("query_decisions", {"query": "index record", **arguments})
            assert result.structured_content is not None
            for one in result.structured_content["decisions"]:
                assert parts & set(one) == expected


async def test_a_list_by_topic_names_the_topics_and_is_called_by_its_former_name_too(knowing: Serving) -> None:
    async with over_http(mcp_url(knowing), knowing.token()) as client:
        assert "get_decisions" not in {tool.name for tool in (await client.list_tools()).tools}
        asked = [await client.call_tool(name, {"topic": "?"}) for name in ("get_decision_points", "get_decisions")]
        one, other = (result.structured_content or {} for result in asked)
    assert one == other
    assert "rag" in one["metadata"]["topics"]


async def test_texts_are_snippets_unless_whole_texts_are_requested(serve: Callable[..., Serving]) -> None:
    serving = serve()
    text = "The ferry leaves at noon. " * 100
    serving.put([entry(Kind.ARTIFACT, "long", content=text), entry(Kind.CHUNK, "chk-long", content=text)])
    serving.caught_up()
    async with over_http(mcp_url(serving), serving.token()) as client:

        async def content(tool: str, **arguments: Any) -> tuple[str, bool]:
            found = (await client.call_tool(tool, arguments)).structured_content or {}
            return found["results"][0]["content"], found["results"][0]["truncated"]

        for tool in ("recall", "search_knowledge"):
            cut, truncated = await content(tool, query="ferry")
            assert (len(cut) <= 600, truncated) == (True, True)
            assert await content(tool, query="ferry", snippets=False) == (text, False)
        assert await content("recall", id="art_long") == (text, False)


def test_descriptions_name_the_call_for_the_whole_text() -> None:
    skill = (HERE.parents[1] / "skills" / "cognition_engines" / "SKILL.md").read_text(encoding="utf-8")
    for text in (INSTRUCTIONS, skill):
        assert "fetch" in text
        assert "whole" in text
    for name in ("search", "query_decisions"):
        assert "fetch" in TOOLS[name].description
    assert "get_chunk" in TOOLS["search_knowledge"].description


@pytest.mark.parametrize("era", ERAS)
async def test_tools_returning_stored_texts_call_them_data(knowing: Serving, era: str) -> None:
    async with over_http(mcp_url(knowing), knowing.token(scopes=SCOPES), era) as client:
        saying = {tool.name for tool in (await client.list_tools()).tools if STORED_IS_DATA in (tool.description or "")}
        assert STORED_IS_DATA in (client.instructions or "")
    assert saying == (TOOLS.keys() - WRITES) | {"record_decision", "unlink_decisions"}


@pytest.mark.long("asks every tool")
async def test_a_decision_is_recorded_read_reviewed_and_linked_by_tools(serve: Callable[..., Serving]) -> None:
    serving = serve()
    token = serving.token(scopes=("read", "write", "review"))
    async with over_http(mcp_url(serving), token) as client:
        made = []
        for decision in ("Bake bread", "Buy an oven"):
            asked = {"decision": decision, "confidence": 0.5, "tags": '["bread"]', "idempotency_key": decision[:3]}
            first, again = [body_of(await client.call_tool("record_decision", asked)) for _ in range(2)]
            assert (first["created"], again["created"], again["id"]) == (True, False, first["id"])
            made.append(first["id"])
        link = {"source_id": made[0], "target_id": made[1], "edge_type": "depends_on"}
        await client.call_tool("link_decisions", link)
        await client.call_tool("review_decision", {"id": made[0], "outcome": "success"})
        seq = body_of(await client.call_tool("update_decision", {"id": made[0], "updates": {"pr": "7"}}))["seq"]
        found = body_of(await client.call_tool("get_decision", {"id": made[0], "min_seq": seq}))["decision"]
        assert (found["outcome"], found["pr"], found["provenance"]["via"]) == ("success", "7", "mcp")
        assert [one["target_id"] for one in found["links"]] == [made[1]]
        assert (await client.call_tool("unlink_decisions", link)).is_error is False
        again = body_of(await client.call_tool("unlink_decisions", link))
        assert again["error"]["details"]["expected"] == "a link depends_on to target_id"
        refused = await client.call_tool("set_status", {"id": made[0], "status": "accepted", "reason": "good"})
        assert body_of(refused)["error"]["code"] == "FORBIDDEN", body_of(refused)


@pytest.mark.long("asks every tool")
async def test_lessons_memories_and_knowledge_are_stored_and_found_by_tools(serve: Callable[..., Serving]) -> None:
    serving = serve()
    token = serving.token(scopes=("read", "write"))
    async with over_http(mcp_url(serving), token) as client:
        asked = {"query": "Bake bread", "reward": 0, "reflection": "Preheat.", "tags": '["bread"]'}
        asked |= {"idempotency_key": "one"}
        first, again = [body_of(await client.call_tool("store_episode", asked)) for _ in range(2)]
        assert (first["created"], again["created"], again["id"]) == (True, False, first["id"])
        whole = body_of(await client.call_tool("get_episode", {"id": first["id"], "min_seq": first["seq"]}))
        assert (whole["reflection"], whole["provenance"]["via"]) == ("Preheat.", "mcp")
        found = body_of(await client.call_tool("find_episodes", {"query": "preheat", "min_seq": first["seq"]}))
        assert [one["id"] for one in found["episodes"]] == [first["id"]]
        told = body_of(await client.call_tool("remember", {"content": "The oven is hot.", "context": "note"}))
        assert told["status"] == "created"
        chunk = {"kind": "chunk", "content": "Rye needs sour dough."}
        kept = body_of(await client.call_tool("store_knowledge", {"records": [chunk]}))
        assert [one["status"] for one in kept["records"]] == ["created"]
        asked = {"id": first["id"], "kind": "episode"}
        unsure = body_of(await client.call_tool("forget", asked))
        assert [one["field"] for one in unsure["error"]["details"]["violations"]] == ["confirm"]
        assert body_of(await client.call_tool("forget", asked | {"dry_run": True}))["deleted"] is False
        forgotten = body_of(await client.call_tool("forget", asked | {"confirm": True}))
        assert forgotten["receipt"]["remaining"] == {"records": 0, "keywords": 0, "vectors": 0}
        gone = await client.call_tool("get_episode", {"id": first["id"]})
        assert body_of(gone)["error"]["code"] == "NOT_FOUND", body_of(gone)
    async with over_http(mcp_url(serving), serving.token()) as reader:
        refused = await reader.call_tool("remember", {"content": "No."})
        assert body_of(refused)["error"]["code"] == "FORBIDDEN", body_of(refused)
