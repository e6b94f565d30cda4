"""Slow, silent or vanished clients, and an excess connection: cut in time, and nothing of them is left."""

import gc
import json
import os
import socket
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from select import select
from threading import Thread
from time import monotonic
from typing import Any

import pytest

from tests.conftest import Connection

BODY = json.dumps({"jsonrpc": "2.0", "method": "cstp.whoami", "id": 1}).encode()
CHUNKED = b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n"
TRAILERS = b"".join(b"X-%d: a\r\n" % number for number in range(50))
SECONDS = 5.0  # by when a deadline of a fraction of a second has certainly passed, and no default has


def settings(**seconds: float) -> dict[str, object]:
    """Return short deadlines: `receive`, `idle`, `send` in seconds; 0.3 unless given."""
    chosen = {"receive": 0.3, "idle": 0.3, "send": 0.3} | seconds
    return {f"server.{name}_seconds": value for name, value in chosen.items()} | {"limits.default": "1000000/second"}


@pytest.fixture
def headers() -> Callable[[Any], list[tuple[str, str]]]:
    def of(server: Any) -> list[tuple[str, str]]:
        return [("Content-Type", "application/json"), ("Authorization", f"Bearer {server.token()}")]

    return of


def rest(connection: Any) -> bytes:
    """Return all bytes until the connection ends, which must be soon."""
    connection.socket.settimeout(SECONDS)
    try:
        found: bytes = connection.reader.read()
    except ConnectionResetError:
        return b"reset"
    return found


def dribble(connection: Any, data: bytes, pause: float = 0.02) -> None:
    """Send a byte at a time, until all is sent or the server answers or ends the connection."""
    for byte in data:
        connection.send_if_open(bytes([byte]))
        if select([connection.socket], [], [], pause)[0]:
            return


@pytest.mark.parametrize("part", ["head", "body", "chunks", "trailers", "offer"])
def test_a_slow_request_is_cut_with_408(common_server: Any, headers: Any, request_bytes: Any, part: str) -> None:
    server = common_server(settings(idle=60))
    chunked = [*headers(server), ("Transfer-Encoding", "chunked")]
    at_once, slowly = {
        "head": (b"", request_bytes(BODY, headers(server))),
        "body": (request_bytes(b"", [*headers(server), ("Content-Length", "1000")]), b" " * 1000),
        "chunks": (request_bytes(b"", chunked), CHUNKED),
        "trailers": (request_bytes(b"", chunked) + CHUNKED, TRAILERS),
        "offer": (b"", request_bytes(BODY, [*headers(server), ("Connection", "Upgrade"), ("Upgrade", "h2c")])),
    }[part]
    with server.connect() as connection:
        connection.send(at_once)
        began = monotonic()
        dribble(connection, slowly)
        reply = connection.read()
        assert (reply.status, reply.header("connection")) == (408, "close")
        assert rest(connection) == b""
        assert monotonic() - began < SECONDS


@pytest.mark.parametrize("chunked", [False, True])
def test_an_answered_body_has_a_deadline_too(common_server: Any, request_bytes: Any, chunked: bool) -> None:
    server = common_server(settings(idle=60))
    length = ("Transfer-Encoding", "chunked") if chunked else ("Content-Length", "100000")
    with server.connect() as connection:
        connection.send(request_bytes(b"", [("Content-Type", "application/json"), length]))
        assert connection.read().status == 401
        began = monotonic()
        dribble(connection, CHUNKED if chunked else b" " * 1000)
        assert rest(connection) in (b"", b"reset")
        assert monotonic() - began < SECONDS


@pytest.mark.long("waits for deadlines")
def test_a_slow_request_in_time_is_answered(common_server: Any, headers: Any, request_bytes: Any) -> None:
    server = common_server(settings(receive=60, idle=0.3))
    with server.connect() as connection:
        for _ in range(2):  # far longer than the idle time, each
            dribble(connection, request_bytes(BODY, headers(server)), 0.005)
            assert connection.read().status == 200
        connection.send(request_bytes(b"", [*headers(server), ("Transfer-Encoding", "chunked")]))
        dribble(connection, CHUNKED + b"\r\n", 0.002)
        assert connection.read().status == 200


