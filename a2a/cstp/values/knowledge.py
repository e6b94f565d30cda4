"""Values of `cstp.getChunk`, `cstp.searchKnowledge` and `cstp.storeKnowledge`."""

from typing import Annotated, Final, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, WithJsonSchema
from pydantic_core import PydanticCustomError

from cstp.values.base import Names, Wire, by_type
from cstp.values.extractions import AnyContent
from cstp.values.fields import WHOLE, Level, Topic, not_blank
from cstp.values.reads import (
    SNIPPETS_DESCRIPTION,
    Abstain,
    AsOf,
    Explain,
    Explained,
    Interpreted,
    MaxTokens,
    MinScore,
    NearestRecord,
    PassagePlace,
    Present,
    Query,
    RankingMode,
    ReadParams,
    RecordOrigin,
    SearchMode,
)
from cstp.values.writes import DRY_RUN_DESCRIPTION, MOST, PROJECT_DESCRIPTION, Line200, WriteParams, WriteReport

ExtractionType: TypeAlias = Literal["decision", "pattern", "warning", "methodology", "checklist", "persona", "workflow"]
KnowledgeType: TypeAlias = Literal["chunk", "extraction", ExtractionType]
KNOWLEDGE_TYPES: Final[tuple[KnowledgeType, ...]] = get_args(KnowledgeType)


def _as_list(value: object) -> object:
    """Return a single type as a list. Raise PydanticCustomError for neither a type nor a list."""
    if isinstance(value, str) and value in KNOWLEDGE_TYPES:
        return [value]
    if value is not None and not isinstance(value, list):
        expected = ", ".join(f"'{name}'" for name in KNOWLEDGE_TYPES)
        raise PydanticCustomError("type", f"must be one of {expected}, or a list of them")
    return value


_TYPE_SCHEMA: Final = {"type": "string", "enum": list(KNOWLEDGE_TYPES)}
Types = Annotated[
    Annotated[list[KnowledgeType], Field(min_length=1, max_length=len(KNOWLEDGE_TYPES))] | None,
    BeforeValidator(_as_list),
    WithJsonSchema(
        {
            "anyOf": [
                _TYPE_SCHEMA,
                {"type": "array", "items": _TYPE_SCHEMA, "minItems": 1, "maxItems": len(KNOWLEDGE_TYPES)},
                {"type": "null"},
            ]
        }
    ),
]


class GetChunkParams(ReadParams):
    """The chunk id, and the maximum number of related chunks."""

    chunk_id: Annotated[str, Field(min_length=1, max_length=512)]
    include_related: bool = True
    related_limit: Annotated[int, Field(ge=1, le=20), WHOLE] = 5


class KnowledgeCard(Wire):
    """A chunk summary."""

    summary: str
    takeaways: list[str]


class ChunkCluster(Wire):
    """A chunk's clusters: all ids, and the name and description of the first known cluster."""

    cluster_id: Annotated[list[str], Names("cluster")]
    cluster_name: str | None
    description: str | None


class RelatedChunk(Wire):
    """A chunk with a similar text. `similarityScore` is the cosine, -1 to 1; `snippet` up to 200 characters."""

    chunk_id: Annotated[str, Names("chunk")]
    title: str | None
    author: str | None
    snippet: str
    similarity_score: float


class GetChunkResult(Wire):
    """A whole chunk. `chunkInfo` is the number within the source, "1/5" for the first of five.

    `place` is present if known.

    `source` is the source kind. `relatedChunks` are ordered by score, and never include the chunk itself; empty if not
    requested or if the chunk has no vector. `omitted` counts related chunks and clusters this server cannot show;
    absent if 0.
    """

    chunk_id: Annotated[str, Names("chunk")]
    title: str | None
    author: str | None
    source: str | None
    tags: list[str]
    content: str
    chunk_info: str
    place: Present[PassagePlace] = None
    knowledge_card: KnowledgeCard | None
    cluster: ChunkCluster | None
    related_chunks: list[RelatedChunk]
    readwise_url: str | None
    source_url: str | None
    highlight_url: str | None
    omitted: Present[int] = None


class KnowledgeFilters(Wire):
    """Conditions on results; all must hold; applied before the limit.

    `type` is a type or several; "extraction" is all seven extraction types. `topic` is a whole topic or tag, in any
    case; an empty topic is no condition. `source` is a source's id, or a stored source's title, in any case.
    """

    type: Types = None
    topic: Topic | None = None
    source: Annotated[str, Field(min_length=1, max_length=512), AfterValidator(not_blank)] | None = None


