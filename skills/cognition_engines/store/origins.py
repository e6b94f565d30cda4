"""Stored records' origins, and id resolution."""

import os
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

import orjson
import sqlalchemy as sa

from cognition_engines.kinds.registry import NAMESAKES, add_prefix
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity, Viewer
from cognition_engines.store.codec import ORIGIN, origin_of, place_key
from cognition_engines.store.database import Store, begin_read, begin_scan, begin_write, pages
from cognition_engines.store.inheritance import renumber
from cognition_engines.store.reads.by_key import found_by_keys, visible
from cognition_engines.store.reads.supersession import dangling_supersessions
from cognition_engines.store.references import dangling_links, exposed_links
from cognition_engines.store.schema import records
from cognition_engines.store.values import (
    DanglingReferences,
    ExposedRecords,
    GuardedFile,
    KnownRecord,
    Relocation,
    StoredFile,
    StoredRecord,
)

MARK: Final = "~"  # in a full id, between the id in a file and the place digest
_DIGITS: Final = 12
_KNOWN: Final = sa.select(
    records.c.key, records.c.kind, records.c.id, records.c.own_project, *(records.c[name] for name in ORIGIN)
)


def full_id(given: str, repository: str, project: str | None) -> str:
    """Return the full id of a record with the id `given`, which other repositories and projects may also use."""
    where = orjson.dumps([repository, project])
    return f"{given}{MARK}{sha256(where).hexdigest()[:_DIGITS]}"


def _known_record(row: Sequence[Any]) -> KnownRecord:
    """Return a row from a select of known records as a value."""
    key, kind, id, project, *origin = row
    return KnownRecord(key, Kind(kind), id, project, origin_of(origin))


def known_by(
    connection: sa.Connection, names: Sequence[tuple[Kind, str]], identities: Sequence[str]
) -> dict[int, KnownRecord]:
    """Return the records with any of the ids, among all kinds with shared ids, or any of the identities; by key."""
    found: dict[int, KnownRecord] = {}
    ids: dict[Kind, dict[str, None]] = {}
    for kind, id in names:
        for each in NAMESAKES if kind in NAMESAKES else (kind,):
            ids.setdefault(each, {})[id] = None
    for kind, its in ids.items():
        for page in pages(list(its)):
            rows = connection.execute(_KNOWN.where(records.c.kind == int(kind), records.c.id.in_(page)))
            found |= {row[0]: _known_record(row) for row in rows}
    for page in pages(list(dict.fromkeys(identities))):
        found |= {row[0]: _known_record(row) for row in connection.execute(_KNOWN.where(records.c.identity.in_(page)))}
    return found


