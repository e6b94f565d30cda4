"""Raw HTTP to a server, and required properties of every answer to any request.

`expected` reads a body by the protocol's rules, with another parser than the server's.
"""

import asyncio
import json
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from cstp.errors import ERRORS
from cstp.methods.registry import METHODS

MESSAGES: Mapping[int, str] = {error.code: error.message for error in ERRORS}
METHOD_NAMES = frozenset(method.name for method in METHODS)
_TEXT = (str, type(None))
# members of `data` by code; absent codes have no data
DATA: Mapping[int, Mapping[str, type | tuple[type, ...]]] = {
    -32600: {"reason": str},
    -32602: {"violations": list},
    -32603: {"requestId": str},
    -32002: {"retryAfter": int, "limit": int, "window": int, "policy": str},
    -32003: {"component": str, "requestId": str},
    -32007: {"id": str},
    -32009: {"scope": str},
    -32010: {"retryAfter": int},
    -32011: {"id": _TEXT, "reason": str, "expected": _TEXT, "found": _TEXT},
}
CANARY = "canary7f3a"  # in every request, and never in an answer
ECHOED = frozenset({"query"})  # members of results that repeat the request
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
MAX_DEPTH = 64
FRESH_SECONDS = 1.0  # a connection idle for longer may have been closed
_PLAIN_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_HEAD = re.compile(rb"HTTP/1\.[01] (\d{3}) ")


@dataclass(frozen=True)
class Answer:
    """An HTTP answer; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Number:
    """A number by its digits: 1 differs from 1.0."""

    text: str


class NotJson(Exception):
    """The text is not JSON by the protocol's rules."""


