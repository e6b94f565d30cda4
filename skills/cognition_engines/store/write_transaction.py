"""A write transaction: the reads and writes of an agent's request, all or nothing."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import orjson
import sqlalchemy as sa

from cognition_engines.errors import ComponentFailed
from cognition_engines.kinds.decisions import DecisionLink, LinkType, Review
from cognition_engines.kinds.registry import kind_of
from cognition_engines.kinds.spec import WRITTEN, Kind, Role
from cognition_engines.models import Viewer, microseconds
from cognition_engines.store.audit.chain import AuditEntry, append_rows, changed_since, record_of
from cognition_engines.store.codec import Cell, columns_of
from cognition_engines.store.database import REPLACED, Store, allocate, begin_read, begin_write, numbered_up_to, seq_of
from cognition_engines.store.erasure.cascade import Erasable, ErasedRecord, cascade_of, erasable
from cognition_engines.store.erasure.forgetting import named_records
from cognition_engines.store.erasure.ledger import erase
from cognition_engines.store.inheritance import renumber
from cognition_engines.store.reads.by_key import found_by_keys, named_record, visible
from cognition_engines.store.reads.decisions import REVIEW, links_of, reviews_of, revisions_of
from cognition_engines.store.schema import (
    TABLES,
    decision_links,
    ended_links,
    links,
    receipt_names,
    receipts,
    records,
    reviews,
    revisions,
)
from cognition_engines.store.values import Entry, Outcome, Receipt, Replaces, Revision, StoredRecord
from cognition_engines.store.visible_state import settle_decisions, show_again, void_unratified
from cognition_engines.store.write import (
    EntryRow,
    check_batch,
    delete_records,
    insert_vectors,
    put_checked,
    settle_dimension,
    upsert_records,
)
from cstp.values.records import ForgetCascade


class _RolledBack(Exception):
    """The written changes are to be rolled back."""


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a write, its time, and its transport: `via` is cstp, mcp or a2a."""

    agent: str
    via: str
    at: datetime


