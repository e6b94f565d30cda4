"""Protocol conversations, in the notation of `tests/wire/*.txt`: requests and expected answers.

An example:

    # a remark
    # server: limits.default=3/minute        a required setting, by dotted name; one line for each setting
    # records: decisions.jsonl               a file of the folder, with all records of the server
    # gate: full                             or draining: the state of the gate for requests
    # token: agent=reader scopes=read,admin clearance=sensitive projects=a,b
    # needs: a token that has sent no call yet    another precondition, in words
    # edge: a proxy refuses it itself        a difference that is allowed if a proxy is in front
    --> POST /cstp                           the request line; default: this one
    --> X-Request-ID: mine                   headers; Authorization and Content-Type are added if missing,
    --> Content-Type: -                      and omitted if their value is a dash
    --> {"jsonrpc": "2.0", "id": 1, ...}     the rest is the body
    <-- 200                                  the status; default: 200
    <-- Retry-After: <number>                required headers; with a dash, forbidden ones
    <-- {"jsonrpc": "2.0", "id": 1, ...}     the whole body; none means an empty one

`<a x 3>` is `aaa`; in requests `<token>` is the token, `<hex ff00>` are bytes; `Transfer-Encoding: chunked` sends the
body in chunks (`# chunk: 1` sets their size). In answers `<anything>`, `<boolean>`, `<number>`, `<text>`, `<time>`,
`<list>`, `<object>` and `<request id>` (from the header) match variable parts, `<url>` in a header any address.
Everything else is compared exactly: members, types, and number digits. `<noted NAME>` in an answer matches any text or
number; later in the conversation, this value replaces `<NAME>` (in capitals).
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Final

_REQUEST_LINE: Final = re.compile(r"([A-Z]+) (/.*?)( HTTP/1\.[01])?")
_HEADER: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*): ?(.*)")
_DIRECTIVE: Final = re.compile(r"# (server|token|chunk|gate|records|needs|edge): (.*)")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")
_REQUEST_ID: Final = re.compile(r"[ -~]{1,128}")
_SPECIAL: Final = re.compile(r"(<token>|<[A-Z_]+>|<hex [0-9a-f ]+>|<[^<>]{1,64} x \d+>)")
_NOTED: Final = re.compile(r"<noted ([A-Z_]+)>")
_BRIEF: Final = 80  # characters of a value in the report of a difference
_REPEATED: Final = re.compile(r"<([^<>]{1,64}) x (\d+)>")


@dataclass(slots=True)
class Exchange:
    """A request and the answer, without the arrows; `line` is the request's first line, 1-based.

    `noted` are texts from earlier answers, by name, shared by all exchanges of a conversation.
    """

    line: int
    noted: dict[str, str]
    request: list[str] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Conversation:
    """A file. `settings` and `token` are the differences from the defaults."""

    name: str
    settings: dict[str, str] = field(default_factory=dict)
    token: dict[str, str] = field(default_factory=dict)
    exchanges: list[Exchange] = field(default_factory=list)
    chunk: int = 65536
    gate: str | None = None
    records: str | None = None
    needs: str | None = None
    edge: str | None = None


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as bytes, and the values needed to read the answer."""

    method: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ReceivedAnswer:
    """An HTTP answer; header names are in lower case, in received order."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the value; None if it is absent. Raise `Differs` if it occurs twice."""
        values = [value for header, value in self.headers if header == name]
        require(len(values) <= 1, f"{name} is sent {len(values)} times")
        return values[0] if values else None


class Number(str):
    """A number by digits: 1 is not 1.0, 1.5 is not 1.50."""

    __slots__ = ()


class Differs(Exception):
    """An answer differs from the conversation; the message shows the place and the difference."""


def require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Differs(otherwise)


def folder() -> Path:
    """Return the conversations' folder, in the wheel or in an editable install's checkout."""
    packaged = Path(str(files("cstp_server"))) / "wire"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "tests" / "wire"


def read(path: Path) -> Conversation:
    """Read a conversation. Raise ValueError for a file not in this notation."""
    found, noted = Conversation(path.stem), dict[str, str]()
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if line.startswith("-->"):
            if not found.exchanges or found.exchanges[-1].answer:
                found.exchanges.append(Exchange(number, noted))
            found.exchanges[-1].request.append(line[4:])
        elif line.startswith("<--"):
            found.exchanges[-1].answer.append(line[4:])
        elif directive := _DIRECTIVE.fullmatch(line):
            _direct(found, *directive.groups())
        elif line and not line.startswith("#"):
            raise ValueError(f"{path.name}:{number}: what is {line!r}?")
    if not found.exchanges or not all(one.answer for one in found.exchanges):
        raise ValueError(f"{path.name}: a request without an answer")
    return found


