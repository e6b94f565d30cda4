"""`Records`: the store of truth as seen by its users."""

from collections.abc import Iterable, Sequence
from typing import Final

import sqlalchemy as sa

from cognition_engines.kinds.registry import add_prefix
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.audit.chain import AuditChain
from cognition_engines.store.database import Store, begin_read, begin_scan, begin_write, failures, pages
from cognition_engines.store.erasure.forgetting import Forgetting
from cognition_engines.store.inheritance import renumber
from cognition_engines.store.opening import CALLS, SETTING, open_store
from cognition_engines.store.origins import Origins
from cognition_engines.store.reads.counts import counts_of, stored_dimension
from cognition_engines.store.reads.decisions import DecisionReads
from cognition_engines.store.reads.keyword_texts import KeywordTexts
from cognition_engines.store.reads.knowledge import KnowledgeReads
from cognition_engines.store.reads.memories import ConversationReads, GraphReads
from cognition_engines.store.reads.viewer_changes import ViewerChanges
from cognition_engines.store.record_reads import RecordReads
from cognition_engines.store.schema import DIMENSION, meta, records, vectors
from cognition_engines.store.values import Entry, FloatArray, Outcome, Replaces
from cognition_engines.store.write import (
    DOCUMENTS,
    check_batch,
    check_model,
    check_vectors,
    delete_records,
    insert_vectors,
    parts_of,
    put_checked,
    settle_dimension,
)


def open_records(
    url: str, deadline_seconds: float | None = None, named: str = SETTING, calls: int = CALLS
) -> "Records":
    """Open the database at `url`; create and migrate it if needed.

    With `deadline_seconds`, PostgreSQL cancels a read of few records that takes a second longer than that.

    `url` is `sqlite:////folder/file` (folder and file are made if missing, for the owner only) or
    `postgresql://user:password@host/database`; `postgres://` and `postgresql+psycopg://` mean the same.

    `named` is the setting or option that gave the URL, for errors. `calls` is the number of threads that may use the
    records at a time, from 1; each has its own connection.

    Raise `ConfigurationError` for another kind of URL, an unusable file or folder and a database written by a newer
    version of the program; `ComponentFailed` if the database does not answer or is damaged.
    """
    with failures():
        return Records(open_store(url, deadline_seconds, named, calls))


