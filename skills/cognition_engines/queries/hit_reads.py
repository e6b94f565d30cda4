"""Reads of the records of hits: a record that cannot be read is set aside, and the others are read."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from cognition_engines.queries.search import SearchHits
from cognition_engines.set_aside import Part, RecordVersion, SetAside
from cognition_engines.store.reads.knowledge import SourceName, WithSources
from cognition_engines.store.values import StoredRecord

Read: TypeAlias = Callable[[Sequence[int]], Mapping[int, StoredRecord]]


def read_hits(set_aside: SetAside, found: SearchHits, read: Read) -> Mapping[int, StoredRecord]:
    """Return the result of `read` for the keys of the hits, without records that cannot be read."""
    hits = dict(zip(found.keys(), found.hits, strict=True))

    def version_of(key: int) -> RecordVersion:
        return found.parts[hits[key].part].snapshot.version_of(key)

    return set_aside.read_all(Part.ANSWERS, [*hits], read, version_of)


def read_sourced_hits(
    set_aside: SetAside, found: SearchHits, read: Callable[[Sequence[int]], WithSources]
) -> WithSources:
    """Do as `read_hits` for a read that also returns the names of sources."""
    sources: dict[str, SourceName] = {}

    def read_stored(keys: Sequence[int]) -> Mapping[int, StoredRecord]:
        part = read(keys)
        sources.update(part.sources)
        return part.stored

    return WithSources(read_hits(set_aside, found, read_stored), sources)
