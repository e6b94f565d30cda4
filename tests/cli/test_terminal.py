"""Control characters of records, names, answers and settings reach no terminal, whatever the command."""

import io
import json
import logging
import os
import pty
import re
import subprocess
import sys
import tty
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
import structlog
import typer

from cognition_engines.escapes import one_line, several_lines
from cstp_server.cli import entry, main
from cstp_server.cli.main import app, run
from cstp_server.describe.agent_card import EXTENSION
from cstp_server.observe.log import configure_logging, write_rest
from cstp_server.settings import LogSettings
from tests.http_servers import Handler, HttpServer
from tests.quick_starts import ENTRY

# the window's title, a bell, hiding and clearing, a C1 introducer, right-to-left text, DEL
EVIL = "\x1b]0;owned\x07\x1b[8m\x1b[2J\x9b31m\u202egnp.\u2066\x7f\u2028"
FORGED = "\nrejected: forged"
# rich's terminal output: colours, and a temporary progress bar
RICH = re.compile(r"\x1b\[(?:\?25[lh]|1A|2K|(?!8m)\d+(?:;\d+)*m)|\r")
URL = "http://HOSTILE"  # stands for the address of the hostile server

Output = Callable[..., str]


class Hostile(Handler):
    """A server that answers every request with JSON full of terminal controls, as raw as JSON permits."""

    def do_GET(self) -> None:
        params = {"methods": [{"name": EVIL}]}
        self._answer({"name": EVIL, "version": EVIL, "status": EVIL, "parts": {EVIL: EVIL},
                      "capabilities": {"extensions": [{"uri": EXTENSION, "params": params}]}})  # fmt: skip

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method = body["method"] if isinstance(body, dict) else ""
        if method == "cstp.whoami":
            limits = [{"limit": EVIL, "window": EVIL, "remaining": EVIL}]
            whoami = {"agent": EVIL, "scopes": [EVIL], "clearance": "normal", "projects": [EVIL],
                      "limits": limits, "server": {"agent": EVIL}}  # fmt: skip
            self._answer({"jsonrpc": "2.0", "id": 1, "result": whoami})
        elif method == "cstp.search":
            found = {"type": "turn", "id": EVIL, "title": EVIL + FORGED, "snippet": EVIL + FORGED, "score": 0.5,
                     "source": EVIL, "sourceId": EVIL, "date": None, "origin": "agent", "recordedBy": EVIL,
                     "status": EVIL, "supersededBy": [EVIL]}  # fmt: skip
            self._answer({"jsonrpc": "2.0", "id": 1, "result": {"results": [found, found], "queryTimeMs": 1}})
        elif method == "cstp.recall":
            self._answer({"jsonrpc": "2.0", "id": 1, "result": {EVIL: EVIL}})
        else:
            data = {"violations": [{"field": EVIL, "message": EVIL}], EVIL: EVIL, "scope": EVIL, "retryAfter": EVIL}
            code = {"cstp.getChunk": -32602, "cstp.getWarnings": -32002}.get(method, -32009)
            self._answer({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": EVIL + FORGED, "data": data}})

    def _answer(self, document: object) -> None:
        content = json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture(scope="module")
def hostile_url() -> Iterator[str]:
    server = HttpServer(Hostile)
    yield f"http://127.0.0.1:{server.server_port}"
    server.close()


@pytest.fixture
def files(wordless: None) -> Path:
    """Make a folder of files with hostile names and contents, partly refused; and hostile settings."""
    folder = Path(f"docs{EVIL}{FORGED}")
    folder.mkdir()
    decision = {
        "kind": "decision",
        "id": "d",
        "title": "T \u202eevil",
        "text": f"{EVIL}\nnext line",
        "metadata": {EVIL: EVIL},
    }
    lines = [decision, {"title": 5, EVIL: 1}, {"kind": EVIL}, {"title": "A", EVIL: 1, "date": EVIL}]
    (folder / f"{EVIL}.jsonl").write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    (folder / f"{EVIL}.yaml").write_text(f"title: A\n{EVIL}: [\n")
    (folder / "0001-a.md").write_text(
        f"---\nstatus: {EVIL}\nsensitivity: {EVIL}\n---\n# {EVIL}\n\n## Decision\n\nYes.\n"
    )
    (folder / f"{EVIL}.md").symlink_to(EVIL)
    (folder / f"a.{EVIL}").touch()
    (folder / "half-\udce9.jsonl").write_text('{"kind": "decision", "title": "A"}\n')
    return folder


@pytest.fixture
def output(monkeypatch: pytest.MonkeyPatch, hostile_url: str) -> Output:
    """Return `output("show", "d", terminal=True)`: all output of a command to a terminal or a pipe."""

    def written(*words: object, terminal: bool, stdin: bytes = b"") -> str:
        ours, theirs = pty.openpty() if terminal else os.pipe()
        if terminal:
            tty.setraw(theirs)
        pieces: list[bytes] = []

        def read() -> None:
            with suppress(OSError):  # of a terminal closed at the other end
                while piece := os.read(ours, 65_536):
                    pieces.append(piece)

        reader = Thread(target=read)
        reader.start()
        saved = [os.dup(number) for number in (1, 2)]
        try:
            for number, name in ((1, "stdout"), (2, "stderr")):
                os.dup2(theirs, number)
                monkeypatch.setattr(f"sys.{name}", open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            command = [str(word).replace(URL, hostile_url) for word in words]
            if command[:1] in (["serve"], ["demo"]):  # ending with their process
                subprocess.run(
                    [sys.executable, "-c", ENTRY, *command], stdin=subprocess.DEVNULL, check=False, timeout=120
                )
            else:
                run(command)
        finally:
            os.close(theirs)
            for number, before in zip((1, 2), saved, strict=True):
                os.dup2(before, number)
                os.close(before)
        reader.join()
        os.close(ours)
        return b"".join(pieces).decode()

    return written


# every command, in each way to print foreign content
COMMANDS: list[tuple[str, ...]] = [
    ("ingest", "{docs}"),
    ("ingest", "{docs}", "--json"),
    ("ingest", EVIL),
    ("ingest", "-", "--name", f"a{EVIL}.md"),
    ("ingest", "-"),
    ("ingest", "{docs}", "--project", EVIL),
    ("ingest", "{docs}", "--include", EVIL),
    ("watch", EVIL),
    ("watch", "{docs}", "--exclude", "!"),
    ("move", f"{{docs}}/{EVIL}", EVIL),
    ("setup", EVIL),
    ("setup", "codex", "--agent", EVIL),
    ("hook", EVIL),
    ("hook", "before-edit", "--data-dir", EVIL),
    ("context", EVIL, "--url", URL, "--token", "t"),
    ("context", "--since", EVIL),
    ("check", EVIL),
    ("check", "--base", EVIL),
    ("map", "--suggest", f"{{docs}}/{EVIL}.jsonl"),
    ("map", "--suggest", f"{{docs}}/{EVIL}.jsonl", "--json"),
    ("map", "--suggest", f"{{docs}}/{EVIL}.jsonl", "--map", EVIL),
    ("map", "--suggest", EVIL),
    ("show", "d"),
    ("show", "d", "--json"),
    ("show", EVIL + FORGED),
    ("show", "d", "--kind", EVIL),
    ("delete", EVIL + FORGED),
    ("schema", EVIL),
    ("token", "list"),
    ("token", "list", "--json"),
    ("token", "create", "--agent", EVIL),
    ("token", "revoke", EVIL),
    ("token", "rotate", EVIL),
    ("audit", "list"),
    ("audit", "list", "--json"),
    ("audit", "list", "--since", EVIL),
    ("audit", "verify", "--noted", EVIL),
    ("call", "cstp.recall", "--url", URL, "--token", "t"),
    ("call", "cstp.recall", "--url", URL, "--token", "t", "--json"),
    ("call", "cstp.getChunk", f"{EVIL}={EVIL}", "--url", URL, "--token", "t"),
    ("call", "cstp.getChunk", "--url", URL, "--token", "t", "--json"),
    ("call", "cstp.getWarnings", "--url", URL, "--token", "t"),
    ("call", EVIL, "--url", URL, "--token", "t"),
    ("call", "cstp.recall", EVIL, "--url", URL, "--token", "t"),
    ("call", "cstp.recall", "--url", f"http://{EVIL}", "--token", "t"),
    ("call", "cstp.recall", "--url", URL, "--token", EVIL),
    ("call", "cstp.recall", "--params", EVIL, "--url", URL, "--token", "t"),
    ("status",),
    ("status", "--json"),
    ("status", "--data-dir", EVIL),
    ("status", URL, "--token", "t"),
    ("status", URL, "--token", "t", "--json"),
    ("config",),
    ("config", "--json"),
    ("config", "--config", EVIL),
    ("config", "--data-dir", EVIL),
    ("config", "--config", "hostile.yaml"),
    ("reindex", "--data-dir", EVIL),
    ("copy", "--to", EVIL),
    ("copy", "--to", f"sqlite:///{EVIL}.sqlite3"),
    ("backup", f"kept{EVIL}"),
    ("backup", f"kept{EVIL}"),
    ("restore", EVIL),
    ("restore", "{docs}/0001-a.md"),
    ("doctor",),
    ("doctor", "--json"),
    ("doctor", "--data-dir", EVIL),
    ("export", "-"),
    ("export", f"{EVIL}.jsonl"),
    ("export", f"{EVIL}/none.jsonl"),
    ("export", "-", "--kind", EVIL),
    ("import", EVIL),
    ("import", "{docs}/" + EVIL + ".jsonl"),
    ("search", EVIL, "--url", URL, "--token", "t"),
    ("search", EVIL, "--url", URL, "--token", "t", "--json"),
    ("show", EVIL, "--url", URL, "--token", "t"),
    ("record", EVIL, "--confidence", "1", "--url", URL, "--token", "t"),
    ("record", EVIL, "--reason", EVIL),
    ("record", EVIL, "--set", EVIL, "--token", "t"),
    ("review", EVIL, EVIL, "--url", URL, "--token", "t", "--json"),
    ("review", EVIL, "--form", EVIL, "--token", "t"),
    ("compact", "--data-dir", EVIL),
    ("ui", "--agent", EVIL),
    ("ui", "--scope", EVIL, "--no-browser"),
    ("site", EVIL, "--data-dir", EVIL),
    ("site", "out", "--kind", EVIL),
    ("remember", EVIL, "--context", EVIL, "--url", URL, "--token", "t"),
    ("forget", EVIL, "--url", URL, "--token", "t"),
    ("forget", EVIL, "--yes", "--url", URL, "--token", "t", "--json"),
    ("changes", "--url", URL, "--token", "t", "--kind", EVIL),
    ("changes", "--since", EVIL, "--token", "t"),
    ("conform", URL, "t", "--only", "batch-edges"),
    ("conform", URL, "t", "--only", EVIL),
    ("conform", URL, "t", "--set", EVIL),
    ("completion", EVIL),
    ("mcp", "--agent", EVIL),
    ("mcp", "--url", EVIL),
    ("serve", "--host", EVIL),
    ("demo", "--host", EVIL),
    (EVIL,),
    (f"--{EVIL}",),
]


@pytest.mark.long("runs every command")
@pytest.mark.parametrize("terminal", [True, False], ids=["a terminal", "a pipe"])
def test_no_command_writes_terminal_controls(files: Path, output: Output, terminal: bool) -> None:
    Path("hostile.yaml").write_text(f"agent: {{name: {json.dumps(EVIL)}}}\n{json.dumps(EVIL)}: 1\n")
    output("token", "create", "--agent", "me", terminal=False)
    tokens = Path("data/tokens.json")
    tokens.write_text(tokens.read_text().replace('"me"', json.dumps("me \u202e\x9b")))
    named: set[str] = set()
    shown = 0
    for words in COMMANDS:
        found = output(*(word.replace("{docs}", str(files)) for word in words), terminal=terminal, stdin=EVIL.encode())
        left = RICH.sub("", found) if terminal else found
        assert left == several_lines(left), words
        assert "\x1b[8m" not in found
        assert "\nrejected: forged" not in left, words
        named.add(words[0])
        shown += "\\u001b]0;owned" in left or "\\x1b]0;owned" in left
        if "--json" in words or words == ("export", "-"):
            machine = [line for line in left.splitlines() if line.startswith(("{", "["))]
            assert machine, words
            assert all(json.loads(line) is not None for line in machine)
    assert named >= set(typer.main.get_command(app).list_commands(None))  # type: ignore[arg-type]
    assert shown > 30  # refused and requested values are named, legibly


def test_escaped_machine_output_reads_back_unchanged(files: Path, output: Output) -> None:
    output("ingest", files, terminal=False)
    (line,) = [line for line in output("show", "d", "--json", terminal=False).splitlines() if line.startswith("{")]
    assert json.loads(line)["text"] == f"{EVIL}\nnext line"
    exported = [json.loads(line) for line in output("export", "-", terminal=False).splitlines() if line.startswith("{")]
    assert {EVIL: EVIL} in [line["record"]["metadata"] for line in exported]
    (line,) = output("call", "cstp.recall", "--url", URL, "--token", "t", "--json", terminal=True).splitlines()
    assert json.loads(line)[EVIL] == EVIL


def test_a_text_keeps_its_lines_and_a_line_stays_a_single_line() -> None:
    text = "a\tb\nc\r\x1b[31mé漢🦆\u200d\u200cfa\U000e0041\ud800"
    assert several_lines(text) == "a\tb\nc\\r\\u001b[31mé漢🦆\u200d\u200cfa\\udb40\\udc41\\ud800"
    assert one_line(text).startswith("a\\tb\\nc\\r")
    assert json.loads(f'"{one_line(EVIL)}"') == EVIL


def test_commands_write_through_one_place_alone() -> None:
    # the entry point also runs in the client install, without cstp_server.terminal to import
    for module in set(Path(main.__file__).parent.rglob("*.py")) - {Path(entry.__file__)}:
        assert not re.search(r"typer\.echo\(|sys\.std(?:out|err)\.write\(|(?<![\w.])print\(", module.read_text()), (
            module
        )


@pytest.mark.parametrize("format", ["json", "pretty"])
def test_a_log_has_no_terminal_sequences(output: Output, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    def log(_words: list[str]) -> None:
        configure_logging(LogSettings(format=format))
        structlog.get_logger("test").error("tokens_file_fails", reason=EVIL, paths=[EVIL], named={"a": EVIL})
        logging.getLogger("library").error("of a library: %s", EVIL)
        write_rest(10)

    monkeypatch.setattr("tests.cli.test_terminal.run", log)
    left = RICH.sub("", output(terminal=True))
    assert left == several_lines(left)
    assert left.count("owned") == 4
    if format == "json":
        assert [json.loads(line)["level"] for line in left.splitlines()] == ["error", "error"]
