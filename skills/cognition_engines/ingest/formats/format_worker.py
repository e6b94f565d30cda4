"""Process reading documents of other formats: `python -m ...formats.format_worker SECONDS BYTES FORMAT...`.

It imports the readers of these formats, then gives up memory, files, connections and processes (`confine`), and only
then reads a document. It gets contents by standard input, never a path, and answers with JSON; the first answer
names the limits that this system cannot set. The system, too, bounds memory and the time for a document.
"""

import ctypes
import encodings
import json
import os
import platform
import resource
import struct
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from importlib import import_module
from importlib.machinery import BuiltinImporter, FrozenImporter
from pkgutil import iter_modules
from types import ModuleType
from typing import BinaryIO, Final, TypeVar, cast

from cognition_engines.ingest.formats.converted import LENGTH, Converted, Format, Unreadable

# their numbers on x86_64 and aarch64, None if the machine has no such call
_REFUSED_CALLS: Final[Mapping[str, tuple[int | None, int | None]]] = {
    # files, connections, and other calls that reach them
    "open": (2, None), "creat": (85, None), "openat": (257, 56), "openat2": (437, 437), "mount": (165, 40),
    "open_by_handle_at": (304, 265), "open_tree": (428, 428), "fsopen": (430, 430), "mq_open": (240, 180),
    "memfd_create": (319, 279), "bpf": (321, 280), "perf_event_open": (298, 241), "io_uring_setup": (425, 425),
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "bind": (49, 200), "accept": (43, 202),
    "accept4": (288, 242),
    # processes
    "clone": (56, 220), "clone3": (435, 435), "fork": (57, None), "vfork": (58, None), "execve": (59, 221),
    "execveat": (322, 281), "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "kill": (62, 129), "unshare": (272, 97), "setns": (308, 268),
    "chroot": (161, 51),
    # changes of paths
    "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276), "link": (86, None), "linkat": (265, 37),
    "unlink": (87, None), "unlinkat": (263, 35), "rmdir": (84, None), "mkdir": (83, None), "mkdirat": (258, 34),
    "symlink": (88, None), "symlinkat": (266, 36), "mknod": (133, None), "mknodat": (259, 33), "chmod": (90, None),
    "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None), "lchown": (94, None), "fchownat": (260, 54),
    "truncate": (76, 45), "utime": (132, None), "utimes": (235, None), "futimesat": (261, None),
    "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6),
}  # fmt: skip
_MACHINES: Final = ("x86_64", "aarch64")
_ARCHITECTURES: Final = (0xC000003E, 0xC00000B7)
_LARGEST_CALL: Final = 0x3FFFFFFF  # above are the calls of x32
_NO_NEW_PRIVILEGES: Final = 38
_SET_SECCOMP: Final = 22
_FILTER: Final = 2
_ALLOW: Final = 0x7FFF0000
_REFUSE: Final = 0x00050001  # EPERM
_LOAD: Final = 0x20
_IF_EQUAL: Final = 0x15
_IF_GREATER: Final = 0x25
_RETURN: Final = 0x06
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
_Attempt = tuple[T | None, str | None]  # the result, or the error


class _Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def confine(memory: int) -> tuple[str, ...]:
    """Give up rights not needed to read a document; `memory` is in bytes of address space.

    Return the names of the limits that this system cannot set. Nothing can be imported afterwards.
    """
    sys.meta_path[:] = [BuiltinImporter, FrozenImporter]
    missing = [
        *_set_limit("RLIMIT_AS", memory),
        *_set_limit("RLIMIT_CORE", 0),
        *_set_limit("RLIMIT_FSIZE", 0),
        *_set_limit("RLIMIT_NOFILE", 0),  # open files stay open
    ]
    return (*missing, *_refuse_calls(platform.machine()))


def _set_limit(name: str, value: int) -> Iterable[str]:
    """Lower a limit permanently; yield the limit's name if that is impossible."""
    kind = getattr(resource, name)
    try:
        _, hard = resource.getrlimit(kind)
        lowest = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (lowest, lowest))
    except (ValueError, OSError):
        yield name


def _refuse_calls(machine: str) -> Iterable[str]:
    """Have the kernel refuse calls that open a file or a connection, start a process or change a path."""
    if sys.platform != "linux" or machine not in _MACHINES or sys.maxsize < 2**32:
        return ("seccomp",)
    column = _MACHINES.index(machine)
    denied = [number for numbers in _REFUSED_CALLS.values() if (number := numbers[column]) is not None]
    instructions = [
        _instruction(_LOAD, 4),
        _instruction(_IF_EQUAL, _ARCHITECTURES[column], otherwise=len(denied) + 3),
        _instruction(_LOAD, 0),
        _instruction(_IF_GREATER, _LARGEST_CALL, then=len(denied) + 1),
        *(_instruction(_IF_EQUAL, number, then=len(denied) - at) for at, number in enumerate(denied)),
        _instruction(_RETURN, _ALLOW),
        _instruction(_RETURN, _REFUSE),
    ]
    program = _Program(len(instructions), b"".join(instructions))
    call = ctypes.CDLL(None, use_errno=True).prctl
    if call(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or call(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0):
        return (f"seccomp ({os.strerror(ctypes.get_errno())})",)
    return ()


def _instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    """Return a `struct sock_filter`; `then` and `otherwise` are the numbers of instructions to skip."""
    return struct.pack("HBBI", code, then, otherwise, value)


def main() -> None:
    """Answer until the input ends."""
    seconds, memory = float(sys.argv[1]), int(sys.argv[2])
    source, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a library may print
    status = os.open(_STATUS, os.O_RDONLY) if os.path.exists(_STATUS) else None
    readers = {
        format: _attempt(format, partial(import_module, f"cognition_engines.ingest.formats.{_MODULES[format]}"))
        for format in map(Format, sys.argv[3:])
    }
    _load_what_python_loads_late()
    _send(answers, {"missing": confine(memory)})
    while name := source.readline():
        (size,) = LENGTH.unpack(source.read(LENGTH.size))
        used = resource.getrusage(resource.RUSAGE_SELF)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + seconds) + 1, hard))
        format = Format(name.decode().strip())
        answer = _convert_document(format, readers[format], source.read(size))
        _send(answers, answer | {"peak": _peak(status)})


def _load_what_python_loads_late() -> None:
    """Load every encoding a document may name, the reader of times, and the local time rules."""
    import_module("_strptime")
    for module in iter_modules(encodings.__path__):
        with suppress(ImportError):  # of another system
            import_module(f"encodings.{module.name}")
    time.localtime()


def _convert_document(format: Format, reader: _Attempt[ModuleType], content: bytes) -> dict[str, object]:
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
    """Return this process's peak of resident memory, in bytes; `status` is a file on Linux.

    getrusage includes the parent process, whose peak outlives exec.
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