@pytest.mark.parametrize("said", ["nothing", "blank lines", "one request", "a request without a body"])
def test_a_silent_client_is_cut(common_server: Any, headers: Any, request_bytes: Any, said: str) -> None:
    server = common_server(settings(receive=60, send=60))
    with server.connect() as connection:
        if said == "one request":
            connection.send(request_bytes(BODY, headers(server)))
            assert connection.read().status == 200
        if said == "a request without a body":
            connection.send(request_bytes(b"", [("Content-Length", "0")], "CONNECT", "test:80"))
            assert connection.read().status >= 400
        began = monotonic()
        if said == "blank lines":
            dribble(connection, b"\r\n" * 500)
        assert rest(connection) in (b"", b"reset")
        assert monotonic() - began < SECONDS


@pytest.fixture
def slow_server(
    live_server: Callable[..., Any], redis_server: Callable[..., Any]
) -> Callable[..., tuple[Any, Callable[[], None]]]:
    """Return a server, and a function that slows calls to 1.5 seconds until someone waited that long."""

    def start(**seconds: float) -> tuple[Any, Callable[[], None]]:
        redis = redis_server()
        server = live_server(settings(**seconds) | {"limits.redis_url": redis.url, "limits.redis_timeout_seconds": 1.5})
        return server, redis.freeze

    return start


def test_a_long_call_is_answered(slow_server: Any, headers: Any, request_bytes: Any) -> None:
    server, slow_down = slow_server()
    fields = headers(server)
    with server.connect() as connection:
        connection.send(request_bytes(BODY, fields))
        assert connection.read().status == 200
        slow_down()
        began = monotonic()
        connection.send(request_bytes(BODY, fields))
        assert connection.read().status == 200
        assert monotonic() - began > 1  # it was slow


def test_a_request_without_a_slot_for_a_whole_call_deadline_is_refused_and_not_run(
    live_server: Callable[..., Any],
    redis_server: Callable[..., Any],
    headers: Any,
    request_bytes: Any,
    wait_until: Callable[..., None],
) -> None:
    redis = redis_server()
    shared = {"limits.redis_url": redis.url, "limits.redis_timeout_seconds": 1.5, "server.max_in_flight": 1}
    server = live_server(settings(handler=0.3, idle=60) | shared)
    request = request_bytes(BODY, headers(server))
    redis.freeze()
    with server.connect() as first, server.connect() as second:
        first.send(request)
        wait_until(lambda: server.gate.running == 1)
        second.send(request)
        reply = second.read()
        assert (reply.status, reply.code, reply.header("retry-after")) == (503, -32010, "1")
        assert first.read().status == 200
        second.send(request)
        assert second.read().status == 200


def test_late_calls_of_a_batch_fail_unrun(slow_server: Any, headers: Any, request_bytes: Any) -> None:
    server, slow_down = slow_server(handler=0.5, idle=60)
    fields = headers(server)
    slow_down()
    call = {"jsonrpc": "2.0", "method": "cstp.whoami"}
    batch = [*(call | {"id": number} for number in range(20)), call, {"id": 21}]
    with server.connect() as connection:
        connection.send(request_bytes(json.dumps(batch).encode(), fields))
        reply = connection.read()
    assert reply.status == 200
    assert [one["id"] for one in reply.json] == [*range(20), 21]
    assert all("result" in one for one in reply.json[:8])  # so many run at a time
    for one in reply.json[8:20]:
        assert (one["error"]["code"], one["error"]["data"]["component"]) == (-32003, "batch")
    assert reply.json[20]["error"]["code"] == -32600


@pytest.mark.parametrize("cut_at", ["head", "body"])
def test_pipelined_clocks_start_in_turn(slow_server: Any, headers: Any, request_bytes: Any, cut_at: str) -> None:
    server, slow_down = slow_server(receive=0.8)
    request = request_bytes(BODY, headers(server))
    partial = request[:30] if cut_at == "head" else request[:-10]
    slow_down()
    with server.connect() as connection:
        connection.send(request + request + partial)
        assert [connection.read().status for _ in range(2)] == [200, 200]
        connection.send(request[len(partial) :])
        assert connection.read().status == 200
        connection.send(partial)
        assert connection.read().status == 408


