"""The door through which all writes go: each once, whole or not at all, and seen by the next call."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any, Final, TypeAlias, assert_never

from pydantic import TypeAdapter

from cognition_engines.auditing.trail import AuditTrail
from cognition_engines.embedding.base import Embedder
from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.indexes import Indexes
from cognition_engines.indexes.published import PublishedSeq
from cognition_engines.kinds.kind import KINDS, Kind
from cognition_engines.kinds.registry import Record, embedding_text
from cognition_engines.models import Decision
from cognition_engines.queries.duplicates import nearest_decisions
from cognition_engines.queries.pools import Pools
from cognition_engines.queries.steps import Caller
from cognition_engines.store.records import Records
from cognition_engines.store.values import Receipt, StoredRecord
from cognition_engines.store.write_transaction import Author, WriteTransaction, now
from cognition_engines.writing.audited import audit_entry, other_names
from cognition_engines.writing.bulk import check_import, put_records, records_put
from cognition_engines.writing.decisions import (
    Outdated,
    Prepared,
    decision_from,
    fields_of,
    link,
    record,
    review,
    set_status,
    unlink,
    update,
    updated_fields,
)
from cognition_engines.writing.entries import PreparedTexts, texts_of
from cognition_engines.writing.episodes import episode_from, store_episode
from cognition_engines.writing.erasing import ErasureCheck, LedgerFile, check_repeated, forget
from cognition_engines.writing.errors import RecordNotFound, WriteConflict
from cognition_engines.writing.knowledge import knowledge_stated, store_knowledge
from cognition_engines.writing.memories import memory_from, remember
from cognition_engines.writing.memory_requests import (
    MemoryAnswer,
    MemoryRequest,
    PutOutcomes,
    PutRecords,
    Remember,
    Remembered,
    StoredEpisode,
    StoredKnowledge,
    StoreEpisode,
    StoreKnowledge,
)
from cognition_engines.writing.requests import (
    Answer as DecisionAnswer,
)
from cognition_engines.writing.requests import (
    ChangedStatus,
    Forget,
    Forgotten,
    LinkDecisions,
    LinkedDecisions,
    PossibleDuplicate,
    RecordDecision,
    RecordedDecision,
    ReviewDecision,
    ReviewedDecision,
    SetStatus,
    UnlinkDecisions,
    UpdatedDecision,
    UpdateDecision,
    Writer,
)
from cognition_engines.writing.requests import (
    Request as DecisionRequest,
)
from cognition_engines.writing.rules import check_owner

Request: TypeAlias = DecisionRequest | MemoryRequest
Answer: TypeAlias = DecisionAnswer | MemoryAnswer
INDEX_SECONDS: Final = 0.25  # that an answer waits for the indexes
_ATTEMPTS: Final = 5
_ANSWERS: Final[Mapping[type[Request], TypeAdapter[Any]]] = {
    RecordDecision: TypeAdapter(RecordedDecision),
    UpdateDecision: TypeAdapter(UpdatedDecision),
    ReviewDecision: TypeAdapter(ReviewedDecision),
    SetStatus: TypeAdapter(ChangedStatus),
    LinkDecisions: TypeAdapter(LinkedDecisions),
    UnlinkDecisions: TypeAdapter(LinkedDecisions),
    StoreEpisode: TypeAdapter(StoredEpisode),
    Remember: TypeAdapter(Remembered),
    StoreKnowledge: TypeAdapter(StoredKnowledge),
    Forget: TypeAdapter(Forgotten),
    PutRecords: TypeAdapter(PutOutcomes),
}
# Whose answers are about records that the agent must see to be answered again.
_OF_RECORDS: Final = (
    *(RecordDecision, UpdateDecision, ReviewDecision, SetStatus, LinkDecisions, UnlinkDecisions),
    *(StoreEpisode, Remember, StoreKnowledge),
)


class Writing:
    """Writes what agents ask for.

    Raises WriteRefused, WriteConflict, RecordNotFound and ScopeNeeded for what may not be, and ComponentFailed naming
    the part that did not answer. After the latter a write may still be stored: the same request with the same key
    says whether it was.
    """

    def __init__(
        self,
        records: Records,
        indexes: Indexes,
        embedder: Embedder | None,
        pools: Pools,
        published: PublishedSeq,
        ledger: LedgerFile,
        trail: AuditTrail,
    ) -> None:
        self._records = records
        self._indexes = indexes
        self._embedder = embedder
        self._pools = pools
        self._published = published
        self._erasures = ErasureCheck(records, indexes, pools, published, ledger)
        self._trail = trail

    async def write(self, writer: Writer, request: Request, key: str | None = None, dry_run: bool = False) -> Answer:
        """Writes one thing, once for each `key` of the agent; with `dry_run` only checks whether that would work."""
        caller = self._pools.caller(writer.agent)
        digest = _digest(request)
        if key is not None:
            known = await self._pools.writes.run(caller, self._known, writer, request, key, digest)
            if known is not None:
                await self._trail.add(audit_entry(writer, request, known, now(), stored=True))
                return await self._finished(caller, known)
        for _ in range(_ATTEMPTS):
            made = await self._prepared(caller, writer, request)
            try:
                answer = await self._pools.writes.run(
                    caller, self._transact, writer, request, made, key, digest, not dry_run
                )
            except Outdated:
                continue
            if dry_run:
                await self._trail.add(audit_entry(writer, request, answer, now(), stored=False))
                return answer
            return await self._finished(caller, answer)
        raise ComponentFailed("records", "the record changes faster than it can be updated")

    async def _finished(self, caller: Caller, answer: Answer) -> Answer:
        if isinstance(answer, Forgotten):
            return await self._erasures.verified(caller, answer)
        return replace(answer, indexed=await self._published.reached_everywhere(answer.seq, INDEX_SECONDS))

    def _known(self, writer: Writer, request: Request, key: str, digest: str) -> Answer | None:
        with self._records.read_transaction(Author(writer.agent, writer.via, now())) as transaction:
            return _answered(transaction, writer, request, key, digest)

    def _transact(
        self, writer: Writer, request: Request, made: Prepared | PreparedTexts, key: str | None, digest: str, keep: bool
    ) -> Answer:
        author = Author(writer.agent, writer.via, now())
        with self._records.write_transaction(author, keep=keep) as transaction:
            known = None if key is None else _answered(transaction, writer, request, key, digest)
            answer = _apply(transaction, writer, request, made) if known is None else known
            if not keep:
                return replace(answer, seq=0)  # nothing to wait for
            if key is not None and known is None:
                kept = _ANSWERS[type(request)].dump_json(answer).decode()
                receipt = Receipt(digest, answer.id, kept, other_names(request, answer))
                transaction.keep_receipt(type(request).__name__, key, receipt)
            transaction.audit(audit_entry(writer, request, answer, author.at, stored=True))
            return answer

    async def _prepared(self, caller: Caller, writer: Writer, request: Request) -> Prepared | PreparedTexts:
        """The vectors of the texts that the records will have, which take too long for a transaction."""
        if isinstance(request, MemoryRequest):
            return await self._embedded_texts(caller, texts_of(_stated(request)))
        if not isinstance(request, RecordDecision | UpdateDecision | SetStatus):
            return Prepared()
        model = None if self._embedder is None else self._embedder.model
        if isinstance(request, RecordDecision):
            decision = decision_from(request.fields, Decision(id="", title=""))
            made = await self._embedded(caller, decision, None, model)
            if made.vectors is None:
                return made
            found = await self._pools.vectors.run(
                caller, nearest_decisions, self._indexes, made.vectors[0], writer.viewer
            )
            stored = await self._pools.records.run(
                caller, self._records.by_keys, list(found), writer.viewer, (Kind.DECISION,)
            )
            return replace(made, duplicates=_duplicates(found, stored))
        stored_decision, own = await self._pools.records.run(caller, self._read, writer, request.id)
        changed = own
        if isinstance(request, UpdateDecision):
            changed = decision_from(updated_fields(fields_of(own), request), own)
        return await self._embedded(caller, changed, stored_decision.revision, model)

    async def _embedded(self, caller: Caller, decision: Decision, revision: int | None, model: str | None) -> Prepared:
        text = embedding_text(decision)
        if self._embedder is None or text is None:
            return Prepared(model, None, revision)
        vectors = await self._pools.embedder.run(caller, self._embedder.embed_text, text)
        return Prepared(model, vectors, revision)

    async def _embedded_texts(self, caller: Caller, texts: Sequence[str]) -> PreparedTexts:
        if self._embedder is None:
            return PreparedTexts()
        embed, pool = self._embedder.embed_text, self._pools.embedder
        found = await asyncio.gather(*(pool.run(caller, embed, text) for text in texts))
        return PreparedTexts(self._embedder.model, dict(zip(texts, found, strict=True)))

    def _read(self, writer: Writer, id: str) -> tuple[StoredRecord, Decision]:
        """A decision and its own content."""
        with self._records.read_transaction(Author(writer.agent, writer.via, now())) as transaction:
            stored = transaction.find(Kind.DECISION, id, writer.viewer)
            if stored is None:
                raise RecordNotFound(id)
            if not stored.origin.written:
                check_owner(stored, writer)
            own = transaction.revisions(stored)[-1].record
            assert isinstance(own, Decision)
            return stored, own


def _stated(request: MemoryRequest) -> Sequence[Record]:
    """The records that a request states, for their texts."""
    match request:
        case StoreEpisode():
            return (episode_from(request, None, None, None),)
        case Remember():
            return memory_from(request).records
        case StoreKnowledge():
            return knowledge_stated(request)
        case PutRecords():
            return records_put(request)
        case _:
            assert_never(request)


def _remembered(
    transaction: WriteTransaction, writer: Writer, request: MemoryRequest, made: PreparedTexts
) -> MemoryAnswer:
    match request:
        case StoreEpisode():
            return store_episode(transaction, writer, request, made)
        case Remember():
            return remember(transaction, writer, request, made)
        case StoreKnowledge():
            return store_knowledge(transaction, writer, request, made)
        case PutRecords():
            return put_records(transaction, writer, request, made)
        case _:
            assert_never(request)


def _apply(transaction: WriteTransaction, writer: Writer, request: Request, made: Prepared | PreparedTexts) -> Answer:
    if isinstance(made, PreparedTexts):
        assert isinstance(request, MemoryRequest)
        return _remembered(transaction, writer, request, made)
    assert isinstance(request, DecisionRequest)
    match request:
        case RecordDecision():
            return record(transaction, writer, request, made)
        case UpdateDecision():
            return update(transaction, writer, request, made)
        case ReviewDecision():
            return review(transaction, writer, request)
        case SetStatus():
            return set_status(transaction, writer, request, made)
        case LinkDecisions():
            return link(transaction, writer, request)
        case UnlinkDecisions():
            return unlink(transaction, writer, request)
        case Forget():
            return forget(transaction, writer, request)
        case _:
            assert_never(request)


def _answered(transaction: WriteTransaction, writer: Writer, request: Request, key: str, digest: str) -> Answer | None:
    """What the agent was answered under a key, without what it sees no longer.

    Raises WriteConflict where it asked something else under the key, or the record is gone, or hidden by now, and as
    the request itself does for a token that may not ask it any more.
    """
    known = transaction.receipt(type(request).__name__, key)
    if known is None:
        return None
    if isinstance(request, PutRecords):
        check_import(writer)
    shown = isinstance(request, _OF_RECORDS) and known.record is not None
    lost = shown and not transaction.of_any_kind(str(known.record), writer.viewer)
    if known.digest != digest:
        hidden = lost or isinstance(request, Forget)
        raise WriteConflict(
            None if hidden else known.record, "idempotency", "the parameters of the first call", "others"
        )
    if known.answer is None or lost:
        raise _spent()
    answer: Answer = _ANSWERS[type(request)].validate_json(known.answer)
    return _shown_again(transaction, writer, answer)


def _shown_again(transaction: WriteTransaction, writer: Writer, answer: Answer) -> Answer:
    """Return a kept answer as the writer may see it now; see `_answered`."""
    if isinstance(answer, Forgotten):
        check_repeated(answer, writer)
    if isinstance(answer, LinkedDecisions):
        ends = (answer.link.source, answer.link.target)
        if not all(transaction.find(Kind.DECISION, id, writer.viewer) for id in ends):
            raise _spent()
    if isinstance(answer, StoredKnowledge):
        if not all(transaction.find(KINDS[one.kind], one.id, writer.viewer) for one in answer.records):
            raise _spent()
        return replace(answer, records=tuple(replace(one, status="unchanged") for one in answer.records))
    if isinstance(answer, Remembered):
        return replace(answer, status="unchanged")
    if isinstance(answer, RecordedDecision):
        seen = [one for one in answer.duplicates if transaction.find(Kind.DECISION, one.id, writer.viewer)]
        return replace(answer, created=False, duplicates=tuple(seen))
    return replace(answer, created=False) if isinstance(answer, StoredEpisode) else answer


def _spent() -> WriteConflict:
    return WriteConflict(None, "idempotency", "a new key", "one whose record is forgotten")


def _duplicates(found: Mapping[int, float], stored: Mapping[int, StoredRecord]) -> tuple[PossibleDuplicate, ...]:
    """Those of the decisions that are still there, the nearest first."""
    return tuple(
        PossibleDuplicate(str(one.record.id), one.record.title, round(distance, 4))
        for key, distance in found.items()
        if (one := stored.get(key)) is not None and isinstance(one.record, Decision)
    )


def _digest(request: Request) -> str:
    asked = [type(request).__name__, asdict(request)]
    return sha256(json.dumps(asked, default=str, sort_keys=True).encode()).hexdigest()
