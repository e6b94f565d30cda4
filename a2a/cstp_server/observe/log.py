"""Logs: a line per call on standard error, JSON or pretty. Secrets and query texts never get in.

Callers' input is never passed to a logger; the redaction here is a second safeguard. A separate thread writes the
lines, so a stalled reader blocks neither the event loop nor any other thread.
"""

import atexit
import logging
import os
import re
import select
import stat
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Event, RLock, Thread, current_thread
from time import monotonic
from typing import Any, Final, TextIO, cast

import orjson
import structlog

from cognition_engines.escapes import one_line
from cstp_server.settings import LogSettings
from cstp_server.terminal import say

MAX_LINE: Final = 4000  # bytes; longer lines are cut to the identifying members
MAX_VALUE: Final = 256
MAX_ITEMS: Final = 20
MAX_LEVELS: Final = 3
MAX_FRAMES: Final = 12
# tokens with at least a part of the secret, for CSTP_DATA_DIR is a setting's name
_SECRET: Final = re.compile(r"(?i)bearer\s+\S+|cstp_[0-9a-z]+_[0-9a-z]{12,}|://[^/\s:@]*:[^/\s@]*@")
_SECRET_KEYS: Final = frozenset(
    {"authorization", "token", "secret", "password", "api_key", "cookie", "query", "params"}
)
_KEPT: Final = ("event", "level", "timestamp", "method", "code", "request_id", "error")
_log = structlog.get_logger("cstp.log")
Line = MutableMapping[str, Any]
HELD: Final = 10_000  # lines buffered for the reader; later ones are dropped
GAP: Final = 0.05  # seconds between two writes: each interrupts running computations
PATIENCE: Final = 0.5  # seconds an exit waits for the reader
_TELL_EVERY: Final = 10.0  # seconds between two counts of dropped lines
_AT_ONCE: Final = 500  # maximum number of waiting lines taken at once
_PIECE: Final = 65_536  # bytes of one write


def configure_logging(settings: LogSettings, output: TextIO | None = None) -> None:
    """Set up structlog, and route the standard library's warnings (uvicorn, chromadb) to it.

    By default a thread writes the lines to standard error; `output` is for a process possibly without it.
    """
    pretty = settings.format == "pretty" or (settings.format == "auto" and sys.stderr.isatty())
    shared: list[Any] = [
        _trace,
        _redact,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    foreign = [_last_cause, *shared]
    renderer: Any = (
        structlog.dev.ConsoleRenderer() if pretty else structlog.processors.JSONRenderer(serializer=_to_json)
    )
    level = getattr(logging, settings.level.upper())
    file = output or cast(TextIO, LogOutput(sys.stderr, _tell_lost))
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(file)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=foreign))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(level, logging.WARNING))


def write_rest(patience: float | None = None) -> None:
    """Wait until the log is written, or for this time; default: PATIENCE."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler) and isinstance(handler.stream, LogOutput):
            handler.stream.write_rest(patience)


def _tell_lost(count: int) -> None:
    _log.error("log_lines_lost", count=count)


def announce(event: str, *sentences: str, level: str = "info", **fields: object) -> None:
    """Write a message at any level: a line per sentence in text, or a single JSON log line."""
    if isinstance(structlog.get_config()["processors"][-1], structlog.processors.JSONRenderer):
        cleaned = {name: _clean(value) for name, value in fields.items()}
        line: Line = {**cleaned, "event": event, "level": level, "timestamp": _utc_now()}
        structlog.get_config()["logger_factory"]().msg(_to_json(line))
        return
    with suppress(OSError):  # the reader is closed
        for sentence in sentences:
            say(sentence, err=True)


def _utc_now() -> str:
    return datetime.now(UTC).replace(tzinfo=None).isoformat() + "Z"


def call_line() -> Callable[..., None]:
    """Return a function for writing a call's log line, given method, agent, code, ms and request_id by keyword.

    A JSON line is built here: structlog's chain would take a fifth of a cheap call's time.
    """
    logger = structlog.get_logger("cstp.call").bind()
    if not isinstance(structlog.get_config()["processors"][-1], structlog.processors.JSONRenderer):
        return partial(logger.info, "call")
    if not logger.is_enabled_for(logging.INFO):
        return lambda **_fields: None
    file = structlog.get_config()["logger_factory"]()

    def write(*, method: str | None, agent: str, code: int, ms: float, request_id: str) -> None:
        line: Line = {
            "method": method,
            "agent": _clean(agent),
            "code": code,
            "ms": ms,
            "request_id": _clean(request_id),
            "event": "call",
            "level": "info",
            "timestamp": _utc_now(),
        }
        file.msg(_to_json(line))

    return write


def _trace(_logger: object, _name: str, event: Line) -> Line:
    """Add an exception's origin: types and places, without messages: they may quote a caller."""
    error = event.pop("exc_info", None)
    error = error[1] if isinstance(error, tuple) else error
    if isinstance(error, BaseException):
        frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
        event["error"] = type(error).__name__
        event["trace"] = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
        if error.__cause__ is not None:
            event["cause"] = type(error.__cause__).__name__
    return event


