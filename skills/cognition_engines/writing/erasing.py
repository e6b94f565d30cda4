"""Forgetting: on request, with a receipt made by a search for remains; expiry; and remains in files."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, Final, TypeVar

from cognition_engines.background import BackgroundThread
from cognition_engines.clock_guard import ClockGuard
from cognition_engines.errors import ComponentFailed, ConfigurationError
from cognition_engines.indexes.index_folder import ALONE, WorkerNumber
from cognition_engines.indexes.indexes import Indexes
from cognition_engines.indexes.published import PublishedSeq
from cognition_engines.indexes.space import HeldKeys
from cognition_engines.kinds.spec import KINDS
from cognition_engines.models import EVERYTHING, Viewer
from cognition_engines.queries.pools import Caller, Pool, Pools
from cognition_engines.store.audit.chain import AuditedRecord
from cognition_engines.store.codec import moment
from cognition_engines.store.erasure.cascade import ErasedRecord
from cognition_engines.store.erasure.ledger import append_ledger, ledger_locked, read_locked
from cognition_engines.store.records import Records
from cognition_engines.store.write_transaction import WriteTransaction, utc_now
from cognition_engines.writing.entries import AMEND_OTHERS, Prepared, Stored, WriteHandler, check_owner, refused
from cognition_engines.writing.requests import WriteCaller
from cstp.errors import Forbidden, NotFound
from cstp.values.records import ForgetParams, ForgetPending, ForgetReceipt, ForgetRemaining, ForgetResult

T = TypeVar("T")

FOLLOW_SECONDS: Final = 2.0  # for which a receipt waits for this process's indexes
_LOOK_SECONDS: Final = 0.02
_COMPACTION: Final = "bytes of it may be left until the files are compacted: by this server soon, or by cstp compact"
_VECTORS: Final = "its vectors may be left in the files until cstp compact has rebuilt the index"
_CHROMA: Final = "the Chroma server may keep its vectors in files until cstp reindex has made the collections again"
_SERVERS: Final = "other servers of this store follow within seconds; their indexes cannot be looked at from here"
_WORKERS: Final = "the other workers of this server follow within seconds; they cannot be looked at from here"
_FREED: Final = "PostgreSQL keeps its deleted rows until cstp compact, and its own log as long as it is set to"
POLL_SECONDS: Final = 5.0  # between two checks for later writes
LEAST_SECONDS: Final = 0.01
BATCH: Final = 50  # records expiring in one transaction
# Size compacted while the server works, in a second or two; more needs cstp compact.
MOST_BYTES: Final = 64 * 2**20
MOST_TEXTS: Final = 20_000
PAUSE_SECONDS: Final = 10.0  # between two compactions, at least
PAUSES: Final = 20  # times as long as the last compaction took
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """The result of a deletion, the deleted records, and the token's rights: its counts are those it saw.

    `of_files` and `of_others`: see `Erasable`.
    """

    result: ForgetResult
    gone: tuple[ErasedRecord, ...] = ()
    of_files: int = 0
    of_others: int = 0
    viewer: Viewer = EVERYTHING


class LedgerFile:
    """The file of the erasures, kept equal to the ledger in the database; None keeps no file."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = Lock()
        self._seq = 0  # up to which the file has the ledger
        self._begin = 0  # the size of the file then, in bytes

    def sync(self, records: Records) -> None:
        """Add the erasures missing from the file. Raise ComponentFailed, ConfigurationError or OSError."""
        if self._path is None:
            return
        with self._lock:
            if records.forgetting.last_erasure() > self._seq:
                with ledger_locked(self._path):
                    self._add(self._path, records)

    def _add(self, path: Path, records: Records) -> None:
        """Add the erasures since the last time, without those added to the file by other processes since."""
        if not path.exists() or path.stat().st_size < self._begin:
            self._seq, self._begin = 0, 0  # another file, so all of it
        last = records.forgetting.last_erasure()
        added, _ = read_locked(path, self._begin)
        known = {(one.kind, one.id, one.at) for one in added}
        found = records.forgetting.erasures(self._seq)
        append_ledger(path, [one for one in found if (one.kind, one.id, one.at) not in known])
        self._seq, self._begin = last, path.stat().st_size


