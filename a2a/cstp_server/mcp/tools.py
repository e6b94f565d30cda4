"""The tools: one frozen value each over a method, with what a model reads to choose between them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from mcp_types import Tool as Listed
from mcp_types import ToolAnnotations
from pydantic.alias_generators import to_camel

from cstp.contract import Method
from cstp.errors import CstpError, JsonValue
from cstp.methods.changes import CHANGES
from cstp.methods.decisions import QUERY_DECISIONS
from cstp.methods.episodes import LIST_EPISODES
from cstp.methods.extractions import GET_DECISIONS, GET_PATTERNS, GET_WARNINGS
from cstp.methods.knowledge import GET_CHUNK, SEARCH_KNOWLEDGE
from cstp.methods.recall import RECALL
from cstp_server.mcp.errors import Body, Shape, coded, of_episodes, of_recall
from cstp_server.mcp.schemas import Schemas, in_snake_case, read_texts, schemas_of

INSTRUCTIONS: Final = (
    "What an agent, or a team, has decided, learned and remembers. Start with query_decisions for why something is as "
    "it is, with search_knowledge for what documents say, with recall for what people said, wrote or promised. "
    "Answers hold the passages that fit the question. For a whole text, call recall with the id of a decision, an "
    "artifact, a turn or an event, and get_chunk with a chunk_id; truncated says where there is more. "
    "Everything is read-only. Distances: lower is closer; scores: higher is better."
)
ANSWER_TOKENS: Final = 8000  # common clients cut at 25,000


@dataclass(frozen=True, slots=True)
class Tool:
    """A method as a tool. `naming` are members of its result whose value is the name of a parameter.

    `defaults` are what parameters are that a caller leaves out, where it is not what the method takes.
    """

    name: str
    title: str
    description: str
    method: Method[Any, Any]
    schemas: Schemas
    shape: Shape
    defaults: Mapping[str, JsonValue]
    naming: tuple[str, ...] = ()

    @property
    def listed(self) -> Listed:
        """As `tools/list` has it."""
        return Listed(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.schemas.input,
            output_schema=self.schemas.output,
            annotations=ToolAnnotations(
                read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
            ),
        )

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of the method: with defaults, and with objects and lists that came as JSON text."""
        either = {spelling: name for name in self.defaults for spelling in (name, to_camel(name))}
        stated = {name: value for name, value in given.items() if value is not None or name not in either}
        known = {either.get(name) for name in stated}
        missing = {name: value for name, value in self.defaults.items() if name not in known}
        return missing | read_texts(stated, self.schemas.input)

    def result(self, found: str) -> dict[str, Any]:
        """The structured content, from a result as JSON in snake_case."""
        members: dict[str, Any] = orjson.loads(found)
        return members | {name: in_snake_case(members[name]) for name in self.naming}

    def failure(self, error: CstpError) -> Body:
        """The structured content for an error."""
        return self.shape(error, self.schemas.input)


def _tool(
    method: Method[Any, Any],
    name: str,
    title: str,
    description: str,
    shape: Shape = coded,
    *naming: str,
    **defaults: JsonValue,
) -> Tool:
    schemas = schemas_of(method.params, method.result, defaults)
    return Tool(name, title, description, method, schemas, shape, defaults, naming)


_TOOLS: Final = (
    _tool(
        QUERY_DECISIONS,
        "query_decisions",
        "Search decisions",
        "Search the decisions that this agent has recorded, by meaning and by words: what was chosen and why (snippet)"
        ", how sure it was, how it turned out, what superseded it (links). Use it first for questions such as why "
        "something was chosen or whether it was decided already. Filters narrow by category, confidence, date, stakes "
        "and status before the limit. recall with its id gives a decision's whole text.",
        include=["snippet", "links", "provenance"],
        max_tokens=ANSWER_TOKENS,
    ),
    _tool(
        GET_DECISIONS,
        "get_decisions",
        "List decision points from sources",
        "List decision points that were drawn from documents (a question, its options, considerations and the "
        "recommended approach), newest first, by exact topic or all. For decisions that this agent made itself use "
        "query_decisions; when you have a question instead of a topic, search_knowledge.",
    ),
    _tool(
        GET_PATTERNS,
        "get_patterns",
        "List patterns from sources",
        "List solutions that come back, drawn from documents (problem, solution, code, trade-offs), newest first, by "
        "exact topic or all. Use it before you design something; with a question instead of a topic use "
        "search_knowledge.",
    ),
    _tool(
        GET_WARNINGS,
        "get_warnings",
        "List warnings from sources",
        "List what goes wrong and how it shows, drawn from documents (symptoms, consequences, prevention), newest "
        "first, by exact topic or all. Use it before a risky step; with a question instead of a topic use "
        "search_knowledge.",
    ),
    _tool(
        GET_CHUNK,
        "get_chunk",
        "Read one passage",
        "Read one passage of a document whole, with its summary, its clusters and what is like it. Needs a chunk_id, "
        "which search_knowledge and the get_* tools return.",
    ),
    _tool(
        LIST_EPISODES,
        "list_episodes",
        "List episodes",
        "List episodes (what was tried and how well it went, reward -1 to 1) page by page, newest first, by time, tags "
        "and category. Use it to review past attempts or to find gaps; it does not search by meaning.",
        of_episodes,
    ),
    _tool(
        RECALL,
        "recall",
        "Recall what was said and written",
        "Recall meetings, mails, notes, conversations and the events in them, with related people and commitments. "
        "Give a query in plain words, or an id, or a conversation_id for its latest turns, or a context such as "
        "meeting to list the newest. Use it for who said, promised or owns what. Long texts are cut to the passages "
        "that fit the question (truncated); recall with the id alone gives the whole text, also of a decision.",
        of_recall,
        "selector",
        max_tokens=ANSWER_TOKENS,
    ),
    _tool(
        SEARCH_KNOWLEDGE,
        "search_knowledge",
        "Search documents",
        "Search passages of documents and what was drawn from them, by meaning and by words, filtered by type, topic "
        "and source. Use it for questions about what is written. Long passages are cut (truncated); get_chunk with "
        "the chunk_id gives the whole.",
        max_tokens=ANSWER_TOKENS,
    ),
    _tool(
        CHANGES,
        "changes",
        "Follow what changes",
        "What changed since a cursor, by kind and id, oldest first: put is new or changed, delete is gone or hidden. "
        'Begin with since "now", or 0 for everything, and go on with the cursor of the last answer; wait_ms waits for '
        "a change. Use it to learn what others recorded meanwhile; the other tools read the records.",
    ),
)
TOOLS: Final[Mapping[str, Tool]] = {tool.name: tool for tool in _TOOLS}