class SearchKnowledgeParams(ReadParams):
    """A search: `query` in plain words, 1 to 8192 characters; at most `limit` results are returned."""

    query: Query
    filters: KnowledgeFilters | None = None
    limit: Annotated[int, Field(ge=1, le=100), WHOLE] = 10
    mode: SearchMode = None
    explain: Explain = False
    abstain: Abstain = False
    as_of: AsOf = None
    min_score: MinScore = None
    snippets: bool = Field(default=False, description=f"{SNIPPETS_DESCRIPTION} Extractions are never cut.")
    max_tokens: MaxTokens = None


class SourceReference(Wire):
    """Source of a chunk or extraction; if nothing else is known, the id is the title.

    `sourceId` is null only if the record names no source by id.
    """

    source_id: Annotated[str | None, Names("source")]
    title: str


class KnowledgeFound(Wire):
    """A chunk or extraction. Members are null if the record does not state them or the type lacks them.

    `content` is a chunk's text or an extraction's content as an object. `chunkId` is the chunk's own id, or the id of
    the extraction's chunk. Results are ranked by `score`: higher is better. `distance` is the cosine distance to the
    query, 0 to 2. `explain` is present if requested, `place` if known for a chunk, `truncated` with `maxTokens` and
    with `snippets`; true if `content` is only a part of the text returned by `cstp.getChunk` for the `chunkId`.
    Extractions are never cut. `origin` is the maker: a file, an agent, or an import; `recordedBy` the writing agent.
    """

    id: Annotated[str, Names(by_type)]
    type: Literal["chunk", "extraction"]
    extraction_type: ExtractionType | None
    title: str | None
    content: str | AnyContent
    topics: list[str]
    score: float
    distance: float | None
    chunk_id: Annotated[str | None, Names("chunk")]
    chunk_info: str | None
    place: Present[PassagePlace] = None
    source: SourceReference | None
    origin: RecordOrigin
    recorded_by: str | None
    explain: Present[Explained] = None
    truncated: Present[bool] = None


class SearchMetadata(Wire):
    """Answer metadata: `sourcesCited` are the cited source titles, sorted, `searchType` is the executed mode."""

    query: str
    sources_cited: list[str]
    result_count: int
    search_type: RankingMode


class SearchKnowledgeResult(Wire):
    """Chunks and extractions, best first, ties by id; `queryTimeMs` is the search's duration.

    `omitted` counts results beyond `maxTokens` and results this server cannot show; present with `maxTokens`, or if not
    0. `noGoodMatch` is present exactly with `abstain`; if it is true, `nearest` is present, too, if there is any
    record. `interpreted` is present with `explain` if the query names a time.
    """

    results: list[KnowledgeFound]
    metadata: SearchMetadata
    query_time_ms: int
    omitted: Present[int] = None
    no_good_match: Present[bool] = None
    nearest: Present[NearestRecord] = None
    interpreted: Present[Interpreted] = None


RECORDS_DESCRIPTION: Final = (
    "Objects, each with its `kind`. A source has `title`, and with `content` it is cut into chunks; a chunk has "
    "`content`, and `source_id` if its source is known; an extraction has `type`, such as pattern, and `content`, "
    "an object such as `name`, `problem` and `solution` of a pattern. An id is the caller's own name for a record: "
    "storing it again changes it, and others of the call may refer to it. Without one, an equal record of the agent is "
    "the same."
)


class StoreKnowledgeParams(WriteParams):
    """Sources, chunks and extractions: all are stored, or none."""

    records: Annotated[
        list[Annotated[dict[str, JsonValue], Field(examples=[{"kind": "chunk", "content": "…"}])]],
        Field(min_length=1, max_length=MOST, description=RECORDS_DESCRIPTION),
    ]
    project: Line200 | None = Field(default=None, description="Of records that state none. " + PROJECT_DESCRIPTION)
    sensitivity: Level = Field(default="normal", description="Of records that state none.")
    dry_run: bool = Field(default=False, description=DRY_RUN_DESCRIPTION)


class StoredRecordState(Wire):
    """A stored record: id in the store, change, and number of text chunks."""

    kind: Literal["source", "chunk", "extraction"]
    id: str
    status: Literal["created", "unchanged", "changed"]
    num_chunks: int


class StoreKnowledgeResult(WriteReport):
    """Outcome per record, in sent order."""

    records: list[StoredRecordState]
    indexed: bool
    seq: int
