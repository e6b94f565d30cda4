"""The exit codes of every command."""

from collections.abc import Mapping
from typing import Final

from cstp.errors import ERRORS, Family

DONE: Final = 0
FAILED: Final = 1
MISUSED: Final = 2
UNREACHABLE: Final = 3
STOPPED: Final = 130

# of error answers
FAMILIES: Final[Mapping[Family, int]] = {
    "other": FAILED,
    "not allowed": 4,
    "refused": 5,
    "not found": 6,
    "later": 7,
    "broken": 8,
}


def _codes(family: Family) -> str:
    return ", ".join(str(error.code) for error in ERRORS if error.family == family)


MEANINGS: Final[Mapping[int, str]] = {
    DONE: "done",
    FAILED: "it did not work, or a part of it did not; the message gives the reason",
    MISUSED: "misused or misconfigured; nothing was done",
    UNREACHABLE: "no CSTP server answers there",
    FAMILIES["not allowed"]: f"the token is unknown, expired, revoked or lacks a scope ({_codes('not allowed')})",
    FAMILIES["refused"]: f"the server refuses the method or its parameters ({_codes('refused')})",
    FAMILIES["not found"]: f"no such record for this token ({_codes('not found')})",
    FAMILIES["later"]: f"the limit is used up or the server is busy; try later ({_codes('later')})",
    FAMILIES["broken"]: f"a part of the server fails ({_codes('broken')})",
    STOPPED: "stopped by Ctrl-C",
}


class Unreachable(Exception):
    """Nothing answers there, or what answers is not a CSTP server; the message names the address."""
