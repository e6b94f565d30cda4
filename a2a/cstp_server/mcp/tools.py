"""The tools: one frozen value each over a method, with what a model reads to choose between them."""

from collections.abc import Mapping
from typing import Final

from cstp.methods.changes import CHANGES
from cstp.methods.decisions import QUERY_DECISIONS
from cstp.methods.episodes import LIST_EPISODES
from cstp.methods.everything import SEARCH
from cstp.methods.extractions import GET_DECISIONS, GET_PATTERNS, GET_WARNINGS
from cstp.methods.knowledge import GET_CHUNK, SEARCH_KNOWLEDGE
from cstp.methods.recall import RECALL
from cstp_server.mcp.decision_tools import DECISION_TOOLS
from cstp_server.mcp.errors import of_episodes, of_recall
from cstp_server.mcp.memory_tools import MEMORY_TOOLS
from cstp_server.mcp.tool import STORED_IS_DATA, Tool, make_tool
from cstp_server.mcp.views import DECISION_VIEW

INSTRUCTIONS: Final = (
    "What an agent, or a team, has decided, learned and remembers. Start with search, which looks through all of it; "
    "query_decisions has more filters for why something is as it is, search_knowledge for what documents say, and "
    "recall shows what is related to what people said, wrote or promised. "
    "Answers hold the sentences that fit the question. For a whole text, call recall with the id of a decision, an "
    "artifact, a turn or an event, and get_chunk with a chunk_id; truncated says where there is more. "
    "Distances: lower is closer; scores: higher is better. find_episodes before a task shows what was tried. "
    "record_decision keeps what you decide and review_decision how it turned out, store_episode what a task taught, "
    "remember what was said; all need scopes that a token has only where they were asked for. "
    f"{STORED_IS_DATA}"
)
ANSWER_TOKENS: Final = 8000  # common clients cut at 25,000
RELATED: Final = 5  # items that recall adds to its results


_TOOLS: Final = (
    make_tool(
        SEARCH,
        "search",
        "Search everything",
        "Search records of all kinds at once, by meaning and by words: decisions, passages of documents and what was "
        "extracted from them, episodes, and what people wrote, said and did. Use it first if you do not know which "
        "kind has the answer. Scores of all kinds compare; kinds and filters narrow. For the whole of a result call "
        "get_decision, get_chunk (its id is the chunk_id), get_episode or, for all else, recall with its id.",
        max_tokens=ANSWER_TOKENS,
    ),
    make_tool(
        QUERY_DECISIONS,
        "query_decisions",
        "Search decisions",
        "Search the decisions that agents and files recorded, by meaning and by words: what was chosen and why "
        "(snippet), how sure it was, how it turned out, what superseded it (links). Use it for why something was "
        "chosen, or whether it was decided already; without a question use list_decisions. Filters narrow by "
        "category, date, status and more before the limit. recall with its id gives a decision's whole text.",
        view=DECISION_VIEW,
        include=["snippet", "links", "provenance"],
        max_tokens=ANSWER_TOKENS,
    ),
    make_tool(
        GET_DECISIONS,
        "get_decision_points",
        "List decision points of documents",
        "List decision points that were extracted from documents (a question, its options, considerations and the "
        "recommended approach), newest first, by exact topic or all. These are no decisions of yours or your team: "
        "list_decisions lists those. With a question instead of a topic use search_knowledge.",
    ),
    make_tool(
        GET_PATTERNS,
        "get_patterns",
        "List patterns from sources",
        "List solutions that come back, extracted from documents (problem, solution, code, trade-offs), newest first, "
        "by exact topic or all. Use it before you design something; with a question instead of a topic use "
        "search_knowledge.",
    ),
    make_tool(
        GET_WARNINGS,
        "get_warnings",
        "List warnings from sources",
        "List what goes wrong and how it shows, extracted from documents (symptoms, consequences, prevention), newest "
        "first, by exact topic or all. Use it before a risky step; with a question instead of a topic use "
        "search_knowledge.",
    ),
    make_tool(
        GET_CHUNK,
        "get_chunk",
        "Read one passage",
        "Read one passage of a document whole, with its summary, its clusters and what is like it. Needs a chunk_id, "
        "which search_knowledge and the get_* tools return.",
    ),
    make_tool(
        LIST_EPISODES,
        "list_episodes",
        "List episodes",
        "List episodes (what was tried and how well it went, reward -1 to 1) page by page, newest first, by time, tags "
        "and category. Use it to review past attempts or to find gaps; it does not search by meaning.",
        of_episodes,
    ),
    make_tool(
        RECALL,
        "recall",
        "Recall what was said and written",
        "Recall meetings, mails, notes, conversations and the events in them, with related people and commitments. "
        "Give a query in plain words, or an id, or a conversation_id for its latest turns, or a context such as "
        "meeting to list the newest. Use it for who said, promised or owns what. Texts are cut to the sentences "
        "that fit the question (truncated); recall with the id alone gives the whole text, also of a decision.",
        of_recall,
        "selector",
        snippets=True,
        graph_budget=RELATED,
        max_tokens=ANSWER_TOKENS,
    ),
    make_tool(
        SEARCH_KNOWLEDGE,
        "search_knowledge",
        "Search documents",
        "Search passages of documents and what was extracted from them, by meaning and by words, filtered by type, "
        "topic and source. Use it for questions about what is written. Passages are cut to the sentences that fit "
        "the question (truncated); get_chunk with the chunk_id gives the whole.",
        snippets=True,
        max_tokens=ANSWER_TOKENS,
    ),
    make_tool(
        CHANGES,
        "changes",
        "Follow what changes",
        "What changed since a cursor, by kind and id, oldest first: put is new or changed, delete is gone or hidden. "
        'Begin with since "now", or 0 for everything, and go on with the cursor of the last answer; wait_ms waits for '
        "a change. Use it to learn what others recorded meanwhile; the other tools read the records.",
    ),
)
TOOLS: Final[Mapping[str, Tool]] = {tool.name: tool for tool in (*_TOOLS, *DECISION_TOOLS, *MEMORY_TOOLS)}
_FORMER_NAMES: Final[Mapping[str, str]] = {"get_decisions": "get_decision_points"}  # of F000; read as "list decisions"


def find_tool(name: str) -> Tool | None:
    """Return the tool of a name, also of one that it had before and that is no longer listed."""
    return TOOLS.get(_FORMER_NAMES.get(name, name))
