"""The process that reads documents of other formats: `python -m ...formats.format_worker SECONDS BYTES`.

It gets contents by its standard input, never a path, and answers with JSON. Its memory, its time for one document, the
files that it opens and what it could write are bounded by the system, so that a hostile document ends it at the worst.
"""

import json
import os
import resource
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from typing import BinaryIO, Final, cast

from cognition_engines.ingest.formats.converted import Converted, Unreadable
from cognition_engines.ingest.formats.suffixes import Format

LENGTH: Final = struct.Struct(">Q")  # before each content and each answer: its bytes
_MODULES: Final[Mapping[Format, str]] = {
    Format.HTML: "web_page",
    Format.PDF: "pdf",
    Format.DOCX: "word",
    Format.PPTX: "slides",
    Format.EPUB: "book",
    Format.NOTEBOOK: "notebook",
    Format.RESTRUCTURED: "restructured",
    Format.ASCIIDOC: "ascii_doc",
}
_OPEN_FILES: Final = 32
_LONGEST_REASON: Final = 200  # characters


def main() -> None:
    """Answers until its input ends."""
    seconds, most = float(sys.argv[1]), int(sys.argv[2])
    source, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    _confine(most)
    while name := source.readline():
        (size,) = LENGTH.unpack(source.read(LENGTH.size))
        _bound_processor_time(seconds)
        answer = _answer(Format(name.decode().strip()), source.read(size))
        _send(answers, json.dumps(answer).encode())


def _confine(most: int) -> None:
    for limit, value in (
        (resource.RLIMIT_AS, most),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
    ):
        with suppress(ValueError, OSError):  # a system that knows no such limit, or has a lower one
            resource.setrlimit(limit, (value, value))


def _bound_processor_time(seconds: float) -> None:
    """Of this document, in whole seconds: the parent that would end the process may be gone."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + seconds) + 1, hard))


def _answer(format: Format, content: bytes) -> dict[str, object]:
    """The document, or why it is refused; and the most memory that this process has had, in bytes."""
    converted, refused = None, None
    try:
        module = import_module(f"cognition_engines.ingest.formats.{_MODULES[format]}")
        converted = asdict(cast(Converted, module.convert(content)))
    except Unreadable as error:
        refused = str(error)
    except MemoryError:
        refused = "needs too much memory to be read"
    except RecursionError:
        refused = "is nested too deeply to be read"
    except Exception as error:  # noqa: BLE001  libraries raise anything over a hostile document
        said = " ".join(str(error).split())[:_LONGEST_REASON]
        refused = f"is no sound {format.value}: {type(error).__name__}" + (f": {said}" if said else "")
    return {"converted": converted, "refused": refused, "peak": _peak()}


def _peak() -> int:
    """The most memory, in bytes, that this process had resident.

    On Linux not by getrusage, which counts the process that started this one: its peak outlives exec.
    """
    with suppress(OSError), open("/proc/self/status", encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _send(answers: BinaryIO, answer: bytes) -> None:
    answers.write(LENGTH.pack(len(answer)) + answer)
    answers.flush()


if __name__ == "__main__":
    main()
