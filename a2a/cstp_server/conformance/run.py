"""Replay of our conversations against any server: selection, and results.

A conversation is replayed only if its preconditions are met: settings, records, and a token with the rights.
`cstp.whoami` returns the rights; the server's operator states the settings and records.
"""

import http.client
import io
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from cstp_server.conformance.wire_files import (
    Conversation,
    Differs,
    Exchange,
    ReceivedAnswer,
    build,
    check,
    check_always,
    expected_status,
    folder,
    read,
)
from cstp_server.settings import Settings

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# After too many wrong tokens, waits.
_WAITED_FOR: Final = "limits.auth_failures"
_LONGEST_WAIT: Final = 61  # seconds
NEEDS_RIGHTS: Final = "needs a token with exactly"
_LEFT: Final = re.compile(r";r=(\d+);t=(\d+)")
_AGENT: Final = "cstp"  # whom the conversations about records expect in answers
_COST: Final = 2  # maximum units per call, by the defaults


@dataclass(frozen=True, slots=True)
class Caller:
    """A token and the `cstp.whoami` result; `projects` None is no restriction."""

    token: str
    scopes: frozenset[str]
    clearance: str
    projects: frozenset[str] | None
    server_agent: str

    @property
    def rights(self) -> str:
        """Return the token's rights, as written in conversations."""
        projects = "" if self.projects is None else f" projects={','.join(sorted(self.projects))}"
        return f"scopes={','.join(sorted(self.scopes))} clearance={self.clearance}{projects}"

    def has(self, rights: Mapping[str, str]) -> bool:
        """Return whether these equal the rights of a conversation's token."""
        projects = rights.get("projects")
        return (
            self.scopes == frozenset(rights.get("scopes", "read").split(","))
            and self.clearance == rights.get("clearance", "normal")
            and self.projects == (None if projects is None else frozenset(projects.split(",")))
        )


@dataclass(frozen=True, slots=True)
class Declared:
    """The caller's statements on a server: settings by dotted name, the only records file, a proxy in front."""

    settings: Mapping[str, str]
    holds: str | None
    behind_proxy: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """A conversation's result: `line` is the line of the failed exchange, `reason` the cause of a failure or skip.

    `edge` is true if a proxy in front of the server may answer instead; this is the reason if skipped.
    """

    name: str
    outcome: str  # passed, failed or skipped
    reason: str = ""
    line: int | None = None
    edge: bool = False


def conversations() -> list[Conversation]:
    """Return all conversations, by name."""
    return [read(path) for path in sorted(folder().glob("*.txt"))]


def replay(
    every: Sequence[Conversation], url: str, callers: Sequence[Caller], declared: Declared, timeout: float
) -> Iterator[Verdict]:
    """Replay the conversations in order, each exchange on a separate connection."""
    pace = _Pace()
    for conversation in every:
        caller = _caller(conversation, callers)
        reason = _not_held(conversation, caller, declared)
        if reason is not None or caller is None:
            yield Verdict(conversation.name, "skipped", reason or "")
            continue
        if declared.behind_proxy and conversation.edge is not None:
            yield Verdict(conversation.name, "skipped", f"behind a proxy, {conversation.edge}", edge=True)
            continue
        verdict = _hold(conversation, caller.token, _Line(url, timeout), pace)
        yield replace(verdict, edge=conversation.edge is not None)


def _caller(conversation: Conversation, callers: Sequence[Caller]) -> Caller | None:
    return next((one for one in callers if one.has(conversation.token)), None)


def _not_held(conversation: Conversation, caller: Caller | None, declared: Declared) -> str | None:
    """Return why a conversation says nothing about this server; None if it does."""
    if conversation.gate is not None:
        return f"needs a server that is {conversation.gate}"
    if conversation.needs is not None:
        return f"needs {conversation.needs}"
    if conversation.records is not None and conversation.records != declared.holds:
        place = folder() / conversation.records
        return f"needs a server that has only {place}; then pass --holds {conversation.records}"
    for name in sorted({*conversation.settings, *declared.settings} - {_WAITED_FOR}):
        wanted = conversation.settings.get(name, _default(name))
        if declared.settings.get(name, _default(name)) != wanted and _matters(name, conversation):
            return f"needs the setting {name}={wanted}; then pass --set {name}={wanted}"
    if caller is None:
        rights = {name: value for name, value in conversation.token.items() if name != "agent"}
        shown = " ".join(f"{name}={value}" for name, value in rights.items()) or "scopes=read"
        return f"{NEEDS_RIGHTS} {shown}"
    if conversation.records is not None and caller.server_agent != _AGENT:
        return f"needs a server whose agent.id is {_AGENT}"
    return None


