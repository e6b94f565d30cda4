"""The skill over MCP: a resource for every client, and methods of the skills extension."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

from tests.mcp.conftest import mcp_url, over_http
from tests.serving import Serving

SKILL = Path(__file__).parents[2] / "skills/cognition_engines/SKILL.md"
URI = "skill://ask-what-is-known/SKILL.md"
REVISIONS = ["2025-11-25", "2026-07-28"]


def send(live: Any, method: str, revision: str, **params: object) -> Any:
    """Return the answer to a request from a client of this revision."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    headers = {
        "Host": f"127.0.0.1:{live.port}",
        "Content_Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {live.token()}",
        "MCP_Protocol_Version": revision,
        "Mcp_Method": method,
    }
    return live.ask("/mcp", json.dumps(body).encode(), headers, "POST").json


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_extension_lists_the_skill_with_the_digest_of_its_file(common_server: Any, revision: str) -> None:
    live, content = common_server({}), SKILL.read_bytes()
    listed = send(live, "skills/list", revision)["result"]
    [skill] = listed["skills"]
    assert skill["uri"] == URI
    assert skill["frontmatter"]["name"] == "ask-what-is-known"
    assert f"description: {skill['frontmatter']['description']}\n" in content.decode()
    file = {"uri": URI, "digest": f"sha256:{sha256(content).hexdigest()}", "size": len(content)}
    assert skill["resources"] == [file]
    assert (listed["ttlMs"], listed["cacheScope"]) == (300_000, "public")
    assert listed.get("resultType") == (None if revision == REVISIONS[0] else "complete")
    assert send(live, "skills/get", revision, uri=URI)["result"]["skill"] == skill


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("method", ["tools/list", "resources/list", "resources/templates/list", "skills/list"])
def test_a_cursor_is_refused_by_name_because_each_list_has_one_page(
    common_server: Any, method: str, revision: str
) -> None:
    live = common_server({})
    assert "nextCursor" not in send(live, method, revision, cursor=None)["result"]
    for cursor in ("made up", "", 7, {"a": ["long"] * 1000}):
        error = send(live, method, revision, cursor=cursor)["error"]
        assert error["code"] == -32602
        assert f"unknown cursor {cursor!r:.80}; " in error["message"]


def test_another_address_is_no_skill(common_server: Any) -> None:
    error = send(common_server({}), "skills/get", REVISIONS[1], uri="skill://other/SKILL.md")["error"]
    assert (error["code"], error["data"]) == (-32602, {"uri": "skill://other/SKILL.md"})


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_every_client_reads_the_skill_as_a_resource(knowing: Serving, era: str) -> None:
    async with over_http(mcp_url(knowing), knowing.token(), era) as client:
        extensions = client.server_capabilities.extensions
        assert era == "legacy" or (extensions or {})["io.modelcontextprotocol/skills"] == {}
        [listed] = [one for one in (await client.list_resources()).resources if one.uri == URI]
        [read] = (await client.read_resource(URI)).contents
        with pytest.raises(MCPError, match="Unknown resource"):
            await client.read_resource("skill://ask-what-is-known/")
    assert (listed.name, listed.mime_type, read.mime_type) == ("ask-what-is-known", "text/markdown", "text/markdown")
    assert read.model_dump()["text"] == SKILL.read_text()
