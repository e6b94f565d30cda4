"""`cstp record` and `cstp review`: typed or filled-in text reaches a server, once, and is never lost."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.cli.conftest import at_terminal
from tests.quick_starts import ENTRY

Cstp = Callable[..., Any]


@pytest.fixture
def server(asked: Callable[..., Any]) -> Any:
    """Start an empty server; URL and a token that writes and reviews are in the environment."""
    return asked({"limits.default": "600/minute; 60/second"}, scopes=["read", "write", "review"])


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return `editor(first, second)`: an editor that leaves these forms, in order of openings."""

    def edits(*forms: str) -> None:
        for number, form in enumerate(forms):
            (tmp_path / f"form{number}").write_text(form)
        script = tmp_path / "editor.py"
        script.write_text(
            "import pathlib, sys\n"
            f"forms = sorted(pathlib.Path({str(tmp_path)!r}).glob('form[0-9]'))\n"
            "pathlib.Path(sys.argv[1]).write_text(forms[0].read_text())\n"
            "forms[0].unlink()\n"
        )
        monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")

    return edits


def written(cstp: Cstp) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(cstp("call", "cstp.listDecisions", "--json").out)["decisions"]
    return listed


@pytest.mark.long("starts a server and editors")
def test_forgetting_shows_the_record_first_and_needs_agreement(server: Any, cstp: Cstp) -> None:
    id = json.loads(cstp("record", "Bake rye", "--confidence", "0.5", "--json").out)["id"]
    assert cstp("forget", id).code == 2
    assert len(written(cstp)) == 1
    code, shown = at_terminal(b"n\n", "forget", id)
    assert code == 130
    assert f"would forget {id} (decision, 1 revisions)" in shown
    assert len(written(cstp)) == 1
    code, shown = at_terminal(b"y\n", "forget", id)
    assert code == 0, shown
    assert written(cstp) == []
    done = cstp("forget", id, "--yes")
    assert done.code == 6


def test_a_follower_prints_a_change_when_it_comes(server: Any, cstp: Cstp) -> None:
    follower = subprocess.Popen(
        [sys.executable, "-c", ENTRY, "changes", "--follow", "--json"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    assert follower.stdout is not None
    ids = []
    for one in ("rye", "wheat"):
        ids.append(json.loads(cstp("record", f"Bake {one}", "--confidence", "0.5", "--json").out)["id"])
        assert json.loads(follower.stdout.readline())["id"] == ids[-1]
    follower.send_signal(signal.SIGINT)
    follower.stdout.close()
    assert follower.wait(30) == 130


@pytest.mark.long("starts a server and editors")
def test_a_completed_form_is_recorded_and_removed(
    server: Any, cstp: Cstp, editor: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    editor("decision: |\n  Bake rye\n  On Mondays.\nconfidence: 0.5\ntags: [bread]\nreviewBy: 2030-01-01\n")
    code, shown = at_terminal(b"", "record")
    assert code == 0, shown
    (found,) = written(cstp)
    assert (found["title"], found["tags"]) == ("Bake rye", ["bread"])
    assert not list(tmp_path.glob("cstp-*.yaml"))


def test_a_zero_in_a_form_is_filled_in(server: Any, cstp: Cstp, editor: Callable[..., None]) -> None:
    editor("decision: Bake rye\nconfidence: 0\n")
    code, shown = at_terminal(b"n\n", "record")
    assert code == 0, shown
    assert [one["confidence"] for one in written(cstp)] == [0]


@pytest.mark.long("starts a server and editors")
def test_a_form_with_mistakes_is_opened_again_and_loses_nothing(
    server: Any, cstp: Cstp, editor: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    editor("decision: Bake rye\nconfidence: 7\n", "decision: Bake rye\nconfidence: 0.7\n")
    code, shown = at_terminal(b"y\n", "record")
    assert code == 0, shown
    assert "confidence: must be at most 1.0" in shown
    assert [one["confidence"] for one in written(cstp)] == [0.7]
    editor("decision: Bake rye\nconfidence: [\n")
    code, shown = at_terminal(b"n\n", "record")
    assert code == 130
    (kept,) = tmp_path.glob("cstp-*.yaml")
    assert f"--form {kept}" in shown
    editor("decision: Bake wheat\nconfidence: 0.1\n")
    assert at_terminal(b"", "record", "--form", str(kept))[0] == 0
    assert sorted(one["title"] for one in written(cstp)) == ["Bake rye", "Bake wheat"]
    assert not kept.exists()


def test_an_unchanged_form_sends_nothing(server: Any, cstp: Cstp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "true")
    assert at_terminal(b"", "record")[0] == 130
    assert written(cstp) == []


@pytest.mark.long("starts a server and editors")
def test_a_form_stays_without_an_accepting_server(
    server: Any, editor: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("CSTP_URL", "http://127.0.0.1:1")
    editor("decision: Bake rye\nconfidence: 0.7\n")
    code, shown = at_terminal(b"", "record")
    assert code == 3
    (kept,) = tmp_path.glob("cstp-*.yaml")
    assert f"--form {kept}" in shown
    assert "--key " in shown


def test_a_lost_answer_is_recorded_once(server: Any, cstp: Cstp, monkeypatch: pytest.MonkeyPatch) -> None:
    with cutting(server.port) as url:
        monkeypatch.setenv("CSTP_URL", url)
        done = cstp("record", "Bake rye", "--confidence", "0.5", "--json")
    assert (done.code, json.loads(done.out)["created"]) == (0, False)
    monkeypatch.setenv("CSTP_URL", f"http://127.0.0.1:{server.port}")
    assert len(written(cstp)) == 1


def whole(connection: socket.socket) -> bytes:
    """Return a request or answer whose body is a JSON object."""
    got = b""
    while not got.endswith(b"}"):
        got += connection.recv(65536)
    return got


@contextmanager
def cutting(port: int) -> Iterator[str]:
    """Start a server proxy that closes a connection instead of the first answer; yield the URL."""

    def serve() -> None:
        for cut in (True, False):
            with listener.accept()[0] as caller, socket.create_connection(("127.0.0.1", port)) as server:
                server.sendall(whole(caller))
                answer = whole(server)
                if not cut:
                    caller.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


@pytest.mark.long("starts a server with an embedding model")
def test_a_possibly_contradicting_record_names_the_other_record_and_the_reason(
    asked: Callable[..., Any], cstp: Cstp
) -> None:
    asked({"embedding.model": "minilm"}, scopes=["read", "write"])
    words = "Failed downloads are retried"
    first = json.loads(cstp("record", f"{words} 3 times", "--confidence", "0.8", "--json").out)
    cstp("call", "cstp.queryDecisions", f"query={words}", f"minSeq={first['seq']}")
    done = cstp("record", f"{words} 5 times", "--confidence", "0.8")
    assert done.code == 0
    assert f"may contradict (number): {first['id']} {words} 3 times" in done.err
