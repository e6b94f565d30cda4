"""The writer: each request is written once, whole or not at all, and seen by the next call."""

import asyncio
import json
from dataclasses import asdict, is_dataclass, replace
from datetime import datetime
from hashlib import sha256
from math import inf
from typing import Any, Final, cast

from pydantic import TypeAdapter

from cognition_engines.embedding.base import Embedder
from cognition_engines.embedding.refused import RefusedText, embed_alone
from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.indexes import Indexes
from cognition_engines.indexes.published import PublishedSeq
from cognition_engines.kinds.registry import Record, embedding_text
from cognition_engines.kinds.spec import Kind
from cognition_engines.masking.masked_values import load_rules
from cognition_engines.masking.policy import SecretPolicies
from cognition_engines.models import Decision
from cognition_engines.queries.conflicts import MOST, SIMILAR, Comparison, find_conflicts, find_nearest, title_of
from cognition_engines.queries.pools import Pool, Pools
from cognition_engines.queries.turns import Caller
from cognition_engines.set_aside import SEARCHED, Part
from cognition_engines.spaces import DECISIONS, MEMORY
from cognition_engines.store.audit.audit_rows import AuditEntry
from cognition_engines.store.audit.trail import AuditTrail
from cognition_engines.store.reads.row_reader import RowReader
from cognition_engines.store.records import Records
from cognition_engines.store.values import FloatArray, Receipt
from cognition_engines.store.write_transaction import (
    Author,
    WriteTransaction,
    read_transaction,
    utc_now,
    write_transaction,
)
from cognition_engines.writing import decisions, erasing, knowledge, memories
from cognition_engines.writing.decisions import Outdated, own_content
from cognition_engines.writing.entries import Prepared, check_owner, decision_of, project_for, texts_of
from cognition_engines.writing.erasing import ErasureCheck, Forget, Forgotten, LedgerFile
from cognition_engines.writing.requests import (
    A,
    PossibleConflict,
    PutRecords,
    RecordDecision,
    Remember,
    Request,
    SetStatus,
    UpdateDecision,
    WriteCaller,
    WriteConflict,
    Written,
)
from cognition_engines.writing.secret_checks import CheckedRequest, check_request
from cognition_engines.writing.stated_decisions import stated_members
from cstp.values.decisions import Duplicate
from cstp.values.writes import NotIndexed, WriteWarning

INDEX_SECONDS: Final = 0.25  # that an answer waits for the indexes
_ATTEMPTS: Final = 5
_HANDLERS: Final = {**decisions.HANDLERS, **memories.HANDLERS, **knowledge.HANDLERS, **erasing.HANDLERS}
_ANSWERS: Final = {request: TypeAdapter[Any](handler.answer) for request, handler in _HANDLERS.items()}


