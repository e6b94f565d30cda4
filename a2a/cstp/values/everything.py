"""Values of `cstp.search`, over all records with a text, and of `cstp.fetch`."""

from typing import Annotated, Final, Literal, TypeAlias, get_args

from pydantic import AfterValidator, Field, JsonValue

from cstp.values.base import Names, Wire, by_type
from cstp.values.decisions import DateSource
from cstp.values.fields import (
    WHOLE,
    FilePaths,
    InstantOut,
    Label,
    Level,
    LowerInstant,
    Share,
    UpperInstant,
    each_once,
    in_order,
)
from cstp.values.reads import (
    CALLED_DESCRIPTION,
    Abstain,
    AsOf,
    Author,
    CallersRepository,
    Current,
    Explain,
    Explained,
    Interpreted,
    MaxTokens,
    MinScore,
    Participants,
    PassagePlace,
    Present,
    Query,
    ReadParams,
    RecordOrigin,
    SearchMode,
)
from cstp.values.records import AnyRecordId, KindName

FoundType: TypeAlias = Literal["decision", "chunk", "extraction", "episode", "artifact", "turn", "event"]
Part: TypeAlias = Literal["content"]

FOUND_TYPES: Final[tuple[FoundType, ...]] = get_args(FoundType)
_SOURCES: Final = {"chunk": "source", "extraction": "source", "event": "artifact"}  # kinds of `sourceId`, by type


class SearchParams(ReadParams):
    """A search: `query` in plain words, 1 to 8192 characters; at most `limit` records are returned.

    Every filter applies to all results; bounds are inclusive. A filter excludes records without the field, and thus
    kinds lacking the field. `dateFrom` and `dateTo` apply to a decision's date, the time of a turn, artifact or event,
    an episode's creation, a chunk's last highlight or creation, and an extraction's creation. Events inherit `context`,
    `source` and `minImportance` from their artifact.
    """

    query: Query
    kinds: (
        Annotated[list[FoundType], Field(min_length=1, max_length=len(FOUND_TYPES)), AfterValidator(each_once)] | None
    ) = Field(default=None, description="The kinds to look for; absent: all.")
    project: Label | None = Field(default=None, description="Of any kind; spelled exactly.")
    current: Current = None
    author: Author = None
    participants: Participants = None
    tags: Annotated[list[Label], Field(min_length=1, max_length=64)] | None = Field(
        default=None,
        description="A record has all of them: tags of decisions and chunks and topics of extractions in any case, "
        "tags of episodes exactly. Artifacts, turns and events have none.",
    )
    context: Label | None = Field(
        default=None,
        description="Such as `meeting` or `email`, in any case: that of artifacts; `conversation` is that of turns, "
        "`decision` that of decisions. Chunks, extractions and episodes have none.",
    )
    source: Label | None = Field(
        default=None,
        description="Such as `slack`, in any case: the system that a record came from, of artifacts, turns, events and "
        "chunks. Decisions, extractions and episodes have none.",
    )
    sensitivity: Level | None = Field(default=None, description="Records of this level alone, of any kind.")
    min_importance: Share = Field(default=0.0, description="0 is no condition. Artifacts, turns and events have one.")
    paths: FilePaths | None = None
    date_from: LowerInstant = None
    date_to: UpperInstant = None
    min_score: MinScore = None
    mode: SearchMode = None
    limit: Annotated[int, Field(ge=1, le=50), WHOLE] = 10
    max_tokens: MaxTokens = None
    include: Annotated[list[Part], Field(min_length=1, max_length=1), AfterValidator(each_once)] | None = Field(
        default=None,
        description="What each result has in addition. `content`: its text; of an artifact that is searched in chunks, "
        "the chunk that was found.",
    )
    as_of: AsOf = None
    explain: Explain = False
    abstain: Abstain = False

    _dates_in_order = in_order("date_from", "date_to")


def _successor_kind(found: "SearchedRecord") -> str:
    return "decision" if found.type == "decision" else "artifact"


