"""Insert and update a batch of records, inside a transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.spec import Role
from cognition_engines.store.codec import microseconds
from cognition_engines.store.origins import known_by, namesakes
from cognition_engines.store.references import repoint, resolved
from cognition_engines.store.schema import links, records, vectors
from cognition_engines.store.transactions import pages
from cognition_engines.store.values import PART, Entry, IdTaken, KnownRecord, Outcome, Replaces
from cognition_engines.store.write_rows import PlacedEntry, bury, insert_vectors, place, settle_dimension

# What ingest cuts, and the role in which its parts refer to it.
DOCUMENTS: Final[Mapping[Kind, Role]] = {Kind.SOURCE: Role.SOURCE, Kind.ARTIFACT: Role.ARTIFACT}


@dataclass(frozen=True, slots=True)
class _StoredDigest:
    key: int
    digest: str
    has_vectors: bool
    expires_at: int | None  # microseconds since 1970

    def says_the_same(self, entry: Entry) -> bool:
        """Whether a record that is stored is as the entry has it, but for its vectors."""
        expires_at = None if entry.expires_at is None else microseconds(entry.expires_at)
        return self.digest == entry.origin.digest and self.expires_at == expires_at


def put_checked(
    connection: sa.Connection,
    batch: Sequence[Entry],
    names: Sequence[tuple[Kind, str]],
    model: str | None,
    replaces: Sequence[Replaces],
) -> tuple[Outcome, ...]:
    """Put a batch as `Records.put` does, in a `writing` transaction; `names` are those that `check_batch` returns."""
    for each in replaces:
        _drop_others(connection, each)
    known = _known(connection, names, model)
    _check_origins(connection, batch, names)
    outcomes = tuple(_outcome(entry, known.get(name), model) for entry, name in zip(batch, names, strict=True))
    work = [
        (entry, known.get(name))
        for entry, name, outcome in zip(batch, names, outcomes, strict=True)
        if outcome is not Outcome.UNCHANGED
    ]
    if work:
        entries = resolved(connection, [entry for entry, _ in work])
        work = [(entry, held) for entry, (_, held) in zip(entries, work, strict=True)]
        _store(connection, work, model)
        repoint(connection, [entry for entry, held in work if held is None])
    return outcomes


def _drop_others(connection: sa.Connection, document: Replaces) -> None:
    found = parts_of(connection, document.kind, [document.id])
    bury(connection, [each for each in found if each[:2] not in document.kept])


def parts_of(connection: sa.Connection, kind: Kind, ids: Sequence[str]) -> list[tuple[Kind, str, int]]:
    """What ingest cut documents of a kind with these ids into: by kind, id and key."""
    statement = (
        sa.select(records.c.kind, records.c.id, records.c.key)
        .join_from(links, records)
        # whatever file they are from: the document may have moved since
        .where(links.c.role == int(DOCUMENTS[kind]), links.c.target.in_(ids), records.c.ordinal == PART)
        .order_by(records.c.key)
    )
    return [(Kind(of), id, key) for of, id, key in connection.execute(statement)]


def _check_origins(connection: sa.Connection, batch: Sequence[Entry], names: Sequence[tuple[Kind, str]]) -> None:
    """Refuse to take over a record of another origin, or of a kind that has its ids in common with this one."""
    identities = [entry.origin.identity for entry in batch if entry.origin.identity]
    by_id: dict[tuple[Kind, str], KnownRecord] = {}
    by_identity: dict[tuple[Kind, str, str | None], KnownRecord] = {}
    for known in known_by(connection, names, identities).values():
        by_id[namesakes(known.kind)[0], known.id] = known
        by_identity[known.kind, known.origin.identity, known.project] = known
    for entry, (kind, id) in zip(batch, names, strict=True):
        holder = by_id.get((namesakes(kind)[0], id))
        if holder is not None and not _may_replace(entry, kind, holder):
            raise IdTaken(holder.kind, id, holder.origin.source)
        twin = by_identity.get((kind, entry.origin.identity, entry.record.project))
        if entry.origin.identity and twin is not None and twin.id != id:
            raise IdTaken(kind, twin.id, twin.origin.source)


def _may_replace(entry: Entry, kind: Kind, holder: KnownRecord) -> bool:
    if holder.kind is not kind:
        return False
    if holder.origin.written and entry.handover is not None:
        return holder.origin.content_hash == entry.handover
    if not entry.origin.identity and not holder.origin.identity:
        return True
    same = entry.origin.identity == holder.origin.identity
    return same and holder.origin.place in (entry.origin.place, entry.over)


def _known(
    connection: sa.Connection, names: Sequence[tuple[Kind, str]], model: str | None
) -> dict[tuple[Kind, str], _StoredDigest]:
    has_vectors = sa.exists().where(vectors.c.key == records.c.key, vectors.c.model == model)
    statement = sa.select(records.c.id, records.c.key, records.c.digest, has_vectors, records.c.expires_at)
    found: dict[tuple[Kind, str], _StoredDigest] = {}
    for kind in dict.fromkeys(kind for kind, _ in names):
        for page in pages([id for of, id in names if of is kind]):
            chosen = statement.where(records.c.kind == int(kind), records.c.id.in_(page))
            for id, key, digest, has, expires_at in connection.execute(chosen):
                found[kind, id] = _StoredDigest(key, digest, bool(has), expires_at)
    return found


def _outcome(entry: Entry, known: _StoredDigest | None, model: str | None) -> Outcome:
    if known is None:
        return Outcome.NEW
    complete = model is None or known.has_vectors or entry.vectors is None
    return Outcome.UNCHANGED if known.says_the_same(entry) and complete else Outcome.CHANGED


def _store(connection: sa.Connection, work: Sequence[tuple[Entry, _StoredDigest | None]], model: str | None) -> None:
    given = [entry.vectors for entry, _ in work if entry.vectors is not None]
    if model is not None and given:
        settle_dimension(connection, model, given[0].shape[1])
    written = [
        PlacedEntry(
            entry,
            None if known is None else known.key,
            same=known is not None and known.says_the_same(entry),
            updated_at=None if entry.updated_at is None else microseconds(entry.updated_at),
        )
        for entry, known in work
    ]
    keys = place(connection, written)
    if model is not None:
        windows = [(key, each.entry.vectors) for key, each in zip(keys, written, strict=True)]
        insert_vectors(connection, [(key, array) for key, array in windows if array is not None], model)
