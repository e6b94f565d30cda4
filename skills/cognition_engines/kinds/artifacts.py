"""Spoken and written texts: artifacts, their chunks, and turns in conversations."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

from pydantic import Field

from cognition_engines.kinds.fields import (
    MAX_REF,
    Base,
    Count,
    Id,
    Instant,
    Line,
    Lines,
    Prefixed,
    Ref,
    Share,
    Text,
    check_part,
    in_order,
    normal,
)
from cognition_engines.kinds.spec import (
    Facets,
    Kind,
    KindSpec,
    Role as ReferenceRole,
    first_not_none,
    named_ids,
    plain_facets,
    stated_access,
    with_title,
)
from cognition_engines.unicode_forms import fold_text

Context: TypeAlias = Literal[
    "meeting",
    "email",
    "document",
    "chat",
    "transcript",
    "note",
    "preference",
    "fact",
    "decision",
    "project",
    "conversation",
]
SourceType: TypeAlias = Literal[
    "email", "slack", "meeting_notes", "document", "policy", "contract", "chat", "transcript", "wiki", "ticket"
]
DocumentStatus: TypeAlias = Literal["draft", "final", "approved", "superseded", "archived"]
DistributionScope: TypeAlias = Literal["private", "team", "department", "company", "public"]
Role: TypeAlias = Literal["user", "assistant", "system"]
CONTEXTS: Final[tuple[str, ...]] = get_args(Context)
LONGEST: Final = 4_000_000  # per artifact: an answer has at most 5 MiB, with its other members
CONVERSATION: Final = "conversation"  # the context of every turn

ARTIFACT: Final = "art_"  # before the ids of artifacts and turns

ArtifactId: TypeAlias = Annotated[Id, Prefixed(ARTIFACT)]
Refs: TypeAlias = Annotated[tuple[str, ...], Lines(200, 500)]
Replaced: TypeAlias = Annotated[tuple[str, ...], Lines(MAX_REF, 100)]  # ids of artifacts and turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact(Base):
    """A mail, a note, minutes, a document. When `chunked`, the chunks are searched in its place."""

    id: ArtifactId | None = None
    content: Annotated[str, Text(LONGEST, most_bytes=LONGEST)]
    context: Context = "note"
    title: Annotated[str, Line(500)] | None = None
    author: Annotated[str, Line(200)] | None = None
    author_title: Annotated[str, Line(200)] | None = None
    participants: Refs = ()
    mentions: Refs = ()
    source_system: Annotated[str, Line(200)] = "manual"
    source_id: Ref | None = None
    source_url: Annotated[str, Line(2000)] | None = None
    importance: Share = 0.5
    ts: Instant | None = None
    ingested_at: Instant | None = None
    document_date: Instant | None = None
    supersedes: Replaced = ()
    visibility_scope: Literal["me", "team", "org", "custom"] | None = None
    retention_policy: Literal["forever", "1y", "until_resolved", "custom"] | None = None
    source_type: SourceType | None = None
    document_status: DocumentStatus | None = None
    distribution_scope: DistributionScope | None = None
    chunked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactChunk(Base):
    """An artifact's passage; it inherits project, clearance and facets from the artifact."""

    artifact_id: Ref
    content: Annotated[str, Text(1_000_000)]
    title: Annotated[str, Line(500)] | None = None
    chunk_index: Count = 0
    total_chunks: Annotated[Count, Field(ge=1)] = 1
    start_char: Count | None = None
    end_char: Count | None = None
    token_count: Count | None = None

    def __post_init__(self) -> None:
        in_order(self.start_char, self.end_char)
        check_part(self.chunk_index, self.total_chunks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(Base):
    """An utterance in a conversation. `turn_index` is None if the source gives none."""

    id: ArtifactId | None = None
    conversation_id: Annotated[str, Line(200)]
    content: Annotated[str, Text(1_000_000)]
    turn_index: Count | None = None
    role: Role | None = None
    speaker: Annotated[str, Line(200)] | None = None
    ts: Instant | None = None
    session: Annotated[str, Line(200)] | None = None
    source_system: Annotated[str, Line(200)] = "manual"
    importance: Share = 0.5
    mentions: Refs = ()
    supersedes: Replaced = ()


def conversation_name(turn: Turn) -> str:
    """Return a conversation's name from a turn's source: a title, a subject or a channel, else the id."""
    names = (turn.metadata.get(member) for member in ("title", "subject", "channel"))
    return next((name for name in names if isinstance(name, str) and name), turn.conversation_id)


def turn_text(turn: Turn) -> str:
    """Return `2023-05-08 Ana: the text`, without unknown parts."""
    speaker = turn.speaker or turn.role
    day = "" if turn.ts is None else f"{turn.ts.date().isoformat()} "
    return f"{day}{turn.content}" if speaker is None else f"{day}{speaker}: {turn.content}"


def _named_in_artifact(artifact: Artifact) -> Iterator[tuple[ReferenceRole, str]]:
    yield from ((ReferenceRole.ACTOR, ref) for ref in artifact.participants)
    yield from ((ReferenceRole.SUBJECT, ref) for ref in artifact.mentions)


def _named_in_turn(turn: Turn) -> Iterator[tuple[ReferenceRole, str]]:
    if turn.speaker is not None:
        yield ReferenceRole.ACTOR, turn.speaker
    yield from ((ReferenceRole.SUBJECT, ref) for ref in turn.mentions)


def _artifact_facets(artifact: Artifact) -> Facets:
    at = first_not_none(artifact.ts, artifact.ingested_at, artifact.document_date)
    system = fold_text(artifact.source_system)
    author, people = _people(artifact.author, artifact.participants)
    return Facets(
        *stated_access(artifact), at, artifact.context, system, artifact.importance, author=author, people=people
    )


def _turn_facets(turn: Turn) -> Facets:
    author, people = _people(turn.speaker, ())
    system = fold_text(turn.source_system)
    return Facets(*stated_access(turn), turn.ts, CONVERSATION, system, turn.importance, author=author, people=people)


def _people(author: str | None, others: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """Return the author, and all who took part, as names are compared."""
    named = [normal(name) for name in (author, *others) if name is not None]
    return None if author is None else normal(author), tuple(sorted(set(named)))


def _is_artifact(names: frozenset[str], value: Any) -> bool:
    context = value.get("context")
    return "content" in names and isinstance(context, str) and context in CONTEXTS


def _is_turn(names: frozenset[str], value: Any) -> bool:
    marked = bool(names & {"turn_index", "role", "speaker"}) or value.get("context") == CONVERSATION
    return names >= {"content", "conversation_id"} and marked


ARTIFACTS: Final = (
    KindSpec(
        kind=Kind.ARTIFACT,
        model=Artifact,
        table="artifacts",
        made_prefix=ARTIFACT,
        prefix=ARTIFACT,
        spaces=("memory", "timeline"),
        identity=("context", "title", "source_system", "source_id", "ts", "content"),
        embedding_text=lambda artifact: None if artifact.chunked else with_title(artifact.title, artifact.content),
        title=lambda artifact: artifact.title,
        shown_text=lambda artifact: str(artifact.content),
        facets=_artifact_facets,
        ids={"supersedes": ReferenceRole.REPLACED},
        names=_named_in_artifact,
        aliases={**named_ids("artifact_id"), "text": "content", "markdown": "content"},
        has_members=_is_artifact,
    ),
    KindSpec(
        kind=Kind.ARTIFACT_CHUNK,
        model=ArtifactChunk,
        table="artifact_chunks",
        indexed=("artifact_id", "chunk_index"),
        made_prefix=None,
        spaces=("memory",),
        embedding_text=lambda chunk: with_title(chunk.title, chunk.content),
        title=lambda chunk: chunk.title,
        shown_text=lambda chunk: str(chunk.content),
        facets=plain_facets,
        ids={"artifact_id": ReferenceRole.ARTIFACT},
        aliases={**named_ids("chunk_id"), "content_id": "artifact_id", "text": "content"},
        has_members=lambda names, _: "content" in names and bool(names & {"artifact_id", "content_id"}),
    ),
    KindSpec(
        kind=Kind.TURN,
        model=Turn,
        table="turns",
        indexed=("conversation_id", "by_index", "by_time", "by_place", "key"),
        made_prefix=ARTIFACT,
        prefix=ARTIFACT,
        spaces=("memory", "timeline"),
        embedding_text=turn_text,
        day=lambda turn: None if turn.ts is None else turn.ts.date(),
        shown_text=lambda turn: str(turn.content),
        facets=_turn_facets,
        ids={"supersedes": ReferenceRole.REPLACED},
        names=_named_in_turn,
        aliases={**named_ids("turn_id", "artifact_id"), "text": "content"},
        has_members=_is_turn,
    ),
)
