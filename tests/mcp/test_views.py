"""MCP Apps: decision tools name the decision page as a resource, and answers are the same without it."""

import re
from pathlib import Path

import pytest
from mcp import MCPError
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID

from cstp_server.mcp.tools import TOOLS
from tests.isolation.world import World
from tests.mcp.conftest import Connect, mcp_url, over_http
from tests.serving import Serving

VIEW = "ui://cstp/decision"
META = {
    "ui": {
        "csp": {"connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": []},
        "prefersBorder": True,
    }
}
ERAS = ["legacy", "auto"]


@pytest.mark.parametrize("era", ERAS)
async def test_the_page_is_listed_and_read_with_its_type_and_without_domains(knowing: Serving, era: str) -> None:
    async with over_http(mcp_url(knowing), knowing.token(), era) as client:
        listed = (await client.list_resources()).resources[0]
        assert (listed.uri, listed.mime_type, listed.meta) == (VIEW, APP_MIME_TYPE, META)
        assert (await client.list_resource_templates()).resource_templates == []
        (page,) = (await client.read_resource(VIEW)).contents
    assert APP_MIME_TYPE == "text/html;profile=mcp-app"
    assert (page.uri, page.mime_type, page.meta) == (VIEW, APP_MIME_TYPE, META)
    assert page.model_dump()["text"].startswith("<!doctype html>")


@pytest.mark.long("starts a program that speaks MCP")
async def test_the_page_is_read_over_standard_input_and_output(sampled: Path, over_stdio: Connect) -> None:
    async with over_stdio("--data-dir", sampled, "--agent", "reader") as client:
        (page,) = (await client.read_resource(VIEW)).contents
    assert page.mime_type == APP_MIME_TYPE


@pytest.mark.parametrize("uri", ["ui://cstp/decisions", "ui://cstp/decision/", "file:///etc/passwd"])
async def test_another_address_is_no_resource(knowing: Serving, uri: str) -> None:
    async with over_http(mcp_url(knowing), knowing.token()) as client:
        with pytest.raises(MCPError, match="Unknown resource") as refused:
            await client.read_resource(uri)
    assert (refused.value.error.code, refused.value.error.data) == (-32602, {"uri": uri})


@pytest.mark.parametrize("era", ERAS)
async def test_only_tools_about_decisions_name_the_page(knowing: Serving, era: str) -> None:
    token = knowing.token(scopes=["read", "write", "review", "ratify", "admin"])
    async with over_http(mcp_url(knowing), token, era) as client:
        metas = {tool.name: tool.meta for tool in (await client.list_tools()).tools}
    named = ("get_decision", "get_decision_context", "list_decisions", "query_decisions")
    assert metas == {name: {"ui": {"resourceUri": VIEW}} if name in named else None for name in TOOLS}


async def test_the_server_announces_its_pages(knowing: Serving) -> None:
    async with over_http(mcp_url(knowing), knowing.token()) as client:
        assert client.server_capabilities.extensions[EXTENSION_ID] == {}


async def test_an_answer_is_the_same_for_a_client_showing_pages(knowing: Serving, world: World) -> None:
    """Compare results: the page adds neither metadata nor contents."""
    (decision,) = [one["id"] for one in knowing.ask("listDecisions", limit=1)["decisions"]]
    async with over_http(mcp_url(knowing), knowing.token()) as client:
        result = await client.call_tool("get_decision", {"id": decision})
    assert [content.type for content in result.content] == ["text"]
    assert "ui://" not in result.model_dump_json()


async def test_the_page_loads_nothing_and_takes_no_text_for_markup(knowing: Serving) -> None:
    async with over_http(mcp_url(knowing), knowing.token()) as client:
        (page,) = (await client.read_resource(VIEW)).contents
    text = page.model_dump()["text"]
    loads = r"https?:|\bsrc\b|\bhref\b|url\(|@import|<link|\bfetch\b|XMLHttpRequest|WebSocket|\bimport\b"
    parses = r"innerHTML|outerHTML|insertAdjacent|document\.write|DOMParser|\beval\b|new Function|\son[a-z]+="
    assert re.findall(f"{loads}|{parses}", text) == []
