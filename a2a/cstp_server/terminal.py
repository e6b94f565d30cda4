"""Output of commands to standard output and standard error, for people and in JSON; nothing else writes there.

No part of a record, a file name or an answer reaches a terminal unescaped: see `cognition_engines.escapes`.
"""

import sys
import traceback
from types import TracebackType
from typing import TextIO

from cognition_engines.escapes import one_line, several_lines


def say(line: str = "", *, err: bool = False) -> None:
    """Write a line."""
    _write_text(one_line(line), sys.stderr if err else sys.stdout)


def say_lines(text: str, *, err: bool = False) -> None:
    """Write a text with several lines. Pass foreign text through one_line to keep it on a single line."""
    _write_text(several_lines(text), sys.stderr if err else sys.stdout)


def say_patch(text: str) -> None:
    """Write a text that ends with a newline: unchanged for another program, with escapes on a terminal."""
    if sys.stdout is None or sys.stdout.isatty():
        say_lines(text.removesuffix("\n"))
    else:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()


def say_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Write an unexpected exception to standard error."""
    say_lines("".join(traceback.format_exception(kind, error, trace)).rstrip("\n"), err=True)


def _write_text(text: str, stream: TextIO | None) -> None:
    if stream is None:  # closed from the start
        return
    encoding = stream.encoding or "utf-8"
    if encoding.lower() not in ("utf-8", "utf8"):
        text = text.encode(encoding, "backslashreplace").decode(encoding)
    stream.write(f"{text}\n")
    stream.flush()
