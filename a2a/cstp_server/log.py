"""Logs: one line per call on standard error, JSON or pretty. Secrets and query texts never get in.

What a caller sends is never passed to a logger; the redaction here is the second lock on that door.
"""

import logging
import re
import sys
import traceback
from collections.abc import Mapping, MutableMapping
from typing import Any, Final

import orjson
import structlog

from cstp_server.settings import LogSettings

MAX_VALUE: Final = 256
MAX_FRAMES: Final = 12
_SECRET: Final = re.compile(r"(?i)bearer\s+\S+|cstp_[0-9a-z]+_[0-9a-z]+|://[^/\s:@]*:[^/\s@]*@")
_SECRET_KEYS: Final = frozenset({"authorization", "token", "secret", "password", "api_key", "cookie", "query", "params"})
Event = MutableMapping[str, Any]


def configure_logging(settings: LogSettings) -> None:
    """Sets up structlog, and hands the standard library's warnings (uvicorn, chromadb, alembic) to it."""
    pretty = settings.format == "pretty" or (settings.format == "auto" and sys.stderr.isatty())
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _trace,
        _redact,
    ]
    renderer: Any = structlog.dev.ConsoleRenderer() if pretty else structlog.processors.JSONRenderer(serializer=_to_json)
    level = getattr(logging, settings.level.upper())
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(level, logging.WARNING))


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
    return {key: "[redacted]" if key.lower() in _SECRET_KEYS else _clean(value) for key, value in event.items()}


def _clean(value: object) -> object:
    if isinstance(value, str):
        return _SECRET.sub("[redacted]", value)[:MAX_VALUE]
    if isinstance(value, Mapping):
        return {key: _clean(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(inner) for inner in value[:20]]
    return value


def _to_json(event: Event, **_options: object) -> str:
    try:
        return orjson.dumps(event, default=str).decode()
    except (TypeError, ValueError):
        return orjson.dumps({"event": "unloggable", "level": "error"}).decode()