class WriteTransaction:
    """Reads and writes of a transaction holding the counter: no other writer runs meanwhile."""

    def __init__(self, connection: sa.Connection, author: Author, begun_at: int = 0) -> None:
        self._connection: Final = connection
        self.author: Final = author
        self._begun_at: Final = begun_at  # the `seq` before this transaction

    def seq(self) -> int:
        """Return the `seq` from which on reads see all writes of this transaction; 0 if it wrote nothing.

        No later change has it. It reveals only the time of this transaction.
        """
        return numbered_up_to(self._connection)

    def receipt(self, method: str, key: str) -> Receipt | None:
        """Return the answer given to the author under a key."""
        chosen = receipts.c.agent == self.author.agent, receipts.c.method == method, receipts.c.idempotency_key == key
        row = self._connection.execute(
            sa.select(receipts.c.digest, receipts.c.record, receipts.c.answer).where(*chosen)
        ).one_or_none()
        return None if row is None else Receipt(*row)

    def keep_receipt(self, method: str, key: str, receipt: Receipt) -> None:
        """Keep the answer of the author under a key, for good."""
        self._connection.execute(
            sa.insert(receipts).values(
                agent=self.author.agent,
                method=method,
                idempotency_key=key,
                at=microseconds(self.author.at),
                digest=receipt.digest,
                record=receipt.record,
                answer=receipt.answer,
            )
        )
        place = {"agent": self.author.agent, "method": method, "idempotency_key": key}
        if names := [{**place, "record": id} for id in receipt.names]:
            self._connection.execute(sa.insert(receipt_names), names)

    def find(self, kind: Kind, id: str, viewer: Viewer) -> StoredRecord | None:
        """Return the record with an id, or with an id in files if the viewer sees exactly one such record."""
        return named_record(self._connection, kind, id, viewer)

    def is_taken(self, kind: Kind, id: str) -> bool:
        """Return whether a record has this id, in any project."""
        chosen = records.c.kind == int(kind), records.c.id == id
        return self._connection.execute(sa.select(records.c.key).where(*chosen)).scalar() is not None

    def find_by_values(self, kind: Kind, values: Mapping[str, str | int], viewer: Viewer) -> list[StoredRecord]:
        """Return the visible records of a kind with these values in columns of its table, by key."""
        table = TABLES[kind]
        chosen = [table.c[name] == value for name, value in values.items()]
        joined = sa.select(records.c.key).join_from(records, table, table.c.key == records.c.key)
        return self._read_all(joined.where(*chosen, *visible(viewer)), kind, viewer)

    def find_by_name(self, kind: Kind, id: str, viewer: Viewer) -> list[StoredRecord]:
        """Return the visible records of a kind with this id, also as an agent's own id, by key."""
        called = sa.and_(records.c.given == id, records.c.source == WRITTEN)
        return self._find_all(kind, viewer, sa.or_(records.c.id == id, called))

    def of_identity(self, kind: Kind, identity: str, viewer: Viewer) -> list[StoredRecord]:
        """Return the visible records of a kind and an identity, by key."""
        return self._find_all(kind, viewer, records.c.identity == identity)

    def _find_all(self, kind: Kind, viewer: Viewer, condition: sa.ColumnElement[bool]) -> list[StoredRecord]:
        statement = sa.select(records.c.key).where(records.c.kind == int(kind), condition, *visible(viewer))
        return self._read_all(statement, kind, viewer)

    def _read_all(self, statement: sa.Select[Any], kind: Kind, viewer: Viewer | None) -> list[StoredRecord]:
        """Return the records of the keys selected by a statement, by key."""
        keys = list(self._connection.execute(statement.order_by(records.c.key)).scalars())
        found = found_by_keys(self._connection, keys, viewer, (kind,))
        return [found[key] for key in keys]

    def children(self, kind: Kind, owner: str, role: Role = Role.ARTIFACT) -> list[StoredRecord]:
        """Return the records of a kind written by agents for the artifact, turn or source with this id, by key."""
        chosen = links.c.role == int(role), links.c.target == owner, records.c.source == WRITTEN
        joined = sa.select(records.c.key).join_from(records, links, links.c.key == records.c.key)
        return self._read_all(joined.where(*chosen, (records.c.kind + 0) == int(kind)), kind, None)

    def drop(self, gone: Sequence[StoredRecord]) -> None:
        """Delete records absent from a new version of their owner."""
        delete_records(self._connection, [(one.kind, str(one.record.id), one.key) for one in gone])

    def put(
        self,
        entry: Entry,
        model: str | None,
        known: StoredRecord | None,
        changed: Sequence[str] | None = None,
        reason: str | None = None,
    ) -> StoredRecord:
        """Store a new record, or a new version of a known record, with its vectors; return the stored record.

        With `changed`, the names of changed members, its content is also kept as a revision.
        """
        check_batch([entry], model)
        vectors, cells = entry.vectors, columns_of(entry.record)
        if model is not None and vectors is not None:
            settle_dimension(self._connection, model, vectors.shape[1])
        row = EntryRow(replace(entry, updated_at=self.author.at), None if known is None else known.key, cells=cells)
        (key,) = upsert_records(self._connection, [row])
        if model is not None and vectors is not None:
            insert_vectors(self._connection, [(key, vectors)], model)
        stored = self._read_record(key, kind_of(entry.record))
        if changed is not None:
            self._revise(stored, entry, cells, changed, reason)
        return stored

    def put_all(self, batch: Sequence[Entry], model: str | None, replaces: Sequence[Replaces]) -> tuple[Outcome, ...]:
        """Put records as `Records.put` does, in this transaction. Raise ValueError and IdTaken as it does."""
        return put_checked(self._connection, batch, check_batch(batch, model), model, replaces)

    def _revise(
        self, stored: StoredRecord, entry: Entry, cells: Mapping[str, Cell], changed: Sequence[str], reason: str | None
    ) -> None:
        """Store the content of `entry` as a record's new revision."""
        own = {"project": entry.record.project, "sensitivity": int(entry.record.sensitivity or 0)}
        self._connection.execute(
            sa.insert(revisions).values(
                key=stored.key,
                number=stored.revision,
                at=microseconds(self.author.at),
                agent=self.author.agent,
                via=self.author.via,
                changed=json.dumps(list(changed)),
                reason=reason,
                content=orjson.dumps({**own, **cells}).decode(),
            )
        )

    def revisions(self, stored: StoredRecord) -> list[Revision]:
        """Return all contents of a record, the first content first."""
        return revisions_of(self._connection, stored)

    def reviews(self, stored: StoredRecord) -> list[Review]:
        """Return all reviews of a decision, the first review first."""
        return reviews_of(self._connection, stored)

    def add_review(self, stored: StoredRecord, review: Review) -> StoredRecord:
        """Add a review; return the visible state of the decision, with a new `seq`."""
        self._connection.execute(
            sa.insert(reviews).values(
                key=stored.key,
                number=review.number,
                id=review.id,
                at=microseconds(review.at),
                agent=review.agent,
                via=review.via,
                self_review=int(review.self_review),
                outcome=review.outcome,
                previous_outcome=review.previous_outcome,
                content=REVIEW.dump_json(review.content).decode(),
            )
        )
        renumber(self._connection, [stored.key])
        settle_decisions(self._connection, [stored.key])
        return self._read_record(stored.key, stored.kind)

    def links(self, ids: Sequence[str], type: LinkType, viewer: Viewer | None = None) -> list[DecisionLink]:
        """Return the links of a type that begin at these decisions and have both ends visible."""
        return [one for one in links_of(self._connection, ids, viewer) if one.type == type and one.source in ids]

    def add_link(self, source: StoredRecord, target: StoredRecord, link: DecisionLink) -> StoredRecord:
        """Add a link, and end the link of its type between the two, whose effect lasts; return the updated source.

        Each of the two gets a new `seq` if all its viewers see the other: others must not learn of the link.
        """
        before = self._end_link(source, target, link.type)
        self._connection.execute(
            sa.insert(decision_links).values(
                key=source.key,
                type=link.type,
                target=str(target.record.id),
                at=microseconds(link.at),
                agent=link.agent,
                weight=link.weight,
                context=link.context,
                effective_at=None if before is None else before.effective_at,
            )
        )
        self._renumber_ends(source, target)
        settle_decisions(self._connection, [source.key])
        return self._read_record(source.key, source.kind)

    def remove_link(self, source: StoredRecord, target: StoredRecord, type: LinkType) -> bool:
        """End a link and its effect; return whether it existed. New `seq` as by `add_link`."""
        if self._end_link(source, target, type) is None:
            return False
        self._renumber_ends(source, target)
        show_again(self._connection, [target.key])
        return True

    def void_unratified(self, stored: StoredRecord) -> None:
        """End the effect of supersessions of a now ratified decision by non-binding decisions."""
        void_unratified(self._connection, str(stored.record.id))

    def of_any_kind(self, id: str, viewer: Viewer) -> list[StoredRecord]:
        """Return the records of any kind that an id means for the viewer; several if kinds share it."""
        return named_records(self._connection, id, viewer)

    def find_erased(self, stored: StoredRecord, viewer: Viewer) -> Erasable:
        """Return the records deleted if the viewer forgets a record."""
        return erasable(self._connection, stored.key, viewer)

    def cascade(self, gone: Sequence[ErasedRecord], viewer: Viewer) -> ForgetCascade:
        """Count the records deleted with the first record, as far as the viewer sees them."""
        return cascade_of(self._connection, gone, viewer)

    def forget(self, gone: Sequence[ErasedRecord], reason: str | None) -> None:
        """Delete records with all that belongs to them, and the answers to their authors; note them in the ledger."""
        erase(self._connection, gone, microseconds(self.author.at), self.author.agent, reason)

    def audit(self, entry: AuditEntry) -> None:
        """Add the audit row of this write: all records with a changed `seq`, then the others named by `entry`.

        Call it last: from here to the commit no other transaction can append a row.
        """
        written = [
            record_of(Kind(kind), id, written=True) for kind, id in changed_since(self._connection, self._begun_at)
        ]
        others = [one for one in entry.records if replace(one, written=True) not in written]
        append_rows(self._connection, [replace(entry, records=(*written, *others))], [])

    def _end_link(self, source: StoredRecord, target: StoredRecord, type: LinkType) -> sa.Row[Any] | None:
        """Move a link to the links ended by the author; return it, or None if it does not exist."""
        chosen = (
            decision_links.c.key == source.key,
            decision_links.c.type == type,
            decision_links.c.target == str(target.record.id),
        )
        link = self._connection.execute(sa.select(decision_links).where(*chosen)).one_or_none()
        if link is None:
            return None
        last = sa.select(sa.func.max(ended_links.c.number)).where(ended_links.c.key == source.key)
        number = (self._connection.execute(last).scalar() or 0) + 1
        ended = {"number": number, "ended_at": microseconds(self.author.at), "ended_by": self.author.agent}
        self._connection.execute(sa.insert(ended_links).values(**link._asdict(), **ended))
        self._connection.execute(sa.delete(decision_links).where(*chosen))
        return link

    def _renumber_ends(self, source: StoredRecord, target: StoredRecord) -> None:
        ends = ((source, target), (target, source))
        keys = [one.key for one, other in ends if _shown_to_all(other, one)]
        if keys:
            renumber(self._connection, keys)
        else:
            allocate(self._connection, 1)  # the transaction has written, for which the answer has a `seq`

    def _read_record(self, key: int, kind: Kind) -> StoredRecord:
        return found_by_keys(self._connection, [key], None, (kind,))[key]


def _shown_to_all(one: StoredRecord, other: StoredRecord) -> bool:
    """Return whether all viewers of `other` see `one`; a record without a project needs all projects."""
    of, at = one.facets, other.facets
    return at.project in (None, of.project) and of.sensitivity <= at.sensitivity


@contextmanager
def write_transaction(store: Store, author: Author, *, keep: bool) -> Iterator[WriteTransaction]:
    """Begin an author's transaction; without `keep`, undo all its writes in the end.

    Raise ComponentFailed for a database found replaced by an older database.
    """
    if store.seen.replaced:
        raise ComponentFailed("records", REPLACED)
    try:
        with begin_write(store) as connection:
            begun_at = seq_of(store, connection, store.seen.last_seq)
            yield WriteTransaction(connection, author, begun_at)
            if not keep:
                raise _RolledBack
    except _RolledBack:
        pass


@contextmanager
def read_transaction(store: Store, author: Author) -> Iterator[WriteTransaction]:
    """Begin a transaction with the same reads, of a single state of the records; it waits for no writer."""
    with begin_read(store) as connection:
        yield WriteTransaction(connection, author)


def utc_now() -> datetime:
    """Return the time in UTC, to the microsecond, as in the store."""
    return datetime.now(UTC)
