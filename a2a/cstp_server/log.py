"""Logs: one line per call on standard error, JSON or pretty. Secrets and query texts never get in.

What a caller sends is never passed to a logger; the redaction here is the second lock on that door.
"""

import asyncio
import logging
import math
import os
import re
import select
import stat
import sys
import traceback
import weakref
from collections import deque
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from threading import RLock
from typing import Any, Final, Protocol, TextIO, cast

import orjson
import structlog

from cstp_server.settings import LogSettings

GAP: Final = 0.05  # seconds between two writes of a busy event loop
ROOM: Final = 4096  # bytes; a pipe or socket that can be written to takes as many at once
HELD: Final = 10_000  # lines that wait for whoever reads
PATIENCE: Final = 0.2  # seconds to wait for room, where nobody else is held up
MAX_LINE: Final = 4000  # bytes; what is longer is cut down to the members that find it again
MAX_VALUE: Final = 256
MAX_ITEMS: Final = 20
MAX_LEVELS: Final = 3
MAX_FRAMES: Final = 12
_SECRET: Final = re.compile(r"(?i)bearer\s+\S+|cstp_[0-9a-z]+_[0-9a-z]+|://[^/\s:@]*:[^/\s@]*@")
_SECRET_KEYS: Final = frozenset(
    {"authorization", "token", "secret", "password", "api_key", "cookie", "query", "params"}
)
_KEPT: Final = ("event", "level", "timestamp", "method", "code", "request_id", "error")
_log = structlog.get_logger("cstp.log")
Event = MutableMapping[str, Any]


class _Lines:
    """Lines on their way to standard error. A reader that stands still holds nobody up: too many are left out."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        self._lost = 0
        self._lock = RLock()  # held by the thread that writes
        self._stream: TextIO | None = None  # standard error when it was looked at, which gives the interpreter away
        self._poll: select.poll | None = None

    def add(self, line: str) -> None:
        if len(self._lines) < HELD:
            self._lines.append(line)
        else:
            self._lost += 1

    def write(self, patience: float) -> bool:
        """Writes all there is, unless standard error takes nothing for `patience` seconds; whether it did."""
        with self._lock:
            while self._lines:
                room = self._room(patience)
                if not room:
                    return False
                _put(self._some(room))
            lost, self._lost = self._lost, 0
            if lost:
                _log.warning("log_lines_lost", count=lost)
            return True

    def write_now(self) -> bool:
        """Writes all that can be written at once, unless another thread is about it; whether nothing is left."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            return self.write(0)
        finally:
            self._lock.release()

    def _room(self, patience: float) -> float:
        """How many bytes standard error takes without waiting; 0 when it takes none for `patience` seconds."""
        if self._stream is not sys.stderr:
            self._stream, self._poll = sys.stderr, _poll_of(sys.stderr)
        return math.inf if self._poll is None else ROOM if self._poll.poll(patience * 1000) else 0

    def _some(self, room: float) -> str:
        """As many whole lines as surely fit in; at least one."""
        taken = [self._lines.popleft()]
        size = _size(taken[0])
        while self._lines and (size := size + _size(self._lines[0])) <= room:
            taken.append(self._lines.popleft())
        return "".join(taken)


def _size(line: str) -> int:
    return len(line) if line.isascii() else len(line.encode())


def _poll_of(stream: TextIO | None) -> "select.poll | None":
    """What tells whether a write would wait; None where nobody has to read, as with a file."""
    poll = select.poll()
    try:
        file = cast(TextIO, stream).fileno()
        mode = os.fstat(file).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(file)):
            return None
        poll.register(file, select.POLLOUT)
    except (AttributeError, OSError, ValueError):  # it is no file
        return None
    return poll


def _put(text: str) -> None:
    with suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


class _StandardError:
    """Standard error as it is now. A log that cannot be written must not take a call down with it, nor hold it up.

    A write lets other threads run, and a busy event loop then waits until they let it go on. So what the loop's thread
    logs is written at the end of its turn, and GAP seconds after it wrote last at the earliest; the rest at the exit.
    """

    def __init__(self) -> None:
        self._lines = _Lines()
        self._writer: asyncio.AbstractEventLoop | None = None  # the loop that is to write them
        self._written = 0.0
        weakref.finalize(self, self._lines.write, PATIENCE)  # which the exit calls, too

    def write(self, text: str) -> None:
        self._lines.add(text)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._lines.write(PATIENCE)
            return
        self._write_soon(loop)

    def flush(self) -> None:
        """For whoever writes, a line is written."""

    def _write_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._writer is not loop:
            self._writer = loop
            loop.call_at(max(loop.time(), self._written + GAP), self._write_lines, loop)

    def _write_lines(self, loop: asyncio.AbstractEventLoop) -> None:
        self._writer, self._written = None, loop.time()
        if not self._lines.write_now():
            self._write_soon(loop)

    def write_rest(self) -> None:
        """Writes what a loop that has ended did not."""
        self._lines.write(PATIENCE)


