"""Client behaviour after unexpected server answers; for both client kinds."""

import gzip
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import httpx
import pytest
import respx

from cstp import (
    ConnectFailed,
    ConnectionLost,
    CstpError,
    Overloaded,
    RateLimited,
    TransportError,
    UnexpectedAnswer,
    calls,
)
from cstp.call import raw_call
from cstp_server.rpc.dispatch import error_body

URL = "http://cstp.test"
TOKEN = "cstp_abc_canary5b1f"
LIMITED = error_body(RateLimited(7, 600, 60, "minute"), 1)
OVERLOADED = error_body(Overloaded(1))


def pong(asked: httpx.Request) -> httpx.Response:
    sent = json.loads(asked.content)
    answers = [
        {"jsonrpc": "2.0", "id": one["id"], "result": "pong"} for one in (sent if type(sent) is list else [sent])
    ]
    return httpx.Response(200, json=answers if type(sent) is list else answers[0])


@pytest.fixture
def server() -> Iterator[respx.Route]:
    """Make the server answer with successive `side_effect` values."""
    with respx.mock(assert_all_called=False) as router:
        yield router.post(f"{URL}/cstp")


@pytest.mark.parametrize(
    "first",
    [
        httpx.Response(429, headers={"Retry-After": "0"}, content=LIMITED),
        httpx.Response(503, headers={"Retry-After": "0"}, content=OVERLOADED),
        httpx.Response(503, text="try later"),
        httpx.ConnectError("refused"),
        httpx.ConnectTimeout("slow"),
    ],
    ids=["429", "503", "503 of a proxy", "refused", "no connection"],
)
def test_an_unexecuted_call_is_tried_again(connect: Any, server: respx.Route, first: Any) -> None:
    server.side_effect = [first, pong]
    assert connect(URL, TOKEN).call("any.method") == "pong"
    assert server.call_count == 2


@pytest.mark.parametrize("broken", [httpx.ReadError(""), httpx.WriteError(""), httpx.RemoteProtocolError("gone")])
def test_only_reads_are_retried_after_a_broken_connection(connect: Any, server: respx.Route, broken: Exception) -> None:
    server.side_effect = [broken, pong]
    assert connect(URL, TOKEN).call("cstp.queryDecisions", {"query": "x"}) == "pong"
    server.side_effect = [broken, pong]
    with pytest.raises(ConnectionLost):
        connect(URL, TOKEN).call("any.method")
    server.side_effect = [broken, pong]
    with pytest.raises(ConnectionLost):
        connect(URL, TOKEN).batch([calls.whoami(), raw_call("any.method")])


@pytest.mark.parametrize(
    ("method", "params", "again"),
    [
        ("cstp.audit", {}, True),
        ("cstp.recordDecision", {"decision": "x", "confidence": 1, "idempotencyKey": "k"}, True),
        ("cstp.recordDecision", {"decision": "x", "confidence": 1, "idempotency_key": "k"}, True),
        ("cstp.recordDecision", {"decision": "x", "confidence": 1}, False),
        ("any.method", {"idempotencyKey": "k"}, False),
    ],
)
def test_after_a_broken_connection_a_write_is_sent_again_by_its_key(
    connect: Any, server: respx.Route, method: str, params: dict[str, Any], again: bool
) -> None:
    server.side_effect = [httpx.ReadError(""), pong]
    with nullcontext() if again else pytest.raises(ConnectionLost):
        connect(URL, TOKEN).call(method, params)
    assert server.call_count == 1 + again


def test_after_the_last_try_the_servers_error_is_raised(connect: Any, server: respx.Route) -> None:
    server.side_effect = [httpx.Response(429, headers={"Retry-After": "0"}, content=LIMITED)] * 9
    with pytest.raises(RateLimited) as caught:
        connect(URL, TOKEN, retries=2).whoami()
    assert (caught.value.retry_after, caught.value.policy) == (7, "minute")
    assert server.call_count == 3


def test_a_wait_beyond_the_deadline_is_not_begun(connect: Any, server: respx.Route) -> None:
    server.side_effect = [httpx.Response(429, headers={"Retry-After": "31"}, content=LIMITED), pong]
    with pytest.raises(RateLimited):
        connect(URL, TOKEN, timeout=30).whoami()
    assert server.call_count == 1


def test_without_retries_there_is_one_try_and_no_error_of_the_server(connect: Any, server: respx.Route) -> None:
    server.side_effect = [httpx.ConnectError("refused"), pong]
    with pytest.raises(ConnectFailed, match="refused") as caught:
        connect(URL, TOKEN, retries=0).whoami()
    assert not isinstance(caught.value, CstpError)


@pytest.mark.parametrize("status", [200, 204, 301, 400, 401, 403, 404, 405, 413, 415, 500, 502, 504])
def test_foreign_answers_are_raised_without_a_retry(connect: Any, server: respx.Route, status: int) -> None:
    server.side_effect = [httpx.Response(status, text="<html>", headers={"Location": "http://elsewhere/"}), pong]
    with pytest.raises(UnexpectedAnswer) as caught:
        connect(URL, TOKEN).whoami()
    assert caught.value.status == status
    assert server.call_count == 1


def test_no_content_encoding_is_asked_for_and_none_is_unpacked(connect: Any, server: respx.Route) -> None:
    packed = gzip.compress(b'{"jsonrpc": "2.0", "id": 1, "result": "pong"}')
    server.side_effect = [httpx.Response(200, stream=httpx.ByteStream(packed), headers={"Content-Encoding": "gzip"})]
    with pytest.raises(UnexpectedAnswer, match="not JSON"):
        connect(URL, TOKEN).call("any.method")
    assert server.calls.last.request.headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    "outcome",
    [httpx.ConnectError("no"), httpx.ReadError("no"), httpx.Response(401, content=b"no"), httpx.Response(200, json={})],
    ids=["refused", "broken", "401", "nothing"],
)
def test_the_token_is_sent_and_shown_nowhere(
    connect: Any,
    server: respx.Route,
    outcome: Any,
    shown: Callable[[BaseException], str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    server.side_effect = outcome if isinstance(outcome, Exception) else [outcome]
    client = connect(URL, TOKEN, retries=0)
    with pytest.raises(TransportError) as caught:
        client.whoami()
    assert server.calls.last.request.headers["Authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in shown(caught.value)
    # an error of httpx holds the request, with the token in its headers
    assert caught.value.__cause__ is None
    assert not hasattr(caught.value.__context__, "request")
    assert TOKEN not in caplog.text
    assert TOKEN not in repr(client.client) + str(vars(client.client)) + repr(vars(client.client._http))


def test_an_empty_batch_sends_nothing(connect: Any, server: respx.Route) -> None:
    assert connect(URL, TOKEN).batch([]) == []
    assert server.call_count == 0


def test_a_batch_is_one_request(connect: Any, server: respx.Route) -> None:
    server.side_effect = [httpx.Response(503, headers={"Retry-After": "0"}), pong]
    assert connect(URL, TOKEN).batch([raw_call("a"), raw_call("b")]) == ["pong", "pong"]
    assert server.call_count == 2
