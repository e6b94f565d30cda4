"""Links between decisions, as agents make and end them."""

from typing import Annotated

from pydantic import Field

from cstp.contract import Method, ToolText, WireResult
from cstp.errors import Conflict, NotFound, QueryFailed
from cstp.fields import InstantOut
from cstp.methods.decision_records import Edge
from cstp.naming import DecisionId
from cstp.writes import LongText, RecordId, WriteParams, WriteResult, WriteWarning


class UnlinkDecisionsParams(WriteParams):
    """The link to end: its two decisions and its type. Its maker may end it, and a token with `admin`."""

    source_id: RecordId
    target_id: RecordId
    edge_type: Edge
    dry_run: bool = Field(default=False, description="Checks everything and writes nothing.")


class LinkDecisionsParams(UnlinkDecisionsParams):
    """A link from one decision to another. The agent's own one of that type between the two is replaced.

    `supersedes` needs the scope `ratify` if the source is accepted, or is a file's: no one would ratify the link later.
    """

    weight: Annotated[float, Field(ge=0.0, le=1_000_000.0)] | None = None
    context: LongText | None = None


class DecisionEdge(WireResult):
    """A link between two decisions, and who made it."""

    source_id: DecisionId
    target_id: DecisionId
    edge_type: str
    weight: float | None
    context: str | None
    created_by: str
    created_at: InstantOut


class EndedEdge(DecisionEdge):
    """A link that was ended, or replaced by its maker: when, and by which agent."""

    ended_at: InstantOut
    ended_by: str


class LinkDecisionsResult(WriteResult):
    """The link that was made or ended; `id` is its source."""

    edge: DecisionEdge
    warnings: list[WriteWarning]


LINK_DECISIONS = Method(
    name="cstp.linkDecisions",
    summary="Link two decisions.",
    params=LinkDecisionsParams,
    result=LinkDecisionsResult,
    errors=(QueryFailed, NotFound, Conflict),
    scope="review",
    cost=3,
    tool=ToolText(
        title="Link two decisions",
        description=(
            "Link one decision to another: supersedes, depends_on, relates_to, contradicts, refines, caused_by or "
            "blocks. Your own link of the same type between the two is replaced."
        ),
        adds=False,
        repeatable=True,
    ),
)
UNLINK_DECISIONS = Method(
    name="cstp.unlinkDecisions",
    summary="End a link between two decisions; the history keeps it.",
    params=UnlinkDecisionsParams,
    result=LinkDecisionsResult,
    errors=(QueryFailed, NotFound, Conflict),
    scope="review",
    other_scopes=("admin",),
    cost=3,
    tool=ToolText(
        title="End a link",
        description=(
            "End a link between two decisions, named by its source, its target and its type. The decisions stay, and "
            "the history keeps the link."
        ),
        adds=False,
        repeatable=True,
        quotes=True,
    ),
)
