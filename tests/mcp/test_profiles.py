"""Tools of a client: by token scopes and by profile; and the list's size."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from mcp.shared.exceptions import MCPError

from cognition_engines.kinds.spec import Kind
from cstp_server.mcp.profiles import PROFILES, UnknownTools, chosen_tools
from cstp_server.mcp.tools import TOOLS
from tests.isolation.world import World
from tests.kinds import entry
from tests.mcp.conftest import Connect, body_of, mcp_url, over_http
from tests.mcp.test_tools import ERAS, SCOPES
from tests.programs import plain_environment, run_cstp
from tests.serving import Serving

ASK = {"search", "fetch", "query_decisions", "get_decision_context", "get_session_context"}
RECORD = ASK | {"record_decision", "review_decision", "remember"}
MOST_BYTES = {"ask": 8192, "record": 16_384, "all": 46_080}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
VERSION = "2026-07-28"  # tools with longer answers
MODERN = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "a", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}
MODERN_HEADERS = {"MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/list"}


def post(
    serving: Serving, query: str, body: object, scopes: Iterable[str] = SCOPES, headers: Mapping[str, str] | None = None
) -> Any:
    """Return the answer to a message at `/mcp`, of any status."""
    fields = {"Authorization": f"Bearer {serving.token(scopes=tuple(scopes))}", "Content-Type": "application/json"}
    fields |= headers or {}
    return serving.client.post(serving.url.replace("/cstp", f"/mcp{query}"), content=json.dumps(body), headers=fields)


def listed(serving: Serving, query: str, *scopes: str) -> set[str]:
    tools = post(serving, query, LIST, scopes or SCOPES).json()["result"]["tools"]
    return {tool["name"] for tool in tools}


def call(tool: str, **arguments: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def test_the_url_chooses_a_profile_and_without_it_the_setting_does(knowing: Serving) -> None:
    assert listed(knowing, "") == listed(knowing, "?tools=record") == RECORD
    assert listed(knowing, "?tools=ask") == ASK
    assert listed(knowing, "?tools=all&other=1") == set(TOOLS)
    assert listed(knowing, "?tools=forget,get_stats") == {"forget", "get_stats"}


@pytest.mark.parametrize("choice", [["fetch", "recall"], "fetch, recall"], ids=["a list", "a text"])
def test_the_setting_may_name_tools(serve: Callable[..., Serving], choice: object) -> None:
    serving = serve(mcp={"tools": choice})
    assert listed(serving, "") == {"fetch", "recall"}
    assert listed(serving, "?tools=ask") == ASK


def test_a_token_sees_the_tools_allowed_by_its_scopes(knowing: Serving) -> None:
    assert listed(knowing, "", "read") == ASK
    assert listed(knowing, "", "write") == {"record_decision", "remember"}
    assert listed(knowing, "", "review") == {"review_decision"}
    assert listed(knowing, "", "admin") == set()
    allowed = {name for name, tool in TOOLS.items() if set(tool.method.scopes) & {"read", "review"}}
    assert listed(knowing, "?tools=all", "read", "review") == allowed < set(TOOLS)


def test_a_tool_outside_the_profile_is_unknown_and_outside_the_scopes_forbidden(knowing: Serving) -> None:
    error = post(knowing, "?tools=ask", call("get_stats")).json()["error"]
    assert error["code"] == -32602
    assert error["message"].startswith("Unknown tool; tools/list names those there are, which mcp.tools, ")
    assert post(knowing, "?tools=all", call("get_stats")).json()["result"]["isError"] is False
    refused = post(knowing, "", call("remember", content="No."), ["read"]).json()["result"]
    assert json.loads(refused["content"][0]["text"])["error"]["code"] == "FORBIDDEN"


@pytest.mark.parametrize(
    "query", ["?tools=nothing", "?tools=", "?tools=ask,all", "?tools=ask&tools=all", "?tools=ask,"]
)
def test_a_wrong_choice_in_the_url_is_400_with_the_remedy(knowing: Serving, query: str) -> None:
    for body in (LIST, call("search", query="index"), {"broken": 1}):
        reply = post(knowing, query, body)
        assert reply.status_code == 400
        error = reply.json()["error"]
        assert error["code"] == "VALIDATION_ERROR"
        assert error["message"] == "tools must be ask, record or all, or names of tools, once in the URL"


def test_a_wrong_choice_costs_as_any_message(live_server: Callable[..., Any]) -> None:
    live = live_server({"limits.default": "2/minute"})
    headers = {"Authorization": f"Bearer {live.token()}", "Content-Type": "application/json"}
    replies = [live.ask("/mcp?tools=x", json.dumps(LIST).encode(), headers, "POST") for _ in range(3)]
    assert [reply.status for reply in replies] == [400, 400, 429]


@pytest.mark.parametrize(
    ("choice", "hint"),
    [
        ("aks", "did you mean ask?"),
        (["get_pattern"], "did you mean get_patterns?"),
        ([], "names of tools"),
        ("", "names"),
    ],
)
def test_a_wrong_choice_names_the_nearest(choice: Any, hint: str) -> None:
    with pytest.raises(UnknownTools, match="must be ask, record or all, or names of tools") as caught:
        chosen_tools(choice)
    assert hint in str(caught.value)


@pytest.mark.long("starts a program that speaks MCP")
@pytest.mark.parametrize(
    ("words", "environment", "error"),
    [
        (("mcp", "--agent", "me", "--tools", "recrod"), {}, "--tools: must be ask, record or all, or names of tools"),
        (("mcp", "--agent", "me"), {"CSTP_MCP__TOOLS": "recrod"}, "mcp.tools: must be ask, record or all"),
        (("serve", "--port", "0"), {"CSTP_MCP__TOOLS": '["search", "x"]'}, "mcp.tools: must be ask, record or all"),
    ],
    ids=["an option", "a variable", "a list for a server"],
)
def test_a_wrong_choice_ends_a_program_at_its_start(
    tmp_path: Path, words: tuple[str, ...], environment: dict[str, str], error: str
) -> None:
    done = run_cstp(*words, "--data-dir", tmp_path, env=plain_environment(**environment))
    assert (done.returncode, done.stdout) == (2, "")
    assert error in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long("starts a program that speaks MCP")
@pytest.mark.parametrize("era", ERAS)
async def test_an_option_chooses_over_standard_input(sampled: Path, over_stdio: Connect, era: str) -> None:
    words = ("--data-dir", sampled, "--agent", "reader")
    async with over_stdio(*words, "--tools", "fetch,remember,get_stats", mode=era) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {"fetch", "get_stats"}
        assert not (await client.call_tool("get_stats", {})).is_error
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("search", {"query": "index"})


@pytest.mark.long("starts a program that speaks MCP")
async def test_a_remote_server_names_the_scopes_of_its_token(knowing: Serving, over_stdio: Connect) -> None:
    token = knowing.token(scopes=("read", "write"))
    words = ("--url", knowing.url.removesuffix("/cstp"), "--tools", "record")
    async with over_stdio(*words, CSTP_TOKEN=token) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == RECORD - {"review_decision"}
    async with over_stdio("--url", knowing.url.removesuffix("/cstp"), CSTP_TOKEN="cstp_0_0") as client:
        with pytest.raises(MCPError, match="Authentication required"):
            await client.list_tools()


@pytest.mark.parametrize("profile", PROFILES)
def test_the_list_of_a_profile_is_short(knowing: Serving, profile: str) -> None:
    whole = LIST | {"id": str(UUID(int=1)), "params": MODERN}
    body = post(knowing, f"?tools={profile}", whole, headers=MODERN_HEADERS).content
    assert b"cacheScope" in body
    assert len(body) <= MOST_BYTES[profile]
    tools = json.loads(body)["result"]["tools"]
    assert {tool["name"] for tool in tools} == chosen_tools(profile)
    assert not any("outputSchema" in tool for tool in tools)


def test_the_setting_decides_whether_output_schemas_are_listed(serve: Callable[..., Serving]) -> None:
    tools = post(serve(mcp={"output_schemas": True}), "", LIST).json()["result"]["tools"]
    assert all(tool["outputSchema"]["type"] == "object" for tool in tools)


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_may_keep_the_list_for_its_token_alone(knowing: Serving, era: str) -> None:
    async with over_http(mcp_url(knowing), knowing.token(), era) as client:
        found = await client.list_tools()
    assert era == "legacy" or (found.cache_scope, found.ttl_ms) == ("private", 300_000)


async def test_unlisted_parameters_are_taken_and_checked(knowing: Serving) -> None:
    async with over_http(mcp_url(knowing, "ask"), knowing.token()) as client:
        shown = {tool.name: tool.input_schema["properties"] for tool in (await client.list_tools()).tools}
        assert not {"min_seq", "explain"} & shown["search"].keys()
        assert "maxLength" not in json.dumps(shown)
        found = body_of(await client.call_tool("search", {"query": "index record", "explain": True, "min_seq": 1}))
        assert all("explain" in one for one in found["results"])
        long = body_of(await client.call_tool("search", {"query": "x" * 8193, "kinds": [], "min_seq": -1}))
    fields = [one["field"] for one in long["error"]["details"]["violations"]]
    assert sorted(fields) == ["kinds", "min_seq", "query"]


@pytest.mark.long("searches and fetches each kind")
async def test_search_and_fetch_answer_as_connectors_expect(knowing: Serving, world: World) -> None:
    """Follow https://platform.openai.com/docs/mcp: texts `id`, `title`, `url`; a record has `text`, `metadata`, too."""
    token = knowing.token(clearance="highly_sensitive")
    async with over_http(mcp_url(knowing, "ask"), token) as client:
        seen = set()
        for kind in ("decision", "chunk", "extraction", "episode", "artifact", "turn", "event"):
            searched = await client.call_tool("search", {"query": "index record graph vector", "kinds": [kind]})
            for one in body_of(searched)["results"]:
                assert all(isinstance(one[name], str) and one[name] for name in ("id", "title", "url")), one
                fetched = await client.call_tool("fetch", {"id": one["id"]})
                whole = body_of(fetched)
                assert whole == fetched.structured_content
                assert whole["id"] == one["id"], one
                assert all(isinstance(whole[name], str) for name in ("title", "text", "url"))
                assert whole["text"]
                assert isinstance(whole["metadata"], dict)
                # a passage without its artifact is found as an artifact
                assert whole["kind"] in (one["type"], "artifact_chunk")
                assert whole["url"] == one["url"]
                seen.add(one["type"])
    assert seen == {"decision", "chunk", "extraction", "episode", "artifact", "turn", "event"}


@pytest.mark.parametrize("public", ["https://memory.example/team", None])
async def test_the_url_of_a_record_is_that_of_its_page(serve: Callable[..., Serving], public: str | None) -> None:
    serving = serve(server={"port": 0, "public_url": public}, ui={"enabled": public is not None})
    serving.put([entry(Kind.CHUNK, "chk-ä/b", content="The ferry leaves at noon.")])
    serving.caught_up()
    async with over_http(mcp_url(serving), serving.token()) as client:
        found = body_of(await client.call_tool("fetch", {"id": "chk-ä/b"}))
    assert found.get("url") == (public and f"{public}/ui/#/passage/chk-%C3%A4%2Fb")