def big_batch(request_bytes: Any, fields: list[tuple[str, str]]) -> bytes:
    """Return a request whose answer has some 30 KB."""
    calls = [{"jsonrpc": "2.0", "method": "cstp.whoami", "id": number} for number in range(100)]
    data: bytes = request_bytes(json.dumps(calls).encode(), fields)
    return data


def connect_narrow(server: Any) -> socket.socket:
    """Return a socket with a small receive buffer."""
    narrow = socket.socket()
    narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    narrow.settimeout(SECONDS)
    narrow.connect(("127.0.0.1", server.port))
    return narrow


def send_all_that_fits(client: socket.socket, data: bytes) -> None:
    client.settimeout(0.2)
    try:
        client.sendall(data)
    except TimeoutError:
        return  # the server has stopped reading
    finally:
        client.settimeout(SECONDS)


@pytest.mark.long("waits for deadlines")
@pytest.mark.parametrize("answers", [1, 300])  # the kernel holds one answer; many do not fit into it
def test_a_client_ignoring_its_answers_is_cut_and_leaves_nothing(
    live_server: Callable[..., Any], headers: Any, request_bytes: Any, wait_until: Callable[..., None], answers: int
) -> None:
    server = live_server(settings(receive=60, idle=60, send=0.5))
    request = big_batch(request_bytes, headers(server))
    with connect_narrow(server) as client:
        wait_until(lambda: len(server.state.connections) == 1, SECONDS)
        send_all_that_fits(client, request * answers)
        wait_until(lambda: not server.state.connections, SECONDS)
        wait_until(lambda: not server.state.tasks and server.gate.empty, SECONDS)
        with client.makefile("rb") as reader, pytest.raises(ConnectionError):
            reader.read()
    assert server.call("cstp.whoami", server.token()).status == 200


@pytest.mark.long("waits for deadlines")
def test_a_client_with_an_answer_is_not_idle(live_server: Callable[..., Any], headers: Any, request_bytes: Any) -> None:
    server = live_server(settings(receive=60, idle=0.3, send=60))
    request = big_batch(request_bytes, headers(server))
    with connect_narrow(server) as client, client.makefile("rb") as reader:
        connection = Connection(client, reader)
        for _ in range(2):
            connection.send(request)
            select([], [], [], 1)  # more than three times the idle time
            assert connection.read().status == 200


@pytest.mark.long("waits for deadlines")
def test_a_slow_reader_gets_its_answers(live_server: Callable[..., Any], headers: Any, request_bytes: Any) -> None:
    server = live_server(settings(receive=60, idle=60, send=1))
    fields, count = headers(server), 30
    requests = big_batch(request_bytes, fields) * count + request_bytes(BODY, [*fields, ("Connection", "close")])
    answers, began = bytearray(), monotonic()
    with connect_narrow(server) as client:
        sender = Thread(target=client.sendall, args=(requests,))
        sender.start()
        while piece := client.recv(16384):
            answers += piece
            select([], [], [], 0.025)
        sender.join()
    assert answers.count(b"HTTP/1.1 200") == count + 1
    assert monotonic() - began > 2  # twice the deadline


@pytest.mark.long("waits for deadlines")
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="on Linux alone: the kernel lists its sockets")
def test_the_kernel_keeps_nothing_for_a_vanished_client(
    live_server: Callable[..., Any], headers: Any, request_bytes: Any, wait_until: Callable[..., None]
) -> None:
    server = live_server(settings())
    port = f":{server.port:04X} "

    def sockets() -> int:
        # local and remote address are the second and third column; the client's own socket has the port as remote
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return sum(row[1].endswith(port.strip()) and row[3] not in ("0A", "06") for row in rows)

    with connect_narrow(server) as client:
        client.sendall(big_batch(request_bytes, [*headers(server), ("Connection", "close")]))
        assert select([client], [], [], SECONDS)[0]
        wait_until(lambda: not server.state.connections, SECONDS)
        wait_until(lambda: sockets() == 0, SECONDS)


