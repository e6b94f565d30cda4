"""Writes of episodes, each inside one transaction."""

from datetime import datetime
from secrets import randbelow
from typing import Final

from cognition_engines.kinds.episodes import Episode
from cognition_engines.kinds.kind import Kind
from cognition_engines.store.write_transaction import WriteTransaction
from cognition_engines.writing.entries import PreparedTexts, entry_of
from cognition_engines.writing.memory_requests import StoredEpisode, StoreEpisode
from cognition_engines.writing.requests import Writer
from cognition_engines.writing.rules import check_sensitivity, project_for

_HIGHEST: Final = 2**52 - 1  # what every JSON reader takes as a whole number


def episode_from(asked: StoreEpisode, id: int | None, project: str | None, at: datetime | None) -> Episode:
    """The episode that a request states."""
    return Episode(
        id=id,
        query=asked.query,
        reward=asked.reward,
        reflection=asked.reflection,
        tags=asked.tags,
        category=asked.category,
        created_at=at,
        project=project,
        sensitivity=asked.sensitivity,
    )


def store_episode(
    transaction: WriteTransaction, writer: Writer, asked: StoreEpisode, made: PreparedTexts
) -> StoredEpisode:
    """Stores a new episode, under a random number that no record has."""
    project = project_for(writer, asked.project)
    check_sensitivity(writer, asked.sensitivity)
    at = transaction.author.at
    id = 1 + randbelow(_HIGHEST)
    while transaction.is_taken(Kind.EPISODE, str(id)):
        id = 1 + randbelow(_HIGHEST)
    entry = entry_of(episode_from(asked, id, project, at), writer, made)
    stored = transaction.put(entry, made.model, None)
    transaction.revise(stored, entry, ("query", "reward", "reflection"), None)
    return StoredEpisode(id=str(id), seq=transaction.seq(), at=at)
