"""The process that reads documents of other formats: `python -m ...formats.format_worker SECONDS BYTES FORMAT...`.

It imports what reads these formats, then gives up files, connections and processes (`confinement.py`), and only then
reads a document. It gets contents by its standard input, never a path, and answers with JSON; its first answer names
the limits that this system cannot set. Memory and the time for one document are bounded by the system, too.
"""

import encodings
import json
import os
import resource
import struct
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import BinaryIO, Final, TypeVar, cast

from cognition_engines.ingest.formats.confinement import confine
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
_LONGEST_REASON: Final = 200  # characters
_STATUS: Final = "/proc/self/status"

T = TypeVar("T")
_Attempt = tuple[T | None, str | None]  # what came of it, or why not


def main() -> None:
    """Answer until the input ends."""
    seconds, memory = float(sys.argv[1]), int(sys.argv[2])
    source, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a library may print
    status = os.open(_STATUS, os.O_RDONLY) if os.path.exists(_STATUS) else None
    readers = {format: _reader(format) for format in map(Format, sys.argv[3:])}
    _load_what_python_loads_late()
    _send(answers, {"missing": confine(memory)})
    while name := source.readline():
        (size,) = LENGTH.unpack(source.read(LENGTH.size))
        _bound_processor_time(seconds)
        format = Format(name.decode().strip())
        answer = _answer(format, readers[format], source.read(size))
        _send(answers, answer | {"peak": _peak(status)})


def _reader(format: Format) -> _Attempt[ModuleType]:
    return _attempt(format, partial(import_module, f"cognition_engines.ingest.formats.{_MODULES[format]}"))


def _load_what_python_loads_late() -> None:
    """Load each encoding, which a document may name, the reader of times, and the rules of the local time."""
    import_module("_strptime")
    for module in iter_modules(encodings.__path__):
        with suppress(ImportError):  # of another system
            import_module(f"encodings.{module.name}")
    time.localtime()


def _bound_processor_time(seconds: float) -> None:
    """Of this document, in whole seconds: the parent that would end the process may be gone."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + seconds) + 1, hard))


def _answer(format: Format, reader: _Attempt[ModuleType], content: bytes) -> dict[str, object]:
    """Return the document, or why it is refused."""
    module, refused = reader
    converted = None
    if module is not None:
        converted, refused = _attempt(format, partial(cast(Callable[[bytes], Converted], module.convert), content))
    return {"converted": None if converted is None else asdict(converted), "refused": refused}


def _attempt(format: Format, action: Callable[[], T]) -> _Attempt[T]:
    try:
        return action(), None
    except Unreadable as error:
        return None, str(error)
    except MemoryError:
        return None, "needs too much memory to be read"
    except RecursionError:
        return None, "is nested too deeply to be read"
    except Exception as error:  # noqa: BLE001  libraries raise anything over a hostile document
        said = " ".join(str(error).split())[:_LONGEST_REASON]
        return None, f"is no sound {format.value}: {type(error).__name__}" + (f": {said}" if said else "")


def _peak(status: int | None) -> int:
    """Return the most memory, in bytes, that this process had resident; `status` is a file that Linux has.

    getrusage counts the process that started this one: its peak outlives exec.
    """
    if status is not None:
        for line in os.pread(status, 65_536, 0).decode("ascii", "replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _send(answers: BinaryIO, answer: Mapping[str, object]) -> None:
    content = json.dumps(answer).encode()
    answers.write(LENGTH.pack(len(content)) + content)
    answers.flush()


if __name__ == "__main__":
    main()
