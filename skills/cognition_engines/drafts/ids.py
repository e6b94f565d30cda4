"""Identities, ids and digests: computed from a record's identifying members, or from the whole record.

An identity is the repository with the path, the id in the file, or the record's content; with the project it makes an
id.
"""

import json
from dataclasses import replace
from hashlib import sha256
from typing import Final

from cognition_engines.kinds.artifacts import ARTIFACT, ArtifactChunk, Turn
from cognition_engines.kinds.extractions import Extraction
from cognition_engines.kinds.fields import MAX_REF
from cognition_engines.kinds.knowledge import Episode
from cognition_engines.kinds.registry import ID_SPACE, SPECS, OtherRecord, Record, adapter, add_prefix, kind_of, spec_of
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Decision

_TOLD_APART: Final = ("conversation_id", "session", "turn_index", "role", "speaker", "ts", "content")  # turns
_LONGEST_NAME: Final = 183  # with its suffix, 200
_EPISODE_BITS: Final = 52  # integers accepted by every JSON reader


def given_identity(kind: Kind, repository: str, id: str) -> str:
    """Return the identity of a record with an id in the file; kinds that share ids also share identities."""
    return _identity("given", ID_SPACE[kind].label, repository, id)


def path_identity(kind: Kind, repository: str, path: str, ordinal: int) -> str:
    """Return a record's identity by position in the file."""
    return _identity("path", kind.label, repository, path, ordinal)


def made_id(kind: Kind, identity: str, project: str | None) -> str:
    """Make an id for a record without one. Raise ValueError for episodes and artifact chunks."""
    prefix = SPECS[kind].made_prefix
    if prefix is None:
        raise ValueError(f"id: none is made for the kind {kind.label} alone")
    return prefix + sha256_hex(json.dumps([identity, project]))[:16]


def episode_number(text: str) -> int:
    """Make an episode id from a text, from 1 to 2^52-1."""
    return int(sha256_hex(text), 16) >> (256 - _EPISODE_BITS) or 1


def conversation_id(repository: str, project: str | None, path: str, name: str) -> str:
    """Return the name of the conversation in a file: from the name and the file's place."""
    return f"{name[:_LONGEST_NAME]}-{sha256_hex(json.dumps(['conversation', repository, project, path]))[:16]}"


def episode_text(episode: Episode) -> str:
    """Hash the members that distinguish episodes without an id; equal episodes have the same hash."""
    return sha256_hex(_text_of(episode, "query", "reward", "reflection", "created_at"))


def content_identity(record: OtherRecord, repository: str) -> str:
    """Return a record's identity by content. Raise ValueError for episodes, turns and artifact chunks."""
    made = spec_of(record).identity
    if made is None:
        raise ValueError("id: that of this kind depends on the others of its file, or on its artifact")
    text = made(record) if callable(made) else _text_of(record, *made)
    return _identity("content", kind_of(record).label, repository, text)


def episode_identity(repository: str, text: str, equal: int) -> str:
    """Return an episode's identity by text; `equal` counts the equal episodes before it."""
    return _identity("content", Kind.EPISODE.label, repository, text, equal)


def turn_identity(turn: Turn, repository: str, place: int | None, distinguished: bool = False) -> str:
    """Return the identity of a turn without an id; `place` is the index, or the counted position without an index.

    With `distinguished`, keep two equal turns apart if one counts the place and the other states it.
    """
    text = _text_of(replace(turn, turn_index=place), *_TOLD_APART)
    return _identity(
        "content", Kind.TURN.label, repository, text, turn.turn_index is not None if distinguished else None
    )


def artifact_chunk_id(chunk: ArtifactChunk) -> str:
    """Make an id for an artifact chunk without one."""
    artifact = add_prefix(Kind.ARTIFACT, chunk.artifact_id)
    place = f"::chunk::{chunk.chunk_index:03d}::{sha256_hex(chunk.content)[:8]}"
    if len(artifact) + len(place) > MAX_REF:  # so that an event's evidence may name it
        artifact = f"{ARTIFACT}{sha256_hex(artifact)[:16]}"
    return artifact + place


def part_id(part: OtherRecord, repository: str) -> str:
    """Make an id for a document part."""
    if isinstance(part, ArtifactChunk):
        return artifact_chunk_id(part)
    return made_id(Kind.CHUNK, content_identity(part, repository), part.project)


def _identity(*parts: str | int | bool | None) -> str:
    return sha256_hex(json.dumps(parts))[:32]


def _text_of(record: OtherRecord, *names: str) -> str:
    """Return some members of a record as JSON, without default values."""
    return _dump_record(record, set(names))


def _dump_record(record: OtherRecord, names: set[str] | None = None) -> str:
    # without defaults, so that a field added to a kind changes no digest and no id
    dumped: str = adapter(kind_of(record)).dump_json(record, include=names, exclude_defaults=True).decode()
    return f"{record.type} {dumped}" if isinstance(record, Extraction) else dumped


def sha256_hex(text: str) -> str:
    """Return a text's SHA-256 as 64 hexadecimal digits."""
    return sha256(text.encode()).hexdigest()


def digest(record: Record, ordinal: int = 0) -> str:
    """Hash all content but the id, so that any edit is a change: 32 hexadecimal digits.

    A turn without an index is ordered by the place in the file, the `ordinal`, so another place is also a change.
    """
    if isinstance(record, Decision):
        return decision_digest(record)
    place = f"{ordinal} " if isinstance(record, Turn) and record.turn_index is None else ""
    return sha256_hex(place + kind_of(record).label + _dump_record(replace(record, id=None)))[:32]


def decision_digest(decision: Decision) -> str:
    """Return a decision's `digest`; a date from git is no content, and follows after a dash, in seconds since 1970."""
    # without absent members, so that a member added to reasons changes no digest
    reasons = [
        (one.type, one.text) if one.strength is None else (one.type, one.text, one.strength) for one in decision.reasons
    ]
    fields = {name: getattr(decision, name) for name in Decision.__slots__} | {"reasons": reasons, "id": None}
    date, dated = "", fields.pop("date_source") is not None
    if dated and decision.date is not None:
        fields["date"], date = None, f"-{decision.date.timestamp():.0f}"
    return sha256_hex(json.dumps(fields, default=str, sort_keys=True))[:32] + date


def with_place(origin: Origin) -> Origin:
    """Return the origin with a place hash appended to the content digest, after a dot."""
    guarded = None if origin.guarded_as is None else int(origin.guarded_as)
    where = [*origin.place, origin.ingested_as, origin.project_scope, guarded, origin.guard_scope]
    return replace(origin, digest=f"{origin.digest}.{sha256_hex(json.dumps(where))[:8]}")


def content_hash(record: Record) -> str:
    """Hash a record's content: 64 hexadecimal digits."""
    return sha256(digest(record).encode()).hexdigest()
