"""Passages put together with those before and after them, without repeating overlaps."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from cognition_engines.kinds.artifacts import ArtifactChunk
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.kinds.registry import add_prefix
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.reads.memories import Place
from cognition_engines.store.values import StoredRecord

LEAST_OVERLAP: Final = 20  # characters; fewer may be alike by chance, unless they are whole words
LEAST_WORDS: Final = 2
MOST_OVERLAP: Final = 10_000

Passage: TypeAlias = Chunk | ArtifactChunk


def places_beside(results: Sequence[StoredRecord]) -> list[Place]:
    """Return the places of the resulting passages' neighbours."""
    found: list[Place] = []
    for stored in results:
        place = _place(stored)
        if place is not None:
            kind, owner, index = place
            found += [(kind, owner, at) for at in (index - 1, index + 1) if at >= 0]
    return list(dict.fromkeys(found))


def with_neighbours(stored: StoredRecord, found: Mapping[Place, StoredRecord]) -> str:
    """Return the content of a passage with the passages before and after it, if they were found."""
    place, passage = _place(stored), stored.record
    assert isinstance(passage, Chunk | ArtifactChunk)
    if place is None:
        return passage.content
    kind, owner, index = place
    before, after = (_passage(found.get((kind, owner, at))) for at in (index - 1, index + 1))
    joined = passage.content if before is None else _join_passages(before, passage, before.content)
    return joined if after is None else _join_passages(passage, after, joined)


def _place(stored: StoredRecord) -> Place | None:
    record = stored.record
    if isinstance(record, Chunk) and isinstance(record.source_id, str):
        return Kind.CHUNK, record.source_id, record.chunk_index
    if isinstance(record, ArtifactChunk):
        return Kind.ARTIFACT_CHUNK, add_prefix(Kind.ARTIFACT, record.artifact_id), record.chunk_index
    return None


def _passage(stored: StoredRecord | None) -> Passage | None:
    record = None if stored is None else stored.record
    return record if isinstance(record, Chunk | ArtifactChunk) else None


def _join_passages(first: Passage, second: Passage, text: str) -> str:
    """Return `text`, ending with the first passage, and the rest of the second passage."""
    overlap = _stated_overlap(first, second)
    if overlap is None:
        overlap = _seen_overlap(first.content, second.content)
        if overlap == 0:
            return f"{text}\n{second.content}"
    return text + second.content[overlap:]


def _stated_overlap(first: Passage, second: Passage) -> int | None:
    """Return how many characters both share by their positions; None if these are missing or wrong."""
    if first.end_char is None or second.start_char is None or second.end_char is None:
        return None
    overlap = first.end_char - second.start_char
    if overlap < 0 or overlap > len(second.content):
        return None
    return overlap if first.content.endswith(second.content[:overlap]) else None


def _seen_overlap(first: str, second: str) -> int:
    """Return the length of the longest end of `first` that begins `second`; 0 below LEAST_OVERLAP and LEAST_WORDS."""
    end = first[-MOST_OVERLAP:]
    head = second[:LEAST_OVERLAP]
    place = end.find(head) if len(head) == LEAST_OVERLAP else -1
    while place >= 0:
        if second.startswith(end[place:]):
            return len(end) - place
        place = end.find(head, place + 1)
    sizes = range(min(LEAST_OVERLAP - 1, len(first), len(second)), 0, -1)
    return next((size for size in sizes if first.endswith(second[:size]) and _whole_words(first, second, size)), 0)


def _whole_words(first: str, second: str, size: int) -> bool:
    """Return whether the overlap of `size` characters has at least LEAST_WORDS words that are whole in both texts."""
    before, after = first[: len(first) - size][-1:], second[size:][:1]
    begins = not (before.isalnum() and second[0].isalnum())
    ends = not (second[size - 1].isalnum() and after.isalnum())
    return begins and ends and len(second[:size].split()) >= LEAST_WORDS