def forget(transaction: WriteTransaction, writer: WriteCaller, params: ForgetParams, _: Prepared) -> Stored[Forgotten]:
    """Forget a record that the writer sees and owns, or may amend."""
    seen = transaction.of_any_kind(params.id, writer.viewer)
    found = [one for one in seen if params.kind is None or one.kind is KINDS[params.kind]]
    if not found:
        raise NotFound(params.id)
    if len(found) > 1:
        kinds = ", ".join(sorted({one.kind.label for one in found}))
        raise refused("kind", f"is required: the id means several records, of these kinds: {kinds}")
    (stored,) = found
    check_owner(stored, writer)
    going = transaction.find_erased(stored, writer.viewer)
    cascade = transaction.cascade(going.gone, writer.viewer)
    transaction.forget(going.gone, params.reason)
    result = ForgetResult(
        id=str(stored.record.id),
        indexed=False,
        seq=transaction.seq(),
        deleted=True,
        kind=stored.kind.label,
        cascade=cascade,
        receipt=None,
    )
    return _stored(
        Forgotten(
            result=result,
            gone=going.gone,
            of_files=going.of_files,
            of_others=going.of_others,
            viewer=writer.viewer,
        )
    )


def _stored(done: Forgotten) -> Stored[Forgotten]:
    return Stored(done.result.id, done, named=(AuditedRecord(done.result.kind, done.result.id),))


def _forgotten_again(_: WriteTransaction, writer: WriteCaller, done: Forgotten) -> Stored[Forgotten]:
    """Raise the error for a token that repeats an erasure's request and may not have its answer."""
    if not writer.viewer.covers(done.viewer):
        raise NotFound(done.result.id)
    if done.gone[0].owner != writer.agent and AMEND_OTHERS not in writer.scopes:
        raise Forbidden(AMEND_OTHERS)
    return _stored(done)


def _digested(params: ForgetParams) -> Mapping[str, object]:
    return {"id": params.id, "kind": None if params.kind is None else KINDS[params.kind], "reason": params.reason}


def _former(_: object, members: dict[str, Any]) -> dict[str, Any]:
    if "result" in members:
        return members
    own = {name: members[name] for name in ("gone", "of_files", "of_others", "viewer") if name in members}
    result = {name: members[name] for name in ("id", "seq", "kind", "cascade")}
    return own | {"result": result | {"indexed": False, "deleted": True, "receipt": None}}


FORGET: Final = WriteHandler("Forget", Forgotten, forget, _digested, _forgotten_again, _former, shows_record=False)


class ErasureCheck:
    """Searches for forgotten records in the store and in the indexes of this process."""

    def __init__(
        self, records: Records, indexes: Indexes, pools: Pools, published: PublishedSeq, ledger: LedgerFile
    ) -> None:
        self._records = records
        self._indexes = indexes
        self._pools = pools
        self._published = published
        self._ledger = ledger

    async def verify(self, caller: Caller, done: Forgotten) -> Forgotten:
        """Return the answer with its receipt; a part that cannot be checked is pending, without an error."""
        seq = done.result.seq
        indexed = await self._published.reached_everywhere(seq, FOLLOW_SECONDS)
        followed = indexed and await self._vectors_follow(seq)
        pending: list[ForgetPending] = []
        keys = [one.key for one in done.gone]

        async def look(part: str, pool: Pool, find: Callable[[], T]) -> T | None:
            try:
                return await pool.run(caller, find)
            except (ComponentFailed, ConfigurationError, OSError) as error:
                reason = error.strerror if isinstance(error, OSError) else str(error)
                pending.append(ForgetPending(part=part, reason=f"cannot be looked at: {reason}"))
                return None

        def find_held() -> HeldKeys:
            found = [index.find_held(keys) for index in self._indexes.all_spaces]
            all_vectors = all(one.all_vectors for one in found)
            return HeldKeys(sum(one.texts for one in found), sum(one.windows for one in found), all_vectors)

        await look("ledger", self._pools.writes, lambda: self._ledger.sync(self._records))
        rows = await look("records", self._pools.records, lambda: self._records.forgetting.left_of(done.gone))
        found = await look("indexes", self._pools.vectors, find_held)
        left = await look("compaction", self._pools.records, lambda: self._find_uncompacted(seq))
        if not indexed:
            pending.append(ForgetPending(part="keywords", reason="the indexes have not followed yet"))
        if not followed or (found is not None and not found.all_vectors):
            reason = "the index of vectors has not followed yet, or does not answer"
            pending.append(ForgetPending(part="vectors", reason=reason))
        if done.of_files:
            reason = f"{done.of_files} records that name it stay: files have them"
            pending.append(ForgetPending(part="files", reason=reason))
        if done.of_others:
            reason = f"{done.of_others} records that name it stay: other agents wrote them"
            pending.append(ForgetPending(part="agents", reason=reason))
        sure = followed and found is not None and found.all_vectors
        remaining = ForgetRemaining(
            records=rows,
            keywords=found.texts if indexed and found is not None else None,
            vectors=found.windows if sure and found is not None else None,
        )
        receipt = ForgetReceipt(seq=seq, verified_at=utc_now(), remaining=remaining, pending=[*pending, *(left or ())])
        return replace(done, result=done.result.model_copy(update={"indexed": indexed, "receipt": receipt}))

    async def _vectors_follow(self, seq: int) -> bool:
        """Return whether the indexes of vectors cover the deletion in time."""
        sides = [index.vectors for index in self._indexes.all_spaces if index.vectors is not None]
        until = monotonic() + FOLLOW_SECONDS
        while any(side.seq < seq for side in sides):
            if monotonic() > until:
                return False
            await asyncio.sleep(_LOOK_SECONDS)
        return True

    def _find_uncompacted(self, seq: int) -> list[ForgetPending]:
        """List the files that may hold bytes of records deleted up to this change."""
        left: list[ForgetPending] = []
        if self._records.forgetting.compacted_to() < seq:
            left.append(ForgetPending(part="database", reason=_FREED if self._records.is_shared else _COMPACTION))
        if self._indexes.words_compacted < seq:
            left.append(ForgetPending(part="keywords", reason=_COMPACTION))
        vectors = self._indexes.vectors_compacted
        if vectors is not None and vectors < seq:
            left.append(ForgetPending(part="vectors", reason=_VECTORS))
        if self._indexes.vectors_on_server:
            left.append(ForgetPending(part="vectors", reason=_CHROMA))
        if self._records.is_shared:
            left.append(ForgetPending(part="servers", reason=_SERVERS))
        elif not self._indexes.is_alone:
            left.append(ForgetPending(part="servers", reason=_WORKERS))
        return left


