"""Calls and streams that wait for changes: woken, bounded, and ended with their client, token or server."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity
from cstp import AsyncClient, Client, DeadlineExceeded
from cstp_server.tokens import read_tokens, revoke_token
from tests.following.relay import Relay
from tests.kinds import entry
from tests.serving import Serving, start
from tests.stores import Stores, wait_for

SECONDS = 20


@pytest.fixture
def serving(tmp_path: Path, stores: Stores) -> Iterator[Serving]:
    own = {"server": {"port": 0, "max_followers": 4, "quiet_seconds": 0.3}}
    opened, stop = start(tmp_path, stores, None, None, **own)
    yield opened
    stop()


def put(serving: Serving, id: str, **rights: Any) -> None:
    serving.put([entry(Kind.DECISION, id, title="T", text=f"text {time.monotonic_ns()}", **rights)])


def test_a_waiting_call_is_answered_by_visible_changes_but_not_by_hidden_changes(serving: Serving) -> None:
    reader = serving.token()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(serving.ask, "changes", reader, since="now", waitMs=20_000)
        wait_for(lambda: serving.figure("cstp_followers") == 1)
        put(serving, "secret", sensitivity=Sensitivity.HIGHLY_SENSITIVE)
        serving.caught_up()
        put(serving, "d")
        answer = waiting.result(SECONDS)
    assert [(one["op"], one["kind"], one["id"]) for one in answer["changes"]] == [("put", "decision", "d")]
    assert answer["cursor"] == answer["changes"][0]["seq"]
    assert answer["more"] is False


@pytest.mark.long("follows many writes")
def test_waiting_is_over_after_its_time_with_the_same_cursor(serving: Serving) -> None:
    put(serving, "d")
    first = serving.ask("changes", since=0)
    began = time.monotonic()
    again = serving.ask("changes", since=first["cursor"], waitMs=300)
    assert time.monotonic() - began >= 0.3
    assert (again["changes"], again["cursor"], again["more"]) == ([], first["cursor"], False)


@pytest.mark.long("follows many writes")
def test_one_agent_has_half_of_the_waiting_slots_which_hold_none_in_flight(serving: Serving) -> None:
    one, other = serving.token(), serving.token()
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(serving.ask, "changes", one, since="now", waitMs=20_000) for _ in range(2)]
        wait_for(lambda: serving.figure("cstp_followers") == 2)
        assert serving.figure("cstp_requests_running") == 0
        with pytest.raises(AssertionError, match="-32010"):  # 503
            serving.send("changes", one, since="now", waitMs=1)
        assert serving.ask("changes", one, since="now")["changes"] == [], "what does not wait needs no place"
        third = pool.submit(serving.ask, "changes", other, since="now", waitMs=20_000)
        wait_for(lambda: serving.figure("cstp_followers") == 3)
        put(serving, "d")
        assert all(each.result(SECONDS)["changes"] for each in (*waiting, third))
    wait_for(lambda: serving.figure("cstp_followers") == 0)


@pytest.mark.long("follows many writes")
def test_a_waiting_call_ends_with_its_client_or_its_token(serving: Serving) -> None:
    reader = serving.token()
    with Client(serving.url, reader) as going, pytest.raises(DeadlineExceeded):
        going.changes_page("now", wait_ms=20_000, timeout=0.3)
    wait_for(lambda: serving.figure("cstp_followers") == 0)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(serving.ask, "changes", reader, since="now", waitMs=20_000)
        wait_for(lambda: serving.figure("cstp_followers") == 1)
        revoke(serving, reader)
        assert waiting.result(5)["changes"] == []


def revoke(serving: Serving, token: str) -> None:
    (found,) = [one for one in read_tokens(serving.settings.tokens_path) if f"_{one.id}_" in token]
    revoke_token(serving.settings.tokens_path, found.id)


def test_waiting_calls_and_streams_end_when_the_server_stops(tmp_path: Path, stores: Stores) -> None:
    serving, stop = start(tmp_path, stores, None, None)
    reader = serving.token()
    with ThreadPoolExecutor(2) as pool:
        client = Client(serving.url, reader)
        waiting = pool.submit(client.changes_page, "now", wait_ms=20_000)
        streaming = pool.submit(lambda: list(events(serving, reader)))
        wait_for(lambda: serving.figure("cstp_followers") == 2)
        began = time.monotonic()
        with ThreadPoolExecutor(1) as stopping:
            stopping.submit(stop)
            assert waiting.result(SECONDS).changes == []
            assert streaming.result(SECONDS) == []
    assert time.monotonic() - began < 10
    client.close()


def events(
    serving: Serving, token: str, last: int | None = None, comments: list[str] | None = None, **query: str
) -> Iterator[dict[str, Any]]:
    """Yield a stream's events as they arrive."""
    headers = {"Authorization": f"Bearer {token}"} | ({} if last is None else {"Last-Event-ID": str(last)})
    with (
        httpx.Client(timeout=SECONDS, trust_env=False) as client,
        client.stream("GET", f"{serving.url}/changes", headers=headers, params=query) as answer,
    ):
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"] == "text/event-stream"
        fields: dict[str, str] = {}
        for line in answer.iter_lines():
            if line.startswith(":"):
                if comments is not None:
                    comments.append(line)
            elif line:
                name, _, value = line.partition(": ")
                fields[name] = value
            else:
                if "data" in fields:
                    change = json.loads(fields["data"])
                    assert int(fields["id"]) == change["seq"]
                    yield {"event": fields["event"]} | change
                fields = {}


