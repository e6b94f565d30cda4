"""HTTP itself: peers that try to confuse the server about the start and the parts of a request."""

import json
from collections.abc import Callable
from io import StringIO
from time import process_time
from typing import Any

import pytest

BODY = json.dumps({"jsonrpc": "2.0", "method": "cstp.whoami", "id": 1}).encode()


@pytest.fixture
def server(common_server: Any) -> Any:
    return common_server()


@pytest.fixture
def headers(server: Any) -> list[tuple[str, str]]:
    return [("Content-Type", "application/json"), ("Authorization", f"Bearer {server.token()}")]


def test_headers_behind_the_body_are_not_read(server: Any) -> None:
    head = b"POST /cstp HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n"
    body = b"%x\r\n%s\r\n0\r\n" % (len(BODY), BODY)
    token = server.token().encode()
    cases = [
        (head + b"Content-Type: application/json\r\n\r\n" + body + b"Authorization: Bearer " + token, 401),
        (head + b"Authorization: Bearer " + token + b"\r\n\r\n" + body + b"Content-Type: application/json", 415),
    ]
    for request, status in cases:
        with server.connect() as connection:
            connection.send(request + b"\r\n\r\n")
            assert connection.read().status == status


@pytest.mark.parametrize(
    ("opening", "endless"),
    [
        (b"POST /cstp HTTP/1.1\r\nHost: a\r\nX-Long: ", b"a" * 65536),
        (b"POST /cstp HTTP/1.1\r\nHost: a\r\n", b"a" * 65536),
        (b"POST /cstp HTTP/1.1\r\nHost: a\r\n", b"a: b\r\n" * 10000),
        (b"POST /cstp?", b"a" * 65536),
        (b"", b"\r\n" * 30000),
        (b"POST /cstp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Long: ", b"a" * 65536),
        (b"POST /cstp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n" * 10000),
    ],
    ids=["value", "name", "many", "path", "blank lines", "trailer", "many trailers"],
)
def test_an_endless_request_is_refused_and_the_refusal_can_be_read(server: Any, opening: bytes, endless: bytes) -> None:
    with server.connect() as connection:
        connection.send(opening)
        for _ in range(16):
            connection.send_if_open(endless)
        replies = [connection.read()]
        if replies[0].status == 401:  # the head of a request with a bad trailer was complete
            return
        assert [reply.status for reply in replies] == [400]
        assert connection.reader.read() == b""


def test_many_small_pieces_of_a_long_head_are_counted_together(common_server: Any) -> None:
    server = common_server({"server.max_header_bytes": 2048})
    with server.connect() as connection:
        connection.send(b"POST /cstp HTTP/1.1\r\nHost: a\r\nX-Long: ")
        for _ in range(2100):
            connection.send_if_open(b"a")
        assert connection.read().status == 400


def test_the_cap_starts_again_with_each_request_of_a_connection(common_server: Any, request_bytes: Any) -> None:
    server = common_server({"server.max_header_bytes": 2048})
    headers = [
        ("Content-Type", "application/json"),
        ("Authorization", f"Bearer {server.token()}"),
        ("X-Long", "a" * 1500),
    ]
    with server.connect() as connection:
        for _ in range(5):
            connection.send(request_bytes(BODY, headers))
            assert connection.read().status == 200
        connection.send(request_bytes(BODY, headers) * 5)
        assert [connection.read().status for _ in range(5)] == [200] * 5


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("offer", ["h2c", "websocket", "TLS/1.2"])
def test_an_offer_to_upgrade_is_ignored_and_the_body_read(
    server: Any, headers: list[tuple[str, str]], request_bytes: Any, offer: str, chunked: bool
) -> None:
    offered = [*headers, ("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", offer), ("HTTP2-Settings", "AAMAAABk")]
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY) if chunked else BODY
    offered += [("Transfer-Encoding", "chunked")] if chunked else []
    request = request_bytes(body, offered)
    with server.connect() as connection:
        connection.send(request + request_bytes(BODY, headers))
        first, second = connection.read(), connection.read()
        assert (first.status, first.code, second.status, second.code) == (200, 0, 200, 0)
        for at in range(0, len(request), 7):
            connection.send(request[at : at + 7])
        assert connection.read().code == 0


def test_an_upgrade_offer_keeps_the_close(server: Any, headers: list[tuple[str, str]], request_bytes: Any) -> None:
    with server.connect() as connection:
        connection.send(request_bytes(BODY, [*headers, ("Connection", "close, Upgrade"), ("Upgrade", "h2c")]))
        assert connection.read().code == 0
        assert connection.reader.read() == b""


def test_pipelined_requests_keep_their_order(server: Any, headers: list[tuple[str, str]], request_bytes: Any) -> None:
    requests = [
        request_bytes(json.dumps({"jsonrpc": "2.0", "method": "cstp.whoami", "id": n}).encode(), headers)
        for n in range(20)
    ]
    with server.connect() as connection:
        connection.send(b"".join(requests))
        assert [connection.read().json["id"] for _ in requests] == list(range(20))


@pytest.mark.parametrize("refused", [415, 405])
def test_unread_body_is_skipped(server: Any, headers: list[tuple[str, str]], request_bytes: Any, refused: int) -> None:
    body = request_bytes(BODY, headers) * 10
    sent = {415: headers[1:], 405: headers}[refused]
    method = "PUT" if refused == 405 else "POST"
    with server.connect() as connection:
        connection.send(request_bytes(body, sent, method) + request_bytes(BODY, headers))
        assert connection.read(method).status == refused
        assert connection.read().status == 200
        connection.send(request_bytes(BODY, [*headers, ("Connection", "close")]))
        assert connection.read().status == 200
        assert connection.reader.read() == b""


