"""Reads of chunks and extractions with their sources."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

import orjson
import sqlalchemy as sa

from cognition_engines.kinds.extractions import Extraction
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Viewer
from cognition_engines.set_aside import RecordVersion
from cognition_engines.store.codec import title_key
from cognition_engines.store.database import Store, begin_read, pages
from cognition_engines.store.reads.by_key import (
    STRICT,
    RowReader,
    asked_by_keys,
    found_by_ids,
    only_given,
    vectors_by_key,
    visible,
)
from cognition_engines.store.schema import TABLES, records
from cognition_engines.store.values import FloatArray, StoredRecord
from cognition_engines.unicode_forms import fold_text

_SOURCES: Final = TABLES[Kind.SOURCE]


class SourceName(NamedTuple):
    """A source citation."""

    title: str
    authors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChunkFound:
    """A chunk with source, clusters and vectors, as seen by a viewer.

    `source` is None if the chunk names no known source; `clusters` are the known clusters, by id; `vectors` are from
    the requested model, (windows, dimensions), None if there are none.
    """

    chunk: Chunk
    key: int
    source: SourceName | None
    clusters: Mapping[str, StoredRecord]
    vectors: FloatArray | None


@dataclass(frozen=True, slots=True)
class WithSources:
    """Records by key, and their known sources, by id."""

    stored: Mapping[int, StoredRecord]
    sources: Mapping[str, SourceName]


class KnowledgeReads:
    """Reads of chunks and extractions with their sources."""

    def __init__(self, store: Store) -> None:
        self._store: Final = store

    def chunk(self, id: str, viewer: Viewer | None, model: str | None, rows: RowReader = STRICT) -> ChunkFound | None:
        """Return a chunk with source, clusters and, with `model`, vectors; None if there is none."""
        with begin_read(self._store) as connection:
            found = found_by_ids(connection, Kind.CHUNK, _possible([id]), viewer).get(id)
            found = found or only_given(connection, Kind.CHUNK, _possible([id]), viewer).get(id)
            if found is None:
                return None
            record = found.record
            assert isinstance(record, Chunk)
            names = _source_names(connection, [record.source_id], viewer, rows)
            clusters = found_by_ids(connection, Kind.CLUSTER, record.cluster_ids, viewer, rows)
            windows = None if model is None else vectors_by_key(connection, [found.key], model).get(found.key)
        source = None if record.source_id is None else names.get(record.source_id)
        return ChunkFound(record, found.key, source, clusters, windows)

    def sources(self, ids: Sequence[str], viewer: Viewer | None, rows: RowReader = STRICT) -> dict[str, SourceName]:
        """Return the names of existing sources visible to `viewer`, by id."""
        with begin_read(self._store) as connection:
            return _source_names(connection, ids, viewer, rows)

    def source_ids(self, title: str, viewer: Viewer | None) -> list[str]:
        """Return the ids of sources visible to `viewer` with this title, in any case, or this id in files."""
        columns = records.c.id, _SOURCES.c.title, records.c.given
        statement = sa.select(*columns).join_from(records, _SOURCES)
        called = sa.or_(_SOURCES.c.title_key == title_key(title), records.c.given.in_(_possible([title])))
        with begin_read(self._store) as connection:
            found = connection.execute(statement.where(called, *visible(viewer)).order_by(records.c.id)).all()
        return [id for id, its, given in found if given == title or fold_text(its) == fold_text(title)]

    def with_sources(
        self,
        keys: Sequence[int],
        viewer: Viewer | None,
        kinds: Sequence[Kind] | None,
        rows: RowReader = STRICT,
    ) -> WithSources:
        """Return records by key with their sources visible to `viewer`."""
        with begin_read(self._store) as connection:
            found = asked_by_keys(connection, keys, viewer, kinds, rows)
            named = [source_of(one) for one in found.values()]
            return WithSources(found, _source_names(connection, named, viewer, rows))


def source_of(one: StoredRecord) -> str | None:
    """Return the source id named in a chunk or an extraction."""
    return one.record.source_id if isinstance(one.record, Chunk | Extraction) else None


def _source_names(
    connection: sa.Connection, ids: Iterable[str | None], viewer: Viewer | None, rows: RowReader
) -> dict[str, SourceName]:
    columns = records.c.key, records.c.seq, records.c.id, _SOURCES.c.title, _SOURCES.c.authors
    statement = sa.select(*columns).join_from(records, _SOURCES)
    found: dict[str, SourceName] = {}
    for page in pages(_possible(ids)):
        chosen = records.c.kind == int(Kind.SOURCE), records.c.id.in_(page)
        for key, seq, id, title, authors in connection.execute(statement.where(*chosen, *visible(viewer))):
            version = RecordVersion(key, seq, Kind.SOURCE.label, id)
            name = rows.attempt(version, partial(_source_name, title, authors), counted=False)
            if name is not None:
                found[id] = name
    return found


def _source_name(title: str, authors: str) -> SourceName:
    return SourceName(title, tuple(orjson.loads(authors)))


def _possible(ids: Iterable[str | None]) -> list[str]:
    """Return each once; PostgreSQL accepts no text with NUL, and no id has one."""
    return list(dict.fromkeys(id for id in ids if id is not None and "\0" not in id))