class Retention:
    """Removal of expired records, and compaction of small files. Several servers of a store may do so.

    Of several workers only the first does, and the others compact their own keyword indexes.
    """

    def __init__(
        self,
        records: Records,
        indexes: Indexes,
        ledger: LedgerFile,
        worker: WorkerNumber = ALONE,
        clock: ClockGuard | None = None,
    ) -> None:
        self._records = records
        self._indexes = indexes
        self._ledger = ledger
        self._worker = worker
        self._clock = ClockGuard("records do not expire") if clock is None else clock
        self._next_compaction = 0.0
        outage, again = "expired records cannot be forgotten", "expired records are forgotten again"
        self._thread = BackgroundThread("retention", self._work, indexes.background, outage, again=again)

    def start(self) -> None:
        self._thread.start()

    def close(self, wait_seconds: float) -> None:
        """End the thread between two pieces of work."""
        self._thread.close(wait_seconds)

    def _work(self) -> float:
        if self._worker.writes:
            self.sweep()
            self._ledger.sync(self._records)
        self.compact()
        return self._until_next()

    def sweep(self) -> int:
        """Forget the expired records, log their ids and return their number: 0 if the clock jumped."""
        count = 0
        last = self._records.last_seq()
        at = self._clock.trusted_now(moment(last) if last else None)
        while at is not None and not self._thread.stopping.is_set():
            if not (keys := self._records.forgetting.expired_keys(at, BATCH)):
                break
            for kind, id in self._records.forgetting.expire(keys, at):
                _log.info("expired and forgotten: %s %s", kind.label, id)
                count += 1
        return count

    def compact(self) -> None:
        """Compact the bytes of forgotten records if that takes little time; the pause grows with the time."""
        self._indexes.note_compacted()
        if monotonic() < self._next_compaction:
            return
        last = self._records.forgetting.last_erasure()
        began = monotonic()
        if self._indexes.words_compacted < last:
            self._indexes.compact_words(MOST_TEXTS)
        own = self._worker.writes and not self._records.is_shared
        if own and self._records.forgetting.compacted_to() < last:
            self._records.forgetting.compact(MOST_BYTES)
        took = monotonic() - began
        self._next_compaction = monotonic() + max(PAUSE_SECONDS, PAUSES * took)

    def _until_next(self) -> float:
        if not self._worker.writes or self._clock.holding:
            return POLL_SECONDS
        expires = self._records.forgetting.next_expiry()
        left = POLL_SECONDS if expires is None else (expires - utc_now()).total_seconds()
        return min(POLL_SECONDS, max(LEAST_SECONDS, left))
