"""The decisions around one: `cstp.getGraph`."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from cstp.contract import Method, ToolText, WireResult
from cstp.errors import NotFound, QueryFailed
from cstp.fields import WHOLE, InstantOut, each_once
from cstp.methods.decision_records import Edge
from cstp.naming import DecisionId
from cstp.reads import ReadParams
from cstp.writes import RecordId


class GetGraphParams(ReadParams):
    """Around which decision, how many links far, along which links, and at most how many decisions."""

    node_id: RecordId
    depth: Annotated[int, Field(ge=1, le=5), WHOLE] = 2
    edge_types: Annotated[list[Edge], Field(min_length=1, max_length=7), AfterValidator(each_once)] | None = Field(
        default=None, description="Absent: all types."
    )
    direction: Literal["outgoing", "incoming", "both"] = Field(
        default="both", description="Outgoing links are those that a decision is the source of."
    )
    limit: Annotated[int, Field(ge=1, le=200), WHOLE] = 200


class GraphNode(WireResult):
    """A decision, and how many links it is away from the one that was asked for."""

    id: DecisionId
    title: str
    category: str | None
    confidence: float | None
    stakes: str | None
    status: str | None
    outcome: str | None
    date: InstantOut | None
    depth: int


class GraphEdge(WireResult):
    """A link between two decisions; `createdBy` and `createdAt` are null for a supersession that a file states."""

    source_id: str
    target_id: str
    edge_type: str
    weight: float | None
    context: str | None
    created_by: str | None
    created_at: InstantOut | None


class GetGraphResult(WireResult):
    """The decisions, the nearest first and by id, and all links between them of the types asked for, at most 2,000.

    `truncated` says that more was found than fits.
    """

    center_id: str
    depth: int
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    truncated: bool


GET_GRAPH = Method(
    name="cstp.getGraph",
    summary="Read which decisions are linked to one, and how.",
    params=GetGraphParams,
    result=GetGraphResult,
    errors=(QueryFailed, NotFound),
    cost=2,
    from_records=True,
    tool=ToolText(
        title="Read how decisions are linked",
        description=(
            "Read which decisions are linked to one, over up to five links: what supersedes it, what depends on it, "
            "what contradicts it. Needs the id of a decision. Use it before you change what others may rest on."
        ),
    ),
)