class Writer:
    """Executes the write requests of agents.

    Raises WriteRefused, WriteConflict, RecordNotFound and ScopeNeeded for requests that are not allowed, and
    ComponentFailed naming the part that did not answer. After the latter a write may still be stored: repeat the
    request with the same key to find out.
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
        secrets: SecretPolicies,
    ) -> None:
        self._records = records
        self._indexes = indexes
        self._embedder = embedder
        self._pools = pools
        self._published = published
        self._erasures = ErasureCheck(records, indexes, pools, published, ledger)
        self._trail = trail
        self._secrets = secrets
        self._has_rules = secrets.agents == secrets.files == "allow"  # the rules for secrets are loaded, or not needed

    async def write(self, writer: WriteCaller, request: Request[A], key: str | None = None, dry_run: bool = False) -> A:
        """Write one thing, once for each `key` of the agent; with `dry_run` only check whether that would work.

        Secrets are masked, refused or reported first, so that nothing is computed from their texts.
        """
        if not self._has_rules:
            await self._load_rules()
        caller = self._pools.caller(writer.agent)
        checked: CheckedRequest[A] = await self._pools.writes.run(caller, check_request, request, key, self._secrets)
        answer = await self._write(caller, writer, checked.request, key, dry_run)
        return replace(answer, secrets=checked.secrets)

    async def _load_rules(self) -> None:
        """Load the rules for secrets, without the deadline of a write: the first time on a machine takes seconds."""
        pool = Pool("mask-rules", 1, inf)
        try:
            await pool.run(Caller(None, inf), load_rules)
        finally:
            pool.close()
        self._has_rules = True

    async def _write(
        self, caller: Caller, writer: WriteCaller, request: Request[A], key: str | None, dry_run: bool
    ) -> A:
        digest = request_digest(request)
        if key is not None:
            known = await self._pools.writes.run(caller, self._find_answer, writer, request, key, digest)
            if known is not None:
                await self._trail.add(_audit_entry(writer, request, known, utc_now(), stored=True))
                return cast("A", await self._finish(caller, request, known))
        for _ in range(_ATTEMPTS):
            made = await self._prepare(caller, writer, request)
            try:
                answer: A = await self._pools.writes.run(
                    caller, self._transact, writer, request, made, key, digest, not dry_run
                )
            except Outdated:
                continue
            if dry_run:
                await self._trail.add(_audit_entry(writer, request, answer, utc_now(), stored=False))
                return answer
            return cast("A", await self._finish(caller, request, answer, made.refused))
        raise ComponentFailed("records", "the record changes faster than it can be updated")

    async def _finish(
        self, caller: Caller, request: Request[Any], answer: Written, refused: str | None = None
    ) -> Written:
        if isinstance(answer, Forgotten):
            return await self._erasures.verify(caller, answer)
        indexed = await self._published.reached_everywhere(answer.seq, INDEX_SECONDS)
        ids = [answer.id, *(one.id for one in _HANDLERS[type(request)].named(request, answer, True))]
        notes = [note for note in self._indexes.set_aside.of(ids) if note.part in SEARCHED]
        lacking = [NotIndexed(id=note.id, part=note.part.value, cause=note.cause) for note in notes]
        if refused is not None and not any(note.part is Part.VECTORS for note in notes):
            lacking.append(NotIndexed(id=answer.id, part=Part.VECTORS.value, cause=refused))
        return replace(answer, indexed=indexed and not lacking, not_indexed=tuple(lacking))

    def _find_answer(self, writer: WriteCaller, request: Request[A], key: str, digest: str) -> A | None:
        with read_transaction(self._records.store, Author(writer.agent, writer.via, utc_now())) as transaction:
            return _read_answer(transaction, writer, request, key, digest)

    def _transact(
        self, writer: WriteCaller, request: Request[A], made: Prepared, key: str | None, digest: str, keep: bool
    ) -> A:
        author = Author(writer.agent, writer.via, utc_now())
        handler = _HANDLERS[type(request)]
        with write_transaction(self._records.store, author, keep=keep) as transaction:
            known = None if key is None else _read_answer(transaction, writer, request, key, digest)
            answer: A = handler.store(transaction, writer, request, made) if known is None else known
            if not keep:
                return replace(answer, seq=0)  # nothing to wait for
            if key is not None and known is None:
                kept = _ANSWERS[type(request)].dump_json(answer).decode()
                others = {one.id for one in handler.named(request, answer, True)} - {answer.id}
                receipt = Receipt(digest, answer.id, kept, tuple(sorted(others)))
                transaction.keep_receipt(type(request).__name__, key, receipt)
            transaction.audit(_audit_entry(writer, request, answer, author.at, stored=True))
            return answer

    async def _prepare(self, caller: Caller, writer: WriteCaller, request: Request[Any]) -> Prepared:
        """Return the vectors of the texts that the records will have, which take too long for a transaction."""
        own, revision = None, None
        if isinstance(request, UpdateDecision | SetStatus):
            own, revision = await self._pools.records.run(caller, self._read, writer, request.id)
        texts = texts_of(_HANDLERS[type(request)].stated(request, own))
        if self._embedder is None:
            return Prepared(revision=revision)
        model, pool = self._embedder, self._pools.embedder
        try:
            found = await asyncio.gather(*(pool.run(caller, embed_alone, text, model) for text in texts))
        except RefusedText as error:  # the record is kept, and embedded later if that succeeds
            return Prepared(revision=revision, refused=str(error))
        made = Prepared(self._embedder.model, dict(zip(texts, found, strict=True)), revision)
        if not isinstance(request, RecordDecision | Remember) or not found or "read" not in writer.scopes:
            return made  # near records are shown to readers alone
        new = _HANDLERS[type(request)].stated(request, own)[0]
        if embedding_text(new) != texts[0]:  # a text that is cut into passages is not compared
            return made
        project = project_for(writer, request.project, request.sensitivity)
        return await self._compare(caller, writer, replace(new, project=project), found[0][0], made)

    async def _compare(
        self, caller: Caller, writer: WriteCaller, new: Record, vector: FloatArray, made: Prepared
    ) -> Prepared:
        """Return `made` with the decisions of similar texts, the nearest first, and the records that say otherwise."""
        kinds = (Kind.DECISION,) if isinstance(new, Decision) else (Kind.ARTIFACT, Kind.TURN)
        index = self._indexes[DECISIONS if isinstance(new, Decision) else MEMORY]
        distances = await self._pools.vectors.run(caller, find_nearest, index, kinds, vector, writer.viewer)
        read, rows = self._records.reads.by_keys, RowReader(self._indexes.set_aside)
        stored = await self._pools.records.run(caller, read, list(distances), writer.viewer, kinds, rows)
        near = [(stored[key], distance) for key, distance in distances.items() if key in stored]
        duplicates = [
            Duplicate(str(one.record.id), one.record.title, round(distance, 4))
            for one, distance in near
            if distance <= SIMILAR and isinstance(one.record, Decision)
        ]
        compared = find_conflicts(new, near, utc_now(), self._indexes.set_aside)
        conflicts = [
            PossibleConflict(one.kind, str(one.record.id), title_of(one.record), why) for one, why in compared.conflicts
        ]
        return replace(
            made,
            duplicates=tuple(duplicates[:MOST]),
            conflicts=tuple(conflicts[:MOST]),
            warnings=_warnings(compared),
        )

    def _read(self, writer: WriteCaller, id: str) -> tuple[Decision, int]:
        """Return a decision's own content, and its revision."""
        with read_transaction(self._records.store, Author(writer.agent, writer.via, utc_now())) as transaction:
            stored = decision_of(transaction, writer, id)
            if not stored.origin.is_written:
                check_owner(stored, writer)
            return own_content(transaction, stored), stored.revision


