"""A second `cstp serve` over a folder: both addresses answer, and the second survives the end of the first."""

import json
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import httpx
import psutil
import pytest

from cstp.client.sync_client import Client

Cstp = Callable[..., Any]
Serving = Callable[..., tuple[Any, str]]
Start = Callable[..., Any]
NO_LIMIT = {"CSTP_LIMITS__DEFAULT": "1000000/second", "CSTP_LIMITS__WRITES": "1000000/second"}
MOST_MEMORY = 150 * 1024 * 1024
KILLS = 4

pytestmark = pytest.mark.long("starts servers")


def titles(client: Client) -> list[str]:
    """Return titles of all decisions, page by page."""
    found: list[str] = []
    while True:
        page = client.list_decisions(limit=100, offset=len(found))
        found += [each.title for each in page.decisions]
        if len(found) >= page.total:
            return found


def test_both_addresses_answer_everything_from_one_store_until_one_is_stopped(serving: Serving, token: str) -> None:
    _, first = serving()
    second, url = serving()
    bearer = {"Authorization": f"Bearer {token}"}
    with Client(f"{first}/cstp", token) as one, Client(f"{url}/cstp", token) as other:
        one.record_decision("Paint the fence", 0.5)
        other.record_decision("Oil the gate", 0.5)
        assert set(titles(one)) == set(titles(other)) == {"Paint the fence", "Oil the gate"}
        assert len(list(other.changes(0, follow=False))) == 2
        with httpx.stream("GET", f"{url}/cstp/changes?since=0", headers=bearer, timeout=10) as events:
            assert next(line for line in events.iter_lines() if line == "event: put")
    assert httpx.get(f"{url}/ui/", timeout=10).status_code == 200
    listed = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert "query_decisions" in httpx.post(f"{url}/mcp", headers=bearer, json=listed, timeout=60).text
    assert httpx.post(f"{url}/cstp", json=listed, timeout=10).status_code == 401
    assert psutil.Process(second.process.pid).memory_info().rss < MOST_MEMORY
    assert second.end().code == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/healthz", timeout=10)
    assert httpx.get(f"{first}/healthz", timeout=10).status_code == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_the_second_server_takes_over(serving: Serving, token: str, cstp: Cstp, number: signal.Signals) -> None:
    first, held = serving()
    with Client(f"{held}/cstp", token) as client:
        client.record_decision("Paint the fence", 0.5)
    second, url = serving()
    first.end(number)
    with Client(f"{url}/cstp", token) as client:  # connections until then wait
        assert titles(client) == ["Paint the fence"]
    assert json.loads(cstp("status", "--json").out)["server"] == f"alive on {url}"
    assert second.end().code == 0


def test_no_write_is_lost_when_the_holder_dies(serving: Serving, token: str, wait_until: Callable[..., None]) -> None:
    written: list[str] = []

    def write(url: str, over: Event) -> None:
        with Client(f"{url}/cstp", token, retries=100, timeout=60) as client:
            while not over.is_set():
                title = f"Decision {len(written)}"
                client.record_decision(title, 0.5, idempotency_key=str(len(written)))
                written.append(title)

    first, _ = serving(**NO_LIMIT)
    for _ in range(KILLS):
        second, url = serving(**NO_LIMIT)
        over = Event()
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write, url, over)
            try:
                for kill in (True, False):
                    due = len(written) + 10
                    wait_until(lambda due=due, writing=writing: len(written) >= due or writing.done())
                    if kill:
                        first.end(signal.SIGKILL)
            finally:
                over.set()
            writing.result()
        first = second
    with Client(f"{url}/cstp", token) as client:
        assert sorted(titles(client)) == sorted(written)


@pytest.mark.parametrize("other", [{"CSTP_LIMITS__DEFAULT": "1/minute"}, {"CSTP_SERVER__MAX_BATCH": "2"}], ids=str)
def test_a_server_with_other_settings_names_the_holder(
    serving: Serving, program: Start, token: str, other: dict[str, str]
) -> None:
    same = {"CSTP_EMBEDDING__MODEL": "none", "CSTP_AUTH__RELOAD_SECONDS": "1"}
    _, url = serving(**same)
    done = program("serve", "--port", 0, **same, **other).finish()
    assert done.code == 1
    said = done.err.splitlines()[-1]
    assert f"held by another `cstp serve` ({url}) that has other settings" in said
    assert "--workers" in said
