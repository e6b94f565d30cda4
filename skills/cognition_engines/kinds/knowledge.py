"""Knowledge: sources, chunks with knowledge cards, clusters; and episodes."""

from dataclasses import dataclass, field
from typing import Annotated, Final

from pydantic import Field
from pydantic_core import PydanticCustomError

from cognition_engines.kinds.fields import (
    Base,
    Count,
    Instant,
    Level,
    Line,
    Lines,
    Metadata,
    Model,
    Ref,
    Text,
    check_part,
    in_order,
    normal,
)
from cognition_engines.kinds.spec import (
    Facets,
    Kind,
    KindSpec,
    Role,
    first_not_none,
    named_ids,
    plain_facets,
    stated_access,
    with_title,
)
from cognition_engines.unicode_forms import fold_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Base):
    """A book, paper, article or document from which chunks and extractions come."""

    title: Annotated[str, Line(500)]
    authors: Annotated[tuple[str, ...], Lines(200, 64)] = ()
    type: Annotated[str, Line(64)] = "document"
    path: Annotated[str, Line(1000)] | None = None
    url: Annotated[str, Line(2000)] | None = None
    year: Annotated[int, Field(ge=1900, le=2100)] | None = None
    category: Annotated[str, Line(200)] | None = None
    tags: Annotated[tuple[str, ...], Lines(100, 64)] = ()
    created_at: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place(Model):
    """The place in the source where a chunk begins.

    Pages, slides and cells count from 1; `headings` are the headings above it and its own, the outermost first.
    """

    chapter: Annotated[str, Line(500)] | None = None
    section: Annotated[str, Line(500)] | None = None
    page: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    slide: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    cell: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    headings: Annotated[tuple[str, ...], Lines(500, 6)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeCard(Model):
    """A chunk summary."""

    summary: Annotated[str, Text(400)]
    takeaways: Annotated[tuple[str, ...], Lines(1000, 5, least=3)]
    tags: Annotated[tuple[str, ...], Lines(100, 64, least=1)]
    generated_at: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk(Base):
    """A source passage. `source` is the source's kind (kindle, reader), not the source's id."""

    content: Annotated[str, Text(1_000_000)]
    source_id: Ref | None = None
    title: Annotated[str, Line(500)] | None = None
    author: Annotated[str, Line(200)] | None = None
    source: Annotated[str, Line(200)] | None = None
    category: Annotated[str, Line(200)] | None = None
    tags: Annotated[tuple[str, ...], Lines(100, 64)] = ()
    chunk_index: Count = 0
    total_chunks: Annotated[Count, Field(ge=1)] = 1
    start_char: Count | None = None
    end_char: Count | None = None
    place: Place | None = None
    knowledge_card: KnowledgeCard | None = None
    cluster_ids: Annotated[tuple[str, ...], Lines(200, 64)] = ()
    readwise_url: Annotated[str, Line(2000)] | None = None
    source_url: Annotated[str, Line(2000)] | None = None
    highlight_url: Annotated[str, Line(2000)] | None = None
    first_highlighted_at: Instant | None = None
    last_highlighted_at: Instant | None = None
    created_at: Instant | None = None

    def __post_init__(self) -> None:
        in_order(self.start_char, self.end_char)
        check_part(self.chunk_index, self.total_chunks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster(Base):
    """A group of related chunks."""

    name: Annotated[str, Line(500)]
    description: Annotated[str, Text(5000)] | None = None
    size: Count | None = None
    created_at: Instant | None = None
    updated_at: Instant | None = None


def _chunk_facets(chunk: Chunk) -> Facets:
    system = None if chunk.source is None else fold_text(chunk.source)
    author = None if chunk.author is None else normal(chunk.author)
    people = () if author is None else (author,)
    at = first_not_none(chunk.last_highlighted_at, chunk.created_at)
    return Facets(*stated_access(chunk), at, system=system, author=author, people=people)


def _is_chunk(names: frozenset[str], _: object) -> bool:
    of_artifact = bool(names & {"artifact_id", "content_id"})
    return names >= {"_id", "title", "text"} or (names >= {"chunk_id", "content"} and not of_artifact)


KNOWLEDGE_KINDS: Final = (
    KindSpec(
        kind=Kind.SOURCE,
        model=Source,
        table="sources",
        indexed=("title_key",),
        made_prefix="src_",
        identity=("path", "title", "authors", "url"),
        facets=plain_facets,
        aliases={
            **named_ids("source_id"),
            "author": "authors",
            "markdown": "content",
            "text": "content",
            "ingested_at": "created_at",
        },
        storage=frozenset({"chunk_count", "chunk_ids", "status"}),
        has_members=lambda names, _: names >= {"markdown", "title"},
    ),
    KindSpec(
        kind=Kind.CHUNK,
        model=Chunk,
        table="chunks",
        indexed=("source_id", "chunk_index"),
        made_prefix="chk_",
        spaces=("knowledge",),
        identity=("source_id", "chunk_index", "start_char", "content"),
        embedding_text=lambda chunk: with_title(chunk.title, chunk.content),
        title=lambda chunk: chunk.title,
        shown_text=lambda chunk: str(chunk.content),
        facets=_chunk_facets,
        ids={"source_id": Role.SOURCE, "cluster_ids": Role.CLUSTER},
        aliases={
            **named_ids("chunk_id"),
            "text": "content",
            "markdown": "content",
            "parent_doc_id": "source_id",
            "cluster_id": "cluster_ids",
            "position": "place",
        },
        storage=frozenset({"overlap_end", "overlap_start"}),
        has_members=_is_chunk,
    ),
    KindSpec(
        kind=Kind.CLUSTER,
        model=Cluster,
        table="clusters",
        made_prefix="clu_",
        identity=lambda cluster: str(cluster.name),
        facets=plain_facets,
        aliases=named_ids("cluster_id"),
        storage=frozenset({"umap_version"}),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode(Model):
    """An experience. The id is a number, 1 to 2^63-1; a missing time stays missing."""

    id: Annotated[int, Field(ge=1, le=2**63 - 1)] | None = None
    project: Annotated[str, Line(200)] | None = None
    sensitivity: Level | None = None
    metadata: Metadata = field(default_factory=dict)
    query: Annotated[str, Text(100_000)]
    reward: Annotated[float, Field(ge=-1, le=1)]
    reflection: Annotated[str, Text(1_000_000)] | None = None
    tags: Annotated[tuple[str, ...], Lines(100, 64)] = ()
    category: Annotated[str, Line(200)] | None = None
    created_at: Instant | None = None

    def __post_init__(self) -> None:
        if not self.query.strip():
            raise PydanticCustomError("blank", "query must not be blank")


def lesson(episode: Episode) -> str:
    """Return an episode's searchable text: the query and, if known, the reflection."""
    return episode.query if episode.reflection is None else f"{episode.query}\n\n{episode.reflection}"


EPISODE: Final = KindSpec(
    kind=Kind.EPISODE,
    model=Episode,
    table="episodes",
    made_prefix=None,
    spaces=("episodes",),
    embedding_text=lesson,
    facets=lambda episode: Facets(*stated_access(episode), episode.created_at),
    aliases=named_ids("episode_id"),
    has_members=lambda names, _: names >= {"query", "reward"},
)
