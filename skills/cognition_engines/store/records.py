"""`Records`: the store of truth as its users see it."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from cognition_engines.filters import Conditions
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.reviews import DecisionLink
from cognition_engines.models import Viewer
from cognition_engines.spaces import Space
from cognition_engines.store import change_feed, origins, write
from cognition_engines.store.advisory_lock import SharedLock, shared_lock
from cognition_engines.store.audit.chain import AuditChain
from cognition_engines.store.database import CALLS, SETTING, Store, open_store
from cognition_engines.store.erasure.forgetting import Forgetting
from cognition_engines.store.erasure.ledger import Erasure
from cognition_engines.store.reads import by_key as read
from cognition_engines.store.reads import conversations as memory
from cognition_engines.store.reads import graph as around
from cognition_engines.store.reads import knowledge, supersession, viewer_changes
from cognition_engines.store.reads.change_watch import ChangeWatch
from cognition_engines.store.reads.conversations import AttachedEvents, Place, TurnPage
from cognition_engines.store.reads.decision_walk import DecisionGraph, GraphRequest, decision_graph
from cognition_engines.store.reads.decisions import DecisionHistory, decision_history, decision_links_of
from cognition_engines.store.reads.graph import NamedEntity, Neighbourhood
from cognition_engines.store.reads.knowledge import ChunkFound, SourceName, WithSources
from cognition_engines.store.reads.stated_ends import dangling_successors
from cognition_engines.store.reads.supersession import Supersession
from cognition_engines.store.reads.viewer_changes import SeenChanges
from cognition_engines.store.transactions import failures
from cognition_engines.store.transfer import backup
from cognition_engines.store.transfer import copy as transfer
from cognition_engines.store.transfer.backup import Backup, Notes
from cognition_engines.store.transfer.copy import Contents, TransferSummary, Watcher
from cognition_engines.store.values import (
    DanglingReferences,
    Entry,
    ExposedRecords,
    FloatArray,
    GuardedFile,
    KnownRecord,
    Outcome,
    Page,
    Relocation,
    Replaces,
    StoredFile,
    StoredRecord,
    Text,
)
from cognition_engines.store.write_transaction import Author, WriteTransaction, read_transaction, write_transaction


def open_records(
    url: str, deadline_seconds: float | None = None, named: str = SETTING, calls: int = CALLS
) -> "Records":
    """Open the database at `url`; create and migrate it where needed.

    With `deadline_seconds`, PostgreSQL cancels a read of few records that takes a second longer than that.

    `url` is `sqlite:////folder/file` (folder and file are made if missing, for the owner only) or
    `postgresql://user:password@host/database`; `postgres://` and `postgresql+psycopg://` mean the same.

    `named` is the setting or option that gave the URL, for errors. `calls` is how many threads may use the records at a
    time, from 1; each has its own connection.

    Raises `ConfigurationError` for another kind of URL, a file or folder that cannot be used and a database written by
    a newer version of the program; `ComponentFailed` when the database does not answer or is damaged.
    """
    with failures():
        return Records(open_store(url, deadline_seconds, named, calls))


class Records:
    """Records of all kinds, their vectors and the order in which they changed.

    Safe for use by several threads; several processes may open the same database. Every method is one transaction
    and raises `ComponentFailed` when the database fails. `seq` numbers every change: a reader that has seen all changes
    up to `last_seq()` has seen everything committed so far.
    """

    def __init__(self, store: Store) -> None:
        self._store: Final = store
        self.store_id: Final = store.store_id  # made with the database, 32 hexadecimal digits
        self.audit: Final = AuditChain(store)
        self.forgetting: Final = Forgetting(store)

    def close(self) -> None:
        """Close the connections that no call is using."""
        with failures():
            self._store.reader.dispose()  # the writer shares its connections

    @property
    def shared(self) -> bool:
        """Whether other machines may have the database open, too."""
        return self._store.writer.dialect.name != "sqlite"

    def last_seq(self) -> int:
        """The highest committed `seq`; 0 when nothing was ever written."""
        return read.last_seq(self._store)

    def counts(self) -> dict[Kind, int]:
        """The number of records of each kind that there is."""
        return read.counts(self._store)

    def ids(self, kind: Kind) -> list[str]:
        """The ids of all records of a kind, in the order of code points."""
        return read.ids(self._store, kind)

    def dimension(self, model: str) -> int | None:
        """The dimension of the vectors stored of `model`; None when there never were any."""
        return read.dimension(self._store, model)

    def put(self, batch: Sequence[Entry], model: str | None, replaces: Sequence[Replaces] = ()) -> tuple[Outcome, ...]:
        """Insert or update records by kind and id; what was done with each, in the order of `batch`.

        A record whose digest is stored already, with vectors of `model` (or with `model` None, or without a text to
        embed), is left alone. Otherwise it gets a new `seq` and the vectors given; an update keeps the key, and one
        with another digest removes the vectors of all models, which describe the old text. Whatever has something
        from a record that changed gets a new `seq` too: the events, edges and chunks of an artifact take its
        project, clearance and facets, a turn is found by the words of its neighbours. With `model`, every entry has
        vectors whose record says something to embed (`kinds.texts.embedded`); else none has.

        Raises `ValueError` naming the field for an id that is missing, has no prefix or more than `MAX_ID`
        characters, an id given twice, missing or superfluous vectors, and vectors that are not finite float32 of one
        dimension; its subclass `IdTaken` where a sibling kind or a record of another origin has the id, or a stored
        record of the same identity and project another one; `ComponentFailed` of the embedder for vectors of another
        dimension than those stored of `model`.
        """
        return write.put(self._store, batch, model, replaces)

    def decision(self, id: str, viewer: Viewer) -> DecisionHistory | None:
        """A decision that the viewer sees, with all that was written about it; None if there is none.

        `id` may be one that a file gives where the viewer sees just one such decision.
        """
        return decision_history(self._store, id, viewer)

    def decision_links(self, ids: Sequence[str], viewer: Viewer) -> list[DecisionLink]:
        """The links that agents made of these decisions, both ends of which the viewer sees, in order."""
        return decision_links_of(self._store, ids, viewer)

    def decision_graph(self, request: GraphRequest, viewer: Viewer) -> DecisionGraph | None:
        """The decisions around one, of those that the viewer sees; None where it does not see that one.

        A step follows at most 2,000 links; what leads through a decision that is hidden is not followed.
        """
        return decision_graph(self._store, request, viewer)

    def write_transaction(self, author: Author, *, keep: bool) -> AbstractContextManager[WriteTransaction]:
        """What an agent writes, all of it or nothing; without `keep` nothing, as if it had failed in the end."""
        return write_transaction(self._store, author, keep=keep)

    def read_transaction(self, author: Author) -> AbstractContextManager[WriteTransaction]:
        """What a write reads, without waiting for other writers."""
        return read_transaction(self._store, author)

    def put_vectors(self, vectors: Sequence[tuple[int, FloatArray]], model: str, as_of: int | None = None) -> None:
        """Set the vectors of `model` for existing keys; each gets a new `seq`. Keys that are gone are skipped.

        With `as_of`, the `last_seq()` from before the texts were read, records that changed after it are skipped
        too: the vectors describe an old text. Raises `ValueError` as `put` does.
        """
        write.put_vectors(self._store, vectors, model, as_of)

    def delete(self, kind: Kind, ids: Sequence[str], *, with_parts: bool = False) -> tuple[str, ...]:
        """Delete records with their vectors, leaving a tombstone for each; the ids that existed, in order.

        With `with_parts`, what ingest cut a deleted artifact or source into goes too. All else that belonged to it
        stays, as guarded as it was.
        """
        return write.delete(self._store, kind, ids, with_parts)

    def drop_vectors(self, keep: str) -> int:
        """Remove the vectors of all models but `keep`; the number of windows removed. Not a change to follow."""
        return write.drop_vectors(self._store, keep)

    def windows(self, space: Space, model: str, up_to: int) -> int:
        """How many vectors of `model` the records of a space have that did not change after the `seq` `up_to`."""
        return read.windows(self._store, space, model, up_to)

    def fingerprint(self, space: Space, up_to: int) -> tuple[int, int]:
        """How many records of a space did not change after the `seq` `up_to`, and the sum of their `seq`s.

        Of each `seq` the remainder by FINGERPRINT_PRIME is added: the sum of all has more bits than a number may have.
        """
        return change_feed.fingerprint(self._store, space, up_to)

    def shared_lock(self, name: str) -> SharedLock | None:
        """The lock `name` among all processes that have this database open, not yet taken; None on SQLite."""
        return shared_lock(self._store, name)

    def change_watch(self) -> ChangeWatch:
        """What says cheaply whether something was committed; for one thread, which closes it."""
        return ChangeWatch(self._store)

    def find(self, ids: Sequence[tuple[Kind, str]], viewer: Viewer | None) -> list[StoredRecord]:
        """Those of the records that exist and that `viewer` sees, in the order asked; None, the operator, sees all.

        The ids of artifacts, turns and events are known with and without their prefix. An id that no record has is
        looked for among those that files give; it means a record where the viewer sees no other that is given it.
        """
        return read.find(self._store, ids, viewer)

    def by_keys(
        self, keys: Sequence[int], viewer: Viewer | None, kinds: Sequence[Kind] | None = None
    ) -> dict[int, StoredRecord]:
        """Those of the keys that exist and that `viewer` sees, of any kinds; naming `kinds` leaves out all others."""
        return read.by_keys(self._store, keys, viewer, kinds)

    def as_of(self, wanted: Mapping[int, int], viewer: Viewer) -> dict[int, StoredRecord]:
        """The records of these keys that are still as of the `seq` given with each; cached ones are not read."""
        return read.as_of(self._store, wanted, viewer)

    def vectors_of(self, keys: Sequence[int], model: str) -> dict[int, FloatArray]:
        """The vectors of `model` (windows, dimensions), by key, of those of the keys that have any, for any viewer."""
        return read.vectors_of(self._store, keys, model)

    def by_ids(self, kind: Kind, ids: Sequence[str]) -> dict[str, StoredRecord]:
        """Those of the ids that exist, as stored, any number of them; for the operator."""
        return read.by_ids(self._store, kind, ids)

    def supersessions(self, found: Sequence[StoredRecord], viewer: Viewer | None) -> dict[int, Supersession]:
        """Which decisions each of these supersedes or is superseded by, of those that `viewer` sees, by key.

        A reference is the id of a decision, or the name or number of a file in the same folder.
        """
        return supersession.supersessions(self._store, found, viewer)

    def texts(self, keys: Sequence[int]) -> list[Text]:
        """The words of those of the keys that exist and have any, a turn's with those of its neighbours.

        A neighbour has the same conversation, session and project and is not more guarded than the turn.
        """
        return read.texts(self._store, keys)

    def known(self, names: Sequence[tuple[Kind, str]], identities: Sequence[str]) -> list[KnownRecord]:
        """The records that have one of the ids, among all kinds that share theirs, or one of the identities."""
        return origins.known_records(self._store, names, identities)

    def read_below(self, folder: str) -> list[KnownRecord]:
        """Return the records whose source is `folder` or lies below it; it is absolute, else `ValueError`."""
        return origins.read_below(self._store, folder)

    def of_repository(self, repository: str, path: str) -> list[KnownRecord]:
        """The records of a repository whose file has this path or lies below it; all of them for "."."""
        return origins.of_repository(self._store, repository, path)

    def of_place(self, place: tuple[str, str]) -> list[KnownRecord]:
        """The records of one file or collection, by repository and path; see `Origin.place`."""
        return origins.of_place(self._store, place)

    def files(self) -> list[StoredFile]:
        """Return the files that records are from, with their places; in order."""
        return origins.files(self._store)

    def relocate(self, moved: Sequence[Relocation]) -> int:
        """Give records of moved files their origin, with a new `seq` and nothing else; return how many were as said."""
        return origins.relocate(self._store, moved)

    def guarded(self) -> list[GuardedFile]:
        """The levels that options of runs gave, for each file and scope that they were given for."""
        return origins.guarded(self._store)

    def meant(self, kinds: Sequence[Kind], id: str, viewer: Viewer | None) -> list[tuple[str, StoredRecord]]:
        """The records that `id` may mean, each with its full id, which means it alone.

        `id` is one that answers name, one that a file gives, or a full one, with or without the prefix of the kind.
        """
        return origins.meant(self._store, kinds, id, viewer)

    def dangling(self, places: Sequence[tuple[str, str]]) -> list[DanglingReferences]:
        """The references in records of these files that name nothing stored, by file, kind and role."""
        return [*read.dangling(self._store, places), *dangling_successors(self._store, places)]

    def exposed(self, places: Sequence[tuple[str, str]]) -> list[ExposedRecords]:
        """The chunks and extractions of these files that are less sensitive than their source, by file and kind."""
        return read.exposed(self._store, places)

    def without_vectors(self, space: Space, model: str, after_key: int, limit: int) -> list[StoredRecord]:
        """The next `limit` records of a space with a key above `after_key` that lack vectors of `model`, by key.

        Records that say nothing to embed are left out.
        """
        return read.without_vectors(self._store, space, model, after_key, limit)

    def seen_changes(self, viewer: Viewer, after: int, kinds: Sequence[Kind] | None, limit: int) -> SeenChanges:
        """The next `limit` changes with a `seq` above `after` that the viewer may know of, none left out.

        Of a record that changed several times only its last change is returned. What was deleted or given other rights
        is gone for a viewer that saw it by then and does not see it now; what it never saw leaves no trace.
        """
        return viewer_changes.seen_changes(self._store, viewer, after, kinds, limit)

    def last_seen(self, viewer: Viewer) -> int:
        """The `seq` of the last change of what the viewer sees or saw; 0 where there is none."""
        return viewer_changes.last_seen(self._store, viewer)

    def page(self, space: Space, after: int, limit: int, model: str | None) -> Page:
        """The next `limit` changes of a space, as columns and without the texts: for those who follow.

        Without `model`, or where a record has none of it, the number of vectors is 0. A page that holds fewer than
        `limit` changes ends at the store's last `seq`, whatever changed last.
        """
        return change_feed.page(self._store, space, after, limit, model)

    def catch_up(self, listing: Space, after: int, limit: int) -> Page:
        """As `page`, without vectors."""
        return change_feed.page(self._store, listing, after, limit, None)

    def copy_to(self, target: "Records", watcher: Watcher) -> Contents:
        """Copy every record with the vectors of all models into an empty store, in one transaction of `target`.

        Keys and `seq` are the target's own; all else is equal, and read back before it is committed. Raises
        `ConfigurationError` for a target that holds records; `ComponentFailed` naming `target` when that fails.
        """
        return transfer.copy(self._store, target._store, watcher)

    def back_up(
        self, file: Path, program: str, attached: Mapping[str, str], *, replace: bool, watcher: Watcher
    ) -> Notes:
        """Write every record with the vectors of all models, as of one moment, to `file`, for the owner only.

        `program` is the version that writes, `attached` what else to keep, by name. The file appears when it is
        complete and on the disk. Raises `ConfigurationError` for a place where it cannot be, `BackupFailed` when it
        cannot be written. `replace` allows an older backup there, and nothing else.
        """
        return backup.write_backup(self._store, file, program, attached, replace=replace, watcher=watcher)

    def restore(
        self, found: Backup, *, replace: bool, watcher: Watcher, erasures: Sequence[Erasure] = ()
    ) -> TransferSummary:
        """Make this store equal to a backup, in one transaction; see `backup.opened_backup`.

        What is equal already is left alone; what is not in the backup is deleted, and what was forgotten since is
        forgotten again: by the ledgers of this store and of the backup, and by `erasures`. Raises `ConfigurationError`
        for a store that holds records, unless `replace`.
        """
        return backup.restore_backup(found, self._store, replace=replace, watcher=watcher, erasures=erasures)

    def chunk(self, id: str, viewer: Viewer | None, model: str | None) -> ChunkFound | None:
        """A chunk with the title of its source, its clusters and, with `model`, its vectors; None if there is none."""
        return knowledge.chunk(self._store, id, viewer, model)

    def sources(self, ids: Sequence[str], viewer: Viewer | None) -> dict[str, SourceName]:
        """What is cited of those of the sources that exist and that `viewer` sees, by id."""
        return knowledge.sources(self._store, ids, viewer)

    def source_ids(self, title: str, viewer: Viewer | None) -> list[str]:
        """The ids of the sources of this title, in any case, or that files give this id, and that `viewer` sees."""
        return knowledge.source_ids(self._store, title, viewer)

    def with_sources(self, keys: Sequence[int], viewer: Viewer | None, kinds: Sequence[Kind] | None) -> WithSources:
        """As `by_keys`, with the sources that the records name and that `viewer` sees."""
        return knowledge.with_sources(self._store, keys, viewer, kinds)

    def turns(self, conversation_id: str, conditions: Conditions, viewer: Viewer | None, limit: int) -> TurnPage:
        """The latest `limit` turns of a conversation that meet the conditions, ascending, and how many do."""
        return memory.turns(self._store, conversation_id, conditions, viewer, limit)

    def attached(
        self,
        parents: Sequence[int],
        seeds: Sequence[int],
        conditions: Conditions,
        viewer: Viewer | None,
        most: int,
    ) -> AttachedEvents:
        """Of each of the artifacts `parents` its `most` newest events, those without a time last, ties by id.

        And whom the events of the artifacts `seeds` name, all of them. Both are keys of artifacts or turns; the events
        meet the conditions.
        """
        return memory.attached(self._store, parents, seeds, conditions, viewer, most)

    def neighbours(
        self, places: Sequence[Place], conditions: Conditions, viewer: Viewer | None
    ) -> dict[Place, StoredRecord]:
        """The passages at these places that are there and meet the conditions; the oldest where there are several."""
        return memory.neighbours(self._store, places, conditions, viewer)

    def around(self, nodes: Sequence[str], viewer: Viewer | None) -> Neighbourhood:
        """What names stand for, and what is one edge away, both ways; names as `kinds.fields.normal` has them."""
        return around.around(self._store, nodes, viewer)

    def with_entities(
        self, keys: Sequence[int], names: Iterable[str], viewer: Viewer | None, resolve: bool
    ) -> tuple[dict[int, StoredRecord], Sequence[NamedEntity]]:
        """As `by_keys`; with `resolve` also the entities that the names stand for, or that these records name."""
        return around.with_entities(self._store, keys, names, viewer, resolve)
