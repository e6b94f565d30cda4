"""`cstp mcp` as a program: rights, use of each stream, and end."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.ingest.options import Options, Silent
from cognition_engines.ingest.run import ingest
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import open_records
from cstp_server.settings import Settings
from cstp_server.tokens import create_token, revoke_token
from tests.kinds import entry
from tests.mcp.conftest import Connect, body_of
from tests.mcp.windows import INITIALIZE, INITIALIZED
from tests.programs import COMMAND, plain_environment

SECONDS = 120  # seconds to come up on a busy machine


def call(id: int, tool: str, **arguments: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


@pytest.fixture
def program(sampled: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Yield `program("--agent", "reader")`: `cstp mcp` over the sample, killed at the end if still running."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: object, shell: str = '"$@"', **environment: str) -> "subprocess.Popen[str]":
        command = ["sh", "-c", f"exec {shell}", "sh", *COMMAND, "mcp", "--data-dir", str(sampled)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = plain_environment(CSTP_MCP__TOOLS="all", **environment)
        started.append(subprocess.Popen([*command, *map(str, words)], text=True, env=environment, **pipes))
        return started[-1]

    yield start
    for one in started:
        if one.poll() is None:
            one.kill()
        one.communicate()


@pytest.fixture(scope="module")
def answering(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Any]]:
    """Yield `answering(line)`: the answer of a shared `cstp mcp` to a line."""
    folder = tmp_path_factory.mktemp("answering")
    create_token(Settings.model_validate({"data_dir": folder}).tokens_path, "reader", lifetime=timedelta(hours=1))
    words = [*COMMAND, "mcp", "--data-dir", str(folder), "--agent", "reader"]
    given = {**os.environ, "CSTP_EMBEDDING__MODEL": "none"}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=given) as process:
        said(process, INITIALIZE)
        yield lambda line: said(process, INITIALIZED, line)


def said(process: "subprocess.Popen[str]", *messages: object) -> Any:
    """Send messages, and return the answer to the last message."""
    assert process.stdin is not None
    assert process.stdout is not None
    for message in messages:
        process.stdin.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


@pytest.mark.long("starts a program that speaks MCP")
def test_standard_output_has_messages_alone_and_the_log_goes_to_standard_error(program: Any) -> None:
    process = program("--agent", "reader")
    assert said(process, INITIALIZE)["result"]["serverInfo"]["name"] == "cstp"
    found = said(process, INITIALIZED, call(2, "list_episodes", limit=1))
    assert found["result"]["structuredContent"]["status"] == "success"
    out, err = process.communicate(timeout=SECONDS)  # closes standard input
    assert (process.returncode, out) == (0, "")
    (line,) = [json.loads(line) for line in err.splitlines() if '"event":"call"' in line]
    assert (line["method"], line["agent"], line["code"]) == ("cstp.listEpisodes", "reader", 0)


@pytest.mark.long("starts a program that speaks MCP")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_ends_it_in_order_while_its_client_is_still_there(program: Any, number: int) -> None:
    process = program("--agent", "reader")
    said(process, INITIALIZE)
    process.send_signal(number)
    assert process.wait(SECONDS) == 0
    assert "Traceback" not in process.stderr.read()


@pytest.mark.long("starts a program that speaks MCP")
def test_an_invalid_line_does_not_end_it_and_a_too_long_request_is_answered(program: Any) -> None:
    process = program("--agent", "reader", CSTP_SERVER__MAX_BODY_BYTES="2000")
    said(process, INITIALIZE)
    too_long = [json.dumps(call(id, "recall", query="x" * length)) for id, length in ((2, 5000), (4, 100_000))]
    process.stdin.write("no json\n" + "\n".join(too_long) + "\n[" * 70 + "\n")
    answers = {}
    while 3 not in answers:
        answer = said(process, call(3, "list_episodes", limit=1))
        answers[answer.get("id")] = answer
    assert answers.keys() == {None, 2, 3, 4}
    assert "result" in answers[3]
    for id in (2, 4):
        assert answers[id]["error"]["code"] == -32600
        assert "server.max_body_bytes" in answers[id]["error"]["message"]


def tool(id: str, arguments: str) -> str:
    """Return a call whose arguments need not be JSON."""
    params = f'{{"name":"search","arguments":{arguments}}}'
    return f'{{"jsonrpc":"2.0","method":"tools/call","params":{params},"id":{id}}}'


@pytest.mark.parametrize(
    ("line", "id", "code"),
    [
        (tool("3", '{"id":9,"query":"half \\ud83d of it"}'), 3, -32700),
        (tool('"a\\"\\u00e9"', '{"query":"\\udcad"}'), 'a"\u00e9', -32700),
        (tool("4", '{"query":"\\\\\\"id\\": 5","limit":NaN}'), 4, -32700),
        (tool("5", '{"query":"x","limit":1e999}'), 5, -32700),
        (tool("6", "[" * 5000 + "]" * 5000), 6, -32700),
        (tool("7", f"[{'1,' * 20_001}1]"), 7, -32600),
        (tool("8", "[1]"), 8, -32602),
        (tool("9", '"{}"'), 9, -32602),
        ('{"id":10,"jsonrpc":"2.0","method":"ping","params":{"a":[', 10, -32700),
        ('\ufeff{"jsonrpc":"2.0","id":11,"method":"ping"}', 11, -32700),
        ('{"id":12,"method":"ping"}', 12, -32600),
        ('{"jsonrpc":"2.0","id":13,"method":7}', 13, -32600),
        ('{"jsonrpc":"2.0","id":14,"method":"ping","params":[]}', 14, -32600),
        ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, -32600),
        ('{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600),
        ('{"jsonrpc":"2.0","id":true,"method":"ping"}', None, -32600),
        ('[{"jsonrpc":"2.0","id":15,"method":"ping"}]', None, -32600),
        ('{"jsonrpc":"2.0","id":16,"id":17,"method":"ping","params":NaN}', 17, -32700),
        ('{"jsonrpc":"2.0","id":18,"method":"ping","params":NaN,"id":1.5}', None, -32700),
        ('{"jsonrpc":"2.0","id":19,"method":"tools/list","params":{"cursor":"2"}}', 19, -32602),
        ("hello", None, -32700),
    ],
    ids=lambda value: str(value)[:60],
)
def test_every_request_gets_its_id_back(answering: Callable[[str], Any], line: str, id: object, code: int) -> None:
    answer = answering(line)
    assert (answer["id"], answer["error"]["code"]) == (id, code)


def test_of_an_id_given_twice_the_last_counts(answering: Callable[[str], Any]) -> None:
    pong = {"jsonrpc": "2.0", "id": 16, "result": {}}
    assert answering('{"jsonrpc":"2.0","id":13,"id":16,"method":"ping"}') == pong


def test_blank_lines_and_foreign_line_ends_are_no_messages(answering: Callable[[str], Any]) -> None:
    pong = {"jsonrpc": "2.0", "id": 16, "result": {}}
    assert answering('\n\r\n  \n{"jsonrpc":"2.0","id":16,"method":"ping"}\r') == pong


@pytest.mark.long("starts a program that speaks MCP")
@pytest.mark.parametrize(
    ("source", "code", "out", "err"),
    [("< FILE", 0, '"serverInfo"', ""), ("< /dev/null", 0, "", ""), ("<&-", 2, "", "standard input")],
    ids=["a file", "nothing", "closed"],
)
def test_standard_input_may_be_any(program: Any, tmp_path: Path, source: str, code: int, out: str, err: str) -> None:
    (tmp_path / "messages.jsonl").write_text(json.dumps(INITIALIZE) + "\n")
    source = source.replace("FILE", str(tmp_path / "messages.jsonl"))
    process = program("--agent", "reader", shell=f'"$@" {source}')
    printed, said = process.communicate(timeout=SECONDS)
    assert (process.returncode, bool(printed), "Traceback" in said) == (code, bool(out), False)
    assert out in printed
    assert err in said
    assert said.count("\n") == 1 or code == 0


@pytest.mark.long("starts a program that speaks MCP")
def test_the_token_in_the_environment_counts_and_its_scope_holds(program: Any, sampled: Path) -> None:
    path = Settings.model_validate({"data_dir": sampled}).tokens_path
    _, text = create_token(path, "writer", scopes=["admin"], lifetime=timedelta(hours=1))
    process = program(CSTP_TOKEN=text)
    said(process, INITIALIZE)
    result = said(process, INITIALIZED, call(2, "list_episodes"))["result"]
    assert result["isError"]
    assert json.loads(result["content"][0]["text"])["details"].startswith("the token lacks the scope read")


@pytest.mark.long("starts a program that speaks MCP")
async def test_records_above_the_clearance_need_a_token(over_stdio: Connect, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    settings = Settings.model_validate({"data_dir": folder})
    path = settings.tokens_path
    with closing(open_records(settings.store_url)) as records:
        records.put([entry(Kind.EPISODE, 1, query="kept back", reward=0.5, sensitivity="sensitive")], None)
    create_token(path, "ada", lifetime=timedelta(hours=1))
    async with over_stdio("--data-dir", folder, "--agent", "ada", CSTP_AUTH__RELOAD_SECONDS="0.001") as client:
        assert body_of(await client.call_tool("list_episodes", {}))["total_count"] == 0
        cleared, _ = create_token(path, "ada", lifetime=timedelta(hours=2), clearance="sensitive")
        # the newest token is the agent's identity; tokens of the same second are indistinguishable
        first = [token for token in json.loads(path.read_text())["tokens"] if token["id"] != cleared.id]
        revoke_token(path, first[0]["id"])
        assert body_of(await client.call_tool("list_episodes", {}))["total_count"] == 1
        revoke_token(path, cleared.id)
        found = body_of(await client.call_tool("list_episodes", {}))
        assert (found["error"], found["tool"]) == ("Authentication required", "list_episodes")


@pytest.mark.long("starts a program that speaks MCP")
async def test_tools_leave_out_decisions_of_other_repositories(
    over_stdio: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings.model_validate({"data_dir": tmp_path / "data"})
    for name in ("a", "b"):
        (tmp_path / name / ".git").mkdir(parents=True)
        member = {"kind": "decision", "title": name, "text": "It is so.", "status": "accepted"}
        governed = {**member, "affects": [{"type": "path", "pattern": "src/**"}]}
        (tmp_path / name / "decisions.jsonl").write_text(json.dumps(governed))
    with closing(open_records(settings.store_url)) as records:
        ingest([tmp_path / "a", tmp_path / "b"], Options(), records, None, Silent(), 1)
    create_token(settings.tokens_path, "reader", lifetime=timedelta(hours=1))
    monkeypatch.chdir(tmp_path / "b")
    async with over_stdio("--data-dir", settings.data_dir, "--agent", "reader") as client:

        async def titles(tool: str, member: str, **arguments: object) -> list[str]:
            found = body_of(await client.call_tool(tool, {"files": ["src/x.py"], **arguments}))
            return sorted(one["title"] for one in found[member])

        assert await titles("get_decision_context", "governing") == ["b"]
        assert await titles("get_session_context", "decisions", format="json") == ["b"]
        assert await titles("get_session_context", "decisions", format="json", repository=None) == ["a", "b"]
        assert await titles("get_decision_context", "governing", repository=str(tmp_path / "a")) == ["a"]


@pytest.mark.long("starts a program that speaks MCP")
async def test_a_number_means_the_decision_of_the_repository(
    over_stdio: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings.model_validate({"data_dir": tmp_path / "data"})
    for name in ("a", "b", "c"):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / "adr").mkdir()
        level = "sensitive" if name == "c" else "normal"
        text = f"---\nstatus: accepted\nsensitivity: {level}\n---\n# Title {name}\n\n## Decision\n\nIt is so.\n"
        (tmp_path / name / "adr" / f"0017-{name}.md").write_text(text)
    with closing(open_records(settings.store_url)) as records:
        ingest([tmp_path / name for name in "abc"], Options(), records, None, Silent(), 1)
    create_token(settings.tokens_path, "reader", lifetime=timedelta(hours=1))
    monkeypatch.chdir(tmp_path / "b")
    words = ("--data-dir", settings.data_dir, "--agent", "reader", "--tools", "all")
    async with over_stdio(*words) as client:

        async def read(tool: str, **arguments: object) -> Any:
            return body_of(await client.call_tool(tool, arguments))

        for called in ("17", "ADR-0017", "adr/0017-b.md", str(tmp_path / "b" / "adr" / "0017-b.md")):
            assert (await read("fetch", id=called))["title"] == "Title b"
            assert (await read("get_decision", id=called))["decision"]["title"] == "Title b"
        assert (await read("fetch", id="0017-a.md"))["title"] == "Title a"
        for tool in ("fetch", "get_decision"):
            (violation,) = (await read(tool, id="17", repository=None))["error"]["details"]["violations"]
            assert violation["field"] == "id"
            assert all(f"(adr/0017-{name}.md in {tmp_path / name})" in violation["message"] for name in "ab")
            assert "0017-c" not in violation["message"]


@pytest.mark.long("starts a program that speaks MCP")
@pytest.mark.parametrize(
    ("words", "environment", "told"),
    [
        ((), {}, "--agent NAME"),
        (("--agent", "nobody"), {}, "cstp token create"),
        ((), {"CSTP_TOKEN": "cstp_0_0"}, "CSTP_TOKEN"),
    ],
    ids=["nobody named", "an agent without a token", "a wrong token"],
)
def test_no_token_ends_with_2(program: Any, words: tuple[str, ...], environment: dict[str, str], told: str) -> None:
    process = program(*words, **environment)
    out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (2, "")
    assert err.count("\n") == 1
    assert told in err
