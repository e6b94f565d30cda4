"""The tools: one for each method that has a text for models."""

from collections.abc import Mapping
from typing import Final

from cstp.methods.registry import METHODS
from cstp_server.mcp.tool import STORED_IS_DATA, Tool, tools_of

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
TOOLS: Final[Mapping[str, Tool]] = {tool.name: tool for tool in tools_of(METHODS)}
_FORMER_NAMES: Final[Mapping[str, str]] = {"get_decisions": "get_decision_points"}  # of F000; read as "list decisions"


def find_tool(name: str) -> Tool | None:
    """Return the tool of a name, also of one that it had before and that is no longer listed."""
    return TOOLS.get(_FORMER_NAMES.get(name, name))
