"""The exit codes of every command; `cli/remote.py` has those of error answers."""

from collections.abc import Mapping
from typing import Final

DONE: Final = 0
FAILED: Final = 1
MISUSED: Final = 2
UNREACHABLE: Final = 3
STOPPED: Final = 130

NOT_ALLOWED: Final = 4
REFUSED: Final = 5
NOT_FOUND: Final = 6
LATER: Final = 7
BROKEN: Final = 8

MEANINGS: Final[Mapping[int, str]] = {
    DONE: "done",
    FAILED: "it did not work, or a part of it did not; the message gives the reason",
    MISUSED: "misused or misconfigured; nothing was done",
    UNREACHABLE: "no CSTP server answers there",
    NOT_ALLOWED: "the token is unknown, expired, revoked or lacks a scope (-32001, -32009)",
    REFUSED: "the server refuses the method or its parameters (-32700, -32600, -32601, -32602)",
    NOT_FOUND: "no such record for this token (-32007)",
    LATER: "the limit is used up or the server is busy; try later (-32002, -32010)",
    BROKEN: "a part of the server fails (-32003, -32603)",
    STOPPED: "stopped by Ctrl-C",
}


class Unreachable(Exception):
    """Nothing answers there, or what answers is not a CSTP server; the message names the address."""
