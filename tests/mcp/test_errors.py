"""Tool errors: the bodies of the seeds, as results with `isError`."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from mcp import MCPError
from pydantic.alias_generators import to_snake

from cognition_engines.kinds.spec import Kind
from cstp_server.mcp.tools import INSTRUCTIONS, TOOLS
from tests.isolation.world import World
from tests.mcp.conftest import body_of, mcp_url, over_http
from tests.serving import Serving

LACKING = "the token lacks the scope read; ask its operator for a token with --scope read"

DECISION = {"decision": "x", "confidence": 1}
TIMESTAMP = "must be an ISO 8601 timestamp such as 2026-01-31T09:30:00Z, or a date such as 2026-01-31"


async def failure(serving: Serving, token: str, tool: str, arguments: dict[str, Any]) -> Any:
    """Return an error body; without structured content, which a client would check against the result schema."""
    async with over_http(mcp_url(serving), token) as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    assert "-320" not in result.content[0].text
    return body_of(result)


@pytest.mark.parametrize(
    ("arguments", "details"),
    [
        ({"limit": 0}, "limit must be between 1 and 100"),
        ({"limit": 101}, "limit must be between 1 and 100"),
        ({"limit": True}, "limit must be an integer"),
        ({"offset": -1}, "offset must be at least 0"),
        ({"since": "yesterday"}, f"since {TIMESTAMP}"),
        ({"date_from": "2026-02-02", "date_to": "2026-02-01"}, "date_from must not be later than date_to"),
        ({"limit": 0, "offset": -1}, "limit must be between 1 and 100; offset must be at least 0"),
    ],
    ids=str,
)
async def test_list_episodes_refuses_by_its_seed(knowing: Serving, arguments: dict[str, Any], details: str) -> None:
    assert await failure(knowing, knowing.token(), "list_episodes", arguments) == {
        "error": "Parameter validation failed",
        "details": details,
        "tool": "list_episodes",
    }


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, "Must provide query, id, conversation_id, or context filter"),
        ({"query": "x"}, "Query must be between 2 and 5000 characters"),
        ({"query": "x" * 5001}, "Query must be between 2 and 5000 characters"),
        ({"query": "ok", "limit": 51}, "Limit must be between 1 and 50"),
        ({"query": "ok", "min_importance": 2}, "min_importance must be between 0 and 1"),
        ({"query": "ok", "max_tokens": 1}, "max_tokens must be at least 500"),
        ({"query": "ok", "limit": 51, "foo": 1}, "Limit must be between 1 and 50; foo is not an argument of this tool"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_recall_refuses_by_its_seed(knowing: Serving, arguments: dict[str, Any], error: str) -> None:
    assert await failure(knowing, knowing.token(), "recall", arguments) == {"error": error}


async def test_recall_of_an_unknown_id_is_empty_with_a_note(knowing: Serving) -> None:
    empty = {"results": [], "related": [], "entities": [], "total_count": 0}
    found = await failure(knowing, knowing.token(), "recall", {"id": "art_nothing"})
    assert found == empty | {"error": "Not found: art_nothing"}


@pytest.mark.parametrize("tool", ["get_decision_points", "get_patterns", "get_warnings"])
async def test_lists_refuse_parameters_as_their_seed_has_it(knowing: Serving, tool: str) -> None:
    assert await failure(knowing, knowing.token(), tool, {"limit": 501, "colour": "red"}) == {
        "error": {
            "code": "VALIDATION_ERROR",
            "message": "limit must be between 1 and 500; colour is not an argument of this tool",
            "details": {
                "violations": [
                    {"field": "limit", "message": "must be at most 500"},
                    {"field": "colour", "message": "is not an argument of this tool"},
                ]
            },
        }
    }


async def test_names_in_errors_are_those_of_the_tool(knowing: Serving) -> None:
    arguments = {"query": "index", "filters": {"min_confidence": 0.9, "max_confidence": 0.1}}
    found = await failure(knowing, knowing.token(), "query_decisions", arguments)
    assert found["error"]["details"]["violations"] == [
        {"field": "filters.min_confidence", "message": "min_confidence must not exceed max_confidence"},
        {"field": "filters.max_confidence", "message": "min_confidence must not exceed max_confidence"},
    ]
    assert found["error"]["message"] == "min_confidence must not exceed max_confidence"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"include": ["text", "text"]}, "include[0], include[1] must be one of 'snippet', 'links' or 'provenance'"),
        ({"include": ["links", "links"]}, "include must have each item once"),
        (
            {"filters": {"status": ["", 1, ""]}},
            "filters.status[0], filters.status[2] must have at least 1 character(s); "
            "filters.status[1] must be a string",
        ),
        ({"one": 1, "two": 2}, "one is not an argument of this tool; two is not an argument of this tool"),
    ],
    ids=str,
)
async def test_repeated_mistakes_are_reported_once(knowing: Serving, arguments: dict[str, Any], message: str) -> None:
    found = await failure(knowing, knowing.token(), "query_decisions", {"query": "index", **arguments})
    assert found["error"]["message"] == message


async def test_hidden_records_are_answered_like_absent_records(knowing: Serving, world: World) -> None:
    hidden = [id for id in world.ids[Kind.CHUNK] if "error" in knowing.send("getChunk", knowing.token(), chunkId=id)]
    assert hidden
    for id in (hidden[0], "nothing"):
        assert await failure(knowing, knowing.token(), "get_chunk", {"chunk_id": id}) == {
            "error": {"code": "NOT_FOUND", "message": "Not found", "details": {"id": id}}
        }


async def test_a_token_without_the_scope_gets_its_name(knowing: Serving) -> None:
    token = knowing.token(scopes=["admin"])
    assert await failure(knowing, token, "get_chunk", {"chunk_id": "x"}) == {
        "error": {"code": "FORBIDDEN", "message": f"Forbidden: {LACKING}", "details": {"scope": "read"}}
    }
    listed = {"error": "Forbidden", "details": LACKING, "tool": "list_episodes"}
    assert await failure(knowing, token, "list_episodes", {}) == listed
    assert await failure(knowing, token, "recall", {"query": "index"}) == {"error": f"Forbidden: {LACKING}"}


async def test_an_unanswering_store_is_reported_in_the_shape_of_each_tool(serve: Callable[..., Serving]) -> None:
    serving = serve()
    serving.break_store()
    token = serving.token()
    found = await failure(serving, token, "list_episodes", {})
    assert (found["error"], found["tool"]) == ("Database operation failed", "list_episodes")
    assert found["details"].startswith("records does not answer (request ")
    found = await failure(serving, token, "get_decision_points", {})
    assert found["error"]["code"] == "INTERNAL_ERROR"
    assert found["error"]["message"] == "Query failed"
    assert set(found["error"]["details"]) == {"component", "request_id"}
    found = await failure(serving, token, "recall", {"context": "meeting"})
    assert found["error"].startswith("Query failed: records does not answer")


@pytest.mark.long("starts a program that speaks MCP")
async def test_tools_spend_the_limits_of_cstp_at_the_same_cost(live_server: Callable[..., Any]) -> None:
    live = live_server({"limits.default": "7/minute"})
    token = live.token()
    async with over_http(f"http://127.0.0.1:{live.port}/mcp?tools=all", token) as client:
        await client.list_tools()  # 2, as connecting takes a request, too
        assert not (await client.call_tool("query_decisions", {"query": "index"})).is_error  # 2
        assert (await client.call_tool("list_episodes", {"limit": 0})).is_error  # 1: a mistaken call costs, too
        assert live.call("cstp.queryDecisions", token, {"query": "index"}).status == 200  # 2
        result = await client.call_tool("query_decisions", {"query": "index"})
        error = json.loads(result.content[0].text)["error"]
        assert (error["code"], error["message"]) == ("RATE_LIMITED", "Rate limited")
        assert 1 <= error["details"].pop("retry_after") <= 60
        assert error["details"] == {"limit": 7, "window": 60, "policy": "minute"}
        # a missing record costs, too, or guessing names would be free
        assert body_of(await client.call_tool("query_decision", {}))["error"]["code"] == "RATE_LIMITED"


async def test_an_unknown_tool_is_an_error_of_the_protocol(knowing: Serving) -> None:
    async with over_http(mcp_url(knowing), knowing.token()) as client:
        with pytest.raises(MCPError, match="Unknown tool") as caught:
            await client.call_tool("secret_tool_name", {})
    assert caught.value.code == -32602
    assert "secret_tool_name" not in str(caught.value)


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("query_decisions", {}, "query is required; list_decisions lists decisions without one"),
        ("query_decisions", {"query": "x", "include_detail": 1}, "use include, or get_decision for one decision"),
        ("list_decisions", {"search": "x"}, "use query_decisions"),
        ("review_decision", {"id": "x", "outcome": "success", "result": "y"}, "use actual_result"),
        ("get_graph", {"id": "x"}, "id is not an argument of this tool; did you mean node_id?"),
        ("list_memories", {"since": "2026-01-01"}, "did you mean date_from?"),
        ("record_decision", DECISION | {"reasons": ["y"]}, 'such as {"type": "analysis", "text": "…"}'),
        ("query_decisions", {"query": "x", "status": ["accepted"]}, "did you mean filters.status?"),
        ("get_stats", {"reason": 1}, "reason is not an argument of this tool"),
        ("get_stats", {f"a{n}": 1 for n in range(60)}, "members that are not arguments of this tool"),
    ],
    ids=str,
)
async def test_errors_name_arguments(knowing: Serving, tool: str, arguments: dict[str, Any], message: str) -> None:
    body = await failure(knowing, knowing.token(scopes=("read", "write", "review")), tool, arguments)
    assert message in body["error"]["message"]
    assert "method" not in json.dumps(body)
    assert "cstp." not in json.dumps(body)


def test_texts_for_models_name_no_method() -> None:
    texts = "".join(tool.as_listed(output=True).model_dump_json() for tool in TOOLS.values()) + INSTRUCTIONS
    assert "cstp." not in texts
    notes = [hint for tool in TOOLS.values() for hint in tool.method.params.published.instead.values()]
    notes += [hint for tool in TOOLS.values() for hint in tool.method.params.published.without.values()]
    named = {name for note in notes for name in re.findall(r"cstp\.(\w+)", note)}
    assert {to_snake(name) for name in named} <= set(TOOLS)


async def test_of_thousands_of_mistakes_a_tool_reports_a_hundred(serve: Callable[..., Serving]) -> None:
    serving = serve(server={"port": 0, "max_answer_bytes": 8000})
    events = [{"category": "a", "narrative": "b", "actors": [{}] * 100}] * 20
    async with over_http(mcp_url(serving), serving.token(scopes=("read", "write"))) as client:
        body = body_of(await client.call_tool("remember", {"content": "x", "events": events}))["error"]
        wide = [{"category": "a", "narrative": "b", "actors": [{"w" * 60: 1}] * 100}] * 9
        large = body_of(await client.call_tool("remember", {"content": "x", "events": wide}))["error"]
    assert len(body["details"]["violations"]) == 100
    assert body["message"].endswith("is required; and 1,900 more")
    assert large["details"]["component"] == "answer"
