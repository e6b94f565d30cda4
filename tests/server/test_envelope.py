"""The envelope: accepted bodies, and their bounds. tests/chaos sends it any bytes and any JSON."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cstp.errors import InvalidRequest, ParseError
from cstp_server.rpc.envelope import MAX_DEPTH, MAX_VALUES, Malformed, parse_body, read_body, read_requests


@given(data=st.binary(max_size=60) | st.text('[]{}":,0 \\', max_size=40).map(str.encode))
def test_a_body_is_read_exactly_when_it_is_strict_json(data: bytes) -> None:
    try:
        expected = strict_reading(data)
    except (ValueError, RecursionError):
        with pytest.raises(ParseError):
            parse_body(data)
    else:
        assert parse_body(data) == expected


def strict_reading(data: bytes) -> Any:
    def refuse(text: str) -> Any:
        raise ValueError(text)

    document = json.loads(data.decode("utf-8"), parse_constant=refuse)
    json.dumps(document, ensure_ascii=False).encode("utf-8")
    return document


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_depth_is_counted_for_lists_and_objects_alike(opening: str, closing: str) -> None:
    levels = opening.count("[") + opening.count("{")
    times = MAX_DEPTH // levels
    good = opening * times + "0" + closing * times
    parse_body(good.encode())
    for deep in (f"[{good}]", f"[{good}{',0' * MAX_VALUES}]"):
        with pytest.raises(ParseError):
            parse_body(deep.encode())
    parse_body(json.dumps(["[" * 1000, "{" * 1000]).encode())
    parse_body(b"[" + b"[]," * 5000 + b"[]]")


def members(document: Any) -> int:
    inner = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    return len(inner) + sum(map(members, inner))


def levels(document: Any) -> int:
    inner = document.values() if isinstance(document, dict) else document
    return 1 + max(map(levels, inner), default=0) if isinstance(document, dict | list) else 0


MARKS = st.text('[]{}",: \\\n\u00e9', max_size=6)
MARKED = st.recursive(
    MARKS | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(MARKS, inner, max_size=4),
    max_leaves=30,
)


@given(document=MARKED, most=st.integers(0, 12), deepest=st.integers(1, 4), spaced=st.booleans())
def test_values_and_levels_are_counted_in_bytes(document: Any, most: int, deepest: int, spaced: bool) -> None:
    body = json.dumps(document, indent=1 if spaced else None, ensure_ascii=spaced).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cstp_server.rpc.envelope.MAX_VALUES", most)
        patch.setattr("cstp_server.rpc.envelope.MAX_DEPTH", deepest)
        if levels(document) > deepest:
            with pytest.raises(ParseError):
                parse_body(body)
        elif members(document) > most:
            with pytest.raises(InvalidRequest):
                parse_body(body)
        else:
            assert parse_body(body) == document


@pytest.mark.parametrize("unit", [b"[],", b'{"a":[]},', b'["a"],'])
def test_a_body_of_too_many_values_is_refused_before_they_are_made(unit: bytes) -> None:
    body = b"[" + unit * (2**20 // len(unit)) + b"0]"
    tracemalloc.start()
    try:
        with pytest.raises(InvalidRequest):
            parse_body(body)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 15 * len(body)  # the values take 32 to 40 bytes for each of the body


@pytest.mark.parametrize("value", ["[]", "{}", "0", '"x"', '{"a":[]}'])
def test_too_many_values_are_refused_and_commas_in_texts_are_free(live_server: Any, value: str) -> None:
    server = live_server({"limits.default": "1000000/minute"})
    token = server.token()

    def reply(count: int) -> Any:
        call = {"jsonrpc": "2.0", "id": 1, "method": "cstp.whoami", "params": {"text": "," * 100_000}}
        body = json.dumps(call).replace('"params": {', f'"params": {{"list": [{",".join([value] * count)}], ')
        return server.post(body.encode(), token)

    within = (MAX_VALUES - 10) // (1 + (value[0] in "[{") * (value != "[]" and value != "{}") * 2)
    assert reply(within).code == -32602
    over = reply(MAX_VALUES)
    assert (over.status, over.code, over.json["id"]) == (200, -32600, None)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("1", "a call must be an object"),
        (
            '{"jsonrpc": "2.0", "method": "cstp.whoami", "id": []}',
            "id must be a string, a number of at most 64 bits, or null",
        ),
        ('{"method": "cstp.whoami", "id": 1}', 'jsonrpc must be "2.0"'),
        ('{"jsonrpc": "2.0", "id": 1}', "method must be a string"),
        ('{"jsonrpc": "2.0", "method": "cstp.whoami", "params": 1, "id": 1}', "params must be an object"),
    ],
)
def test_an_invalid_request_gets_the_reason(body: str, reason: str) -> None:
    found = read_requests([json.loads(body)], body.encode(), batch=False)[0]
    assert isinstance(found, Malformed)
    assert found.error.data == {"reason": reason}


@pytest.mark.parametrize("count", [0, 101])
def test_a_batch_of_no_call_or_too_many_gets_the_limit(count: int) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_body(json.dumps([1] * count).encode(), 100)
    assert caught.value.reason == "a batch must have 1 to 100 calls"
