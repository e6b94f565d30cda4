"""Bodies before they are parsed: what is refused without reading them, and how many bytes of them are held."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from cstp_server.bodies import LARGE, Bodies, NoRoom
from cstp_server.http import Gate

CALL = json.dumps({"jsonrpc": "2.0", "method": "cstp.whoami", "id": 1}).encode()
pytestmark = pytest.mark.embedded_only("is about HTTP")
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
    gate = Gate(0, 0) if state == "full" else Gate(1, 1)
    gate.draining = state == "draining"
    server = live_server(gate=gate)
    with server.connect() as connection:
        fields = [*headers(server, length), ("Host", "localhost")]
        connection.send(request_bytes(b"", fields, path=path))  # and nothing of the body
        reply = connection.read()
        assert (reply.status, reply.header("retry-after")) == (503, "1")
        assert reply.header("connection") == ("close" if state == "draining" else None)


def test_an_announced_body_over_the_limit_is_refused_before_it_comes_and_before_a_full_server(
    live_server: Any, request_bytes: Any, headers: Headers
) -> None:
    for gate in (None, Gate(0, 0)):
        server = live_server({"server.max_body_bytes": 100}, gate=gate)
        with server.connect() as connection:
            connection.send(request_bytes(b"", headers(server, ("Content-Length", "101"))))
            assert connection.read().status == 413


def test_bodies_that_come_slowly_take_no_place_from_those_that_are_there(
    live_server: Any, request_bytes: Any, headers: Headers
) -> None:
    server = live_server({"server.max_in_flight": 1, "server.max_queue": 0})
    fields = headers(server)
    with ExitStack() as slow:
        for _ in range(5):
            connection = slow.enter_context(server.connect())
            connection.send(request_bytes(CALL, fields)[:-1])
        with server.connect() as connection:
            connection.send(request_bytes(CALL, fields))
            assert connection.read().status == 200


def test_a_client_that_has_yet_to_send_its_body_can_read_the_answer_that_ends_the_connection(
    live_server: Any, request_bytes: Any, headers: Headers
) -> None:
    gate = Gate(1, 1)
    gate.draining = True
    server = live_server(gate=gate)
    with server.connect() as connection:
        connection.send(request_bytes(b"", headers(server, ("Content-Length", "1000000"))))
        for _ in range(100):  # what is sent to a closed socket is answered with a reset, which takes away the answer
            connection.send(b" " * 10_000)
        reply = connection.read()
        assert (reply.status, reply.header("connection")) == (503, "close")
        assert connection.reader.read() == b""


async def messages(*chunks: bytes) -> Any:
    for chunk in chunks:
        yield {"type": "http.request", "body": chunk, "more_body": True}
    yield {"type": "http.request", "body": b"", "more_body": False}


async def test_large_bodies_are_held_in_a_bounded_memory_of_which_an_agent_has_half() -> None:
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


def test_a_server_whose_memory_for_bodies_is_used_up_answers_503_and_has_it_back_when_they_are_answered(
    live_server: Any, request_bytes: Any, headers: Headers, wait_until: Any
) -> None:
    size = 4 * LARGE
    server = live_server({"server.max_body_bytes": size, "server.max_in_flight": 1, "server.max_queue": 0})
    fields = headers(server)
    # twice the limit is all there is, and one agent has half of it
    with server.connect() as slow:
        slow.send(request_bytes(b" " * size, fields)[:-1])

        def status() -> int:
            with server.connect() as connection:
                connection.send(request_bytes(CALL.ljust(LARGE + 1), [*fields, ("Connection", "close")]))
                found: int = connection.read().status
                return found

        wait_until(lambda: status() == 503)
        with server.connect() as other:
            other.send(request_bytes(CALL.ljust(LARGE + 1), headers(server)))
            assert other.read().status == 200
        slow.send(b" ")
        assert slow.read().status == 200
        assert status() == 200
