"""One transaction that writes: what an agent's write reads and stores, all of it or nothing."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

import orjson
import sqlalchemy as sa

from cognition_engines.errors import ComponentFailed
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.registry import kind_of
from cognition_engines.kinds.reviews import DecisionLink, LinkType, Review
from cognition_engines.models import Viewer
from cognition_engines.store.audit.audit_rows import AuditEntry, record_of
from cognition_engines.store.audit.chain import append_rows, changed_since
from cognition_engines.store.codec import columns_of, microseconds
from cognition_engines.store.database import Store
from cognition_engines.store.decision_state import settle_decisions, show_again
from cognition_engines.store.inheritance import renumber
from cognition_engines.store.reads.by_key import found_by_keys, named_record, seq_of
from cognition_engines.store.reads.decisions import REVIEW, links_of, reviews_of, revisions_of
from cognition_engines.store.schema import counter, decision_links, receipts, reviews, revisions
from cognition_engines.store.transactions import REPLACED, reading, writing
from cognition_engines.store.validation import check_batch
from cognition_engines.store.values import Entry, Receipt, Revision, StoredRecord
from cognition_engines.store.write_rows import PlacedEntry, bury, insert_vectors, place, settle_dimension


class _RolledBack(Exception):
    """What was written is to be undone."""


@dataclass(frozen=True, slots=True)
class Author:
    """Who writes, when, and by which way: `via` is cstp, mcp or a2a."""

    agent: str
    via: str
    at: datetime


class WriteTransaction:
    """Reads and writes of one transaction, which holds the counter: no other writer runs beside it."""

    def __init__(self, connection: sa.Connection, author: Author, begun_at: int = 0) -> None:
        self._connection: Final = connection
        self.author: Final = author
        self._begun_at: Final = begun_at  # the `seq` before this transaction

    def seq(self) -> int:
        """The `seq` of the last change, by this transaction or before it."""
        last: int = self._connection.execute(sa.select(counter.c.seq)).scalar_one()
        return last

    def receipt(self, method: str, key: str) -> Receipt | None:
        """What the author was answered under a key."""
        chosen = receipts.c.agent == self.author.agent, receipts.c.method == method, receipts.c.idempotency_key == key
        row = self._connection.execute(
            sa.select(receipts.c.digest, receipts.c.record, receipts.c.answer).where(*chosen)
        ).one_or_none()
        return None if row is None else Receipt(*row)

    def keep_receipt(self, method: str, key: str, receipt: Receipt) -> None:
        """Notes what the author is answered under a key, for good."""
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

    def find(self, kind: Kind, id: str, viewer: Viewer) -> StoredRecord | None:
        """The record of an id, or of one that a file gives where the viewer sees just one such record."""
        return named_record(self._connection, kind, id, viewer)

    def put(self, entry: Entry, model: str | None, known: StoredRecord | None) -> StoredRecord:
        """Stores a new record, or another content of a known one, with its vectors; the record as it is then."""
        check_batch([entry], model)
        vectors = entry.vectors
        if model is not None and vectors is not None:
            settle_dimension(self._connection, model, vectors.shape[1])
        at = microseconds(self.author.at)
        (key,) = place(self._connection, [PlacedEntry(entry, None if known is None else known.key, updated_at=at)])
        if model is not None and vectors is not None:
            insert_vectors(self._connection, [(key, vectors)], model)
        return self._read(key, kind_of(entry.record))

    def revise(self, stored: StoredRecord, entry: Entry, changed: Sequence[str], reason: str | None) -> None:
        """Notes the content that a record has from now on, which is that of `entry`."""
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
                content=orjson.dumps({**own, **columns_of(entry.record)}).decode(),
            )
        )

    def revisions(self, stored: StoredRecord) -> list[Revision]:
        """All contents that a record had, the first one first."""
        return revisions_of(self._connection, stored)

    def reviews(self, stored: StoredRecord) -> list[Review]:
        """All reviews of a decision, the first one first."""
        return reviews_of(self._connection, stored)

    def add_review(self, stored: StoredRecord, review: Review) -> StoredRecord:
        """Adds a review; the decision as it is shown then, with a new `seq`."""
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
        return self._settled(stored)

    def links(self, ids: Sequence[str], type: LinkType) -> list[DecisionLink]:
        """The links of a type that begin at these decisions."""
        return [one for one in links_of(self._connection, ids) if one.type == type and one.source in ids]

    def add_link(self, source: StoredRecord, target: StoredRecord, link: DecisionLink) -> StoredRecord:
        """Adds a link, or replaces the one of its type between the two; the source with a new `seq`."""
        self._drop_link(source, target, link.type)
        self._connection.execute(
            sa.insert(decision_links).values(
                key=source.key,
                type=link.type,
                target=str(target.record.id),
                at=microseconds(link.at),
                agent=link.agent,
                weight=link.weight,
                context=link.context,
            )
        )
        renumber(self._connection, [target.key])
        return self._settled(source)

    def remove_link(self, source: StoredRecord, target: StoredRecord, type: LinkType) -> bool:
        """Removes a link and ends its effect; whether it was there. Both ends get a new `seq`."""
        if not self._drop_link(source, target, type):
            return False
        renumber(self._connection, [source.key, target.key])
        show_again(self._connection, [target.key])
        return True

    def forget(self, kind: Kind, stored: StoredRecord) -> None:
        """Deletes a record with all that belongs to it, and what its author was answered."""
        bury(self._connection, [(kind, str(stored.record.id), stored.key)])
        spent = sa.update(receipts).where(receipts.c.record == str(stored.record.id))
        self._connection.execute(spent.values(answer=None))

    def audit(self, entry: AuditEntry) -> None:
        """Adds the audit row of this write: all records that have another `seq` now, then what `entry` names besides.

        Last of all: from here to the commit no one else can append a row.
        """
        written = [
            record_of(Kind(kind), id, written=True) for kind, id in changed_since(self._connection, self._begun_at)
        ]
        others = [one for one in entry.records if replace(one, written=True) not in written]
        append_rows(self._connection, [replace(entry, records=(*written, *others))], [])

    def _drop_link(self, source: StoredRecord, target: StoredRecord, type: LinkType) -> bool:
        chosen = sa.delete(decision_links).where(
            decision_links.c.key == source.key,
            decision_links.c.type == type,
            decision_links.c.target == str(target.record.id),
        )
        return self._connection.execute(chosen).rowcount > 0

    def _settled(self, stored: StoredRecord) -> StoredRecord:
        renumber(self._connection, [stored.key])
        settle_decisions(self._connection, [stored.key])
        return self._read(stored.key, stored.kind)

    def _read(self, key: int, kind: Kind) -> StoredRecord:
        return found_by_keys(self._connection, [key], None, (kind,))[key]


@contextmanager
def write_transaction(store: Store, author: Author, *, keep: bool) -> Iterator[WriteTransaction]:
    """A transaction of an author; without `keep` all that it wrote is undone in the end.

    Raises ComponentFailed for a database that was found replaced by an older one.
    """
    if store.seen.replaced:
        raise ComponentFailed("records", REPLACED)
    try:
        with writing(store) as connection:
            begun_at = seq_of(store, connection, store.seen.last_seq)
            yield WriteTransaction(connection, author, begun_at)
            if not keep:
                raise _RolledBack
    except _RolledBack:
        pass


@contextmanager
def read_transaction(store: Store, author: Author) -> Iterator[WriteTransaction]:
    """The same reads, of one state of the records, for what writes nothing and waits for no writer."""
    with reading(store) as connection:
        yield WriteTransaction(connection, author)


def now() -> datetime:
    """In UTC, to the microsecond, as it is stored."""
    return datetime.now(UTC)
