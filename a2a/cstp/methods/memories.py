"""Methods over memories: lists, writes, and recall."""

from cstp.contract import ANSWER_TOKENS, Method, ToolText
from cstp.errors import Conflict, NotFound, QueryFailed
from cstp.values.memories import ListMemoriesParams, ListMemoriesResult, RememberParams, RememberResult
from cstp.values.recall import RecallParams, RecallResult

RECALL = Method(
    name="cstp.recall",
    summary="Recall artifacts, turns, events, decisions and chunks, with records related by the graph.",
    params=RecallParams,
    result=RecallResult,
    errors=(NotFound, QueryFailed),
    cost=2,
    tool=ToolText(
        title="Recall what was said and written",
        description=(
            "Use for who said, promised or owns what: meetings, mails, notes and conversations, with their events and"
            " related people. Give a query, an id, a conversation_id for its latest turns, or a context for the "
            "newest. With an id the text is whole, else cut to what fits."
        ),
        naming=("selector",),
        defaults={"snippets": True, "graph_budget": 5, "max_tokens": ANSWER_TOKENS},
    ),
)


LIST_MEMORIES = Method(
    name="cstp.listMemories",
    summary="List turns and texts page by page, newest first, with filters.",
    params=ListMemoriesParams,
    result=ListMemoriesResult,
    from_records=True,
    tool=ToolText(
        title="List memories",
        description=(
            "Use to go through mails, minutes, notes and turns of conversations page by page, newest first, by "
            "author, participants, project, context, source and date. With a question use recall."
        ),
    ),
)


REMEMBER = Method(
    name="cstp.remember",
    summary="Remember a spoken or written text.",
    params=RememberParams,
    result=RememberResult,
    errors=(QueryFailed, NotFound, Conflict),
    scope="write",
    cost=3,
    tool=ToolText(
        title="Remember something",
        description=(
            "Use to keep a note, a mail, minutes or a turn of a conversation, with the events in it that you name. "
            "The same source and source_id, or conversation_id and turn_index, change what was kept. Decisions belong"
            " in record_decision."
        ),
        adds=False,
    ),
)