def test_nothing_follows_a_body_too_large(server: Any, headers: list[tuple[str, str]], request_bytes: Any) -> None:
    body = request_bytes(BODY, headers) + b" " * 1_100_000
    with server.connect() as connection:
        connection.send_if_open(request_bytes(body, headers) + request_bytes(BODY, headers))
        assert connection.read().status == 413
        assert connection.reader.read() == b""


def test_nothing_follows_a_refused_login(server: Any, headers: list[tuple[str, str]], request_bytes: Any) -> None:
    body = request_bytes(BODY, headers) * 10
    with server.connect() as connection:
        connection.send(request_bytes(body, headers[:1]) + request_bytes(BODY, headers))
        assert connection.read().status == 401
        assert connection.reader.read() == b""


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: +5\r\n",
        b"Content-Length: 5 5\r\n",
        b"Content-Length: 0x5\r\n",
        b"Content-Length: 99999999999999999999999\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"X-Bad : 1\r\n",
        b"X-Bad: 1\r\n folded\r\n",
        b"X-Bad: a\x00b\r\n",
        b"X-Bad: 1\nX-Worse: 2\r\n",
    ],
)
def test_an_ambiguous_head_is_refused(server: Any, headers: list[tuple[str, str]], head: bytes) -> None:
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers).encode()
    with server.connect() as connection:
        connection.send(b"POST /cstp HTTP/1.1\r\nHost: test\r\n" + fields + head + b"\r\n0\r\n\r\n")
        assert connection.read().status == 400


@pytest.mark.parametrize("chunk", [b"zz\r\nabc\r\n", b"-1\r\nabc\r\n", b"3\r\nabcd\r\n", b"ffffffffffffffffff\r\n"])
def test_a_broken_chunk_is_a_400(server: Any, headers: list[tuple[str, str]], chunk: bytes) -> None:
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers).encode()
    with server.connect() as connection:
        connection.send(b"POST /cstp HTTP/1.1\r\nHost: a\r\n" + fields + b"Transfer-Encoding: chunked\r\n\r\n" + chunk)
        assert connection.read().status == 400


def test_no_100_on_refusal(server: Any, headers: list[tuple[str, str]], log_output: Callable[[str], StringIO]) -> None:
    log = log_output("info")
    fields = "".join(f"{name}: {value}\r\n" for name, value in [*headers, ("Expect", "100-continue")]).encode()
    with server.connect() as connection:
        head = b"POST /cstp HTTP/1.1\r\nHost: a\r\n" + fields + b"Transfer-Encoding: chunked\r\n\r\n"
        connection.send(head + b"zz\r\n")  # together: the head is accepted, then its body refused
        assert connection.reader.readline() == b"HTTP/1.1 400 Bad Request\r\n"
        assert b"100 Continue" not in connection.reader.read()
    assert server.call("cstp.whoami", server.token()).status == 200
    assert "Exception" not in log.getvalue()


@pytest.mark.parametrize(
    "noise",
    [
        b"\x16\x03\x01\x02\x00\x01",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"hello\r\n\r\n",
        b"post /cstp HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
)
def test_input_outside_http_is_a_400(server: Any, noise: bytes) -> None:
    with server.connect() as connection:
        connection.send(noise)
        assert connection.read().status == 400


def test_expect_100_needs_a_wanted_body(server: Any, headers: list[tuple[str, str]], request_bytes: Any) -> None:
    expecting = [*headers, ("Expect", "100-continue")]
    with server.connect() as connection:
        connection.send(request_bytes(b"", [*expecting, ("Content-Length", str(len(BODY)))]))
        assert connection.reader.readline() == b"HTTP/1.1 100 Continue\r\n"
        connection.reader.readline()
        connection.send(BODY)
        assert connection.read().status == 200
    with server.connect() as connection:
        connection.send(request_bytes(b"", [*expecting, ("Content-Length", "2000000")]))
        assert connection.reader.readline().startswith(b"HTTP/1.1 413 ")
    with server.connect() as connection:
        connection.send(request_bytes(b"", [expecting[0], expecting[2], ("Content-Length", "10")]))
        assert connection.reader.readline() == b"HTTP/1.1 401 Unauthorized\r\n"


def test_a_half_closed_client_is_answered(server: Any, headers: list[tuple[str, str]], request_bytes: Any) -> None:
    with server.connect() as connection:
        connection.send(request_bytes(BODY, headers))
        assert connection.read().status == 200
        connection.socket.shutdown(1)
        assert connection.reader.read() == b""


def test_a_query_of_thousands_of_names_is_cheap(common_server: Any, request_bytes: Any) -> None:
    live = common_server()
    headers = [("Host", "localhost"), ("Authorization", f"Bearer {live.token()}")]

    def seconds(query: str) -> float:
        began = process_time()
        with live.connect() as connection:
            connection.send(request_bytes(b"", headers, "GET", f"/cstp/changes?{query}"))
            assert connection.read("GET").status == 400
        return process_time() - began

    short = seconds("a&b")
    for query in ("&".join("a" * 7_000), "&".join(f"{n:x}" for n in range(3_000)), "kinds=" + "a," * 7_000):
        assert seconds(query) < 10 * max(short, 0.02)