def request(
    body: bytes, token: str | None, *, headers: Iterable[tuple[str, str]] = (), verb: str = "POST", path: str = "/cstp"
) -> bytes:
    """Return a complete HTTP request; `headers` follow the usual ones."""
    lines = [f"{verb} {path} HTTP/1.1", "Host: chaos", "Content-Type: application/json"]
    lines += [] if token is None else [f"Authorization: Bearer {token}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode("latin-1") + body


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    """Return the next answer. Raises IncompleteReadError if the connection ends before or inside it."""
    answer = _read_head((await reader.readuntil(b"\r\n\r\n"))[:-4])
    if answer.status == 100:
        return await read_answer(reader)
    length = 0 if answer.status == 204 else int(answer.headers.get("content-length", "0"))
    return replace(answer, body=await reader.readexactly(length))


class Pipe:
    """A connection for pipelined requests."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> "Pipe":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def exchange(self, requests: Sequence[bytes]) -> list[Answer]:
        """Send all requests and read as many answers, concurrently."""

        async def send() -> None:
            for each in requests:
                self._writer.write(each)
                await self._writer.drain()

        sending = asyncio.create_task(send())
        try:
            return [await read_answer(self._reader) for _ in requests]
        finally:
            await sending

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError):  # the other side was first
            await self._writer.wait_closed()


class Pipes:
    """A few connections over which requests are spread, for synchronous code."""

    def __init__(self, port: int, count: int, timeout: float = 120.0) -> None:
        self._port = port
        self._count = count
        self._timeout = timeout
        self._runner = asyncio.Runner()
        self._pipes: list[Pipe] = []
        self._used = 0.0

    def exchange(self, requests: Sequence[bytes]) -> list[Answer]:
        """Return the answers in request order."""
        parts = self._runner.run(self._exchange(requests))
        answers: list[Answer] = [Answer(0, {}, b"")] * len(requests)
        for at, part in enumerate(parts):
            answers[at :: len(parts)] = part
        return answers

    async def _exchange(self, requests: Sequence[bytes]) -> list[list[Answer]]:
        if time.monotonic() - self._used > FRESH_SECONDS:
            await self._reopen()
        self._used = time.monotonic()  # a pipe with quick answers is idle while another one waits
        async with asyncio.timeout(self._timeout):
            parts = (pipe.exchange(requests[at :: self._count]) for at, pipe in enumerate(self._pipes))
            return await asyncio.gather(*parts)

    def each_alone(self, requests: Sequence[bytes]) -> list[bytes]:
        """Return everything received for each request, sent on a separate, half-closed connection."""
        return self._runner.run(self._each_alone(requests))

    async def _each_alone(self, requests: Sequence[bytes]) -> list[bytes]:
        async with asyncio.timeout(self._timeout):
            return await asyncio.gather(*(_alone(self._port, each) for each in requests))

    async def _reopen(self) -> None:
        for pipe in self._pipes:
            await pipe.close()
        self._pipes = [await Pipe.open(self._port) for _ in range(self._count)]

    def close(self) -> None:
        for pipe in self._pipes:
            self._runner.run(pipe.close())
        self._runner.close()


async def _alone(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    received = b""
    with suppress(ConnectionError):  # a server may refuse before it has read all
        writer.write(data)
        await writer.drain()
        writer.write_eof()
    with suppress(ConnectionError):
        while chunk := await reader.read(65536):
            received += chunk
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return received


def split_answers(received: bytes) -> Iterator[Answer]:
    """Yield all answers of a connection; each must be complete."""
    while received:
        head, end, received = received.partition(b"\r\n\r\n")
        assert end, f"a head cut short: {head!r}"
        answer = _read_head(head)
        length = int(answer.headers.get("content-length", "0"))
        length = 0 if answer.status in (100, 204) else length
        assert len(received) >= length, "a body cut short"
        if answer.status != 100:
            yield replace(answer, body=received[:length])
        received = received[length:]


def _read_head(head: bytes) -> Answer:
    first, *lines = head.split(b"\r\n")
    match = _HEAD.match(first)
    assert match, f"not an answer: {first!r}"
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return Answer(int(match[1]), headers, b"")


def strict_json(body: bytes) -> Any:
    """Return the document, numbers by their digits. Raises NotJson, also for extensions of some parsers."""
    try:
        text = body.decode("utf-8")
        document = json.loads(text, parse_constant=_refuse, parse_float=_number, parse_int=_number)
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from error
    _check(document)
    return document


def _refuse(constant: str) -> object:
    raise NotJson(constant)


def _number(text: str) -> Number:
    if float(text) in (float("inf"), float("-inf")):
        raise NotJson("overflows a double")
    return Number(text)


def _check(document: object) -> None:
    """Check depth and text, level by level."""
    level, depth = [document], 0
    while level:
        texts = [each for each in level if isinstance(each, str)]
        texts += [name for each in level if isinstance(each, dict) for name in each]
        if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
            raise NotJson("lone surrogate")
        containers = [each for each in level if isinstance(each, dict | list)]
        depth += bool(containers)
        if depth > MAX_DEPTH:
            raise NotJson("too deep")
        level = [inner for each in containers for inner in (each.values() if isinstance(each, dict) else each)]


@dataclass(frozen=True)
class Expected:
    """Required reply properties: id as JSON text (a Number's digits, a string's text), and one of these codes.

    0 is a result; `codes` None is any answer of a known method.
    """

    id: object
    codes: Collection[int] | None
    waits: bool = False  # for a `minSeq`, possibly of the future

    def check(self, reply: Mapping[str, Any]) -> None:
        assert type(reply["id"]) is type(self.id), f"id {reply['id']!r} is not {self.id!r}"
        assert reply["id"] == self.id, f"id {reply['id']!r} is not {self.id!r}"
        code = reply_code(reply)
        future = self.waits and code == -32003 and reply["error"]["data"]["component"] == "indexes"
        assert future or code not in (-32603, -32003), f"a bug or a failed part: {reply}"
        if self.codes is not None:
            assert code in self.codes, f"{code} is not one of {self.codes}: {reply}"


def expected(body: bytes, max_batch: int = 100) -> Expected | list[Expected] | None:
    """Return the expected answer to a body: a reply, replies of a batch, or None for no answer."""
    try:
        document = strict_json(body)
    except NotJson:
        return Expected(None, {PARSE_ERROR})
    if not isinstance(document, list):
        return _expected_of(document)
    if not 1 <= len(document) <= max_batch:
        return Expected(None, {INVALID_REQUEST})
    return [one for each in document if (one := _expected_of(each)) is not None] or None


def _expected_of(element: object) -> Expected | None:
    if not isinstance(element, dict):
        return Expected(None, {INVALID_REQUEST})
    identifier = element.get("id")
    if not _is_id(identifier):
        return Expected(None, {INVALID_REQUEST})
    method, params = element.get("method"), element.get("params", {})
    if element.get("jsonrpc") != "2.0" or not isinstance(method, str) or not isinstance(params, dict | list):
        return Expected(identifier, {INVALID_REQUEST})
    if "id" not in element:
        return None
    if method not in METHOD_NAMES:
        return Expected(identifier, {METHOD_NOT_FOUND})
    if isinstance(params, list):
        return Expected(identifier, {INVALID_PARAMS})
    return Expected(identifier, None, waits=bool({"minSeq", "min_seq"} & params.keys()))


def _is_id(value: object) -> bool:
    if isinstance(value, Number):
        whole = value.text.lstrip("-").isdigit()
        return not whole or (len(value.text) <= 20 and -(2**63) <= int(value.text) < 2**64)
    return value is None or isinstance(value, str)


def reply_code(reply: Mapping[str, Any]) -> int:
    return int(reply["error"]["code"].text) if "error" in reply else 0


def parse_answer(body: bytes) -> Any:
    """Return an answer's document; strict, without duplicate members."""

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        assert len({name for name, _ in pairs}) == len(pairs), f"repeated members: {body!r}"
        return dict(pairs)

    return json.loads(
        body.decode("utf-8"),
        parse_constant=_refuse,
        parse_float=_number,
        parse_int=_number,
        object_pairs_hook=members,
    )


def check_answer(answer: Answer, sent: bytes, want: Expected | list[Expected] | None) -> list[int]:
    """Assert all required properties of the answer to `sent`; return the reply codes (0 for a result)."""
    try:
        return _check_answer(answer, want)
    except AssertionError as error:
        raise AssertionError(f"{error}\nsent: {sent[:2000]!r}\ngot: {answer.status} {answer.body[:2000]!r}") from None


def _check_answer(answer: Answer, want: Expected | list[Expected] | None) -> list[int]:
    assert answer.headers.get("x-request-id"), "no request id"
    if want is None:
        assert (answer.status, answer.body) == (204, b""), "a notification is answered"
        return []
    document = parse_answer(answer.body)
    assert answer.headers.get("content-type") == "application/json"
    wanted = want if isinstance(want, list) else [want]
    replies = document if isinstance(want, list) else [document]
    assert isinstance(replies, list), "not a list"
    assert len(replies) == len(wanted), f"{len(replies)} replies, not {len(wanted)}"
    for reply, one in zip(replies, wanted, strict=True):
        check_reply(reply)
        one.check(reply)
    codes = [reply_code(reply) for reply in replies]
    refusals = {} if isinstance(want, list) else {-32009: 403, -32002: 429, -32010: 503, -32001: 401}
    assert answer.status == refusals.get(codes[0], 200), f"status {answer.status} for {codes}"
    return codes


def check_reply(reply: Any) -> None:
    """Check a JSON-RPC response object: members, error code, message and data; and nothing from the caller."""
    assert isinstance(reply, dict), "not an object"
    assert reply.get("jsonrpc") == "2.0"
    assert set(reply) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}), f"members {sorted(reply)}"
    if "error" in reply:
        _check_error(reply["error"])
        rest = reply["error"]
    else:
        rest = _without_echoes(reply["result"])
    assert CANARY not in repr(rest), "repeats what was sent"


def _check_error(error: Any) -> None:
    code = int(error["code"].text)
    assert error["message"] == MESSAGES[code], f"{code} says {error['message']!r}"
    shape = DATA.get(code)
    assert set(error) == ({"code", "message"} if shape is None else {"code", "message", "data"}), f"{error}"
    if shape is None:
        return
    data = error["data"]
    assert set(data) == set(shape), f"data {sorted(data)}"
    for name, kind in shape.items():
        assert isinstance(data[name], Number if kind is int else kind), f"data.{name}"
    if code == -32007:
        data["id"] = ""  # the requested id
    if code == INVALID_PARAMS:
        assert data["violations"]
        for each in data["violations"]:
            assert set(each) == {"field", "message"}
            assert isinstance(each["field"], str)
            assert isinstance(each["message"], str)
            last = each["field"].rpartition(".")[2]
            if CANARY in last and each["message"].startswith("is not a parameter of this method"):
                assert _PLAIN_WORD.fullmatch(last), f"names {last!r}"
                each["field"] = ""


def _without_echoes(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_echoes(inner) for name, inner in value.items() if name not in ECHOED}
    return [_without_echoes(inner) for inner in value] if isinstance(value, list) else value
