"""Ids, projects, sensitivities and digests: from what was read to what is stored.

An id that is given is kept; else it is made of what makes the record distinct, so that reading again finds it again.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from typing import Final, TypeAlias, TypeVar, assert_never

from cognition_engines.ingest.ids import (
    conversation_id,
    decision_digest,
    decision_id,
    digest,
    episode_id,
    file_id,
    hashed,
    made_id,
    said_by,
    turn_id,
)
from cognition_engines.ingest.items import DocumentDraft, OtherRecord, RecordDraft
from cognition_engines.kinds.episodes import Episode
from cognition_engines.kinds.extractions import Extraction
from cognition_engines.kinds.graph import Edge, Entity, Event
from cognition_engines.kinds.kind import Kind, Record, kind_of, prefixed
from cognition_engines.kinds.knowledge import Chunk, Cluster, Place, Source
from cognition_engines.kinds.memory import Artifact, ArtifactChunk, Turn
from cognition_engines.models import Decision, Draft, Sensitivity
from cognition_engines.records.linked import PARENTS
from cognition_engines.records.values import PART, FloatArray, Origin

AnyDraft: TypeAlias = Draft | RecordDraft | DocumentDraft
R = TypeVar("R", bound=OtherRecord)
_TITLE: Final = 500  # characters
_AUTHOR: Final = 200


class Identity(StrEnum):
    """What an id is made of: given, or out of the file's path, a document's title, or what the record says."""

    GIVEN = "given"
    PATH = "path"
    TITLE = "title"
    CONTENT = "content"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record with its id settled, and where it stands."""

    record: Record
    origin: Origin
    line: int
    identity: Identity
    vectors: FloatArray | None = None

    @property
    def name(self) -> tuple[Kind, str]:
        return kind_of(self.record), str(self.record.id)


@dataclass(frozen=True, slots=True)
class Unit:
    """What is stored in one transaction: a record, with the parts that it was cut into if it is a document."""

    head: Candidate
    parts: tuple[Candidate, ...] = ()


