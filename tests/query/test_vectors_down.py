"""A Chroma server that is not there, goes away and comes back; and the default model over a socket."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import pytest

from cognition_engines.models import Decision
from cognition_engines.records.store import open_records
from cognition_engines.records.values import Entry, Origin

TITLES = {
    "d-db": "Use PostgreSQL as the database",
    "d-queue": "Put slow work on a message queue",
    "d-auth": "Bearer tokens identify agents",
}
SECONDS = 8.0  # that a change of the server's state may take to show


def fill(folder: Path) -> None:
    """Records without vectors: a server embeds them itself."""
    records = open_records(f"sqlite:///{folder}/records.sqlite3")
    records.put([Entry(Decision(id, title), Origin("/x.md", 0, None, title)) for id, title in TITLES.items()], None)
    records.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


@pytest.fixture
def start(live_server: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """`start(url)`: a server with the default model, these records and that Chroma server."""

    def started(url: str) -> Any:
        fill(tmp_path / "data")
        return live_server(
            {"embedding.model": "minilm", "vectors.url": url, "limits.default": "100000/minute"},
            data_dir=tmp_path / "data",
        )

    return started


def asked(live: Any, token: str, mode: str) -> Any:
    return live.call("cstp.queryDecisions", token, {"query": "which database", "mode": mode}).json


def component(reply: Any) -> str | None:
    """The part that failed; None for an answer."""
    if "result" in reply:
        return None
    assert (reply["error"]["code"], reply["error"]["message"]) == (-32003, "Query failed")
    part: str = reply["error"]["data"]["component"]
    return part


def first(reply: Any) -> str | None:
    """The id that came first; None before the server has embedded anything."""
    found = reply["result"]["decisions"]
    return found[0]["id"] if found else None


def test_with_no_chroma_server_at_its_address_keyword_goes_on_and_the_others_name_the_part(
    start: Callable[..., Any], wait_until: Callable[..., None]
) -> None:
    live = start(f"http://127.0.0.1:{free_port()}")
    token = live.token()
    wait_until(lambda: component(asked(live, token, "semantic")) == "vectors", SECONDS)
    began = monotonic()
    assert component(asked(live, token, "hybrid")) == "vectors"
    assert monotonic() - began < 2
    assert first(asked(live, token, "keyword")) == "d-db"
    # the distance comes from the stored vectors, once the server has embedded what it found without any
    wait_until(lambda: asked(live, token, "keyword")["result"]["decisions"][0]["distance"] is not None, SECONDS)


@pytest.fixture
def chroma(tmp_path: Path, wait_until: Callable[..., None]) -> Iterator[Callable[[int], Any]]:
    """`chroma(port)`: Chroma's own server, started on one folder as often as asked."""
    program = Path(sys.executable).with_name("chroma")
    if not program.exists():
        pytest.skip("no chroma program beside this interpreter")
    started = []

    def run(port: int) -> "subprocess.Popen[bytes]":
        words = [program, "run", "--path", tmp_path / "chroma", "--host", "127.0.0.1", "--port", str(port)]
        # Chroma's program forks; a session of its own lets all of it be killed
        process = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd=tmp_path
        )
        started.append(process)

        def answers() -> bool:
            try:
                return httpx.get(f"http://127.0.0.1:{port}/api/v2/heartbeat", timeout=1).status_code == 200
            except httpx.HTTPError:
                return False

        wait_until(answers, 30)
        return process

    yield run
    for process in started:
        kill(process)


def kill(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_chroma_server_that_dies_is_told_within_seconds_and_used_again_when_it_is_back(
    start: Callable[..., Any], chroma: Callable[[int], Any], wait_until: Callable[..., None]
) -> None:
    port = free_port()
    process = chroma(port)
    live = start(f"http://127.0.0.1:{port}")
    token = live.token()
    wait_until(lambda: first(asked(live, token, "semantic")) == "d-db", SECONDS)
    wait_until(lambda: windows_on(port) == len(TITLES), SECONDS)

    kill(process)
    for mode in ("semantic", "hybrid"):
        wait_until(lambda mode=mode: component(asked(live, token, mode)) == "vectors", SECONDS)
    assert first(asked(live, token, "keyword")) == "d-db"

    chroma(port)
    for mode in ("semantic", "hybrid"):
        wait_until(lambda mode=mode: component(asked(live, token, mode)) is None, SECONDS)
        assert first(asked(live, token, mode)) == "d-db"
    wait_until(lambda: windows_on(port) == len(TITLES), SECONDS)


def windows_on(port: int) -> int:
    """How many vectors the server holds, asked past our own code."""
    root = f"http://127.0.0.1:{port}/api/v2/tenants/default_tenant/databases/default_database/collections"
    total = 0
    for collection in httpx.get(root, timeout=5).json():
        total += int(httpx.get(f"{root}/{collection['id']}/count", timeout=5).text)
    return total
