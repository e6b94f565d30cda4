"""Made ids and digests: out of what makes a record distinct, and out of all of it."""

import json
from dataclasses import replace
from hashlib import sha256
from typing import Final

from cognition_engines.ingest.items import OtherRecord
from cognition_engines.kinds.episodes import Episode
from cognition_engines.kinds.extractions import Extraction
from cognition_engines.kinds.fields import MAX_REF, normal
from cognition_engines.kinds.graph import Edge, Entity, Event
from cognition_engines.kinds.kind import PREFIXES, Kind, adapter, kind_of, prefixed
from cognition_engines.kinds.knowledge import Chunk, Cluster, Source
from cognition_engines.kinds.memory import Artifact, ArtifactChunk, Turn
from cognition_engines.models import Decision

_PREFIXES: Final = {
    Kind.SOURCE: "src_",
    Kind.CHUNK: "chk_",
    Kind.CLUSTER: "clu_",
    Kind.EXTRACTION: "ext_",
    Kind.ENTITY: "ent_",
    Kind.EDGE: "edg_",
    **PREFIXES,
}
_TOLD_APART: Final = ("conversation_id", "session", "turn_index", "role", "speaker", "ts", "content")  # turns
_LONGEST_NAME: Final = 183  # with what follows it, 200
_EPISODE_BITS: Final = 52  # what every JSON reader takes as a whole number


def decision_id(project: str | None, path: str, ordinal: int) -> str:
    """The id of a decision that was given none: by the place of its record."""
    return f"dec_{hashed(chr(0).join((project or '', path, str(ordinal))))[:16]}"


def file_id(project: str | None, path: str) -> str:
    """The id of the source that a file is."""
    return _made(Kind.SOURCE, project, path)


def conversation_id(project: str | None, path: str, name: str) -> str:
    """What the conversation that a file is is called: by the file's name, and by where it is."""
    return f"{name[:_LONGEST_NAME]}-{hashed(json.dumps(['conversation', project, path]))[:16]}"


def said_by(episode: Episode) -> str:
    """What episodes that are given no id are told apart by, but for equal ones."""
    return hashed(_text_of(episode, "query", "reward", "reflection", "created_at"))


def episode_id(said: str, equal: int) -> int:
    """The id of an episode that was given none; `equal` is how many equal ones came before."""
    return int(hashed(json.dumps([said, equal])), 16) >> (256 - _EPISODE_BITS) or 1


def made_id(record: OtherRecord) -> str:
    """The id of a record that was given none, out of what makes it distinct; not for episodes."""
    match record:
        case Source():
            return _made(Kind.SOURCE, record.project, _text_of(record, "path", "title", "authors", "url"))
        case Chunk():
            said = _text_of(record, "source_id", "chunk_index", "start_char", "content")
            return _made(Kind.CHUNK, record.project, said)
        case Cluster():
            return _made(Kind.CLUSTER, record.project, record.name)
        case Extraction():
            said = _text_of(record, "source_id", "chunk_id", "content")
            return _made(Kind.EXTRACTION, record.project, said)
        case Artifact():
            said = _text_of(record, "context", "title", "source_system", "source_id", "ts", "content")
            return _made(Kind.ARTIFACT, record.project, said)
        case ArtifactChunk():
            artifact = prefixed(Kind.ARTIFACT, record.artifact_id)
            place = f"::chunk::{record.chunk_index:03d}::{hashed(record.content)[:8]}"
            if len(artifact) + len(place) > MAX_REF:  # so that an event's evidence may name it
                artifact = f"{PREFIXES[Kind.ARTIFACT]}{hashed(artifact)[:16]}"
            return artifact + place
        case Turn():
            return turn_id(record, record.turn_index)
        case Event():
            said = _text_of(record, "artifact_id", "category", "narrative", "event_time", "actors", "subject")
            return _made(Kind.EVENT, record.project, said)
        case Entity():
            return _made(Kind.ENTITY, record.project, json.dumps([record.type, normal(record.name)]))
        case Edge():
            ends = [normal(record.source_id), normal(record.target_id), record.type, record.artifact_id]
            return _made(Kind.EDGE, record.project, json.dumps(ends))
        case Episode():
            raise ValueError("id: that of an episode depends on the others of its file")


def turn_id(turn: Turn, place: int | None, beside: bool = False) -> str:
    """The id of a turn that was given none; `place` is its index, or what is counted where it has none.

    With `beside` the id of one that is told apart from an equal turn, of which the one counts its place and the other
    states it.
    """
    said = _text_of(replace(turn, turn_index=place), *_TOLD_APART)
    stated = json.dumps([turn.turn_index is not None, said]) if beside else said
    return _made(Kind.TURN, turn.project, stated)


def _made(kind: Kind, project: str | None, said: str) -> str:
    return _PREFIXES[kind] + hashed(json.dumps([kind.label, project, said]))[:16]


def _text_of(record: OtherRecord, *names: str) -> str:
    """Some members of a record as JSON, those with their default left out."""
    return _dumped(record, set(names))


def _dumped(record: OtherRecord, names: set[str] | None = None) -> str:
    # without defaults, so that a field added to a kind changes no digest and no id
    dumped: str = adapter(kind_of(record)).dump_json(record, include=names, exclude_defaults=True).decode()
    return f"{record.type} {dumped}" if isinstance(record, Extraction) else dumped


def hashed(text: str) -> str:
    """SHA-256, 64 hexadecimal digits."""
    return sha256(text.encode()).hexdigest()


def digest(record: OtherRecord, ordinal: int = 0) -> str:
    """Of all content, so that any edit is a change: 32 hexadecimal digits.

    A turn without an index is ordered by its place in its file, the `ordinal`, so another place is a change too.
    """
    place = f"{ordinal} " if isinstance(record, Turn) and record.turn_index is None else ""
    return hashed(place + kind_of(record).label + _dumped(record))[:32]


def decision_digest(decision: Decision) -> str:
    """As `digest`."""
    reasons = [(reason.type, reason.text) for reason in decision.reasons]
    fields = {name: getattr(decision, name) for name in Decision.__slots__} | {"reasons": reasons}
    return hashed(json.dumps(fields, default=str, sort_keys=True))[:32]
