"""Methods over records of all kinds: search, fetch, and session context."""

from cstp.contract import ANSWER_TOKENS, Method, ToolText
from cstp.errors import Conflict, NotFound, QueryFailed
from cstp.values.everything import FetchParams, FetchResult, SearchParams, SearchResult
from cstp.values.session_context import GetSessionContextParams, GetSessionContextResult

SEARCH = Method(
    name="cstp.search",
    summary="Search records of all kinds by meaning and by words, with filters.",
    params=SearchParams,
    result=SearchResult,
    paths="paths",
    cost=2,
    tool=ToolText(
        title="Search everything",
        description=(
            "Use first for any question about what was decided, read, learned, said or done: it searches records of "
            "all kinds by meaning and by words. Results hold snippets; "
            "fetch with an id gives the whole record."
        ),
        defaults={"max_tokens": ANSWER_TOKENS},
    ),
)


FETCH = Method(
    name="cstp.fetch",
    summary="Return the whole record of an id, of any kind.",
    params=FetchParams,
    result=FetchResult,
    errors=(NotFound, QueryFailed),
    from_records=True,
    tool=ToolText(
        title="Fetch a record",
        description=("Use for the whole record behind an id, of any kind: its text uncut, and its other members."),
    ),
)


GET_SESSION_CONTEXT = Method(
    name="cstp.getSessionContext",
    summary="Brief an agent at the start of a session, within a budget of tokens.",
    params=GetSessionContextParams,
    result=GetSessionContextResult,
    paths="files",
    errors=(QueryFailed, Conflict),
    cost=2,
    tool=ToolText(
        title="Brief me for a session",
        description=(
            "Use first in a session, with the task and the files: it gives the decisions in force that match or govern "
            "them, due reviews, changes since the last cursor, and patterns, warnings and "
            "episodes. With a question use query_decisions."
        ),
        defaults={"format": "markdown"},
    ),
)
