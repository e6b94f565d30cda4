"""What a record says to searches: the text that is embedded, and the words that it is found by."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Final, assert_never

from cognition_engines.kinds.artifacts import Artifact, ArtifactChunk, Turn
from cognition_engines.kinds.episodes import Episode
from cognition_engines.kinds.extractions import Extraction
from cognition_engines.kinds.fields import Model
from cognition_engines.kinds.graph import Edge, Entity, Event
from cognition_engines.kinds.knowledge import Chunk, Cluster, Source
from cognition_engines.kinds.registry import Record
from cognition_engines.models import Decision

_HEADINGS: Final = ("question", "name", "title", "role")  # an extraction's content has one of them


def embedded(record: Record) -> str | None:
    """The text that a record's vectors are of; None for one that has none."""
    match record:
        case Decision():
            return f"{record.title}\n{record.text}"
        case Chunk() | ArtifactChunk():
            return _titled(record.title, record.content)
        case Artifact():
            return None if record.chunked else _titled(record.title, record.content)
        case Extraction():
            return "\n".join(_drawn(record))
        case Turn():
            return _spoken(record)
        case Event():
            return _told(record)
        case Source() | Cluster() | Episode() | Entity() | Edge():
            return None
        case _:
            assert_never(record)


def worded(record: Record, before: Turn | None = None, after: Turn | None = None) -> str | None:
    """The text that a record's words are of; None for one that has none.

    A turn is also found by the words of the turns `before` and `after` it, an event by its quotes.
    """
    if isinstance(record, Turn):
        return "\n".join(_spoken(turn) for turn in (before, record, after) if turn is not None)
    if isinstance(record, Event):
        return "\n".join([_told(record), *(evidence.quote for evidence in record.evidence)])
    return embedded(record)


def heading(extraction: Extraction) -> str:
    """What an extraction is called: its question, name, title or role."""
    found: str = next(getattr(extraction.content, name) for name in _HEADINGS if hasattr(extraction.content, name))
    return found


def _titled(title: str | None, content: str) -> str:
    return content if title is None else f"{title}\n{content}"


def _drawn(extraction: Extraction) -> Iterator[str]:
    """The heading, then every other text of the content in the order of its members, then the topics."""
    yield heading(extraction)
    for field in fields(extraction.content):
        if field.name not in _HEADINGS:
            yield from _said(getattr(extraction.content, field.name))
    yield from extraction.topics


def _said(value: object) -> Iterator[str]:
    """The texts in a member: a text, a list of texts or objects, an object; not its numbers and truth values."""
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _said(item)
    elif isinstance(value, Model):
        for field in fields(value):
            yield from _said(getattr(value, field.name))


def _spoken(turn: Turn) -> str:
    """`2023-05-08 Ana: what she said`; what is not known is left out."""
    speaker = turn.speaker or turn.role
    day = "" if turn.ts is None else f"{turn.ts.date().isoformat()} "
    return f"{day}{turn.content}" if speaker is None else f"{day}{speaker}: {turn.content}"


def _told(event: Event) -> str:
    """`2024-03-18 Decision: what happened`, and a line with those who were part of it."""
    day = "" if event.event_time is None else f"{event.event_time.date().isoformat()} "
    refs = [actor.ref for actor in event.actors] + ([] if event.subject is None else [event.subject.ref])
    told = f"{day}{event.category}: {event.narrative}"
    return f"{told}\n{', '.join(dict.fromkeys(refs))}" if refs else told