class SearchedRecord(Wire):
    """A search result; members are null if the record does not state them.

    `cstp.fetch` returns the whole record for the `id`, which is a number for an episode; `cstp.getDecision`,
    `cstp.getChunk`, `cstp.getEpisode` and, for others, `cstp.recall` return it with related records.

    `title` is the title of a decision, an artifact, a chunk or the chunk's source, the heading of an extraction, the
    speaker of a turn, or the category of an event. `snippet` has the sentences nearest to the query, at most 600
    characters; it is null if this server cannot cut the text, and `content` is then absent. `score` is 0 to 1: the
    share of equal matches in the measured sets with an answer to their question; scores are comparable across kinds and
    queries. `source` is the source title of a chunk or extraction, the system of an artifact, turn or event, and the
    file of a decision; `sourceId` the source's id, an event's artifact, or a turn's conversation. `date` is the date
    filtered by `dateFrom` and `dateTo`, `dateSource` as in decisions. `origin` is the maker: a file, an agent, or an
    import (a collection or standard input); `recordedBy` is the writing agent. `status` is a decision's status, and
    `supersededBy` are the successors' ids for a decision out of force or a superseded memory. `conversation` is present
    for a turn: the conversation's name in the source, else the id. `path` is present if a file has the record, except
    for a decision, and `place` if known for a chunk; `url`, the record's page, over MCP if the server has a page.
    `content` and `explain` are present exactly if requested, `truncated` with `maxTokens`; true if `content`, or
    without it the snippet, was cut to fit.
    """

    type: FoundType
    id: Annotated[str | int, Names(by_type)]
    title: str | None
    snippet: str | None
    score: float
    source: str | None
    source_id: Annotated[str | None, Names(lambda found: _SOURCES.get(found.type))]
    date: InstantOut | None
    date_source: Present[DateSource] = None
    origin: RecordOrigin
    recorded_by: str | None
    status: str | None
    superseded_by: Annotated[list[str], Names(_successor_kind)]
    conversation: Present[str] = None
    path: Present[str] = None
    place: Present[PassagePlace] = None
    content: Present[str] = None
    explain: Present[Explained] = None
    truncated: Present[bool] = None
    url: Present[str] = None


class NearestOfAnyKind(Wire):
    """The nearest record by meaning, below the threshold; `cosine` is -1 to 1, higher is nearer.

    `type` and `id` are as in a result.
    """

    type: FoundType
    id: str | int
    cosine: float


class SearchResult(Wire):
    """Records of all kinds, the highest score first, ties by id; `queryTimeMs` is the search's duration.

    `omitted` counts results beyond `maxTokens` and results this server cannot show; present with `maxTokens`, or if not
    0. `noGoodMatch` is present exactly with `abstain`; if it is true, `nearest` is present, too, if there is any
    record. `interpreted` is present with `explain` if the query names a time.
    """

    results: list[SearchedRecord]
    query_time_ms: int
    interpreted: Present[Interpreted] = None
    omitted: Present[int] = None
    no_good_match: Present[bool] = None
    nearest: Present[NearestOfAnyKind] = None


class FetchParams(ReadParams):
    """The record id."""

    id: AnyRecordId = Field(description=f"Of any record; {CALLED_DESCRIPTION}")
    kind: KindName | None = Field(default=None, description="If several kinds have the id.")
    repository: CallersRepository = None


class FetchResult(Wire):
    """A whole record: `text` is the full text, empty for a record without text.

    `title` is the title, else the beginning of the text, up to 80 characters, else the id. `metadata` has all other
    members, as written by `cstp export`, except null and empty members, and texts of more than 80 characters already in
    `text`. `origin` is the maker: a file, an agent, or an import; `recordedBy` the writing agent. `url`, the record's
    page, is present over MCP if the server has a page.
    """

    kind: str
    id: Annotated[str, Names(lambda record: record.kind)]
    title: str
    text: str
    origin: RecordOrigin
    recorded_by: str | None
    metadata: dict[str, JsonValue]
    url: Present[str] = None