def _direct(found: Conversation, kind: str, text: str) -> None:
    match kind:
        case "server":
            name, _, value = text.partition("=")
            found.settings[name] = value
        case "token":
            found.token |= dict(word.split("=", 1) for word in text.split())
        case "chunk":
            found.chunk = int(text)
        case "gate" | "records" | "needs" | "edge":
            setattr(found, kind, text)


def split(lines: Sequence[str]) -> tuple[list[tuple[str, str]], str]:
    """Return the leading header lines, and the rest as text."""
    headers: list[tuple[str, str]] = []
    for place, line in enumerate(lines):
        header = _HEADER.fullmatch(line)
        if header is None:
            return headers, "\n".join(lines[place:])
        headers.append((header[1], header[2]))
    return headers, ""


def encode(text: str, values: Mapping[str, str]) -> bytes:
    """Encode a text to bytes, with `values` replacing names."""
    return b"".join(_encode(part, values) for part in _SPECIAL.split(text))


def _encode(part: str, values: Mapping[str, str]) -> bytes:
    if part.startswith("<") and part[1:-1] in values:
        return values[part[1:-1]].encode()
    if part.startswith("<hex ") and part.endswith(">"):
        return bytes.fromhex(part[5:-1])
    repeated = _REPEATED.fullmatch(part)
    return part.encode() if repeated is None else repeated[1].encode() * int(repeated[2])


