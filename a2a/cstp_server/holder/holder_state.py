"""State of the process holding a folder, available to the folder's owner over the socket in the folder."""

import socket
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from cstp_server.holder import folder_socket
from cstp_server.holder.folder_socket import STATE

_CHUNK: Final = 1 << 16
_FULL: Final = ("disk is full", "No space left")  # in causes of failing writes
_ROOM: Final = "make room on the server's disk; the work continues without a restart"
_REMEDIES: Final[Mapping[str, str]] = {
    "audit": "check the database (cstp doctor, store)",
    "retention": "check the database (cstp doctor, store)",
    "sources": "check that each source can be read (cstp doctor, sources)",
    "filler": "check the model (cstp doctor, model)",
}
_LOG: Final = "see the server's log"


@dataclass(frozen=True, slots=True)
class WorkFailure:
    """Background work failing since `since`, for `cause`."""

    work: str
    since: str
    cause: str

    @property
    def remedy(self) -> str:
        """Return the operator's next step."""
        return _ROOM if any(each in self.cause for each in _FULL) else _REMEDIES.get(self.work, _LOG)


@dataclass(frozen=True, slots=True)
class HolderState:
    """State of each of the holder's parts, and failing background work."""

    parts: Mapping[str, str]
    failing: Sequence[WorkFailure]


_STATE: Final = TypeAdapter(HolderState)
_FAILURES: Final = TypeAdapter(Sequence[WorkFailure])


def describe_failure(failure: WorkFailure) -> dict[str, str]:
    """Return work, time, cause and remedy."""
    return asdict(failure) | {"remedy": failure.remedy}


def failures_of(named: object) -> Sequence[WorkFailure]:
    """Return the failing work named in a server's answer; none for another shape."""
    try:
        return _FAILURES.validate_python(named)
    except ValidationError:
        return ()


def ask_state(folder: Path, seconds: float) -> HolderState | None:
    """Return the state of the holder of `folder`; None without a report after `seconds` of silence."""
    try:
        with closing(folder_socket.connect(folder)) as connection:
            connection.settimeout(seconds)
            connection.sendall(STATE)
            connection.shutdown(socket.SHUT_WR)  # a holder of a former version waits for a second line
            answer = b"".join(iter(lambda: connection.recv(_CHUNK), b""))
        return _STATE.validate_json(answer)
    except (OSError, ValidationError):
        return None
