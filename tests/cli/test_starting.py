"""A server or demo stopped during the start: exit code 0, no traceback, nothing left behind."""

import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Start = Callable[..., Any]


@pytest.mark.long("starts interpreters")
@pytest.mark.parametrize(
    ("module", "number"),
    [("typer.core", signal.SIGINT), ("uvicorn.config", signal.SIGTERM), ("starlette.routing", signal.SIGTERM)],
    ids=str,
)
def test_a_signal_during_the_imports_ends_a_server_with_0(program: Start, module: str, number: signal.Signals) -> None:
    server = program("--data-dir", "data", "serve", "--port", 0, PYTHONPROFILEIMPORTTIME="1")
    server.line(rf"\| +{module}$")
    done = server.end(number)
    assert (done.code, done.out) == (0, "")


@pytest.mark.skipif(signal.getsignal(signal.SIGINT) is signal.SIG_IGN, reason="SIGINT is ignored here")
def test_ctrl_c_during_imports_of_another_command_is_reported_in_one_line(program: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # so that it does not end by itself, however late the signal
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = program("call", "cstp.whoami", "--url", url, "--token", "t", PYTHONPROFILEIMPORTTIME="1")
        command.line(r"\| +typer.core$")
        done = command.end(signal.SIGINT)
    assert done.code == 130
    assert done.err.endswith("cstp: stopped\n")


@pytest.mark.parametrize("workers", [1, pytest.param(3, marks=pytest.mark.long("starts Redis"))])
def test_a_signal_while_the_database_is_being_opened_ends_a_server_with_0(
    program: Start, workers: int, request: pytest.FixtureRequest
) -> None:
    limits = {} if workers == 1 else {"CSTP_LIMITS__REDIS_URL": request.getfixturevalue("shared_redis").url}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        url = f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/x?connect_timeout=100"
        words = ("serve", "--port", 0, "--workers", workers)
        server = program(*words, CSTP_EMBEDDING__MODEL="none", CSTP_STORE__URL=url, **limits)
        with silent.accept()[0]:
            done = server.end(signal.SIGTERM, 30)
    assert (done.code, done.out, done.err) == (0, "", "")


@pytest.mark.skipif(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, reason="SIGHUP is ignored here")
def test_a_demo_losing_its_terminal_during_the_start_leaves_nothing_behind(program: Start, tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    demo = program("demo", "--port", 0, CSTP_EMBEDDING__MODEL="none", TMPDIR=str(tmp_path / "temporary"))
    demo.line('"reading"')
    done = demo.end(signal.SIGHUP)
    assert done.code == 0
    assert list((tmp_path / "temporary").iterdir()) == []
