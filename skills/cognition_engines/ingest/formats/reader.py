"""Reads documents of other formats in a process that cannot harm this one: bounded memory and time, no files."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Timer
from types import TracebackType
from typing import Final, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from cognition_engines.ingest.formats.converted import FORMATS, LENGTH, LIBRARIES, Converted, Format, Unreadable
from cognition_engines.models import Problem

REMEDY: Final = "the libraries of the extra [documents], which `make documents` installs"
_WORKER: Final = "cognition_engines.ingest.formats.format_worker"
_LONGEST_ANSWER: Final = 512 * 2**20  # bytes
_PATIENCE: Final = 5.0  # seconds
_LONGEST_START: Final = 60.0  # seconds
_PASSED_ON: Final = ("PATH", "PYTHONPATH", "PYTHONHOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TZ")
_SOURCE: Final = str(Path(__file__).resolve().parents[3])  # the folder of the package

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FormatLimits:
    """Limits of a document: `seconds`, of processor time and by the clock, and `memory` (bytes of address space).

    The process is replaced after `documents`, and after a document that needed more than `resident` bytes.
    """

    seconds: float = 60.0
    memory: int = 1536 * 2**20
    documents: int = 200
    resident: int = 400 * 2**20


@dataclass(frozen=True, slots=True)
class _Answer:
    converted: Converted | None
    refused: str | None
    peak: int  # bytes


@dataclass(frozen=True, slots=True)
class _Start:
    """A process's message before the first document."""

    missing: tuple[str, ...]


_ANSWER: Final = TypeAdapter(_Answer)
_START: Final = TypeAdapter(_Start)
DEFAULT_LIMITS: Final = FormatLimits()


class _Killed(Unreadable):
    """The process was killed, but not by the parent."""


class FormatReader:
    """Converter of documents to Markdown. The process begins with the first document; `close` ends it."""

    def __init__(self, limits: FormatLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self._read = 0  # documents by this process
        self._installed: dict[Format, bool] = {}
        self._left: dict[str, dict[str, None]] = {}  # by extension

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def process_id(self) -> int | None:
        """Return the reading process's id; None without a process."""
        return None if self._process is None else self._process.pid

    def can_read(self, format: Format) -> bool:
        """Return whether the libraries of a format are installed."""
        if format not in self._installed:
            self._installed[format] = all(find_spec(name) is not None for name in LIBRARIES[format])
        return self._installed[format]

    def leave(self, path: str) -> bool:
        """Return whether to skip a folder's file because a package for the format is missing, and note it."""
        suffix = os.path.splitext(path)[1].lower()
        if suffix not in FORMATS or self.can_read(FORMATS[suffix]):
            return False
        self._left.setdefault(suffix, {})[path] = None
        return True

    def notices(self) -> Iterator[Problem]:
        """Yield a notice for each extension whose files were left out since the last time."""
        for suffix, paths in sorted(self._left.items()):
            more = len(paths) - 1
            files = f"this and {more} more {suffix} files were" if more else "this file was"
            yield Problem(next(iter(paths)), None, f"{files} not read: {suffix} needs {REMEDY}")
        self._left.clear()

    def convert(self, format: Format, content: bytes) -> Converted:
        """Return the document as Markdown. Raise Unreadable with the reason if it cannot be read."""
        if not self.can_read(format):
            raise Unreadable(f"is not read: {format.value} needs {REMEDY}")
        try:
            answer = self._ask_process(format, content)
        except _Killed:  # from outside, or for lack of memory: the second time it is the document's fault
            answer = self._ask_process(format, content)
        self._read += 1
        if answer.peak > self._limits.resident or self._read >= self._limits.documents:
            self._end()
        if answer.converted is None:
            raise Unreadable(answer.refused or "cannot be read")
        return answer.converted

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._end()

    def _ask_process(self, format: Format, content: bytes) -> _Answer:
        """Return the process's answer. Raise Unreadable if it ends or takes too long, _Killed if it is killed."""
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None:
            self._start([each for each in Format if self.can_read(each)])
        return self._ask_within(self._limits.seconds, lambda process: _ask(process, format, content))

    def missing_limits(self) -> tuple[str, ...]:
        """Return the limits that this system cannot set for the reading process.

        Raise Unreadable if no such process starts.
        """
        self.close()
        try:
            return self._start(())
        finally:
            self.close()

    def _start(self, formats: Sequence[Format]) -> tuple[str, ...]:
        """Start the process for documents of these formats; return the limits that cannot be set."""
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        paths = [_SOURCE, environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        bounds = (str(self._limits.seconds), str(self._limits.memory))
        # a separate session: an interrupt ends the run, which ends this
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _WORKER, *bounds, *formats],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=environment,
            start_new_session=True,
        )
        self._read = 0
        return self._ask_within(_LONGEST_START, lambda process: _START.validate_json(_receive(process))).missing

    def _ask_within(self, seconds: float, exchange: Callable[[subprocess.Popen[bytes]], T]) -> T:
        """Return the answer of the process.

        Raise Unreadable if it ends first or takes longer, _Killed if something else has killed it.
        """
        assert self._process is not None
        process, late = self._process, Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = Timer(seconds, end)
        timer.start()
        try:
            return exchange(process)
        except (OSError, EOFError, ValidationError):
            code = self._end(_PATIENCE)
            if late.is_set() or code == -signal.SIGXCPU:
                raise Unreadable(f"takes more than {seconds:g} seconds to read") from None
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            kind = _Killed if code == -signal.SIGKILL else Unreadable
            raise kind(f"cannot be read: the process that reads it ended ({how})") from None
        finally:
            timer.cancel()
            timer.join()

    def _end(self, patience: float = 0.0) -> int:
        """End the process, which has `patience` seconds to end first; return the exit code, negative for a signal."""
        process, self._process = self._process, None
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError):  # unwritten bytes
            process.stdin.close()
        process.stdout.close()
        with suppress(subprocess.TimeoutExpired):
            return process.wait(patience)
        process.kill()
        return process.wait()


def _ask(process: subprocess.Popen[bytes], format: Format, content: bytes) -> _Answer:
    """Ask the process to read a document. Raise EOFError or OSError if it ends, ValidationError for no answer."""
    assert process.stdin is not None
    process.stdin.write(f"{format.value}\n".encode() + LENGTH.pack(len(content)))
    process.stdin.write(content)
    process.stdin.flush()
    return _ANSWER.validate_json(_receive(process))


def _receive(process: subprocess.Popen[bytes]) -> bytes:
    """Receive an answer of the process. Raise EOFError or OSError if it ends."""
    assert process.stdout is not None
    header = process.stdout.read(LENGTH.size)
    if len(header) < LENGTH.size:
        raise EOFError
    (size,) = LENGTH.unpack(header)
    answer = process.stdout.read(size) if size <= _LONGEST_ANSWER else b""
    if len(answer) < size:
        raise EOFError
    return answer