def _last_cause(_logger: object, _name: str, event: Line) -> Line:
    """Keep a text traceback's last line, such as after a failed start, for the rest would be cut."""
    text = event.get("event")
    if isinstance(text, str) and text.startswith("Traceback (most recent call last)"):
        event["event"] = text.rstrip().rpartition("\n")[2]
    return event


def _redact(_logger: object, _name: str, event: Line) -> Line:
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
        return one_line(_SECRET.sub("[redacted]", value)[:MAX_VALUE])
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


def _to_json(event: Line, **_options: object) -> str:
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


class LogOutput:
    """A text stream for lines. Writing never waits; a failing write stops nothing else.

    When HELD lines wait, later lines are dropped, and the number is passed to `tell_lost` once lines are read again,
    every ten seconds. Lines impossible to write are dropped. A stream without a file, as a test may have, is written to
    with the stream's own `write`.
    """

    def __init__(self, stream: TextIO | None, tell_lost: Callable[[int], object]) -> None:
        self._stream = stream
        self._tell_lost = tell_lost
        self._waiting: SimpleQueue[str | Event] = SimpleQueue()  # an event is set when all before it is written
        self._hurry = Event()
        self._lost = 0
        self._tell_at = 0.0
        self._torn = False  # whether a line was written in part
        self._counting = RLock()  # reentrant, for handlers of signals
        self._piece = _piece_of(stream)
        self._thread = Thread(target=self._write_lines, name="log", daemon=True)
        self._thread.start()
        atexit.register(self.write_rest)

    def write(self, text: str) -> None:
        """Accept a line."""
        if self._waiting.qsize() < HELD or current_thread() is self._thread:
            self._waiting.put(text)
        else:
            with self._counting:
                self._lost += 1

    def flush(self) -> None:
        """Do nothing: a line counts as written for the caller."""

    def write_rest(self, patience: float | None = None) -> None:
        """Wait until all lines are written, or for this time; default: PATIENCE."""
        written = Event()
        self._hurry.set()
        self._waiting.put(written)
        written.wait(PATIENCE if patience is None else patience)

    def _write_lines(self) -> None:
        while True:
            lines, written = self._take()
            for piece in _pieces(lines, self._piece):
                self._torn = not _put(self._stream, f"\n{piece}" if self._torn else piece)
            if self._lost and (self._waiting.empty() or monotonic() >= self._tell_at):
                with self._counting:
                    lost, self._lost = self._lost, 0
                self._tell_at = monotonic() + _TELL_EVERY
                self._tell_lost(lost)
                if written is not None:
                    self._waiting.put(written)  # after the line reporting the loss
            elif written is not None:
                self._hurry.clear()
                written.set()
            elif len(lines) < _AT_ONCE:
                self._hurry.wait(GAP)

    def _take(self) -> tuple[list[str], Event | None]:
        """Return the waiting lines, at least one unless a flush waits for their end; and the flush event."""
        item = self._waiting.get()
        lines: list[str] = []
        with suppress(Empty):
            while isinstance(item, str):
                lines.append(item)
                if len(lines) == _AT_ONCE:
                    break
                item = self._waiting.get_nowait()
        return lines, item if isinstance(item, Event) else None


def _piece_of(stream: TextIO | None) -> int:
    """Return the bytes for a write: into a pipe, at most as many as other writers' lines cannot split."""
    with suppress(AttributeError, OSError, ValueError):
        if stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode):  # type: ignore[union-attr]
            return select.PIPE_BUF
    return _PIECE


def _pieces(lines: Sequence[str], most: int) -> Iterator[str]:
    """Yield the lines in pieces up to this many bytes, never split within a line."""
    piece: list[str] = []
    size = 0
    for line in lines:
        length = len(line) if line.isascii() else len(line.encode(errors="backslashreplace"))
        if piece and size + length > most:
            yield "".join(piece)
            piece, size = [], 0
        piece.append(line)
        size += length
    yield "".join(piece)


def _put(stream: TextIO | None, text: str) -> bool:
    """Write a text, however long it takes; return False if it ends within a line.

    Not through the stream's buffer: the buffer's lock would block all printing threads.
    """
    data = text.encode(errors="backslashreplace")
    written = 0
    try:
        try:
            file = stream.fileno()  # type: ignore[union-attr]
        except (AttributeError, OSError, ValueError):
            stream.write(text)  # type: ignore[union-attr]
            return True
        while written < len(data):
            try:
                written += os.write(file, data[written:])
            except BlockingIOError:  # another process on the same terminal set it non-blocking
                room = select.poll()
                room.register(file, select.POLLOUT)
                room.poll()
    except (AttributeError, OSError, ValueError):  # closed, full, or without a reader
        return not written or data[:written].endswith(b"\n")
    return True
