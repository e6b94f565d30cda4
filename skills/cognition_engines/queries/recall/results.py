"""Results of recall while being read: each with content and events."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from cognition_engines.kinds.graph import Event
from cognition_engines.models import Decision
from cognition_engines.queries.recall.selection import content_of, owner_of
from cognition_engines.search.explanations import Explanation
from cognition_engines.search.snippets import Window
from cognition_engines.store.reads.knowledge import SourceName
from cognition_engines.store.reads.memories import AttachedEvents
from cognition_engines.store.values import StoredRecord


@dataclass(frozen=True, slots=True)
class Result:
    """A found record. `content` is the record's `own`, or with neighbours; `score` None without a ranking.

    `source` names a chunk's source. `explanation` is None if not requested. `window` is the text's window nearest to
    the query; None without windows or if words alone decide.
    """

    stored: StoredRecord
    own: str
    content: str
    score: float | None
    events: Sequence[StoredRecord] = ()
    window: Window | None = None
    explanation: Explanation | None = None
    source: SourceName | None = None


def make_result(stored: StoredRecord, score: float | None) -> Result:
    """Return the result of a record. Raise ValueError if recall shows no such record."""
    content = content_of(stored)
    own = stored.record.text if isinstance(stored.record, Decision) else content
    return Result(stored, own, content, score)


def shown_keys(results: Sequence[Result]) -> set[int]:
    """Return the keys of all records in the answer so far: results, the artifacts of chunks, attached events."""
    shown: set[int] = set()
    for result in results:
        owner = owner_of(result.stored)
        shown.update([result.stored.key, *(event.key for event in result.events)])
        shown.update([] if owner is None else [owner])
    return shown


def with_events(results: Sequence[Result], attached: AttachedEvents, limit: int) -> list[Result]:
    """Return the results with events, at most `limit` of both, each event once; those found by a query have priority.

    The events of a result are the newest first.
    """
    shown = {one.key for result in results for one in (result.stored, *result.events)}
    left = limit - len(shown)
    found = []
    for result in results:
        owner = owner_of(result.stored)
        others = [event for event in attached.events.get(owner or 0, ()) if event.key not in shown][: max(0, left)]
        left -= len(others)
        shown.update(event.key for event in others)
        found.append(replace(result, events=sorted([*result.events, *others], key=_newest_first)))
    return found


def _newest_first(event: StoredRecord) -> tuple[float, str]:
    at = event.record.event_time if isinstance(event.record, Event) else None
    return (inf if at is None else -at.timestamp(), str(event.record.id))
