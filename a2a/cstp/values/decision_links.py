"""Values of decision links and decision graphs."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from cstp.values.base import DecisionId, Wire
from cstp.values.decision_writes import Edge
from cstp.values.decisions import DateSource
from cstp.values.fields import WHOLE, InstantOut, each_once
from cstp.values.reads import Present, ReadParams
from cstp.values.writes import LongText, RecordId, WriteParams, WriteResult, WriteWarning


class UnlinkDecisionsParams(WriteParams):
    """The link to end: both decisions and the type. The link's maker may end it, and a token with `admin`."""

    source_id: RecordId
    target_id: RecordId
    edge_type: Edge
    dry_run: bool = Field(default=False, description="Checks everything and writes nothing.")


class LinkDecisionsParams(UnlinkDecisionsParams):
    """A link between two decisions. Replaces the agent's former link of the same type between them.

    `supersedes` needs the scope `ratify` if the source is accepted or comes from a file: nothing would ratify the link
    later.
    """

    weight: Annotated[float, Field(ge=0.0, le=1_000_000.0)] | None = None
    context: LongText | None = None


class DecisionEdge(Wire):
    """A link between two decisions, and who made it."""

    source_id: DecisionId
    target_id: DecisionId
    edge_type: str
    weight: float | None
    context: str | None
    created_by: str
    created_at: InstantOut


class EndedEdge(DecisionEdge):
    """An ended link, or a link replaced by its maker: when, and by which agent."""

    ended_at: InstantOut
    ended_by: str


class LinkDecisionsResult(WriteResult):
    """The made or ended link; `id` is the source."""

    edge: DecisionEdge
    warnings: list[WriteWarning]


class GetGraphParams(ReadParams):
    """The center decision, the maximum distance in links, the link types, and the maximum number of decisions."""

    node_id: RecordId
    depth: Annotated[int, Field(ge=1, le=5), WHOLE] = 2
    edge_types: Annotated[list[Edge], Field(min_length=1, max_length=7), AfterValidator(each_once)] | None = Field(
        default=None, description="Absent: all types."
    )
    direction: Literal["outgoing", "incoming", "both"] = Field(
        default="both", description="Outgoing links are those that a decision is the source of."
    )
    limit: Annotated[int, Field(ge=1, le=200), WHOLE] = 200


class DecisionInShort(Wire):
    """A decision in a list; members are null if the record does not state them.

    `dateSource` is `file` if the decision's file states the date, `git` if the date is that of the file's first commit.
    """

    id: DecisionId
    title: str
    category: str | None
    confidence: float | None
    stakes: str | None
    status: str | None
    outcome: str | None
    date: InstantOut | None
    date_source: DateSource | None


class GraphNode(DecisionInShort):
    """A decision, and the distance from the center in links."""

    depth: int


class GraphEdge(Wire):
    """A link between two decisions; `createdBy` and `createdAt` are null for a supersession stated by a file."""

    source_id: str
    target_id: str
    edge_type: str
    weight: float | None
    context: str | None
    created_by: str | None
    created_at: InstantOut | None


class GetGraphResult(Wire):
    """The decisions, nearest first and by id, and all links of the requested types between them, at most 2,000.

    `truncated` is true if more was found than fits. `omitted` counts decisions with contents or links unreadable to
    this server; absent if 0.
    """

    center_id: str
    depth: int
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    truncated: bool
    omitted: Present[int] = None