def of_the_stores(port: int) -> set[str]:
    """Return sockets that no client of the server at `port` can have: with another protocol, or connected elsewhere."""
    tcp, unix = (
        [line.split() for line in table.read_text().splitlines()[1:]] if table.exists() else []
        for table in (Path("/proc/net/tcp"), Path("/proc/net/unix"))
    )
    ours = f":{port:04X}"
    elsewhere = [row[9] for row in tcp if not row[1].endswith(ours) and not row[2].endswith(ours)]
    return {f"socket:[{inode}]" for inode in [*elsewhere, *(row[6] for row in unix)]}


def descriptors(port: int) -> "Counter[str]":
    """Return this process's descriptors, without the stores' connection pools, which have separate sizes."""
    gc.collect()  # remains of earlier tests
    opened = []
    for descriptor in os.listdir("/dev/fd"):
        try:
            opened.append(os.readlink(f"/dev/fd/{descriptor}"))
        except FileNotFoundError:  # the connection that read the folder
            continue
    others = of_the_stores(port)
    return Counter(name for name in opened if "records.sqlite3" not in name and name not in others)


@pytest.mark.long("waits for deadlines")
def test_a_connection_above_the_maximum_gets_the_reason_and_the_others_go_on(
    live_server: Callable[..., Any], headers: Any, request_bytes: Any, wait_until: Callable[..., None]
) -> None:
    server = live_server({"server.max_connections": 3, "server.idle_seconds": 60})
    request = request_bytes(BODY, headers(server))
    held = [server.connect() for _ in range(3)]
    for connection in held:
        connection.send(request)
        assert connection.read().status == 200
    for _ in range(100):
        with server.connect() as refused:
            refused.send_if_open(request)
            reply = refused.read()
            assert (reply.status, reply.code, reply.json["id"]) == (503, -32010, None)
            assert (reply.header("retry-after"), reply.header("connection")) == ("1", "close")
            assert rest(refused) in (b"", b"reset")
    for connection in held:
        connection.send(request)
        assert connection.read().status == 200
    held[0].send(request_bytes(b"", [], "GET", "/metrics"))
    assert b'cstp_http_answers_total{status="503"} 100.0\n' in held[0].read().body
    held.pop().__exit__()
    wait_until(lambda: len(server.state.connections) == 2, SECONDS)
    with server.connect() as connection:
        connection.send(request)
        assert connection.read().status == 200
    for connection in held:
        connection.__exit__()


@pytest.mark.long("waits for deadlines")
def test_an_asking_client_gets_the_place_of_the_longest_silent_client(
    live_server: Callable[..., Any], headers: Any, request_bytes: Any, wait_until: Callable[..., None]
) -> None:
    server = live_server({"server.max_connections": 3, "server.idle_seconds": 60, "server.receive_seconds": 60})
    request = request_bytes(BODY, headers(server))

    def answered() -> bool:  # it is refused while the others are new
        with server.connect() as client:
            client.send_if_open(request)
            status: int = client.read().status
        return status == 200

    with ExitStack() as stack:
        active, silent, halting = [stack.enter_context(server.connect()) for _ in range(3)]
        wait_until(lambda: len(server.state.connections) == 3, SECONDS)  # or an answer may precede the silent client
        active.send(request)
        assert active.read().status == 200
        halting.send(request[:20])
        wait_until(answered, SECONDS)
        assert rest(silent) in (b"", b"reset")
        for connection, part in ((active, request), (halting, request[20:])):
            connection.send(part)
            assert connection.read().status == 200


@pytest.mark.long("waits for deadlines")
def test_refused_connections_use_few_descriptors(
    live_server: Callable[..., Any], headers: Any, request_bytes: Any, wait_until: Callable[..., None]
) -> None:
    server = live_server({"server.max_connections": 1, "server.idle_seconds": 60})
    with server.connect() as held:
        held.send(request_bytes(BODY, headers(server)))  # else it would have to make room
        assert held.read().status == 200
        before = descriptors(server.port)
        clients = [server.connect() for _ in range(300)]
        assert all(client.read().status == 503 for client in clients)
        wait_until(lambda: (descriptors(server.port) - before).total() <= len(clients) + 64, SECONDS)
        for client in clients:
            client.__exit__()
        wait_until(lambda: not descriptors(server.port) - before, SECONDS)
