"""The Cognition State Transfer Protocol: its values, its errors, its methods and the client.

Needs pydantic and httpx, nothing else. `cstp.Client`, `cstp.AsyncClient` and the models that they take and give
(`cstp.exports`) are imported when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from cstp.client.errors import (
    ConnectFailed,
    ConnectionLost,
    DeadlineExceeded,
    TransportError,
    UnexpectedAnswer,
)
from cstp.contract import Method, Wire
from cstp.errors import (
    AuthenticationRequired,
    Conflict,
    CstpError,
    Forbidden,
    InternalError,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    NotFound,
    OtherError,
    Overloaded,
    ParseError,
    QueryFailed,
    RateLimited,
    Violation,
)

__version__ = "0.1.0"
__all__ = [
    "ActorRef",
    "Affected",
    "ArtifactMetadata",
    "AsyncClient",
    "AttachedEvent",
    "AuthenticationRequired",
    "Call",
    "ChecklistContent",
    "ChecklistItem",
    "ChunkCluster",
    "ChunkMetadata",
    "Client",
    "Conflict",
    "ConnectFailed",
    "ConnectionLost",
    "CstpError",
    "DeadlineExceeded",
    "DecisionContent",
    "DecisionEdge",
    "DecisionLinks",
    "DecisionMetadata",
    "DecisionSummary",
    "DecisionUpdates",
    "DiscoverResult",
    "Duplicate",
    "EntityItem",
    "EpisodeSummary",
    "EventMetadata",
    "ExtractedDecision",
    "ExtractedPattern",
    "ExtractedWarning",
    "Filters",
    "Forbidden",
    "GetChunkResult",
    "GetDecisionsResult",
    "GetPatternsResult",
    "GetWarningsResult",
    "GivenAlternative",
    "GivenEvidence",
    "GivenReason",
    "GivenSource",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "KnowledgeCard",
    "KnowledgeFilters",
    "KnowledgeFound",
    "LimitState",
    "LinkDecisionsResult",
    "ListEpisodesResult",
    "ListMetadata",
    "Method",
    "MethodNotFound",
    "MethodStep",
    "MethodologyContent",
    "NotFound",
    "OtherError",
    "Overloaded",
    "ParseError",
    "PatternContent",
    "PersonaContent",
    "Provenance",
    "Quality",
    "QueryDecisionsResult",
    "QueryFailed",
    "QueryFilters",
    "Quote",
    "RateLimited",
    "RecallItem",
    "RecallResult",
    "RecordDecisionResult",
    "Related",
    "RelatedChunk",
    "RelatedItem",
    "ReviewDecisionResult",
    "SearchKnowledgeResult",
    "SearchMetadata",
    "ServerInfo",
    "SetStatusResult",
    "SourceReference",
    "SubjectRef",
    "TransportError",
    "TurnItem",
    "UnexpectedAnswer",
    "UpdateDecisionResult",
    "Violation",
    "WarningContent",
    "WhoamiResult",
    "Wire",
    "WorkflowContent",
    "WorkflowStep",
    "WriteWarning",
    "__version__",
]

if TYPE_CHECKING:
    from cstp.client.async_client import AsyncClient as AsyncClient
    from cstp.exports import *  # noqa: F403
else:

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

    def __getattr__(name: str) -> object:
        """`AsyncClient`, or a name of `cstp.exports`."""
        return getattr(import_module("cstp.client.async_client" if name == "AsyncClient" else "cstp.exports"), name)
