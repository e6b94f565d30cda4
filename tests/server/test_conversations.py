"""Replay of every conversation in tests/wire over a real socket, each exchange on a separate connection."""

from pathlib import Path
from typing import Any

import pytest

from cstp_server.cli.main import run
from cstp_server.conformance.wire_files import Differs, ReceivedAnswer, build, check, check_always, folder, read
from cstp_server.limits.admission import AdmissionGate
from cstp_server.settings import USUAL_LIMIT
from tests.stores import Stores

FILES = sorted(folder().glob("*.txt"))
# the limits of a server reachable by others, named in answers
LIMITS = {"limits.default": USUAL_LIMIT}
# answers are not to depend on the machine's load
PATIENT = LIMITS | {"store.deadline_seconds": 60}


def gate_of(word: str | None) -> AdmissionGate | None:
    if word is None:
        return None
    gate = AdmissionGate(0, 0) if word == "full" else AdmissionGate(1, 1)
    gate.draining = word == "draining"
    return gate


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_conversation_goes_as_written(
    path: Path,
    common_server: Any,
    live_server: Any,
    stores: Stores,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conversation = read(path)
    if conversation.records is not None:
        for name, value in stores.environment(tmp_path).items():
            monkeypatch.setenv(name, value)
        assert run(["ingest", str(path.with_name(conversation.records)), "--data-dir", str(tmp_path)]) == 0
        server = live_server(PATIENT | conversation.settings, data_dir=tmp_path)
    elif conversation.gate is None:
        server = common_server(LIMITS | conversation.settings)
    else:
        server = live_server(PATIENT | conversation.settings, gate=gate_of(conversation.gate))
    rights = {name: value.split(",") for name, value in conversation.token.items() if name in ("scopes", "projects")}
    rights |= {name: value for name, value in conversation.token.items() if name in ("agent", "clearance")}
    token = server.token(**rights)
    for exchange in conversation.exchanges:
        sent = build(exchange, token, conversation.chunk)
        with server.connect() as connection:
            connection.send(sent.data)
            got = connection.read(sent.method)
        reply = ReceivedAnswer(got.status, got.headers, got.body)
        try:
            assert reply.header("server") is None
            if reply.status not in (400, 404):
                check_always(reply)
            check(exchange, reply)
        except Differs as error:
            pytest.fail(f"{path.name}:{exchange.line}: {error}")
