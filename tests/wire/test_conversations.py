"""Replays every conversation of this folder over a real socket, each exchange on a connection of its own.

A conversation reads aloud:

    # a remark
    # server: limits.default=3/minute        the settings it needs, by dotted name; more lines, more settings
    # records: decisions.jsonl               a file of this folder, ingested before the server starts
    # gate: full                             or draining: how much the server still lets in
    # token: agent=reader scopes=read,write clearance=sensitive projects=a,b
    --> POST /cstp                           the request line; this one when left out
    --> X-Request-ID: mine                   headers; Authorization and Content-Type are added unless named,
    --> Content-Type: -                      and left out when their value is a dash
    --> {"jsonrpc": "2.0", "id": 1, ...}     the rest is the body
    <-- 200                                  the status; 200 when left out
    <-- Retry-After: <number>                headers that must be there; with a dash, that must not
    <-- {"jsonrpc": "2.0", "id": 1, ...}     the whole body; none means an empty one

`<a x 3>` is `aaa`; in requests `<token>` is the token, `<hex ff00>` are bytes; `Transfer-Encoding: chunked` sends the
body in chunks (`# chunk: 1` sets their size). In answers `<anything>`, `<number>`, `<text>`, `<time>` and
`<request id>` (that of the header) stand for what varies. Everything else is compared exactly: members, types, and
the digits of numbers.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cstp_server.cli.main import run
from cstp_server.http import Gate
from tests.stores import Stores

FILES = sorted(Path(__file__).parent.glob("*.txt"))
_REQUEST_LINE = re.compile(r"([A-Z]+) (/.*?)( HTTP/1\.[01])?")
_HEADER = re.compile(r"([A-Za-z][A-Za-z0-9-]*): ?(.*)")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")
_REQUEST_ID = re.compile(r"[ -~]{1,128}")


@dataclass
class Exchange:
    line: int
    request: list[str] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)


@dataclass
class Conversation:
    settings: dict[str, str]
    token: dict[str, str]
    chunk: int
    gate: Gate | None
    exchanges: list[Exchange]
    records: Path | None = None


class Number(str):
    """A number by its digits: 1 is not 1.0, 1.5 is not 1.50."""


def read(path: Path) -> Conversation:
    found = Conversation({}, {}, 65536, None, [])
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if line.startswith("-->"):
            if not found.exchanges or found.exchanges[-1].answer:
                found.exchanges.append(Exchange(number))
            found.exchanges[-1].request.append(line[4:])
        elif line.startswith("<--"):
            found.exchanges[-1].answer.append(line[4:])
        elif directive := re.fullmatch(r"# (server|token|chunk|gate|records): (.*)", line):
            kind, text = directive.groups()
            if kind == "server":
                name, _, value = text.partition("=")
                found.settings[name] = value
            elif kind == "token":
                found.token |= dict(word.split("=", 1) for word in text.split())
            elif kind == "records":
                found.records = path.with_name(text)
            elif kind == "gate":
                found.gate = Gate(0, 0) if text == "full" else Gate(1, 1)
                found.gate.draining = text == "draining"
            else:
                found.chunk = int(text)
        else:
            assert not line or line.startswith("#"), f"{path.name}:{number}: what is {line!r}?"
    assert found.exchanges, f"{path.name}: no exchange"
    assert all(one.answer for one in found.exchanges), f"{path.name}: a request without an answer"
    return found


def split(lines: list[str]) -> tuple[list[tuple[str, str]], str]:
    """Leading header lines, and the rest as one text."""
    headers = []
    while lines and (header := _HEADER.fullmatch(lines[0])):
        headers.append((header[1], header[2]))
        lines = lines[1:]
    return headers, "\n".join(lines)


def encode(text: str, token: str) -> bytes:
    data = b""
    for part in re.split(r"(<token>|<hex [0-9a-f ]+>|<[^<>]{1,64} x \d+>)", text):
        if part == "<token>":
            data += token.encode()
        elif part.startswith("<hex ") and part.endswith(">"):
            data += bytes.fromhex(part[5:-1])
        elif repeated := re.fullmatch(r"<([^<>]{1,64}) x (\d+)>", part):
            data += repeated[1].encode() * int(repeated[2])
        else:
            data += part.encode()
    return data


def build(exchange: Exchange, token: str, chunk: int, request_bytes: Any) -> tuple[str, bytes]:
    """The method, and the bytes to send."""
    lines, method, path, version = exchange.request, "POST", "/cstp", "1.1"
    if line := _REQUEST_LINE.fullmatch(lines[0]):
        method, path, version = line[1], line[2], (line[3] or " HTTP/1.1")[6:]
        lines = lines[1:]
    headers, text = split(lines)
    names = {name.lower() for name, _ in headers}
    for name, value in (("Content-Type", "application/json"), ("Authorization", "Bearer <token>")):
        if name.lower() not in names:
            headers.append((name, value))
    sent = [(name, encode(value, token).decode("latin-1")) for name, value in headers if value != "-"]
    body = encode(text, token)
    if any(name.lower() == "transfer-encoding" for name, _ in sent):
        pieces = [body[at : at + chunk] for at in range(0, len(body), chunk)]
        body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    path = encode(path, token).decode()
    return method, request_bytes(body, sent, method, path, version)


def agree(want: object, got: object, request_id: str | None, where: str) -> None:
    fits = {
        "<anything>": True,
        "<number>": isinstance(got, Number),
        "<text>": type(got) is str,
        "<time>": type(got) is str and _TIME.fullmatch(got) is not None,
        "<request id>": got == request_id,
    }
    if type(want) is str and want in fits:
        assert fits[want], f"{where}: {got!r} is not {want}"
        return
    assert type(want) is type(got), f"{where}: {got!r} is not {want!r}"
    if isinstance(want, dict) and isinstance(got, dict):
        assert sorted(want) == sorted(got), f"{where}: has {sorted(got)}, not {sorted(want)}"
        for name in want:
            agree(want[name], got[name], request_id, f"{where}.{name}")
    elif isinstance(want, list) and isinstance(got, list):
        assert len(want) == len(got), f"{where}: {len(got)} items, not {len(want)}: {got}"
        for index, (one, other) in enumerate(zip(want, got, strict=True)):
            agree(one, other, request_id, f"{where}[{index}]")
    else:
        assert want == got, f"{where}: {got!r} is not {want!r}"


def refuse_constant(text: str) -> object:
    raise AssertionError(f"{text} is not JSON")


def refuse_repeated(members: list[tuple[str, object]]) -> dict[str, object]:
    assert len({name for name, _ in members}) == len(members), f"repeated members in {members}"
    return dict(members)


def parse(text: str) -> object:
    return json.loads(
        text,
        parse_int=Number,
        parse_float=Number,
        parse_constant=refuse_constant,
        object_pairs_hook=refuse_repeated,
    )


def check_always(reply: Any) -> None:
    """What holds for every answer of the endpoint."""
    request_id = reply.header("x-request-id")
    assert request_id is not None
    assert _REQUEST_ID.fullmatch(request_id)
    assert reply.header("server") is None
    assert (reply.header("content-type") == "application/json") == bool(reply.body)
    for name in ("ratelimit", "ratelimit-policy"):
        assert (reply.header(name) is not None) == (reply.status not in (401, 405)), (
            f"{reply.status} and {name}: {reply.header(name)}"
        )
    if reply.body:
        document = parse(reply.body.decode())
        for one in document if isinstance(document, list) else [document]:
            assert isinstance(one, dict)
            assert one["jsonrpc"] == "2.0"
            assert set(one) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    if reply.status in (429, 503):
        seconds = reply.header("retry-after")
        assert seconds is not None
        assert re.fullmatch("[1-9][0-9]*", seconds)
        error = reply.json["error"]
        assert error["data"]["retryAfter"] == int(seconds)


def check(exchange: Exchange, reply: Any) -> None:
    lines = exchange.answer
    status = 200
    if re.fullmatch(r"\d{3}", lines[0]):
        status, lines = int(lines[0]), lines[1:]
    assert reply.status == status, reply
    headers, text = split(lines)
    text = encode(text, "").decode()
    for name, value in headers:
        got = reply.header(name.lower())
        if value == "-":
            assert got is None, f"{name}: {got}"
        elif value == "<number>":
            assert got is not None
            assert got.isdigit(), f"{name}: {got}"
        else:
            assert got == value, f"{name}: {got}"
    if not text or reply.header("content-type") != "application/json":
        assert reply.body == text.encode(), reply
    else:
        agree(parse(text), parse(reply.body.decode()), reply.header("x-request-id"), "answer")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_conversation_goes_as_written(
    path: Path,
    common_server: Any,
    live_server: Any,
    request_bytes: Any,
    stores: Stores,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conversation = read(path)
    if conversation.records is not None:
        for name, value in stores.environment(tmp_path).items():
            monkeypatch.setenv(name, value)
        assert run(["ingest", str(conversation.records), "--data-dir", str(tmp_path)]) == 0
        server = live_server(conversation.settings, data_dir=tmp_path)
    elif conversation.gate is None:
        server = common_server(conversation.settings)
    else:
        server = live_server(conversation.settings, gate=conversation.gate)
    rights = {name: value.split(",") for name, value in conversation.token.items() if name in ("scopes", "projects")}
    rights |= {name: value for name, value in conversation.token.items() if name in ("agent", "clearance")}
    token = server.token(**rights)
    for exchange in conversation.exchanges:
        method, data = build(exchange, token, conversation.chunk, request_bytes)
        with server.connect() as connection:
            connection.send(data)
            reply = connection.read(method)
        try:
            if reply.status not in (400, 404):
                check_always(reply)
            check(exchange, reply)
        except AssertionError as error:
            raise AssertionError(f"{path.name}:{exchange.line}: {error}") from error
