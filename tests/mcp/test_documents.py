"""Contents of docs/mcp.md: configurations to paste, scenarios as listed, and the example."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from cstp_server.mcp.profiles import chosen_tools
from tests.mcp.conftest import ROOT, Connect, mcp_url
from tests.programs import run_program
from tests.serving import Serving

PAGE = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```json\n(.*?)^```$", f"{PAGE}\n{README}", re.MULTILINE | re.DOTALL)
BLOCKS = [json.loads(block) for block in SHOWN if 'ervers": {' in block]
SERVERS: list[Mapping[str, Any]] = [
    server for block in BLOCKS for server in block.get("mcpServers", block.get("servers", {})).values()
]
STDIO = [server for server in SERVERS if "command" in server]
HTTP = [server for server in SERVERS if "url" in server]


def test_each_client_has_a_configuration() -> None:
    assert (len(STDIO), len(HTTP)) == (3, 2)  # with the README's folder
    headings = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    assert {"Claude Desktop", "Claude Code", "VS Code"} <= set(headings)


@pytest.mark.long("starts a program that speaks MCP")
@pytest.mark.parametrize("server", STDIO, ids=lambda server: server["args"][-1])
async def test_the_commands_list_the_tools(sampled: Path, over_stdio: Connect, server: Mapping[str, Any]) -> None:
    command, *words = server["args"]
    assert Path(server["command"]).name == "cstp"
    assert command == "mcp"
    own = dict.fromkeys(("/home/me/cstp-data", "/home/me/cstp/data"), str(sampled))
    own |= dict.fromkeys(("claude", "vscode"), "reader")
    async with over_stdio(*(own.get(word, word) for word in words), CSTP_MCP__TOOLS="") as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == chosen_tools("ask")


def test_the_urls_and_headers_are_those_of_a_server_as_it_starts() -> None:
    for server in HTTP:
        assert server["type"] == "http"
        assert server["url"] == "http://127.0.0.1:8100/mcp"
        assert re.fullmatch(r"Bearer \$\{(CSTP_TOKEN|input:cstp_token)\}", server["headers"]["Authorization"])
    (inputs,) = [block["inputs"] for block in BLOCKS if "inputs" in block]
    assert inputs[0]["id"] == "cstp_token"
    assert inputs[0]["password"]


def test_the_applicable_scenarios_are_named() -> None:
    expected = yaml.safe_load((Path(__file__).parent / "conformance" / "expected.yaml").read_text(encoding="utf-8"))
    for revision, scenarios in expected.items():
        (shown,) = re.findall(rf"^\* {revision}: (.*?)$(?!\n  `)", PAGE.replace("\n  `", " `"), re.MULTILINE)
        assert set(re.findall(r"`([\w-]+)`", shown)) == set(scenarios["applies"])


@pytest.mark.long("starts a program that speaks MCP")
def test_the_example_agent_prints_known_records(knowing: Serving) -> None:
    done = _example(knowing, knowing.token(), "index record")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "# index record"
    assert {line.split(" ")[0].rstrip(":") for line in lines[1:]} == {"decided", "read", "beware"}


@pytest.mark.long("starts a program that speaks MCP")
def test_the_example_agent_prints_the_reason_of_a_refusal(knowing: Serving) -> None:
    done = _example(knowing, knowing.token(scopes=["admin"]), "index record")
    assert (done.returncode, done.stdout) == (1, "")
    assert "FORBIDDEN" in done.stderr
    assert "Traceback" not in done.stderr


def _example(serving: Serving, token: str, question: str) -> "subprocess.CompletedProcess[str]":
    program = ROOT / "examples" / "mcp_agent" / "agent.py"
    return run_program(sys.executable, program, mcp_url(serving), question, env={"CSTP_TOKEN": token, "PATH": ""})
