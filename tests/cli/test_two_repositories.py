"""Two repositories of a user: data folder, decisions and tokens of each, from any folder in them."""

import json
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.windows import INITIALIZE, INITIALIZED
from tests.programs import COMMAND, run_cstp

Cstp = Callable[..., Any]
NAMES = ("shop", "bank")
READING = {
    "search": ["search", "Keep"],
    "context": ["context"],
    "check": ["check", "book.py"],
    "check in another folder": ["check", "-C", "..", "deep/book.py"],
    "export": ["export", "-"],
}
pytestmark = [pytest.mark.usefixtures("embedded", "wordless"), pytest.mark.embedded_only("finds data folders")]


@pytest.fixture(autouse=True)
def repositories(cstp: Cstp, adr: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make two repositories with a decision each, ingested from their top folders, in a separate home."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in NAMES:
        subprocess.run(["git", "init", "-q", name], check=True)
        file = adr(f"{name}/docs/adr/0017-storage.md", f"Keep the {name} in PostgreSQL")
        file.write_text(f"---\naffects: [src/**]\n---\n{file.read_text()}")
        Path(name, "src/deep").mkdir(parents=True)
        with monkeypatch.context() as patch:
            patch.chdir(name)
            assert cstp("ingest", "docs/adr").code == 0


def data_folder(name: str) -> Path:
    (found,) = Path("user/cstp").absolute().glob(f"{name}-*")
    return found


def said(server: "subprocess.Popen[str]", *messages: object) -> Any:
    """Send messages, and return the answer to the last message."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("".join(f"{json.dumps(message)}\n" for message in messages))
    server.stdin.flush()
    return json.loads(server.stdout.readline())


@contextmanager
def mcp(*words: str, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run `cstp mcp` in a folder."""
    with subprocess.Popen(
        [*COMMAND, "mcp", *words],
        cwd=folder,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        said(server, INITIALIZE)
        yield server


@contextmanager
def held(holder: str, start: Callable[..., Any]) -> Iterator[None]:
    """Let a process hold the data folder of the working folder's repository."""
    if holder == "mcp":
        with mcp("--agent", "me", folder=Path.cwd()):
            yield
    else:
        if holder == "serve":
            start()
        yield


@pytest.mark.long("starts servers")
@pytest.mark.parametrize("holder", ["none", "serve", "mcp"])
def test_commands_read_the_found_folder_without_a_token(
    cstp: Cstp, serving: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, holder: str
) -> None:
    line = f"cstp: records: {data_folder('shop')}/records.sqlite3; settings: CSTP_EMBEDDING__MODEL\n"
    monkeypatch.chdir("shop/src/deep")
    with held(holder, serving):
        id = json.loads(cstp("search", "Keep", "--json").out)["results"][0]["id"]
        for name, words in {**READING, "show": ["show", id]}.items():
            done = cstp(*words)
            assert (done.code, done.places) == (0, line), (name, done.err)
            assert "Keep the shop in PostgreSQL" in done.out, name
            assert "bank" not in done.out, name


def governing(server: "subprocess.Popen[str]") -> list[str]:
    arguments = {"files": ["src/deep/book.py"]}
    call = {"name": "get_decision_context", "arguments": arguments}
    answer = said(server, INITIALIZED, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
    return [decision["title"] for decision in answer["result"]["structuredContent"]["governing"]]


def agents(cstp: Cstp, name: str) -> list[tuple[str, list[str]]]:
    tokens = json.loads(cstp("token", "list", "--json", "--data-dir", data_folder(name)).out)
    return [(token["agent"], token["scopes"]) for token in tokens]


@pytest.mark.long("starts servers")
def test_one_setup_serves_both_repositories_with_tokens_and_decisions_of_each(
    cstp: Cstp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as patch:
        patch.chdir("shop/src")
        done = cstp("setup", "claude-code")
    assert (done.code, done.out.splitlines()[-1]) == (0, "1 decision, 1 with patterns; restart Claude Code")
    assert done.places.count("cstp: records: ") == 1
    assert agents(cstp, "bank") == []
    server = json.loads(Path("home/.claude.json").read_text())["mcpServers"]["cstp"]
    hooks = json.loads(Path("home/.claude/settings.json").read_text())["hooks"]
    for name in NAMES:
        title, root = f"Keep the {name} in PostgreSQL", tmp_path / name
        with mcp(*server["args"][1:], folder=root / "src") as running:
            assert governing(running) == [title]
            edit = {"tool_name": "Edit", "tool_input": {"file_path": str(root / "src/deep/book.py")}}
            for event, given in (("SessionStart", {"source": "startup"}), ("PreToolUse", edit)):
                words = shlex.split(hooks[event][-1]["hooks"][0]["command"])[1:]
                sent = json.dumps({"session_id": name, "cwd": str(root), "hook_event_name": event} | given)
                answer = run_cstp(*words, input=sent)
                assert answer.stderr == ""
                assert [one for one in NAMES if f"Keep the {one} in" in answer.stdout] == [name]
        assert agents(cstp, name) == [("claude-code", ["read", "write", "review"])]
    folder = data_folder("bank")
    monkeypatch.chdir("bank/src")
    done = cstp("setup", "claude-code", "--remove")
    assert done.places == f"cstp: records: {folder}/records.sqlite3; settings: CSTP_EMBEDDING__MODEL\n"
    assert "of claude-code stays live" in done.err


def test_a_revoked_token_of_an_agent_is_not_replaced(cstp: Cstp) -> None:
    with mcp("--agent", "me", folder=Path("bank/src")):
        pass
    (token,) = json.loads(cstp("token", "list", "--json", "--data-dir", data_folder("bank")).out)
    assert cstp("token", "revoke", token["id"], "--data-dir", data_folder("bank")).code == 0
    done = run_cstp("mcp", "--agent", "me", cwd="bank", input="")
    assert done.returncode != 0
    assert "me" in done.stderr.splitlines()[-1]
    assert len(agents(cstp, "bank")) <= 1


def test_a_folder_named_by_an_option_gets_no_token_by_itself(cstp: Cstp) -> None:
    done = run_cstp("mcp", "--agent", "me", "--data-dir", data_folder("bank"), cwd="bank", input="")
    assert done.returncode != 0
    assert agents(cstp, "bank") == []
