"""Single records of a server, which `cstp show` and `cstp delete` read and forget by their ids."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from cognition_engines.errors import ConfigurationError
from cognition_engines.kinds.kind import Kind
from cstp.errors import NotFound
from cstp.methods.decision_reads import GET_DECISION
from cstp.methods.episodes import GET_EPISODE
from cstp.methods.knowledge import GET_CHUNK
from cstp.methods.recall import RECALL
from cstp_server.cli.remote import Answer, Remote

_RECALLED: Final = frozenset({Kind.ARTIFACT, Kind.ARTIFACT_CHUNK, Kind.TURN, Kind.EVENT})
_READ: Final = _RECALLED | {Kind.DECISION, Kind.CHUNK, Kind.EPISODE}
_LABELS: Final = ", ".join(kind.label for kind in Kind if kind in _READ)
SHOWN: Final = f"by its id a server shows {_LABELS}; --data-dir FOLDER shows any kind"


def read_record(remote: Remote, id: str, kinds: list[Kind]) -> Answer:
    """Return the members of the record, from the first method that knows the id, or the error of a call.

    Raises ConfigurationError for a kind that no method reads by its id.
    """
    if not _READ.intersection(kinds):
        raise ConfigurationError(f"--kind {kinds[0].label}: {SHOWN}")
    answer = Answer(None, {"code": NotFound.code, "message": NotFound.message, "data": {"id": id}})
    for method, params in _calls(id, kinds):
        answer = remote.call(method, params)
        if answer.error is None:
            return Answer(_members(method, answer.result), None)
        if answer.error["code"] != NotFound.code:
            break
    return answer


def _calls(id: str, kinds: list[Kind]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the calls that may know the id, in order."""
    if Kind.DECISION in kinds:
        yield GET_DECISION.name, {"id": id}
    if Kind.CHUNK in kinds:
        yield GET_CHUNK.name, {"chunkId": id, "includeRelated": False}
    if Kind.EPISODE in kinds and id.isascii() and id.isdigit() and len(id) < 19:
        yield GET_EPISODE.name, {"id": int(id)}
    if _RECALLED.intersection(kinds):
        yield RECALL.name, {"id": id}


def _members(method: str, result: Any) -> dict[str, Any]:
    """Return the record alone, of a result that has more."""
    if method == GET_DECISION.name:
        result = result["decision"]
    elif method == RECALL.name:
        result = result["results"][0]
    return dict(result)