def build(exchange: Exchange, token: str, chunk: int, host: str = "test", prefix: str = "") -> SentRequest:
    """Build the request, with `prefix` before every path."""
    lines, method, path, version = exchange.request, "POST", "/cstp", "1.1"
    values = {**exchange.noted, "token": token}
    if line := _REQUEST_LINE.fullmatch(lines[0]):
        method, path, version = line[1], line[2], (line[3] or " HTTP/1.1")[6:]
        lines = lines[1:]
    headers, text = split(lines)
    names = {name.lower() for name, _ in headers}
    for name, value in (("Content-Type", "application/json"), ("Authorization", "Bearer <token>"), ("Host", host)):
        if name.lower() not in names:
            headers.append((name, value))
    sent = [(name, encode(value, values).decode("latin-1")) for name, value in headers if value != "-"]
    body = encode(text, values)
    if any(name.lower() == "transfer-encoding" for name, _ in sent):
        pieces = [body[at : at + chunk] for at in range(0, len(body), chunk)]
        body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    elif "content-length" not in names:
        sent.append(("Content-Length", str(len(body))))
    head = [f"{method} {prefix}{encode(path, values).decode()} HTTP/{version}", *(f"{n}: {v}" for n, v in sent)]
    return SentRequest(method, "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body)


def _brief(value: object) -> str:
    """Return a value's beginning: enough to recognise it, too little to disclose a record."""
    text = repr(value)
    return text if len(text) <= _BRIEF else f"{text[:_BRIEF]}..."


def agree(want: object, got: object, request_id: str | None, where: str, noted: dict[str, str] | None = None) -> None:
    """Raise `Differs` if two parsed documents do not agree; add noted values."""
    if noted is not None and type(want) is str and (named := _NOTED.fullmatch(want)):
        require(isinstance(got, str | Number), f"{where}: {_brief(got)} is neither a text nor a number")
        noted[named[1]] = str(got)
        return
    fits = {
        "<anything>": True,
        "<boolean>": isinstance(got, bool),
        "<number>": isinstance(got, Number),
        "<text>": type(got) is str,
        "<list>": isinstance(got, list),
        "<object>": isinstance(got, dict),
        "<time>": type(got) is str and _TIME.fullmatch(got) is not None,
        "<request id>": got == request_id,
    }
    if type(want) is str and want in fits:
        require(fits[want], f"{where}: {_brief(got)} is not {want}")
        return
    require(type(want) is type(got), f"{where}: {_brief(got)} is not {_brief(want)}")
    if isinstance(want, dict) and isinstance(got, dict):
        require(sorted(want) == sorted(got), f"{where}: has {sorted(got)}, not {sorted(want)}")
        for name in want:
            agree(want[name], got[name], request_id, f"{where}.{name}", noted)
    elif isinstance(want, list) and isinstance(got, list):
        require(len(want) == len(got), f"{where}: {len(got)} items, not {len(want)}")
        for index, (one, other) in enumerate(zip(want, got, strict=True)):
            agree(one, other, request_id, f"{where}[{index}]", noted)
    else:
        require(want == got, f"{where}: {_brief(got)} is not {_brief(want)}")


def _refuse_constant(text: str) -> object:
    raise Differs(f"{text} is not JSON")


def _refuse_repeated(members: list[tuple[str, object]]) -> dict[str, object]:
    require(
        len({name for name, _ in members}) == len(members),
        f"an object has a member twice: {_brief([name for name, _ in members])}",
    )
    return dict(members)


def parse(body: bytes | str) -> object:
    """Parse JSON, with numbers as their digits. Raise `Differs` for other texts."""
    try:
        return json.loads(
            body,
            parse_int=Number,
            parse_float=Number,
            parse_constant=_refuse_constant,
            object_pairs_hook=_refuse_repeated,
        )
    except (ValueError, RecursionError):
        raise Differs(f"{_brief(body)} is not JSON") from None


def check_always(reply: ReceivedAnswer) -> None:
    """Check the rules for every answer of the endpoint."""
    request_id = reply.header("x-request-id")
    require(request_id is not None and _REQUEST_ID.fullmatch(request_id) is not None, f"X-Request-ID: {request_id}")
    kind = reply.header("content-type")
    require((kind == "application/json") == bool(reply.body), f"Content-Type: {kind}")
    for name in ("ratelimit", "ratelimit-policy"):
        value = reply.header(name)
        require((value is not None) == (reply.status not in (401, 405)), f"{reply.status} and {name}: {value}")
    if not reply.body:
        return
    document = parse(reply.body)
    for one in document if isinstance(document, list) else [document]:
        members = one if isinstance(one, dict) else {}
        require(members.get("jsonrpc") == "2.0", f"{_brief(one)} is no JSON-RPC 2.0 response")
        outcomes = ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
        require(set(members) in outcomes, f"a response has the members {sorted(members)}")
    if reply.status in (429, 503):
        seconds = reply.header("retry-after")
        require(seconds is not None and re.fullmatch("[1-9][0-9]*", seconds) is not None, f"Retry-After: {seconds}")
        agree(seconds, _retry_after(document), None, "error.data.retryAfter")


def _retry_after(document: object) -> str | None:
    for name in ("error", "data", "retryAfter"):
        document = document.get(name) if isinstance(document, dict) else None
    return None if document is None else str(document)


def check(exchange: Exchange, reply: ReceivedAnswer) -> None:
    """Raise `Differs` for an unexpected answer."""
    status, lines = expected_status(exchange), exchange.answer
    if re.fullmatch(r"\d{3}", lines[0]):
        lines = lines[1:]
    require(reply.status == status, f"HTTP {reply.status}, not {status}: {_brief(reply.body)}")
    headers, text = split(lines)
    text = encode(text, exchange.noted).decode()
    for name, value in headers:
        got = reply.header(name.lower())
        if value == "<number>":
            require(got is not None and got.isdigit(), f"{name}: {got}")
        else:
            wanted = re.escape(value).replace("<url>", r"https?://[^\s\"]+")
            agrees = got is None if value == "-" else got is not None and re.fullmatch(wanted, got) is not None
            require(agrees, f"{name}: {got}, not {value}")
    if not text or reply.header("content-type") != "application/json":
        require(reply.body == text.encode(), f"the body is {_brief(reply.body)}, not {_brief(text)}")
    else:
        agree(parse(text), parse(reply.body), reply.header("x-request-id"), "answer", exchange.noted)


def expected_status(exchange: Exchange) -> int:
    """Return the expected HTTP status."""
    return int(exchange.answer[0]) if re.fullmatch(r"\d{3}", exchange.answer[0]) else 200


def calls(conversation: Conversation) -> Iterator[tuple[Mapping[str, object], Mapping[str, object]]]:
    """Return the single calls with a result, as JSON: each request and its response, placeholders included."""
    for exchange in conversation.exchanges:
        _, text = split(exchange.request)
        lines = exchange.answer[1:] if re.fullmatch(r"\d{3}", exchange.answer[0]) else exchange.answer
        _, answer = split(lines)
        try:
            request, response = json.loads(text), json.loads(answer)
        except ValueError:
            continue
        if isinstance(request, dict) and isinstance(response, dict) and "result" in response:
            yield request, response
