"""`cstp serve`, `call` and `demo` as programs, over real sockets."""

import errno
import fcntl
import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import pytest

from cognition_engines.errors import ConfigurationError
from cognition_engines.indexes.index_folder import FolderLock

Cstp = Callable[..., Any]
Serving = Callable[..., tuple[Any, str]]
Start = Callable[..., Any]


@pytest.mark.long("starts processes")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_server_names_its_address_and_ends_with_0(serving: Serving, token: str, number: signal.Signals) -> None:
    server, url = serving()
    answer = httpx.get(f"{url}/healthz", timeout=10)
    assert answer.status_code == 200
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))):  # an idle client does not hold it
        began = monotonic()
        done = server.end(number)
    assert done.code == 0
    assert monotonic() - began < 20  # an idle client could hold it for 30
    assert done.out == ""


def test_a_server_without_tokens_explains_itself_and_accepts_new_tokens(serving: Serving, cstp: Cstp) -> None:
    server, url = serving()
    assert server.line(r"no_live_tokens.*cstp token create|cstp token create.*no_live_tokens")
    token = cstp("token", "create", "--agent", "me", "--quiet").out.strip()
    done = cstp("call", "cstp.whoami", "--url", url, "--token", token)
    assert done.code == 0
    assert json.loads(done.out)["agent"] == "me"


@pytest.mark.long("starts the program as a process")
def test_a_server_reachable_by_others_without_tls_warns(program: Start, token: str, wordless: None) -> None:
    server = program("serve", "--host", "0.0.0.0", "--port", 0)
    line = server.line(".*tokens and records pass unencrypted to 0.0.0.0.*")[0]
    assert json.loads(line)["level"] == "warning"
    server.end()
    by_proxy = program("serve", "--host", "0.0.0.0", "--port", 0, CSTP_SERVER__PUBLIC_URL="https://d.example.org")
    assert by_proxy.line("(.*)")[1].count("serving") == 1
    assert "unencrypted" not in by_proxy.end().err


@pytest.mark.usefixtures("wordless")
@pytest.mark.parametrize("error", [RuntimeError("a cause of " + "x" * 500), ConfigurationError("mcp: cannot be")])
def test_a_failing_start_shows_its_cause(cstp: Cstp, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("cstp_server.app.open_mount", fail)
    if isinstance(error, ConfigurationError):
        done = cstp("serve", "--port", 0)
        assert (done.code, "cstp: mcp: cannot be\n" in done.err) == (2, True)
    else:
        with pytest.raises(RuntimeError, match="x" * 500):
            cstp("serve", "--port", 0)


@pytest.mark.usefixtures("wordless")
def test_a_busy_port_is_reported_in_one_line(cstp: Cstp) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        done = cstp("serve", "--port", port)
    assert (done.code, done.out) == (2, "")
    assert str(port) in done.err
    assert "--port" in done.err


@pytest.mark.long("starts processes")
def test_reindex_reports_a_folder_held_by_a_server(serving: Serving, token: str, cstp: Cstp) -> None:
    serving()
    done = cstp("reindex")
    assert done.code == 1
    assert "held by another" in done.err
    assert "--data-dir" in done.err
    assert "indexes: held by a server" in cstp("status").out


@pytest.mark.usefixtures("wordless", "token")
@pytest.mark.parametrize("words", [("serve", "--port", 0), ("status",)], ids=lambda words: words[0])
def test_a_failing_lock_is_no_holder(cstp: Cstp, monkeypatch: pytest.MonkeyPatch, words: tuple[Any, ...]) -> None:
    Path("data/indexes").mkdir(parents=True)
    Path("data/indexes/lock").touch()
    locked = fcntl.flock

    def flock(file: int, how: int) -> None:
        if Path(f"/dev/fd/{file}").resolve() == Path("data/indexes/lock").absolute():
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
        locked(file, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    done = cstp(*words)
    assert (done.code, done.out) == (2, "")
    last = done.err.splitlines()[-1]
    assert last == (
        f"cstp: data/indexes cannot be locked ({os.strerror(errno.ENOLCK)}); name a --data-dir on a filesystem that "
        "has locks"
    )


@pytest.mark.long("starts processes")
def test_status_finds_the_server_of_its_folder_on_any_port(serving: Serving, token: str, cstp: Cstp) -> None:
    server, url = serving()
    found = json.loads(cstp("status", "--json").out)
    assert (found["server"], found["indexes"], found["liveTokens"]) == (f"alive on {url}", "held by a server", 1)
    assert cstp("doctor").out.count(f"ready on {url}") == 1
    server.end(signal.SIGKILL)
    found = json.loads(cstp("status", "--json").out)
    assert (found["server"], found["indexes"]) == ("none uses this folder", "free")


def test_status_names_the_command_holding_the_folder(cstp: Cstp, tmp_path: Path) -> None:
    lock = FolderLock(tmp_path / "data" / "indexes")
    found = json.loads(cstp("status", "--json").out)
    assert found["indexes"] == "held by another process"
    lock.name_holder("cstp reindex")
    found = json.loads(cstp("status", "--json").out)
    assert (found["indexes"], found["server"]) == (
        "held by cstp reindex",
        "none uses this folder, or it is still starting",
    )
    lock.close()
