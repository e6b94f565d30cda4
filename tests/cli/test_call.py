"""Colours, exit codes and hidden health of `cstp call` and `cstp status URL`; `transcripts/call.txt` has the rest."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import httpx
import pytest

from cstp.errors import ERRORS
from cstp_server.cli.conventions import FAMILIES, MEANINGS
from tests.cli.conftest import at_terminal
from tests.http_servers import answering

Cstp = Callable[..., Any]


@pytest.fixture
def server(asked: Callable[..., Any]) -> str:
    """Return a server URL; URL and token are in the environment."""
    return f"http://127.0.0.1:{asked({}).port}"


@pytest.mark.long("waits for a program")
def test_colours_are_for_terminals_alone(server: str, cstp: Cstp) -> None:
    assert "\x1b" not in cstp("call", "cstp.whoami").out
    code, shown = at_terminal(b"", "call", "cstp.whoami", TERM="xterm-256color")
    assert (code, "\x1b[" in shown, '"agent"' in shown) == (0, True, True)


def test_every_family_of_errors_has_a_code_and_every_code_a_meaning() -> None:
    of_errors = {FAMILIES[error.family] for error in ERRORS}
    assert of_errors <= set(MEANINGS)
    assert not of_errors & {0, 1, 2, 3, 130}


def test_health_may_be_hidden(cstp: Cstp, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CSTP_TOKEN")
    card = httpx.get(f"{server}/.well-known/agent-card.json", trust_env=False).content
    with closing(answering(404, card)) as hiding:
        done = cstp("status", f"http://127.0.0.1:{hiding.server_port}")
    assert (done.code, "health: not shown here (HTTP 404)" in done.out) == (0, True)
