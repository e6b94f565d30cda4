"""Bodies before parsing: refusals without reading, and bounds on held bytes."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from select import select
from threading import current_thread, get_ident
from typing import Any

import orjson
import pytest

from cognition_engines.queries.pools import Pool
from cstp.errors import ParseError
from cstp_server.limits.admission import AdmissionGate
from cstp_server.limits.bodies import LARGE, Bodies, BodyParser, NoRoom
from cstp_server.limits.prices import weigh
from cstp_server.rpc.envelope import read_body

CALL = json.dumps({"jsonrpc": "2.0", "method": "cstp.whoami", "id": 1}).encode()
Headers = Callable[..., list[tuple[str, str]]]


@pytest.fixture
def headers() -> Headers:
    def of(server: Any, *more: tuple[str, str]) -> list[tuple[str, str]]:
        return [("Content-Type", "application/json"), ("Authorization", f"Bearer {server.token()}"), *more]

    return of


@pytest.mark.parametrize("path", ["/cstp", "/mcp"])
@pytest.mark.parametrize("state", ["full", "draining"])
@pytest.mark.parametrize("length", [("Content-Length", "1000"), ("Transfer-Encoding", "chunked")])
def test_a_server_without_a_place_answers_before_a_body_comes(
    live_server: Any, request_bytes: Any, headers: Headers, path: str, state: str, length: tuple[str, str]
) -> None:
    gate = AdmissionGate(0, 0) if state == "full" else AdmissionGate(1, 1)
    gate.draining = state == "draining"
    server = live_server(gate=gate)
    with server.connect() as connection:
        fields = [*headers(server, length), ("Host", "localhost")]
        connection.send(request_bytes(b"", fields, path=path))  # and nothing of the body
        reply = connection.read()
        assert (reply.status, reply.header("retry-after")) == (503, "1")
        assert reply.header("connection") == ("close" if state == "draining" else None)


@pytest.mark.parametrize(
    ("status", "field", "path"),
    [
        (401, ("Authorization", "Bearer cstp_wrong"), "/cstp"),
        (415, ("Accept", "*/*"), "/cstp"),
        (403, ("Origin", "https://evil.example"), "/mcp"),
        (403, ("Origin", "https://evil.example"), "/ui/session"),
        (421, ("Host", "evil.example"), "/mcp"),
    ],
)
def test_a_refusal_does_not_overtake_a_small_body(
    live_server: Any, request_bytes: Any, status: int, field: tuple[str, str], path: str
) -> None:
    server = live_server()
    fields = [field] if status == 401 else [field, ("Authorization", f"Bearer {server.token()}")]
    whole = request_bytes(CALL, fields, path=path)
    with server.connect() as connection, server.connect() as other:
        connection.send(whole[: -len(CALL)])
        other.send(whole)
        assert other.read().status == status  # by now the first head was read
        assert select([connection.socket], [], [], 0) == ([], [], [])
        connection.send(CALL)
        assert connection.read().status == status


def test_an_oversized_announced_body_is_refused_first(live_server: Any, request_bytes: Any, headers: Headers) -> None:
    for gate in (None, AdmissionGate(0, 0)):
        server = live_server({"server.max_body_bytes": 100}, gate=gate)
        with server.connect() as connection:
            connection.send(request_bytes(b"", headers(server, ("Content-Length", "101"))))
            reply = connection.read()
            # later bytes would be read for nothing, however many
            assert (reply.status, reply.header("connection")) == (413, "close")


def test_slow_bodies_take_no_place(live_server: Any, request_bytes: Any, headers: Headers) -> None:
    server = live_server({"server.max_in_flight": 1, "server.max_queue": 0})
    fields = headers(server)
    with ExitStack() as slow:
        for _ in range(5):
            connection = slow.enter_context(server.connect())
            connection.send(request_bytes(CALL, fields)[:-1])
        with server.connect() as connection:
            connection.send(request_bytes(CALL, fields))
            assert connection.read().status == 200


def test_an_early_answer_can_be_read_by_its_sender(live_server: Any, request_bytes: Any, headers: Headers) -> None:
    gate = AdmissionGate(1, 1)
    gate.draining = True
    server = live_server(gate=gate)
    with server.connect() as connection:
        connection.send(request_bytes(b"", headers(server, ("Content-Length", "1000000"))))
        for _ in range(100):  # bytes sent to a closed socket cause a reset, which destroys the answer
            connection.send(b" " * 10_000)
        reply = connection.read()
        assert (reply.status, reply.header("connection")) == (503, "close")
        assert connection.reader.read() == b""


async def messages(*chunks: bytes) -> Any:
    for chunk in chunks:
        yield {"type": "http.request", "body": chunk, "more_body": True}
    yield {"type": "http.request", "body": b"", "more_body": False}


async def test_large_bodies_share_a_bounded_memory_with_half_for_each_agent() -> None:
    bodies = Bodies(limit=3 * LARGE, total=8 * LARGE)
    opened = [bodies.open("greedy") for _ in range(3)]
    large = b" " * (2 * LARGE)
    assert await opened[0].read(messages(large).__anext__) == large
    assert await opened[1].read(messages(large[:LARGE], large[LARGE:]).__anext__) == large
    assert bodies.held == 4 * LARGE
    with pytest.raises(NoRoom):
        await opened[2].read(messages(large).__anext__)
    small = bodies.open("greedy")
    assert len(await small.read(messages(b" " * LARGE).__anext__)) == LARGE
    modest = [bodies.open("modest"), bodies.open("modest"), bodies.open("other")]
    assert [len(await each.read(messages(large).__anext__)) for each in modest[:2]] == [2 * LARGE] * 2
    with pytest.raises(NoRoom):
        await modest[2].read(messages(large).__anext__)
    for each in (*opened, small, *modest):
        each.close()
    assert bodies.held == 0
    assert len(await opened[2].read(messages(large).__anext__)) == 2 * LARGE


def test_used_up_body_memory_is_503(live_server: Any, request_bytes: Any, headers: Headers, wait_until: Any) -> None:
    size = 4 * LARGE
    server = live_server({"server.max_body_bytes": size, "server.max_in_flight": 1, "server.max_queue": 0})
    fields = headers(server)

    def held() -> bool:
        with server.connect() as connection:
            connection.send(request_bytes(b"", [("Host", "localhost"), ("Connection", "close")], "GET", "/metrics"))
            return b"\ncstp_bodies_bytes %.1f\n" % (size - 1) in connection.read("GET").body

    def status(fields: list[tuple[str, str]]) -> int:
        with server.connect() as connection:
            connection.send(request_bytes(CALL.ljust(LARGE + 1), [*fields, ("Connection", "close")]))
            found: int = connection.read().status
            return found

    # twice the limit in total, half of it for each agent
    with server.connect() as slow:
        slow.send(request_bytes(b" " * size, fields)[:-1])
        wait_until(held)
        assert [status(fields), status(headers(server))] == [503, 200]
        slow.send(b" ")
        assert slow.read().status == 200
    assert status(fields) == 200


async def test_a_large_body_is_parsed_in_a_thread_and_a_small_body_at_once() -> None:
    pool = Pool("bodies", 1, 5)
    parser, here = BodyParser(pool), get_ident()
    assert await parser.run("agent", lambda body: get_ident(), b" " * LARGE) == here
    assert await parser.run("agent", lambda body: get_ident(), b" " * (LARGE + 1)) != here
    with pytest.raises(ParseError):
        await parser.run("agent", read_body, b"[" * (LARGE + 1), 100)
    pool.close()


@pytest.mark.parametrize("path", ["/cstp", "/mcp"])
def test_large_bodies_of_both_endpoints_go_through_the_parsing_thread(
    live_server: Any, request_bytes: Any, headers: Headers, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, real = [], orjson.loads

    def noted(body: bytes) -> Any:
        threads.append(current_thread().name)
        return real(body)

    server = live_server()
    fields = [*headers(server), ("Host", "localhost"), ("Accept", "application/json, text/event-stream")]
    call = json.dumps({"jsonrpc": "2.0", "method": "tools/list" if path == "/mcp" else "cstp.whoami", "id": 1}).encode()
    monkeypatch.setattr("cstp_server.rpc.envelope.orjson.loads", noted)
    for size in (LARGE, LARGE + 1):
        with server.connect() as connection:
            connection.send(request_bytes(call.ljust(size), fields, path=path))
            assert connection.read().code == 0
    assert [name == "bodies-pool" for name in threads] == [False, True]


async def test_parameters_of_thousands_of_values_are_validated_in_a_thread() -> None:
    pool = Pool("bodies", 1, 60.0)
    parser = BodyParser(pool)
    many: list[object] = [
        {"kinds": [1] * 2000},
        {"text": "x" * LARGE},
        {"kinds": f"[{'1,' * 2000}1]"},
        {"a" * LARGE: 1},
    ]
    threads = [await parser.run_sized("ada", weigh(params).size, current_thread) for params in [*many, {"limit": 1}]]
    pool.close()
    assert [one is current_thread() for one in threads] == [False] * len(many) + [True]
