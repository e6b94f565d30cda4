"""The tools that store lessons, memories and knowledge, that read lessons, and that forget a record of any kind."""

from typing import Final

from cstp.methods.episode_records import FIND_EPISODES, GET_EPISODE, STORE_EPISODE
from cstp.methods.forgetting import FORGET
from cstp.methods.knowledge_records import STORE_KNOWLEDGE
from cstp.methods.memory_lists import LIST_MEMORIES
from cstp.methods.memory_records import REMEMBER
from cstp_server.mcp.tool import Tool, make_tool

MEMORY_TOOLS: Final[tuple[Tool, ...]] = (
    make_tool(
        LIST_MEMORIES,
        "list_memories",
        "List memories",
        "List what people wrote and said (mails, minutes, notes, turns of conversations) page by page, newest first, "
        "by author, participants, project, context, source and date. Use it without a question; with one use recall, "
        "which also gives the whole text for an id.",
    ),
    make_tool(
        GET_EPISODE,
        "get_episode",
        "Read one episode",
        "Read one episode whole, with what was learned (reflection). Needs an id, which list_episodes and "
        "find_episodes return.",
    ),
    make_tool(
        FIND_EPISODES,
        "find_episodes",
        "Find episodes",
        "Find episodes by meaning and by words of what was tried and what was learned, by reward and tags. Use it "
        "before you try something: a low reward says what to avoid.",
    ),
    make_tool(
        STORE_EPISODE,
        "store_episode",
        "Store an episode",
        "Store what was tried (query), how well it went (reward, -1 to 1) and what another agent should learn of it "
        "(reflection). Use it once a task has ended and taught something, not for progress. A call that is repeated "
        "without the same idempotency_key stores it twice.",
    ),
    make_tool(
        REMEMBER,
        "remember",
        "Remember something",
        "Remember a note, a mail, minutes or a turn of a conversation, with the events in it that you name (events); "
        "recall finds it. The same source and source_id, or conversation_id and turn_index, change what was "
        "remembered. For decisions and lessons there are other tools.",
        adds=False,
    ),
    make_tool(
        STORE_KNOWLEDGE,
        "store_knowledge",
        "Store knowledge",
        "Store what was read and learned, up to 100 records in a call: sources with their text, passages (chunk), "
        "and extractions such as patterns and warnings; all, or none. search_knowledge finds them. The same id "
        "again changes a record.",
        adds=False,
        repeatable=True,
    ),
    make_tool(
        FORGET,
        "forget",
        "Forget a record",
        "Delete a record of any kind for good, with all that came of it; nothing brings it back. Call it "
        "only when a person asked for it: first with dry_run true, where cascade says what goes along, then with "
        "confirm true. For a decision that no longer holds, record a new one with supersedes.",
        adds=False,
        repeatable=True,
    ),
)
