"""The tools that write decisions, and that read them by id, page by page and as a whole."""

from typing import Final

from cstp.methods.decision_graph import GET_GRAPH
from cstp.methods.decision_reads import GET_DECISION, LIST_DECISIONS
from cstp.methods.decision_records import (
    LINK_DECISIONS,
    RECORD_DECISION,
    REVIEW_DECISION,
    SET_STATUS,
    UNLINK_DECISIONS,
    UPDATE_DECISION,
)
from cstp.methods.statistics import GET_STATS
from cstp_server.mcp.tool import Tool, make_tool
from cstp_server.mcp.views import DECISION_VIEW

DECISION_TOOLS: Final[tuple[Tool, ...]] = (
    make_tool(
        GET_DECISION,
        "get_decision",
        "Read one decision",
        "Read one decision whole: its text, reasons and alternatives, how it turned out (reviews), what it is linked "
        "to, what it said before (history), and who recorded it. Needs an id, which query_decisions returns.",
        view=DECISION_VIEW,
    ),
    make_tool(
        LIST_DECISIONS,
        "list_decisions",
        "List decisions",
        "List the decisions that agents and files recorded, page by page, newest first, by category, stakes, status, "
        "agent, tags, project and date. Use it without a question; with one use query_decisions.",
        view=DECISION_VIEW,
    ),
    make_tool(
        GET_STATS,
        "get_stats",
        "Count decisions",
        "Count the decisions by category, stakes, status, agent, day and tag. Use it for how many there are of what, "
        "before you list them.",
    ),
    make_tool(
        GET_GRAPH,
        "get_graph",
        "Read how decisions are linked",
        "Read which decisions are linked to one, over up to five links: what supersedes it, what depends on it, what "
        "contradicts it. Needs the id of a decision. Use it before you change what others may rest on.",
    ),
    make_tool(
        RECORD_DECISION,
        "record_decision",
        "Record a decision",
        "Record a decision that you made: what, how sure you are that it turns out well (confidence, 0 to 1), why, and "
        "what else could have been done. Record choices between alternatives that others will ask about, not the "
        "state of a task. Give an idempotency_key, so that a repeated call records nothing twice.",
        quotes=True,  # the titles of possible duplicates
    ),
    make_tool(
        UPDATE_DECISION,
        "update_decision",
        "Amend a decision",
        "Change members of a decision that you recorded; what it said before is kept as a revision. A decision of a "
        "file is changed in its file. For how it turned out use review_decision, for another choice record_decision "
        "with supersedes.",
        repeatable=True,
    ),
    make_tool(
        REVIEW_DECISION,
        "review_decision",
        "Review a decision",
        "State how a decision turned out (success, partial, failure or abandoned), what happened and what is to be "
        "learned. Reviews are kept and cannot be taken back; the last one gives the outcome. Give an idempotency_key.",
    ),
    make_tool(
        SET_STATUS,
        "set_status",
        "Set the status of a decision",
        "Give a decision another status, with a reason: draft, proposed or pending for your own; accepted, rejected, "
        "deprecated and superseded need the right to ratify.",
        repeatable=True,
    ),
    make_tool(
        LINK_DECISIONS,
        "link_decisions",
        "Link two decisions",
        "Link one decision to another: supersedes, depends_on, relates_to, contradicts, refines, caused_by or blocks. "
        "Your own link of the same type between the two is replaced.",
        adds=False,
        repeatable=True,
    ),
    make_tool(
        UNLINK_DECISIONS,
        "unlink_decisions",
        "End a link",
        "End a link between two decisions, named by its source, its target and its type. The decisions stay, and the "
        "history keeps the link.",
        quotes=True,  # the context of the link
        adds=False,
        repeatable=True,
    ),
)
