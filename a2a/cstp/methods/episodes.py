"""Methods over episodes."""

from cstp.contract import Method, ToolText
from cstp.errors import Conflict, NotFound, QueryFailed
from cstp.values.episodes import (
    FindEpisodesParams,
    FindEpisodesResult,
    GetEpisodeParams,
    GetEpisodeResult,
    ListEpisodesParams,
    ListEpisodesResult,
    StoreEpisodeParams,
    StoreEpisodeResult,
)

LIST_EPISODES = Method(
    name="cstp.listEpisodes",
    summary="List the agent's episodes page by page, newest first, with filters.",
    params=ListEpisodesParams,
    result=ListEpisodesResult,
    from_records=True,
    tool=ToolText(
        title="List episodes",
        description=(
            "Use to review past attempts page by page, newest first, by time, tags and category: what was tried, and "
            "the reward, -1 to 1. It does not search; find_episodes does."
        ),
    ),
)


GET_EPISODE = Method(
    name="cstp.getEpisode",
    summary="Read a whole episode, with reflection.",
    params=GetEpisodeParams,
    result=GetEpisodeResult,
    errors=(QueryFailed, NotFound),
    from_records=True,
    tool=ToolText(
        title="Read one episode",
        description=(
            "Use to read one episode whole, with what was learned (reflection). Needs an id, which list_episodes and "
            "find_episodes return."
        ),
    ),
)


FIND_EPISODES = Method(
    name="cstp.findEpisodes",
    summary="Find episodes by meaning and by words of attempts and lessons.",
    params=FindEpisodesParams,
    result=FindEpisodesResult,
    tool=ToolText(
        title="Find episodes",
        description=(
            "Use before you try something: it finds earlier attempts and their lessons by meaning and by words, by "
            "reward and tags. A low reward says what to avoid."
        ),
    ),
)


STORE_EPISODE = Method(
    name="cstp.storeEpisode",
    summary="Store an attempt, the outcome and the lessons learned.",
    params=StoreEpisodeParams,
    result=StoreEpisodeResult,
    errors=(QueryFailed, Conflict),
    scope="write",
    cost=3,
    tool=ToolText(
        title="Store an episode",
        description=(
            "Use once a task has ended and taught something, not for progress: store what was tried (query), how well"
            " it went (reward, -1 to 1) and what another agent should learn (reflection). Without the same "
            "idempotency_key a repeated call stores it twice."
        ),
    ),
)