def _warnings(compared: Comparison) -> tuple[WriteWarning, ...]:
    if not compared.failed:
        return ()
    records = "record could" if compared.failed == 1 else "records could"
    message = f"possibleConflicts may lack some: {compared.failed} similar {records} not be compared with this one"
    return (WriteWarning("notCompared", message),)


def _read_answer(
    transaction: WriteTransaction, writer: WriteCaller, request: Request[A], key: str, digest: str
) -> A | None:
    """Return the stored answer under a key of the agent, without records that it no longer sees; None for a new key.

    Raise WriteConflict if the key belongs to another request, or the record is deleted or hidden since, and the errors
    of the request itself for a token that may no longer make it.
    """
    known = transaction.receipt(type(request).__name__, key)
    if known is None:
        return None
    if isinstance(request, PutRecords):
        knowledge.check_import(writer)
    handler = _HANDLERS[type(request)]
    shown = handler.shows_record and known.record is not None
    lost = shown and not transaction.of_any_kind(str(known.record), writer.viewer)
    if known.digest != digest:
        hidden = lost or isinstance(request, Forget)
        raise WriteConflict(
            None if hidden else known.record, "idempotency", "the parameters of the first call", "others"
        )
    if known.answer is None or lost:
        raise _key_spent()
    again: A | None = handler.shown_again(transaction, writer, _ANSWERS[type(request)].validate_json(known.answer))
    if again is None:
        raise _key_spent()
    return again


def _audit_entry(
    writer: WriteCaller, request: Request[Any], answer: Written, at: datetime, *, stored: bool
) -> AuditEntry:
    """Return the row of a write that was answered; without `stored` it was only tried, and its record may not exist."""
    return AuditEntry(
        at=at,
        agent=writer.agent,
        via=writer.via,
        method=writer.method or type(request).__name__,
        request_id=writer.request_id,
        records=_HANDLERS[type(request)].named(request, answer, stored),
    )


def _key_spent() -> WriteConflict:
    return WriteConflict(None, "idempotency", "a new key", "one whose record is forgotten")


def request_digest(request: Request[Any]) -> str:
    """Return the digest of a request, equal in all processes: 64 hexadecimal digits."""
    asked = asdict(request)
    if isinstance(request, RecordDecision | UpdateDecision):
        del asked["stated"]
        asked["fields"] = stated_members(request.stated)  # the name is that of kept digests
    text = json.dumps([type(request).__name__, asked], default=_plain, sort_keys=True)
    return sha256(text.encode()).hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, frozenset):
        return sorted(value)
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
