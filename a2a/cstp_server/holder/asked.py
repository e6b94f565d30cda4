"""The first line of a connection to the holder of a folder: whose call follows, or what it is asked for."""

from dataclasses import dataclass
from typing import Final, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from cstp.errors import InvalidRequest
from cstp_server.tokens import Token

GIVE_UP: Final = b"give up\n"  # asks a holder for its folder
GIVEN_UP: Final = b"1"  # comes with the lock's open file
KEPT: Final = b"0"
ANSWER_ON: Final = b"answer on "  # asks a server to answer on the listener that follows, too
ANSWERED: Final = b"1"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls and by which way, as the asking process has found out; who can connect could open the folder, too."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    token: Token
    via: Literal["cstp", "mcp"]


_CALLER: Final = TypeAdapter(Caller)


def caller_line(caller: Caller) -> bytes:
    """Return the line that `read_caller` reads."""
    return _CALLER.dump_json(caller) + b"\n"


def read_caller(line: bytes) -> Caller:
    """Read the line of `caller_line`. Raises InvalidRequest for one of another version of this program."""
    try:
        return _CALLER.validate_json(line)
    except ValidationError:
        raise InvalidRequest from None