def _matters(name: str, conversation: Conversation) -> bool:
    """Return whether a setting matters; the server's model does only if the conversation sets it."""
    return name in conversation.settings or not name.startswith("embedding.")


def _default(name: str) -> str:
    section, _, key = name.partition(".")
    values = Settings().model_dump(mode="json").get(section)
    return str(values.get(key)) if isinstance(values, dict) else ""


def _hold(conversation: Conversation, token: str, line: "_Line", pace: "_Pace") -> Verdict:
    for exchange in conversation.exchanges:
        try:
            reply = line.say(exchange, token, conversation.chunk, pace)
            if reply.status not in (400, 404):
                check_always(reply)
            check(exchange, reply)
        except Differs as error:
            return Verdict(conversation.name, "failed", str(error), exchange.line)
        except (OSError, http.client.HTTPException) as error:
            return Verdict(conversation.name, "failed", f"no answer: {type(error).__name__}", exchange.line)
    return Verdict(conversation.name, "passed")


class _Pace:
    """A pause before requests beyond the caller's limit: the conversations do not test it."""

    def __init__(self, wait: Callable[[float], None] = sleep) -> None:
        self._wait = wait
        self._windows: list[tuple[int, int]] = []

    def wait_before(self, data: bytes) -> None:
        cost = _COST * max(1, data.count(b'"method"'))
        self._wait(max((seconds for left, seconds in self._windows if left < cost), default=0))

    def note(self, reply: ReceivedAnswer) -> None:
        given = reply.header("ratelimit")
        self._windows = [(int(left), int(seconds)) for left, seconds in _LEFT.findall(given or "")]

    def wait_after_refusal(self, reply: ReceivedAnswer) -> bool:
        """Wait if a request was answered with 429, and return whether to send it again."""
        seconds = reply.header("retry-after") or ""
        if not seconds.isdigit() or int(seconds) > _LONGEST_WAIT:
            return False
        self._wait(int(seconds))
        return True


class _Line:
    """Connections to a server, for requests as bytes: most HTTP clients refuse to send these."""

    def __init__(self, url: str, timeout: float) -> None:
        parts = urlsplit(url)
        self._secure = parts.scheme == "https"
        self._address = (parts.hostname or "", parts.port or (443 if self._secure else 80))
        self._host = parts.netloc.rpartition("@")[2]
        self._prefix = parts.path.rstrip("/")
        self._timeout = timeout

    def say(self, exchange: Exchange, token: str, chunk: int, pace: _Pace) -> ReceivedAnswer:
        """Return the answer; after an unexpected 429, wait and send again, once."""
        sent = build(exchange, token, chunk, self._host, self._prefix)
        pace.wait_before(sent.data)
        reply = self._one(sent.method, sent.data)
        if reply.status == 429 != expected_status(exchange) and pace.wait_after_refusal(reply):
            reply = self._one(sent.method, sent.data)
        pace.note(reply)
        return reply

    def _one(self, method: str, data: bytes) -> ReceivedAnswer:
        with self._open_socket() as connection:
            # a server may answer and close before it has read everything
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(data)
            source: Any = _Bounded(connection, monotonic() + self._timeout)
            with http.client.HTTPResponse(source, method=method) as response:
                response.begin()
                body = response.read()
                headers = [(name.lower(), value) for name, value in response.getheaders()]
        return ReceivedAnswer(response.status, headers, body)

    def _open_socket(self) -> socket.socket:
        plain = socket.create_connection(self._address, self._timeout)
        if not self._secure:
            return plain
        return ssl.create_default_context().wrap_socket(plain, server_hostname=self._address[0])


class _Bounded(io.RawIOBase):
    """A connection for http.client whose reads end at a deadline, however slowly the bytes arrive."""

    def __init__(self, connection: socket.socket, end: float) -> None:
        self._connection = connection
        self._end = end

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        left = self._end - monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)
