"""From bytes to results and errors: every error has a class, and non-CSTP answers are refused."""

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from cstp import ConnectFailed, CstpError, InvalidRequest, OtherError, RateLimited, UnexpectedAnswer, calls
from cstp.call import raw_call
from cstp.client.messages import HttpAnswer, batch_body, read_answer, read_batch, request_body
from cstp_server.generate.reference import EXAMPLES
from cstp_server.rpc.dispatch import error_body

PING = raw_call("cstp.ping")
WHOAMI = {
    "agent": "a",
    "scopes": ["read"],
    "clearance": "normal",
    "projects": None,
    "limits": [{"policy": "minute", "limit": 600, "window": 60, "remaining": 1}],
    "expiresAt": "2026-11-22T00:00:00Z",
    "server": {"agent": "cstp", "version": "9"},
}


def received(document: object, status: int = 200) -> HttpAnswer:
    return HttpAnswer(status, None, document if isinstance(document, bytes) else json.dumps(document).encode())


def result(value: object, identifier: object = 1) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": identifier, "result": value}


def failure(error: object, identifier: object = 1) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": identifier, "error": error}


def test_a_request_has_exactly_the_given_parameters_in_wire_spelling() -> None:
    call = calls.query_decisions("why?", filters=None, include_reasons=True)
    left_out = {"includeLinks": False, "includeProvenance": False, "explain": False, "abstain": False}
    params = {"query": "why?", "limit": 10, "includeReasons": True, **left_out}
    request = {"jsonrpc": "2.0", "id": 1, "method": "cstp.queryDecisions", "params": params}
    assert json.loads(request_body(call)) == request


def test_a_batch_numbers_its_calls() -> None:
    assert [one["id"] for one in json.loads(batch_body([PING, PING, PING]))] == [1, 2, 3]


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object()])
def test_params_outside_json_are_refused_before_sending(value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        request_body(raw_call("cstp.ping", {"x": value}))


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_every_server_error_arrives_as_its_class_with_its_content(error: CstpError) -> None:
    for identifier in (1, None):
        with pytest.raises(CstpError) as caught:
            read_answer(HttpAnswer(200, None, error_body(error, identifier)), PING)
        assert type(caught.value) is type(error)
        assert vars(caught.value) == vars(error) | {"data": caught.value.data}
        assert caught.value.data == json.loads(json.dumps(error.data))


@pytest.mark.parametrize(
    "error",
    [
        {"code": -32004, "message": "Guardrail failed", "data": {"guardrail": "g"}},
        {"code": -32002, "message": "Slow down", "data": None},
        {"code": -32002, "message": "Slow down", "data": {"retryAfter": "soon"}},
        {"code": -32602, "message": "Bad", "data": {"violations": ["x"]}},
        {"code": 7, "message": "", "data": "text"},
    ],
)
def test_a_foreign_error_keeps_its_code_message_and_data(error: dict[str, Any]) -> None:
    with pytest.raises(OtherError) as caught:
        read_answer(received(failure(error)), PING)
    assert (caught.value.code, caught.value.message, caught.value.data) == tuple(error.values())
    assert str(error["code"]) in str(caught.value)


def test_an_error_text_names_the_fault() -> None:
    body = error_body(RateLimited(12, 600, 60, "minute"), 1)
    with pytest.raises(RateLimited, match=r'-32002 Rate limited .*"retryAfter": 12'):
        read_answer(HttpAnswer(429, None, body), PING)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"<html>Bad gateway</html>", b'{"jsonrpc": "2.0", "id": 1, "result": NaN}', b"\xff"),
        *([], "text", {}, {"jsonrpc": "2.0", "id": 1}, {"jsonrpc": "1.0", "id": 1, "result": 1}),
        *(result(1, identifier) for identifier in (2, "1", True, None)),
        result(1) | {"error": {"code": 1, "message": ""}},
        failure({"code": 1, "message": ""}, identifier=2),
        *(failure({"code": "1", "message": ""}), failure({"code": 1}), failure("text")),
        [result(1)],
    ],
)
def test_a_foreign_answer_is_refused_with_its_status(body: object) -> None:
    with pytest.raises(UnexpectedAnswer) as caught:
        read_answer(received(body, 502), PING)
    assert caught.value.status == 502


def test_members_of_a_newer_server_are_ignored_at_every_depth() -> None:
    newer = WHOAMI | {"mood": "fine", "server": {"agent": "cstp", "version": "9", "build": 7}}
    found = read_answer(received(result(newer)), calls.whoami())
    assert found.server.version == "9"
    assert found.model_dump(mode="json", by_alias=True) == WHOAMI


@pytest.mark.parametrize("change", [{"agent": None}, {"limits": [{"policy": "minute"}]}, {"expiresAt": 12}])
def test_a_result_foreign_to_the_method_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(UnexpectedAnswer, match=r"not one of cstp\.whoami"):
        read_answer(received(result(WHOAMI | change)), calls.whoami())


def test_answers_of_a_batch_are_put_into_the_order_of_the_calls() -> None:
    error = {"code": -32601, "message": "Method not found"}
    found = read_batch(received([failure(error, 3), result("b", 2), result("a", 1)]), [PING] * 3)
    assert found[:2] == ["a", "b"]
    assert isinstance(found[2], CstpError)


def test_a_batch_refused_as_a_whole_raises() -> None:
    with pytest.raises(CstpError) as caught:
        read_batch(received(failure({"code": -32600, "message": "Invalid Request"}, None)), [PING] * 2)
    assert caught.value.code == -32600


@pytest.mark.parametrize(
    "body", [[], [result(1, 1)], [result(1, 1), result(1, 1)], [result(1, 1), result(1, 3)], {}, 1, [result(1, 1), 7]]
)
def test_a_batch_with_an_answer_missing_is_refused(body: object) -> None:
    with pytest.raises(UnexpectedAnswer):
        read_batch(received(body), [PING] * 2)


def test_an_error_notes_a_too_large_request() -> None:
    refused = received(failure({"code": -32600, "message": "Invalid Request"}, None), 413)
    for read, asked in ((read_answer, PING), (read_batch, [PING])):
        with pytest.raises(InvalidRequest) as caught:
            read(refused, asked)
        assert caught.value.__notes__ == ["HTTP 413: the request is larger than the server takes; send less"]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize(
    "error",
    [*EXAMPLES, OtherError(7, "Other", {"a": 1}), UnexpectedAnswer(502, "the body is not JSON"), ConnectFailed("no")],
    ids=lambda error: type(error).__name__,
)
def test_errors_can_be_copied_and_pickled(error: Exception, again: Callable[[Exception], Exception]) -> None:
    made = again(error)
    assert type(made) is type(error)
    assert (str(made), made.args, vars(made)) == (str(error), error.args, vars(error))