def test_a_stream_has_each_change_and_resumes_after_the_last_event(serving: Serving) -> None:
    reader = serving.token()
    put(serving, "a")
    put(serving, "secret", sensitivity=Sensitivity.HIGHLY_SENSITIVE)
    stream = events(serving, reader, since="0")
    first = next(stream)
    assert (first["event"], first["op"], first["id"]) == ("put", "put", "a")
    put(serving, "b")
    second = next(stream)
    assert second["id"] == "b"
    stream.close()
    wait_for(lambda: serving.figure("cstp_followers") == 0)
    serving.records.delete(Kind.DECISION, ["b"])
    put(serving, "c")
    resumed = events(serving, reader, last=second["seq"], since="0")
    assert [(one["event"], one["seq"] > second["seq"]) for one in (next(resumed), next(resumed))] == [
        ("delete", True),
        ("put", True),
    ]
    resumed.close()


@pytest.mark.long("follows many writes")
def test_a_quiet_stream_has_comments_and_ends_with_its_token(serving: Serving) -> None:
    reader = serving.token()
    comments: list[str] = []
    with ThreadPoolExecutor(1) as pool:
        stream = pool.submit(lambda: list(events(serving, reader, comments=comments)))
        wait_for(lambda: len(comments) >= 2)
        revoke(serving, reader)
        assert stream.result(5) == []


def test_a_stream_needs_the_scope_and_a_place_and_only_get(serving: Serving) -> None:
    address = f"{serving.url}/changes"

    def status(token: str, **more: Any) -> int:
        return serving.client.get(address, headers={"Authorization": f"Bearer {token}"}, **more).status_code

    assert serving.client.get(address).status_code == 401
    assert status(serving.token(scopes=("write",))) == 403
    assert status(serving.token(), params={"since": "-1"}) == 400
    assert serving.client.post(address).status_code == 405


@pytest.fixture
def client(serving: Serving) -> Iterator[Client]:
    with Client(serving.url, serving.token()) as made:
        yield made


def test_the_client_iterates_existing_changes_and_keeps_its_cursor(serving: Serving, client: Client) -> None:
    for id in "abc":
        put(serving, id)
    changes = client.changes(0, follow=False, page_size=2)
    assert [one.id for one in changes] == ["a", "b", "c"]
    put(serving, "d")
    assert [one.id for one in client.changes(changes.cursor, follow=False)] == ["d"]
    assert list(client.changes("now", follow=False)) == []
    with pytest.raises(ValueError, match="wait_seconds"):
        client.changes(0, wait_seconds=31)


@pytest.mark.long("follows many writes")
def test_the_client_waits_and_resumes_after_a_break(serving: Serving) -> None:
    between = Relay(serving.url)
    with Client(between.url, serving.token(), retries=0) as client:
        changes = client.changes(0, wait_seconds=5.0)
        put(serving, "a")
        assert next(changes).id == "a"
        with ThreadPoolExecutor(1) as pool:
            following = pool.submit(next, changes)
            wait_for(lambda: serving.figure("cstp_followers") == 1)
            between.cut()
            put(serving, "b")
            assert following.result(SECONDS).id == "b"
    between.close()


async def test_the_asynchronous_client_iterates_too(serving: Serving) -> None:
    async with AsyncClient(serving.url, serving.token()) as client:
        put(serving, "a")
        changes = client.changes(0)
        assert (await anext(changes)).id == "a"
        put(serving, "b")
        assert (await anext(changes)).id == "b"
        assert changes.cursor == max(one.seq for one in (await client.changes_page(0)).changes)
