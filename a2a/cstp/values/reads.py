"""Common values of read methods: search parameters, and explanations of answers."""

from dataclasses import dataclass
from functools import cache, partial
from operator import is_
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, Field, WithJsonSchema

from cstp.values.base import Names, Wire
from cstp.values.fields import WHOLE, InstantOut, People, Person, RepositoryName, UpperInstant, not_blank

T = TypeVar("T")

_LEFT_OUT: Final = Field(exclude_if=partial(is_, None))  # without a frame for each member
if TYPE_CHECKING:
    Present: TypeAlias = Annotated[T | None, ...]
else:

    class Present:
        """Mark of a result member omitted if None; as an alias, typing would take long to fill it in."""

        @classmethod
        @cache
        def __class_getitem__(cls, kind: object) -> object:
            return Annotated[kind | None, _LEFT_OUT]


# ids of superseding memories; omitted without any
Successors: TypeAlias = Annotated[list[str] | None, Names("artifact"), _LEFT_OUT]
RecordOrigin: TypeAlias = Literal["file", "agent", "import"]
RankingMode: TypeAlias = Literal["hybrid", "semantic", "keyword"]
SNIPPET_BYTES: Final = 600  # of a cut text, as JSON
MADE_TITLE: Final = 80  # characters of a title taken from the beginning of a text

QUERY_DESCRIPTION: Final = (
    "In plain words. By meaning, at most four windows of the embedding model count: of a longer query its first, its "
    "last and two evenly between them. By words, its 64 rarest ones count, rare among what the caller sees, "
    "without words like 'what' and 'the' unless it has no others."
)
Query = Annotated[str, Field(min_length=1, max_length=8192, description=QUERY_DESCRIPTION), AfterValidator(not_blank)]
# the schema has no null, which means absent here as for any other parameter
SearchMode = Annotated[
    RankingMode | None,
    WithJsonSchema({"type": "string", "enum": ["hybrid", "semantic", "keyword"]}),
    Field(description="Absent: hybrid, or keyword without an embedding model."),
]
MAX_TOKENS_DESCRIPTION: Final = (
    "Length in tokens of three bytes: longer texts are cut to the passages that are nearest to "
    "the query, and what still does not fit is left out."
)
MaxTokens = Annotated[
    Annotated[int, Field(ge=500, le=1_000_000), WHOLE] | None, Field(description=MAX_TOKENS_DESCRIPTION)
]
SNIPPETS_DESCRIPTION: Final = (
    "Whether longer texts are cut to the sentences that are nearest to the query, at most 600 bytes of each."
)
MIN_SCORE_DESCRIPTION: Final = (
    "Results with a lower `score` are left out; scores of one mode compare with each other. Absent: none is."
)
MinScore = Annotated[float | None, Field(description=MIN_SCORE_DESCRIPTION)]
EXPLAIN_DESCRIPTION: Final = (
    "Adds `explain`: why each result ranks where it does; and `interpreted`, where the query speaks of a time."
)
Explain = Annotated[bool, Field(description=EXPLAIN_DESCRIPTION)]
Abstain = Annotated[
    bool,
    Field(
        description="No results rather than poor ones: where the record that is nearest by meaning is further away "
        "than for 95 of 100 questions that have an answer, or the query names a speaker and turns say its words of "
        "another one, there are none, `noGoodMatch` is true and `nearest` names it."
    ),
]
AsOf = Annotated[
    UpperInstant,
    Field(
        description="From when a time in the query, such as `last week`, is seen; `in May` is the last May that has "
        "begun then, and a bare date is its last moment. Absent: now."
    ),
]
Author = Annotated[
    Person | None,
    Field(
        description="Who wrote or said it, in any case: of artifacts, turns and chunks; of events, that of their "
        "artifact."
    ),
]
Participants = Annotated[
    People | None,
    Field(
        description="All of them took part, in any case: as author, speaker or participant in artifacts, turns and "
        "chunks; in events, in their artifact."
    ),
]