class Settling:
    """Settles the records of one file or collection, in order.

    `path` is what made ids of it are made of, `project` and `sensitivity` hold for records that give none.
    """

    def __init__(self, source: str, path: str, project: str | None, sensitivity: Sensitivity) -> None:
        self._source = source
        self._path = path
        self._project = project
        self._sensitivity = sensitivity
        self._turns: Counter[str] = Counter()  # by conversation
        self._turn_ids: dict[str, bool] = {}  # those made, and whether of an index that the turn states
        self._episodes: Counter[str] = Counter()  # equal ones
        self._file_sources: set[str | None] = set()  # by project, those that were made
        # the artifacts and turns of the file, and whether they state another project than the option
        self._apart: dict[str, bool] = {}
        self._waiting: dict[str, list[RecordDraft]] = {}  # children whose artifact may still come, by its id

    def units(self, draft: AnyDraft) -> Iterator[Unit]:
        """The record; before it the source that stands for the file, for the first extraction that names none.

        A child that the option may give a project waits for its artifact, and comes after it or with the `rest`.
        """
        if isinstance(draft, RecordDraft) and (artifact := self._deciding(draft.record)) is not None:
            if artifact in self._apart:
                yield from self._made(draft, inherits=self._apart[artifact])
            else:
                self._waiting.setdefault(artifact, []).append(draft)
            return
        for unit in self._made(draft, inherits=False):
            yield unit
            kind, id = unit.head.name
            if self._project is not None and kind in PARENTS:
                self._apart[id] = unit.head.record.project != self._project
                for child in self._waiting.pop(id, ()):
                    yield from self.units(child)

    def rest(self) -> Iterator[Unit]:
        """At the end of the file: the children whose artifact is elsewhere."""
        for draft in chain.from_iterable(self._waiting.values()):
            yield from self._made(draft, inherits=False)
        self._waiting.clear()

    def _deciding(self, record: OtherRecord) -> str | None:
        """The id of the artifact that decides whether the option gives a record its project."""
        if self._project is None or not isinstance(record, ArtifactChunk | Event | Edge) or record.project is not None:
            return None
        return None if record.artifact_id is None else prefixed(Kind.ARTIFACT, record.artifact_id)

    def _made(self, draft: AnyDraft, *, inherits: bool) -> Iterator[Unit]:
        """`inherits` says that the record has its artifact's project and is given none of its own."""
        if isinstance(draft, Draft):
            yield Unit(self._decision(draft))
        elif isinstance(draft, DocumentDraft):
            yield self._document(draft)
        else:
            record = self._with_rights(draft.record, inherits=inherits)
            if isinstance(record, Extraction) and record.source_id is None:
                yield from self._file_source(record.project, draft.line)
                record = replace(record, source_id=file_id(record.project, self._path))
            elif isinstance(record, Turn) and draft.of_file:
                called = conversation_id(record.project, self._path, record.conversation_id)
                record = replace(record, conversation_id=called)
            yield Unit(
                self._candidate(record, self._id(record), draft.ordinal, draft.line, draft.record.id, draft.vectors)
            )

    def _decision(self, draft: Draft) -> Candidate:
        project = draft.project if draft.project is not None else self._project
        decision = Decision(
            id=draft.id if draft.id is not None else decision_id(project, self._path, draft.ordinal),
            title=draft.title,
            text=draft.text,
            category=draft.category,
            confidence=draft.confidence,
            stakes=draft.stakes,
            status=draft.status,
            status_text=draft.status_text,
            outcome=draft.outcome,
            date=draft.date,
            reasons=draft.reasons,
            tags=draft.tags,
            supersedes=draft.supersedes,
            superseded_by=draft.superseded_by,
            project=project,
            sensitivity=draft.sensitivity if draft.sensitivity is not None else self._sensitivity,
            metadata=draft.metadata,
        )
        origin = self._origin(draft.ordinal, decision_digest(decision))
        return Candidate(decision, origin, draft.line, Identity.PATH if draft.id is None else Identity.GIVEN)

    def _with_rights(self, record: R, *, inherits: bool = False) -> R:
        project = self._project if record.project is None and not inherits else record.project
        sensitivity = self._sensitivity if record.sensitivity is None else record.sensitivity
        return replace(record, project=project, sensitivity=sensitivity)

    def _id(self, record: OtherRecord) -> str | int:
        """The id that was given, else one that is made."""
        match record:
            case Episode():
                return self._episode_id(record)
            case Turn():
                return self._turn_id(record)
            case (
                Source()
                | Chunk()
                | Cluster()
                | Extraction()
                | Artifact()
                | ArtifactChunk()
                | Event()
                | Entity()
                | Edge()
            ):
                return record.id or made_id(record)
            case _:
                assert_never(record)

    def _turn_id(self, turn: Turn) -> str:
        """Equal turns without an index are told apart by their place among those of their conversation in the file.

        One in the place that an equal one states as its index is another turn: the second of them has an id beside.
        """
        place = self._turns[turn.conversation_id]
        self._turns[turn.conversation_id] += 1
        if turn.id is not None:
            return turn.id
        stated = turn.turn_index is not None
        index = turn.turn_index if stated else place
        id = turn_id(turn, index)
        return id if self._turn_ids.setdefault(id, stated) is stated else turn_id(turn, index, beside=True)

    def _episode_id(self, episode: Episode) -> int:
        if episode.id is not None:
            return episode.id
        said = said_by(episode)
        equal = self._episodes[said]
        self._episodes[said] += 1
        return episode_id(said, equal)

    def _document(self, draft: DocumentDraft) -> Unit:
        head = self._with_rights(draft.head)
        if draft.is_file and isinstance(head, Source) and head.path is None:
            head = replace(head, path=self._path)
        id = head.id or (file_id(head.project, self._path) if draft.is_file else made_id(head))
        candidate = self._candidate(head, id, draft.ordinal, draft.line, draft.head.id)
        head = replace(head, id=candidate.name[1])
        # with the text, which a source does not hold: another text under its id is another document
        of_all = hashed("\0".join([digest(head), *(piece.text for piece in draft.pieces)]))[:32]
        origin = self._origin(draft.ordinal, of_all)
        made = Identity.PATH if draft.is_file else Identity.TITLE
        identity = made if draft.head.id is None else Identity.GIVEN
        candidate = replace(candidate, origin=origin, identity=identity)
        parts = (self._part(head, draft, place) for place in range(len(draft.pieces)))
        return Unit(candidate, tuple(parts))

    def _part(self, head: Source | Artifact, draft: DocumentDraft, place: int) -> Candidate:
        piece, total = draft.pieces[place], len(draft.pieces)
        if isinstance(head, Artifact):
            artifact_chunk = ArtifactChunk(
                artifact_id=str(head.id),
                content=piece.text,
                title=head.title,
                chunk_index=place,
                total_chunks=total,
                start_char=piece.start,
                end_char=piece.end,
                project=head.project,
                sensitivity=head.sensitivity,
            )
            return self._candidate(artifact_chunk, made_id(artifact_chunk), PART, draft.line)
        chunk = Chunk(
            content=piece.text,
            source_id=head.id,
            title=head.title,
            author=_author(head),
            category=head.category,
            tags=head.tags,
            chunk_index=place,
            total_chunks=total,
            start_char=piece.start,
            end_char=piece.end,
            place=None if piece.section is None else Place(section=piece.section),
            source_url=head.url,
            created_at=head.created_at,
            project=head.project,
            sensitivity=head.sensitivity,
        )
        return self._candidate(chunk, made_id(chunk), PART, draft.line)

    def _file_source(self, project: str | None, line: int) -> Iterator[Unit]:
        """The source that stands for the file itself, once."""
        if project in self._file_sources:
            return
        self._file_sources.add(project)
        title = self._path.rpartition("/")[2][:_TITLE]
        source = Source(title=title, path=self._path, project=project, sensitivity=self._sensitivity)
        yield Unit(replace(self._candidate(source, file_id(project, self._path), 0, line), identity=Identity.PATH))

    def _candidate(
        self,
        record: OtherRecord,
        id: str | int,
        ordinal: int,
        line: int,
        given: str | int | None = None,
        vectors: FloatArray | None = None,
    ) -> Candidate:
        kind = kind_of(record)
        settled: OtherRecord
        if isinstance(record, Episode):
            settled = replace(record, id=int(id))
        else:
            settled = replace(record, id=prefixed(kind, str(id)))
        origin = self._origin(ordinal, digest(settled, ordinal))
        return Candidate(settled, origin, line, Identity.CONTENT if given is None else Identity.GIVEN, vectors)

    def _origin(self, ordinal: int, digest: str) -> Origin:
        return Origin(self._source, ordinal, self._project, f"{digest}.{hashed(self._source)[:8]}")


def _author(source: Source) -> str | None:
    """The authors of a source as its chunks have them; None where they are too long, and answers take the source's."""
    authors = ", ".join(source.authors)
    return authors if 0 < len(authors) <= _AUTHOR else None
