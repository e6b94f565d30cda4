"""Methods over decisions."""

from typing import Final

from cstp.contract import ANSWER_TOKENS, Method, ToolText
from cstp.errors import Conflict, NotFound, QueryFailed
from cstp.values.decision_context import GetDecisionContextParams, GetDecisionContextResult
from cstp.values.decision_links import (
    GetGraphParams,
    GetGraphResult,
    LinkDecisionsParams,
    LinkDecisionsResult,
    UnlinkDecisionsParams,
)
from cstp.values.decision_reads import (
    GetDecisionParams,
    GetDecisionResult,
    GetStatsParams,
    GetStatsResult,
    ListDecisionsParams,
    ListDecisionsResult,
)
from cstp.values.decision_searches import QueryDecisionsParams, QueryDecisionsResult
from cstp.values.decision_writes import (
    RecordDecisionParams,
    RecordDecisionResult,
    ReviewDecisionParams,
    ReviewDecisionResult,
    SetStatusParams,
    SetStatusResult,
    UpdateDecisionParams,
    UpdateDecisionResult,
)

_ERRORS: Final = (QueryFailed, NotFound, Conflict)

QUERY_DECISIONS = Method(
    name="cstp.queryDecisions",
    summary="Search the agent's decisions by meaning and by words, with filters.",
    params=QueryDecisionsParams,
    result=QueryDecisionsResult,
    paths="filters.paths",
    cost=2,
    tool=ToolText(
        title="Search decisions",
        description=(
            "Use for why something is as it is, or whether it was decided already: it searches decisions, with their "
            "confidence, outcome and successors. fetch with an id gives the whole "
            "decision."
        ),
        view="decision",
        defaults={"include": ["snippet", "links", "provenance"], "max_tokens": ANSWER_TOKENS},
    ),
)


GET_DECISION = Method(
    name="cstp.getDecision",
    summary="Read a whole decision, with reviews, links and history.",
    params=GetDecisionParams,
    result=GetDecisionResult,
    errors=(QueryFailed, NotFound),
    from_records=True,
    tool=ToolText(
        title="Read one decision",
        description=(
            "Use for all that is known of one decision: text, reasons, alternatives, reviews, links, and what it said"
            " before (history). Needs an id, which query_decisions and list_decisions return."
        ),
        view="decision",
    ),
)


LIST_DECISIONS = Method(
    name="cstp.listDecisions",
    summary="List the decisions page by page, newest first or in another order, with filters.",
    params=ListDecisionsParams,
    result=ListDecisionsResult,
    paths="paths",
    from_records=True,
    tool=ToolText(
        title="List decisions",
        description=(
            "Use to go through decisions page by page, newest first, by category, stakes, status, agent, tags, "
            "project and date. With a question use query_decisions."
        ),
        view="decision",
    ),
)


GET_STATS = Method(
    name="cstp.getStats",
    summary="Count the decisions by category, stakes, status, agent, day and tag, and those overdue for review.",
    params=GetStatsParams,
    result=GetStatsResult,
    from_records=True,
    audited=False,
    tool=ToolText(
        title="Count decisions",
        description=(
            "Use for how many decisions there are, by category, stakes, status, agent, day and tag, before you list "
            "them."
        ),
    ),
)


GET_GRAPH = Method(
    name="cstp.getGraph",
    summary="Return the decisions linked to a decision, and their links.",
    params=GetGraphParams,
    result=GetGraphResult,
    errors=(QueryFailed, NotFound),
    cost=2,
    from_records=True,
    tool=ToolText(
        title="Read how decisions are linked",
        description=(
            "Use before you change what others may rest on: it reads which decisions are linked to one, over up to "
            "five links, such as supersedes, depends_on and contradicts. Needs the id of a decision."
        ),
    ),
)


GET_DECISION_CONTEXT = Method(
    name="cstp.getDecisionContext",
    summary="Return the decisions governing files: in force, proposed and past.",
    params=GetDecisionContextParams,
    result=GetDecisionContextResult,
    paths="files",
    from_records=True,
    tool=ToolText(
        title="Decisions that govern files",
        description=(
            "Use before you change files: it returns the decisions that govern them, those in force first, with "
            "the proposed and the past ones. For questions in words use query_decisions."
        ),
        view="decision",
    ),
)


RECORD_DECISION = Method(
    name="cstp.recordDecision",
    summary="Record a decision by this agent.",
    params=RecordDecisionParams,
    result=RecordDecisionResult,
    errors=_ERRORS,
    scope="write",
    cost=3,
    tool=ToolText(
        title="Record a decision",
        description=(
            "Use when you have chosen between alternatives that others will ask about, not for the state of a task. "
            "Say what, why, what else there was, and how sure you are that it turns out well (confidence). With an "
            "idempotency_key a repeated call records nothing twice."
        ),
        quotes=True,
    ),
)


UPDATE_DECISION = Method(
    name="cstp.updateDecision",
    summary="Change members of a decision; the history keeps the previous content.",
    params=UpdateDecisionParams,
    result=UpdateDecisionResult,
    errors=_ERRORS,
    scope="write",
    cost=3,
    tool=ToolText(
        title="Amend a decision",
        description=(
            "Use to correct a decision that you recorded; what it said before is kept as a revision. A decision of a "
            "file is changed in its file. For how it turned out use review_decision, for another choice "
            "record_decision with supersedes."
        ),
        repeatable=True,
    ),
)


REVIEW_DECISION = Method(
    name="cstp.reviewDecision",
    summary="Say how a decision turned out.",
    params=ReviewDecisionParams,
    result=ReviewDecisionResult,
    errors=_ERRORS,
    scope="review",
    cost=3,
    tool=ToolText(
        title="Review a decision",
        description=(
            "Use when it is known how a decision turned out: success, partial, failure or abandoned, what happened "
            "and what is to be learned. Reviews are kept and cannot be taken back; the last one gives the outcome. "
            "Give an idempotency_key."
        ),
    ),
)


SET_STATUS = Method(
    name="cstp.setStatus",
    summary="Give a decision another status, such as accepted.",
    params=SetStatusParams,
    result=SetStatusResult,
    errors=_ERRORS,
    scope="write",
    other_scopes=("ratify",),
    cost=3,
    tool=ToolText(
        title="Set the status of a decision",
        description=(
            "Use to give a decision another status, with a reason: draft, proposed or pending for your own; accepted,"
            " rejected, deprecated and superseded need the right to ratify."
        ),
        repeatable=True,
    ),
)


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
            "Use to link one decision to another: supersedes, depends_on, relates_to, contradicts, refines, caused_by"
            " or blocks. Your own link of the same type between the two is replaced."
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
            "Use to end a link between two decisions, named by its source, its target and its type. The decisions "
            "stay, and the history keeps the link."
        ),
        adds=False,
        repeatable=True,
        quotes=True,
    ),
)