Current = Annotated[
    bool | None,
    Field(
        description="True leaves out what no longer holds: memories that another one supersedes, with their passages "
        "and events, and decisions that are superseded, deprecated, rejected, or no longer valid."
    ),
]


CallersRepository = Annotated[
    RepositoryName | None, Field(description="Its decision is meant if several have the number, name or path.")
]
CALLED_DESCRIPTION: Final = "of a decision also the number, as `17` or `ADR-0017`, or the path of its file."


def title_from(text: str, otherwise: str) -> str:
    """Return the leading whole words of a text's first line, up to 80 characters, as a title."""
    line = text.strip().partition("\n")[0].rstrip()
    if len(line) > MADE_TITLE:
        line = line[:MADE_TITLE].rpartition(" ")[0].rstrip() or line[:MADE_TITLE]
    return line or otherwise


class ReadParams(Wire):
    """Parameters of every read."""

    min_seq: Annotated[int, Field(ge=0, le=2**63 - 1), WHOLE] | None = Field(
        default=None,
        description="The `seq` of a write that the answer has to show. The call waits for it at most two seconds, then "
        "it fails with the component `indexes`; a number that the store has not reached is refused at once.",
    )


class NearestRecord(Wire):
    """The nearest record by meaning, below the threshold; `cosine` is -1 to 1, higher is nearer."""

    id: str
    cosine: float


class Interpreted(Wire):
    """The time named in the query, whole UTC days, both bounds inclusive; null is open.

    In the mode `hybrid` records from this time get a boost; nothing is excluded. Times are looked for in the query's
    first 2,048 characters.
    """

    date_from: InstantOut | None
    date_to: InstantOut | None


@dataclass(frozen=True, slots=True)
class LegRanks:
    """Result ranks by meaning and by words, from 1; null if not found that way."""

    semantic: int | None
    keyword: int | None


@dataclass(frozen=True, slots=True)
class MatchedWindow:
    """The text window nearest to the query, from 0, and the number of windows."""

    index: int
    total: int


class Boosts(Wire):
    """Score parts in addition to meaning and words.

    `phrase` is the share of the query's word pairs, 0 to 1, adjacent in the text; null if phrases were not counted: in
    the modes `semantic` and `keyword`, beyond the first 20, and for a query without word pairs. `date` is 1 if the
    record's time is within `interpreted`, 0 if not or without a time; null in the modes `semantic` and `keyword`, and
    for a query naming no time. `exact` is present, and true, if the result comes first as the only record with an id, a
    version, a code, a symbol, a path or a quoted phrase in the query; `current` if it comes before a replaced decision
    with about equal match; `speaker` if it gains as a turn by a speaker named in the query; `statement` if it gains as
    a preference or an instruction, for a query asking for advice.
    """

    phrase: float | None
    date: float | None
    exact: Present[bool] = None
    current: Present[bool] = None
    speaker: Present[bool] = None
    statement: Present[bool] = None


class Explained(Wire):
    """Explanation of a result's rank.

    Results are ordered by `score`, the highest first. `bm25` is 0 if the text lacks all query words, null in the mode
    `semantic`; `cosine` is null without a vector. `matchedWindow` is null in the mode `keyword` and without a vector.
    """

    score: float
    boosts: Boosts
    bm25: float | None
    cosine: float | None
    ranks: LegRanks
    matched_window: MatchedWindow | None


class PassagePlace(Wire):
    """Start of a chunk within the source; unknown members are omitted.

    Pages, slides and notebook cells count from 1. `headings` are the headings above the chunk and the chunk's own, the
    outermost first; `section` is the last heading.
    """

    chapter: Present[str] = None
    section: Present[str] = None
    page: Present[int] = None
    slide: Present[int] = None
    cell: Present[int] = None
    headings: Present[list[str]] = None
