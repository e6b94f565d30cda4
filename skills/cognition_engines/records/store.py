"""`Records`: the store of truth as its users see it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from cognition_engines.models import Viewer
from cognition_engines.records import backup, changes, read, transfer, write
from cognition_engines.records.backup import Backup, Notes
from cognition_engines.records.open import Store, open_store
from cognition_engines.records.shared_lock import SharedLock, shared_lock
from cognition_engines.records.transactions import failures
from cognition_engines.records.transfer import Contents, Transferred, Watcher
from cognition_engines.records.values import Change, Entry, FloatArray, Outcome, Page, SourceRow, Stored


def open_records(url: str, deadline_seconds: float | None = None) -> "Records":
    """Open the database at `url`; create and migrate it where needed.

    With `deadline_seconds`, PostgreSQL cancels a read of few records that takes a second longer than that.

    `url` is `sqlite:////folder/file` (folder and file are made if missing, for the owner only) or
    `postgresql://user:password@host/database`; `postgres://` and `postgresql+psycopg://` mean the same.

    Raises `ConfigurationError` for another kind of URL, a file or folder that cannot be used and a database written by
    a newer version of the program; `ComponentFailed` when the database does not answer or is damaged.
    """
    with failures():
        return Records(open_store(url, deadline_seconds))


class Records:
    """Decisions, their vectors and the order in which they changed.

    Safe for use by several threads; several processes may open the same database. Every method is one transaction
    and raises `ComponentFailed` when the database fails. `seq` numbers every change: whoever has seen all changes up
    to `last_seq()` has seen everything committed so far.
    """

    def __init__(self, store: Store) -> None:
        self._store: Final = store
        self.store_id: Final = store.store_id  # made with the database, 32 hexadecimal digits

    def close(self) -> None:
        """Close the connections that no call is using."""
        with failures():
            self._store.reader.dispose()  # the writer shares its connections

    def last_seq(self) -> int:
        """The highest committed `seq`; 0 when nothing was ever written."""
        return read.last_seq(self._store)

    def count(self) -> int:
        """The number of decisions."""
        return read.count(self._store)

    def models(self) -> dict[str, int]:
        """For each embedding model, the number of decisions that have its vectors."""
        return read.models(self._store)

    def dimension(self, model: str) -> int | None:
        """The dimension of the vectors stored of `model`; None when there never were any."""
        return read.dimension(self._store, model)

    def put(self, batch: Sequence[Entry], model: str | None) -> tuple[Outcome, ...]:
        """Insert or update decisions by id; what was done with each, in the order of `batch`.

        A decision whose digest is stored already, with vectors of `model` (or with `model` None), is left alone.
        Otherwise it gets a new `seq` and the vectors given; an update keeps the key, and one with another digest
        removes the vectors of all models, which describe the old text. Vectors are read from every entry when
        `model` is named and from none when it is None.

        Raises `ValueError` naming the field for an id or model outside 1 to `MAX_ID` characters, an id given twice,
        missing or superfluous vectors, and vectors that are not finite float32 of one dimension; `ComponentFailed` of
        the embedder for vectors of another dimension than those stored of `model`.
        """
        return write.put(self._store, batch, model)

    def put_vectors(self, vectors: Sequence[tuple[int, FloatArray]], model: str, as_of: int | None = None) -> None:
        """Set the vectors of `model` for existing keys; each gets a new `seq`. Keys that are gone are skipped.

        With `as_of`, the `last_seq()` from before the texts were read, decisions that changed after it are skipped
        too: the vectors describe an old text. Raises `ValueError` as `put` does.
        """
        write.put_vectors(self._store, vectors, model, as_of)

    def delete(self, ids: Sequence[str]) -> tuple[str, ...]:
        """Delete decisions with their vectors, leaving a `Removal` for each; the ids that existed, in order."""
        return write.delete(self._store, ids)

    def drop_vectors(self, keep: str) -> int:
        """Remove the vectors of all models but `keep`; the number of windows removed. Not a change to follow."""
        return write.drop_vectors(self._store, keep)

    def windows(self, model: str, up_to: int) -> int:
        """How many vectors of `model` the decisions have that did not change after the `seq` `up_to`."""
        return read.windows(self._store, model, up_to)

    def shared_lock(self, name: str) -> SharedLock | None:
        """The lock `name` among all processes that have this database open, not yet taken; None on SQLite."""
        return shared_lock(self._store, name)

    def get(self, id: str, viewer: Viewer | None) -> Stored | None:
        """The decision with this id, or None when `viewer` sees none. A viewer of None, the operator, sees all."""
        return read.get(self._store, id, viewer)

    def by_keys(self, keys: Sequence[int], viewer: Viewer) -> dict[int, Stored]:
        """Those of the keys that exist and that `viewer` sees."""
        return read.by_keys(self._store, keys, viewer)

    def by_ids(self, ids: Sequence[str]) -> dict[str, Stored]:
        """Those of the ids that exist, any number of them; for the operator."""
        return read.by_ids(self._store, ids)

    def sources_under(self, folder: str) -> list[SourceRow]:
        """The records whose source lies in `folder` or below it; `folder` is absolute, else `ValueError`."""
        return read.sources_under(self._store, folder)

    def without_vectors(self, model: str, after_key: int, limit: int) -> list[Stored]:
        """The next `limit` decisions with a key above `after_key` that have no vectors of `model`, by key."""
        return read.without_vectors(self._store, model, after_key, limit)

    def changes(self, after: int, limit: int, model: str | None) -> list[Change]:
        """The next `limit` changes with a `seq` above `after`, ascending, none left out.

        Of a decision that changed several times only its last change is told. With `model`, upserts carry their
        vectors of it, or None where there are none.
        """
        return changes.changes(self._store, after, limit, model)

    def page(self, after: int, limit: int, model: str | None) -> Page:
        """What `changes` tells, as columns and without the texts: for those who follow, and may have much to read.

        Without `model`, or where a decision has none of it, the number of vectors is 0.
        """
        return changes.page(self._store, after, limit, model)

    def copy_to(self, target: "Records", watcher: Watcher) -> Contents:
        """Copy every decision with the vectors of all models into an empty store, in one transaction of `target`.

        Keys and `seq` are the target's own; all else is equal, and read back before it is committed. Raises
        `ConfigurationError` for a target that holds decisions; `ComponentFailed` naming `target` when that fails.
        """
        return transfer.copy(self._store, target._store, watcher)

    def back_up(
        self, file: Path, program: str, attached: Mapping[str, str], *, replace: bool, watcher: Watcher
    ) -> Notes:
        """Write every decision with the vectors of all models, as of one moment, to `file`, for the owner only.

        `program` is the version that writes, `attached` what else to keep, by name. The file appears when it is
        complete and on the disk. Raises `ConfigurationError` for a place where it cannot be, `BackupFailed` when it
        cannot be written. `replace` allows an older backup there, and nothing else.
        """
        return backup.write_backup(self._store, file, program, attached, replace=replace, watcher=watcher)

    def restore(self, found: Backup, *, replace: bool, watcher: Watcher) -> Transferred:
        """Make this store equal to a backup, in one transaction; see `backup.opened_backup`.

        What is equal already is left alone; what is not in the backup is deleted. Raises `ConfigurationError` for a
        store that holds decisions, unless `replace`.
        """
        return backup.restore_backup(found, self._store, replace=replace, watcher=watcher)