class Origins:
    """Reads of stored records' origins."""

    def __init__(self, store: Store) -> None:
        self._store: Final = store

    def find_known(self, names: Sequence[tuple[Kind, str]], identities: Sequence[str]) -> list[KnownRecord]:
        """Return the records with any of the ids, among all kinds with shared ids, or any of the identities."""
        with begin_read(self._store) as connection:
            return [found for _, found in sorted(known_by(connection, names, identities).items())]

    def read_below(self, folder: str) -> list[KnownRecord]:
        """Return the records whose source is `folder` or lies below it; raise ValueError unless it is absolute."""
        if not os.path.isabs(folder):
            raise ValueError("folder: must be an absolute path")
        top = folder.rstrip(os.sep)
        return _select_known(self._store, sa.or_(records.c.source == top, _in_folder(records.c.source, top)))

    def of_repository(self, repository: str, path: str) -> list[KnownRecord]:
        """Return a repository's records whose file has this path or lies below it; all of them for "."."""
        below = () if path == "." else (sa.or_(records.c.path == path, _in_folder(records.c.path, path)),)
        return _select_known(self._store, records.c.repository == repository, *below)

    def of_place(self, place: tuple[str, str]) -> list[KnownRecord]:
        """Return the records of a file or collection, by repository and path; see `Origin.place`."""
        return [
            found
            for found in _select_known(self._store, records.c.source_key == place_key(place))
            if found.origin.place == place
        ]

    def files(self) -> list[StoredFile]:
        """Return the source files of records, with their places; in order."""
        columns = records.c.source, records.c.repository, records.c.path
        statement = sa.select(*columns).where(sa.func.substr(records.c.source, 1, 1) == "/").distinct()
        with begin_scan(self._store) as connection:
            return sorted(
                (StoredFile(*row) for row in connection.execute(statement)), key=lambda one: (one.source, one.path)
            )

    def relocate(self, moved: Sequence[Relocation]) -> int:
        """Give records of moved files their origin, with a new `seq`; return the number of changed records."""
        statement = sa.update(records).where(records.c.key == sa.bindparam("row_key"))
        done: list[Relocation] = []
        with begin_write(self._store) as connection:
            for page in pages(moved):
                chosen = sa.select(records.c.key, records.c.source).where(
                    records.c.key.in_([each.key for each in page])
                )
                sources = {row.key: row.source for row in connection.execute(chosen)}
                done += [each for each in page if sources.get(each.key) == each.before]
            rows = [
                {
                    "row_key": each.key,
                    "source": each.origin.source,
                    "digest": each.origin.digest,
                    "project_scope": each.origin.project_scope,
                    "guard_scope": each.origin.guard_scope,
                }
                for each in done
            ]
            if rows:
                connection.execute(statement, rows)
                renumber(connection, [each.key for each in done])
        return len(done)

    def guarded_files(self) -> list[GuardedFile]:
        """Return the sensitivities set by run options, for each file and scope."""
        columns = records.c.source, records.c.path, records.c.guard_scope, records.c.guarded_as
        statement = sa.select(*columns).where(records.c.guarded_as.is_not(None)).distinct()
        with begin_scan(self._store) as connection:
            rows = connection.execute(statement)
            return [GuardedFile(source, path, scope, Sensitivity(level)) for source, path, scope, level in rows]

    def dangling_references(self, places: Sequence[tuple[str, str]]) -> list[DanglingReferences]:
        """Return references in these files' records that name nothing stored, by file, kind and role."""
        with begin_scan(self._store) as connection:
            return [*dangling_links(connection, places), *dangling_supersessions(connection, places)]

    def exposed_records(self, places: Sequence[tuple[str, str]]) -> list[ExposedRecords]:
        """Return these files' chunks and extractions that are less sensitive than their source."""
        with begin_scan(self._store) as connection:
            return exposed_links(connection, places)

    def find_meant(self, kinds: Sequence[Kind], id: str, viewer: Viewer | None) -> list[tuple[str, StoredRecord]]:
        """Return the records that `id` may mean, each with an unambiguous full id.

        `id` is an id in answers, an id in files, or a full id, with or without the kind's prefix.
        """
        given, mark, _ = id.rpartition(MARK)
        found: dict[int, KnownRecord] = {}
        with begin_read(self._store) as connection:
            for kind in kinds:
                exact = add_prefix(kind, id)
                of_id = records.c.id == exact, records.c.given == exact
                full = (records.c.given == add_prefix(kind, given),) if mark and given else ()
                chosen = _KNOWN.where(records.c.kind == int(kind), sa.or_(*of_id, *full), *visible(viewer))
                for row in connection.execute(chosen):
                    one = _known_record(row)
                    if exact in (one.id, one.origin.given, full_name(one)):
                        found[one.key] = one
            sure = {key: one for key, one in found.items() if full_name(one) == add_prefix(one.kind, id)}
            stored = found_by_keys(connection, sorted(sure or found), viewer)
        return [(full_name(found[key]), one) for key, one in stored.items()]


def _in_folder(column: sa.ColumnElement[str], folder: str) -> sa.ColumnElement[bool]:
    prefix = folder + "/"
    # not LIKE: SQLite's ignores case, and % and _ are part of names
    return sa.func.substr(column, 1, len(prefix)) == prefix


def _select_known(store: Store, *conditions: sa.ColumnElement[bool]) -> list[KnownRecord]:
    with begin_scan(store) as connection:
        return [_known_record(row) for row in connection.execute(_KNOWN.where(*conditions).order_by(records.c.key))]


def full_name(record: KnownRecord) -> str:
    """Return the id that means only this record, even if files use the short id for others."""
    given = record.origin.given
    return record.id if given is None else full_id(given, record.origin.repository, record.project)
