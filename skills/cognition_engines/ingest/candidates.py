"""Records on their way into the store, with the ids that they are to have."""

from dataclasses import dataclass, replace
from enum import StrEnum

from cognition_engines.drafts.ids import part_id
from cognition_engines.kinds.artifacts import ArtifactChunk
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.knowledge import Chunk, Episode
from cognition_engines.kinds.registry import Record, kind_of
from cognition_engines.kinds.spec import Origin
from cognition_engines.store.values import FloatArray


class Identity(StrEnum):
    """What an id is made of: given, or out of the file's path, a document's title, or what the record says.

    One of an export is given by the system that the export is from.
    """

    GIVEN = "given"
    EXPORT = "export"
    PATH = "path"
    TITLE = "title"
    CONTENT = "content"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record with the id that it is to have, and where it stands.

    `full` is the id that it has where a record of another origin has that one; None where that cannot be. `handover` is
    the hash of the content with which an agent's decision becomes that of the file; None of all others.
    """

    record: Record
    origin: Origin
    line: int
    identity: Identity
    vectors: FloatArray | None = None
    full: str | None = None
    handover: str | None = None

    @property
    def name(self) -> tuple[Kind, str]:
        return kind_of(self.record), str(self.record.id)


@dataclass(frozen=True, slots=True)
class Unit:
    """What is stored in one transaction: a record, with the parts that it was cut into if it is a document."""

    head: Candidate
    parts: tuple[Candidate, ...] = ()


def with_id(candidate: Candidate, id: str) -> Candidate:
    """The same under another id; its digest is that of what was read."""
    record = candidate.record
    if isinstance(record, Episode):
        return replace(candidate, record=replace(record, id=int(id)))
    return replace(candidate, record=replace(record, id=id))


def with_head(part: Candidate, head: str) -> Candidate:
    """A part of a document of another id."""
    moved = part.record
    if isinstance(moved, ArtifactChunk):
        moved = replace(moved, artifact_id=head, id=None)
    else:
        assert isinstance(moved, Chunk)
        moved = replace(moved, source_id=head, id=None)
    return replace(part, record=replace(moved, id=part_id(moved, part.origin.repository)))
