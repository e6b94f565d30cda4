"""What the process that reads documents gives up before the first of them: memory, files, connections, processes."""

import ctypes
import os
import platform
import resource
import struct
import sys
from collections.abc import Iterable, Mapping
from importlib.machinery import BuiltinImporter, FrozenImporter
from typing import Final

# their numbers on x86_64 and aarch64, None if the machine has no such call
_REFUSED_CALLS: Final[Mapping[str, tuple[int | None, int | None]]] = {
    # files, connections, and what reaches them in another way
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


class _Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def confine(memory: int) -> tuple[str, ...]:
    """Give up what reading a document does not need; `memory` is in bytes of addresses.

    Return the names of the limits that this system cannot set. Nothing can be imported afterwards.
    """
    sys.meta_path[:] = [BuiltinImporter, FrozenImporter]
    missing = [
        *_set_limit("RLIMIT_AS", memory),
        *_set_limit("RLIMIT_CORE", 0),
        *_set_limit("RLIMIT_FSIZE", 0),
        *_set_limit("RLIMIT_NOFILE", 0),  # the files that are open stay open
    ]
    return (*missing, *_refuse_calls(platform.machine()))


def _set_limit(name: str, value: int) -> Iterable[str]:
    """Lower a limit for good; yield its name if that is not possible."""
    kind = getattr(resource, name)
    try:
        _, hard = resource.getrlimit(kind)
        lowest = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (lowest, lowest))
    except (ValueError, OSError):
        yield name


def _refuse_calls(machine: str) -> Iterable[str]:
    """Let the kernel refuse the calls that open a file or a connection, start a process or change a path."""
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
    """Return a `struct sock_filter`; `then` and `otherwise` are how many instructions to skip."""
    return struct.pack("HBBI", code, then, otherwise, value)