def configure_logging(settings: LogSettings) -> None:
    """Sets up structlog, and hands the standard library's warnings (uvicorn, chromadb, alembic) to it."""
    pretty = settings.format == "pretty" or (settings.format == "auto" and sys.stderr.isatty())
    shared: list[Any] = [
        _trace,
        _redact,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: Any = (
        structlog.dev.ConsoleRenderer() if pretty else structlog.processors.JSONRenderer(serializer=_to_json)
    )
    level = getattr(logging, settings.level.upper())
    file = cast(TextIO, _StandardError())
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(file)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(level, logging.WARNING))


def write_rest() -> None:
    """Writes what an event loop that has ended logged last."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler) and isinstance(handler.stream, _StandardError):
            handler.stream.write_rest()


class CallLine(Protocol):
    """Writes the one line of a call."""

    def __call__(self, *, method: str | None, agent: str, code: int, ms: float, request_id: str) -> None: ...


def call_line() -> CallLine:
    """The writer of call lines, as logging is configured now.

    A JSON line is put together here: structlog's chain would take a fifth of the time of a cheap call.
    """
    logger = structlog.get_logger("cstp.call").bind()
    if not isinstance(structlog.get_config()["processors"][-1], structlog.processors.JSONRenderer):
        return partial(logger.info, "call")
    if not logger.is_enabled_for(logging.INFO):
        return lambda **_fields: None
    return _JsonCallLine(structlog.get_config()["logger_factory"]())


class _JsonCallLine:
    def __init__(self, file: structlog.WriteLogger) -> None:
        self._file = file

    def __call__(self, *, method: str | None, agent: str, code: int, ms: float, request_id: str) -> None:
        line: Event = {
            "method": method,
            "agent": _clean(agent),
            "code": code,
            "ms": ms,
            "request_id": _clean(request_id),
            "event": "call",
            "level": "info",
            "timestamp": datetime.now(UTC).replace(tzinfo=None).isoformat() + "Z",
        }
        self._file.msg(_to_json(line))


def _trace(_logger: object, _name: str, event: Event) -> Event:
    """Where an exception came from: types and places, no messages, for those may quote what a caller sent."""
    error = event.pop("exc_info", None)
    error = error[1] if isinstance(error, tuple) else error
    if isinstance(error, BaseException):
        frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
        event["error"] = type(error).__name__
        event["trace"] = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
        if error.__cause__ is not None:
            event["cause"] = type(error.__cause__).__name__
    return event


def _redact(_logger: object, _name: str, event: Event) -> Event:
    for key, value in event.items():
        if key.lower() in _SECRET_KEYS:
            event[key] = "[redacted]"
        elif type(value) is not int and type(value) is not float:
            event[key] = _clean(value)
    return event


def _clean(value: object, level: int = 0) -> object:
    if isinstance(value, str):
        if value.isalnum():
            return value[:MAX_VALUE]  # every secret has a mark in it
        return _SECRET.sub("[redacted]", value)[:MAX_VALUE]
    if isinstance(value, Mapping | list | tuple) and level == MAX_LEVELS:
        return "[deep]"
    if isinstance(value, Mapping):
        return {
            _clean(str(key)): "[redacted]" if str(key).lower() in _SECRET_KEYS else _clean(inner, level + 1)
            for key, inner in islice(value.items(), MAX_ITEMS)
        }
    if isinstance(value, list | tuple):
        return [_clean(inner, level + 1) for inner in value[:MAX_ITEMS]]
    return value


def _to_json(event: Event, **_options: object) -> str:
    try:
        line = orjson.dumps(event, default=_as_text)
        if len(line) > MAX_LINE:
            kept = {key: event[key] for key in _KEPT if key in event}
            line = orjson.dumps({**kept, "cut": True}, default=_as_text)
        return line.decode()
    except (TypeError, ValueError):
        return orjson.dumps({"event": "unloggable", "level": "error"}).decode()


def _as_text(value: object) -> object:
    return _clean(str(value))
