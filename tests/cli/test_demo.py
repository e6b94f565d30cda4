"""`cstp demo` as a program: the output works when pasted, and the first answer equals README.md."""

import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme

from cstp_server.cli.commands.demo import demo_paths
from cstp_server.cli.conventions import FAILED
from cstp_server.cli.demo_calls import CALLS, STEPS
from cstp_server.conformance.run import conversations
from tests.calls import has_content
from tests.cli.answers import Demo, demo, differences, replies, section, shown
from tests.mcp.conftest import over_http

ROOT = Path(__file__).parents[2]
# not to be touched by a demo
NOWHERE = {"CSTP_STORE__URL": "sqlite:////nowhere/at/all.sqlite3", "CSTP_VECTORS__URL": "http://127.0.0.1:1"}
pytestmark = [
    pytest.mark.timeout(300),  # on a busy machine it embeds for a minute
    pytest.mark.long("starts demos, which embed the project's own records"),
]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """Start a demo for all tests, in any order: no test may end it."""
    with demo(tmp_path_factory.mktemp("demo"), **NOWHERE) as started:
        yield started


def test_on_a_terminal_a_demo_prints_few_runnable_lines_and_the_link_last(tmp_path: Path) -> None:
    main_end, other_end = pty.openpty()
    command = [sys.executable, "-c", "from cstp_server.cli.entry import main; main()", "demo", "--port", "0"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CSTP_")}
    environment["CSTP_EMBEDDING__MODEL"] = "none"
    process = subprocess.Popen(command, stdin=other_end, stdout=other_end, stderr=other_end, env=environment)
    os.close(other_end)
    try:
        shown = b""
        while b"/ui/" not in shown or not shown.endswith(b"\n"):
            shown += os.read(main_end, 4096)
        lines = shown.decode().splitlines()
        exports = [line for line in lines if line.startswith("export ")]
        calls = [line for line in lines if line.partition(" ")[0].endswith("/cstp")]
        assert len(lines) <= 15
        assert "/ui/" in lines[-1]
        assert (len(exports), len(calls)) == (1, 3)
        assert sum(line.startswith("claude mcp add ") for line in lines) == 1
        for call in calls:
            pasted = subprocess.run(f"{exports[0]}; {call}", shell=True, capture_output=True, timeout=60, check=True)
            assert pasted.stdout
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        with pytest.raises(OSError, match="Input/output"):  # its end: calls are logged elsewhere
            os.read(main_end, 4096)
    finally:
        process.kill()
        process.wait()
        os.close(main_end)


QUESTIONS = (
    "why are the records in SQLite",
    "which database holds the records",
    "what happened after the power cut",
    "who owns the neighbour index",
    "how do I restore a backup",
    "how is the keyword index rebuilt after a crash",
)


def test_the_demo_prints_its_calls_and_each_has_results(running: Demo) -> None:
    asked = []
    for request, reply in replies(running):
        asked.append(request["method"])
        result = reply["result"]
        if request["method"] == "cstp.changes":  # from now on, and nothing changes any more
            assert (result["changes"], result["more"]) == ([], False)
            continue
        assert has_content(result), request
    assert asked == [call.method for call in CALLS]


def test_the_demo_prints_its_writes_and_leaves_nothing_behind(running: Demo) -> None:
    methods = [line.split()[2] for line in running.written if line.startswith("cstp call ")]
    assert methods == [step.method for step in STEPS]
    answers = [json.loads(line.removeprefix("# -> ")) for line in running.written if line.startswith("# -> ")]
    recorded, reviewed, found, changed, forgotten = answers
    assert (recorded["created"], reviewed["status"]) == (True, "reviewed")
    assert [one["id"] for one in found["decisions"]] == [recorded["id"]]
    assert [one["id"] for one in changed["changes"]] == [recorded["id"]]
    assert forgotten["receipt"]["remaining"] == {"records": 0, "keywords": 0, "vectors": 0}


def test_the_shown_answer_is_the_answer_of_the_demo(running: Demo) -> None:
    assert differences(shown(), section(running)) == [], "run: make docs"


def test_a_line_for_curl_works_in_a_shell(running: Demo) -> None:
    if not shutil.which("curl"):
        pytest.skip("no curl")
    for line in running.curls:
        pasted = subprocess.run(line, shell=True, capture_output=True, timeout=240, check=True)
        assert "result" in json.loads(pasted.stdout)


def test_the_line_for_httpie_asks_the_first_call(running: Demo) -> None:
    # HTTPie's reading of its line; HTTPie need not be installed here
    _, post, url, *items = shlex.split(running.http)
    assert post == "POST"
    headers: dict[str, str] = {}
    body: dict[str, Any] = {}
    for item in items:
        name, separator, value = re.match(r"(\w+)(:=|=|:)(.*)", item, re.DOTALL).groups()  # type: ignore[union-attr]
        if separator == ":":
            headers[name] = value
        else:
            body[name] = json.loads(value) if separator == ":=" else value
    reply = httpx.post(url, headers=headers, json=body, timeout=30, trust_env=False).json()
    assert reply["result"]["decisions"] == next(replies(running))[1]["result"]["decisions"]


async def test_the_line_for_mcp_adds_a_working_tool_server(running: Demo) -> None:
    assert running.mcp.startswith("claude mcp add ")
    assert shlex.split(running.mcp)[-2] == "--header"
    async with over_http(running.mcp_url, running.token) as client:
        result = await client.call_tool("query_decisions", {"query": "which database holds the records", "limit": 1})
    assert result.structured_content is not None
    assert result.structured_content["decisions"][0]["snippet"]


@pytest.mark.parametrize(("tool", "most"), [("recall", 3600), ("search_knowledge", 2600)])
async def test_answers_over_mcp_are_as_short_as_documented(running: Demo, tool: str, most: int) -> None:
    sizes = []
    async with over_http(f"{running.mcp_url}?tools=all", running.token) as client:
        for question in QUESTIONS:
            result = await client.call_tool(tool, {"query": question})
            assert result.structured_content is not None
            assert len(result.structured_content["results"]) > 3
            sizes.append(len(result.content[0].text) / 4)  # type: ignore[union-attr]
    assert max(sizes) <= most
    assert f"{most:,} tokens" in (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")


def test_conform_checks_nothing_with_the_token_of_a_demo_and_names_the_reason(
    running: Demo, cstp: Callable[..., Any]
) -> None:
    done = cstp("conform", running.mcp_url.removesuffix("/mcp"), running.token)
    total = len(conversations())
    assert (done.code, done.out) == (FAILED, f"0 passed, 0 failed, {total} skipped\n")
    assert len(re.findall(r"^skipped: [a-z0-9-]+: needs .+$", done.err, re.MULTILINE)) == total
    assert "skipped: whoami: needs a token" in done.err
    assert "those given have: scopes=read,review,write clearance=normal" in done.err
    assert "cstp token create --agent conform --scope read --data-dir FOLDER" in done.err
    assert "failed: no conversation was held" in done.err


def test_the_first_call_is_printed_for_cstp_call_as_the_readme_has_it(running: Demo) -> None:
    assert running.call in shown()


def test_the_wheel_has_everything_read_by_the_demo() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for path in demo_paths():
        assert included[f"docs/{path.name}"] == f"cstp_server/demo/{path.name}"


def test_a_demo_with_a_certificate_prints_addresses_of_https_and_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    trustme.CA().issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "both.pem"))
    environment = {"CSTP_EMBEDDING__MODEL": "none", "CSTP_SERVER__SSL_CERTFILE": str(tmp_path / "both.pem")}
    with demo(folder, **environment) as started:
        assert all("curl -s https://127.0.0.1:" in line for line in started.curls)
        assert started.http.startswith("http POST https://")
        assert started.end() == 0
    assert "Traceback" not in (folder / "demo.log").read_text()
    assert [path.name for path in folder.iterdir()] == ["demo.log"]
