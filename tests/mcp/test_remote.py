"""`cstp mcp --url`: tools for a remote server."""

import json
import subprocess

import pytest

from tests.mcp.conftest import Connect, body_of
from tests.programs import plain_environment, run_cstp
from tests.serving import Serving
from tests.stores import free_port

pytestmark = pytest.mark.long("starts programs that speak MCP")


def origin(serving: Serving) -> str:
    return serving.url.removesuffix("/cstp")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("query_decisions", {"query": "storage", "limit": 3, "filters": {"min_confidence": 0.1}}),
        ("list_episodes", {"limit": 3}),
        ("search_knowledge", {"query": "index", "mode": "keyword"}),
        ("recall", {"context": "meeting", "limit": 2}),
    ],
)
async def test_a_tool_returns_the_result_of_the_server(
    knowing: Serving, over_stdio: Connect, tool: str, arguments: dict[str, object]
) -> None:
    token = knowing.token(clearance="highly_sensitive")
    async with over_stdio("--url", origin(knowing), CSTP_TOKEN=token) as client:
        found = body_of(await client.call_tool(tool, arguments))
        refused = await client.call_tool("list_episodes", {"limit": 0})
    method = {"query_decisions": "queryDecisions", "list_episodes": "listEpisodes", "recall": "recall"}
    there = knowing.ask(method.get(tool, "searchKnowledge"), token, **arguments)
    (mine,) = [value for name, value in found.items() if name in ("decisions", "episodes", "results")]
    (theirs,) = [value for name, value in there.items() if name in ("decisions", "episodes", "results")]
    assert [one["id"] for one in mine] == [one["id"] for one in theirs]
    assert refused.is_error
    assert body_of(refused)["details"] == "limit must be between 1 and 100"


async def test_a_missing_server_is_a_tool_error(over_stdio: Connect) -> None:
    words = ("--url", f"http://127.0.0.1:{free_port()}")
    async with over_stdio(*words, CSTP_TOKEN="cstp_a_b", CSTP_SERVER__HANDLER_SECONDS="1") as client:
        result = await client.call_tool("get_patterns", {})
    assert result.is_error
    assert body_of(result)["error"]["details"]["component"] == "server"


TOKEN = {"CSTP_TOKEN": "cstp_a_b"}


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (("--url", "http://127.0.0.1:1"), {}),
        (("--url", "http://cstp.test"), TOKEN | {"http_proxy": "nothing://127.0.0.1:1"}),
        (("--url", "http://cstp.test"), TOKEN | {"http_proxy": "socks5://127.0.0.1:1"}),
    ],
    ids=["no token", "no proxy", "a proxy of another kind"],
)
def test_impossible_arguments_are_reported_in_a_line_with_exit_code_2(
    words: tuple[str, ...], given: dict[str, str]
) -> None:
    done = run_cstp("mcp", *words, env=plain_environment(**given), stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert json.dumps(done.stderr).count("\\n") == 1