class Records(RecordReads):
    """Records of all kinds, their vectors and the order in which they changed, to read and to write."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.audit: Final = AuditChain(store)
        self.conversations: Final = ConversationReads(store)
        self.forgetting: Final = Forgetting(store)
        self.graph: Final = GraphReads(store)
        self.decisions: Final = DecisionReads(store)
        self.keyword_texts: Final = KeywordTexts(store)
        self.knowledge: Final = KnowledgeReads(store)
        self.origins: Final = Origins(store)
        self.viewer_changes: Final = ViewerChanges(store)

    @property
    def is_shared(self) -> bool:
        """Return whether other machines may have the database open, too."""
        return self.store.writer.dialect.name != "sqlite"

    def counts(self) -> dict[Kind, int]:
        """Return the number of records of each existing kind."""
        with begin_scan(self.store) as connection:
            return counts_of(connection)

    def ids(self, kind: Kind) -> list[str]:
        """Return the ids of all records of a kind, in code point order."""
        statement = sa.select(records.c.id).where(records.c.kind == int(kind))
        with begin_scan(self.store) as connection:
            # in the order of code points, which is the same in every database
            return sorted(connection.execute(statement).scalars())

    def keys_of(self, ids: Sequence[str]) -> dict[str, list[int]]:
        """Return the keys of all records with any of the ids, of any kind; an unknown id is absent."""
        found: dict[str, list[int]] = {}
        with begin_read(self.store) as connection:
            for page in pages(list(ids)):
                for id, key in connection.execute(sa.select(records.c.id, records.c.key).where(records.c.id.in_(page))):
                    found.setdefault(id, []).append(key)
        return found

    def dimension(self, model: str) -> int | None:
        """Return the dimension of the stored vectors of `model`; None if there never were any."""
        with begin_read(self.store) as connection:
            return stored_dimension(connection, model)

    def put(self, batch: Sequence[Entry], model: str | None, replaces: Sequence[Replaces] = ()) -> tuple[Outcome, ...]:
        """Insert or update records by kind and id; return the outcome of each, in the order of `batch`.

        A record with an already stored digest, with vectors of `model` (or with `model` None, or without a text to
        embed), is left alone. Otherwise it gets a new `seq` and the given vectors; an update keeps the key, and with
        another digest removes the vectors of all models, which describe the old text. Records inheriting from a changed
        record get a new `seq`, too: the events, edges and chunks of an artifact take its project, clearance and facets,
        a turn is found by the words of its neighbours. With `model`, every entry has vectors whose record has a text to
        embed (`kinds.texts.embedded`); else none has.

        Raise `ValueError` naming the field for an id that is missing, has no prefix or more than `MAX_ID` characters,
        an id given twice, missing or superfluous vectors, and vectors that are not finite float32 of one dimension; its
        subclass `IdTaken` if a sibling kind or a record of another origin has the id, or a stored record of the same
        identity and project another id; `ComponentFailed` of the embedder for vectors of another dimension than the
        stored vectors of `model`.
        """
        names = check_batch(batch, model)
        with begin_write(self.store) as connection:
            return put_checked(connection, batch, names, model, replaces)

    def put_vectors(self, given: Sequence[tuple[int, FloatArray]], model: str, as_of: int | None = None) -> None:
        """Set the vectors of `model` for existing keys; each gets a new `seq`. Deleted keys are skipped.

        With `as_of`, the `last_seq()` from before the texts were read, records changed after it are skipped too: the
        vectors describe an old text. Raise `ValueError` as `put` does.
        """
        by_key = dict(given)
        if len(by_key) != len(given):
            raise ValueError("vectors: a key is given twice")
        check_vectors(by_key.values())
        check_model(model)
        with begin_write(self.store) as connection:
            present: list[int] = []
            for page in pages(list(by_key)):
                found = sa.select(records.c.key).where(records.c.key.in_(page))
                if as_of is not None:
                    found = found.where(records.c.seq <= as_of)
                present += connection.execute(found.order_by(records.c.key)).scalars()
            if not present:
                return
            settle_dimension(connection, model, by_key[present[0]].shape[1])
            for page in pages(present):
                connection.execute(sa.delete(vectors).where(vectors.c.key.in_(page), vectors.c.model == model))
            renumber(connection, present)
            insert_vectors(connection, [(key, by_key[key]) for key in present], model)

    def touch(self, keys: Iterable[int]) -> frozenset[int]:
        """Give existing records a new `seq`, so that all followers read them again; return their keys."""
        with begin_write(self.store) as connection:
            chosen = [
                key
                for page in pages(sorted(keys))
                for key in connection.execute(sa.select(records.c.key).where(records.c.key.in_(page))).scalars()
            ]
            renumber(connection, chosen)
        return frozenset(chosen)

    def delete(self, kind: Kind, ids: Sequence[str], *, with_parts: bool = False) -> tuple[str, ...]:
        """Delete records with their vectors, leaving a tombstone for each; return the existing ids, in order.

        With `with_parts`, the parts of a deleted artifact or source are deleted, too. Other records that belonged to it
        stay, with their rights.
        """
        wanted = {add_prefix(kind, id): id for id in ids}
        with begin_write(self.store) as connection:
            keys: dict[str, int] = {}
            for page in pages(list(wanted)):
                chosen = records.c.kind == int(kind), records.c.id.in_(page)
                found = connection.execute(sa.select(records.c.id, records.c.key).where(*chosen))
                keys.update((id, key) for id, key in found)
            gone = [id for id in wanted if id in keys]
            cut = with_parts and kind in DOCUMENTS
            parts = [each for page in pages(gone) for each in parts_of(connection, kind, page)] if cut else []
            delete_records(connection, [*((kind, id, keys[id]) for id in gone), *parts])
        return tuple(wanted[id] for id in gone)

    def drop_vectors(self, keep: str) -> int:
        """Remove the vectors of all models but `keep`; return the number of windows. Not a change to follow."""
        others = meta.c.name.startswith(DIMENSION, autoescape=True), meta.c.name != DIMENSION + keep
        with begin_write(self.store) as connection:
            connection.execute(sa.delete(meta).where(*others))
            return connection.execute(sa.delete(vectors).where(vectors.c.model != keep)).rowcount
