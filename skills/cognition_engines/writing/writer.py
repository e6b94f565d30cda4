"""The writer: each request is written once, whole or not at all, and seen by the next call."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from pydantic_core import from_json

from cognition_engines.embedding.base import Embedder
from cognition_engines.embedding.refused import RefusedText, embed_alone
from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.indexes import Indexes
from cognition_engines.indexes.published import PublishedSeq
from cognition_engines.kinds.registry import Record, embedding_text
from cognition_engines.kinds.spec import Kind
from cognition_engines.masking.masked_values import load_rules, mask_values
from cognition_engines.masking.policy import FieldSecret, SecretPolicies, name_refusal, refusal
from cognition_engines.models import SENSITIVITIES, Decision
from cognition_engines.queries.conflicts import MOST, SIMILAR, Comparison, find_conflicts, find_nearest, title_of
from cognition_engines.queries.pools import Caller, Pool, Pools
from cognition_engines.set_aside import SEARCHED, Part
from cognition_engines.spaces import DECISIONS, MEMORY
from cognition_engines.store.audit.chain import AuditEntry
from cognition_engines.store.audit.trail import AuditTrail
from cognition_engines.store.reads.by_key import RowReader
from cognition_engines.store.records import Records
from cognition_engines.store.values import FloatArray, Receipt
from cognition_engines.store.write_transaction import (
    Author,
    WriteTransaction,
    read_transaction,
    utc_now,
    write_transaction,
)
from cognition_engines.writing.decisions import Outdated, own_content
from cognition_engines.writing.entries import (
    Prepared,
    Stored,
    WriteHandler,
    check_owner,
    decision_of,
    project_for,
    refused,
    texts_of,
)
from cognition_engines.writing.erasing import FORGET, ErasureCheck, Forgotten, LedgerFile
from cognition_engines.writing.kept_answers import digest_of, dump_result, read_result
from cognition_engines.writing.knowledge import STORE_KNOWLEDGE, check_import, knowledge_request
from cognition_engines.writing.requests import GivenRecord, PutRecords, WriteCaller
from cstp.errors import Conflict, InvalidParams, Violation
from cstp.values.base import Wire
from cstp.values.decision_writes import RecordDecisionParams, SetStatusParams, UpdateDecisionParams
from cstp.values.decisions import Duplicate
from cstp.values.knowledge import StoreKnowledgeParams, StoreKnowledgeResult
from cstp.values.memories import RememberParams
from cstp.values.records import ForgetParams, ForgetResult
from cstp.values.writes import FoundSecret, NotIndexed, PossibleConflict, WriteWarning

W = TypeVar("W", bound="_Params")
P = TypeVar("P", bound="_Request")
R = TypeVar("R")
T = TypeVar("T")
INDEX_SECONDS: Final = 0.25  # for which an answer waits for the indexes
_ATTEMPTS: Final = 5
# Member names in a call that differ from the fields' names; "" is a field whose members stand outside.
_NAMES: Final[Mapping[tuple[type[Any], str], str]] = {
    (GivenRecord, "record"): "",
    (GivenRecord, "text"): "content",
}


class _Request(Protocol):
    """A request with its key; with `dry_run` it is only checked."""

    @property
    def idempotency_key(self) -> str | None: ...
    @property
    def dry_run(self) -> bool: ...


class _Params(_Request, Protocol):
    """A method's parameters, and the agent they name."""

    @property
    def agent_id(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class _Checked(Generic[P, R]):
    """A request to carry out, the secrets found in it, its digest if it has a key, and the answer kept under it."""

    request: P
    secrets: tuple[FieldSecret, ...]
    digest: str = ""
    known: Stored[R] | None = None


class Writer:
    """Executor of agents' writes.

    Raises the errors of the methods, and ComponentFailed naming the part that did not answer. After the latter a write
    may still be stored: repeat the call with the same key to find out.
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

    def bind(self, handler: WriteHandler[W, R]) -> Callable[[W, WriteCaller], Coroutine[Any, Any, R]]:
        """Return the function that executes a method."""

        def write(params: W, writer: WriteCaller) -> Coroutine[Any, Any, R]:
            check_agent(params, writer)
            return self.write(handler, params, writer)

        return write

    async def store_knowledge(self, params: StoreKnowledgeParams, writer: WriteCaller) -> StoreKnowledgeResult:
        """Store records of knowledge, all or none."""
        check_agent(params, writer)
        request = await self._pools.writes.run(self._pools.caller(writer.agent), knowledge_request, params)
        return await self.write(STORE_KNOWLEDGE, request, writer)

    async def forget(self, params: ForgetParams, writer: WriteCaller) -> ForgetResult:
        """Forget a record, and return the receipt of a search for remains."""
        check_agent(params, writer)
        done = await self.write(FORGET, params, writer)
        return done.result.model_copy(update={"deleted": not params.dry_run})

    async def write(self, handler: WriteHandler[P, R], request: P, writer: WriteCaller) -> R:
        """Write a request, once for each key of the agent; with `dry_run` only check whether that would work.

        Secrets are masked, refused or reported first, so nothing is computed from their texts.
        """
        if not self._has_rules:
            await self._load_rules()
        caller = self._pools.caller(writer.agent)
        checked: _Checked[P, R] = await self._pools.writes.run(caller, self._check, writer, handler, request)
        if checked.known is None:
            result = await self._store(caller, writer, handler, checked)
        else:
            await self._trail.add(_audit_entry(writer, handler, checked.known, utc_now(), kept=True))
            result = await self._finish(caller, checked.known)
        secrets = [FoundSecret(field=one.field, kind=one.kind, masked=one.masked) for one in checked.secrets]
        return handler.finished(changed(result, secrets=secrets) if secrets else result)

    async def _load_rules(self) -> None:
        """Load the rules for secrets, without the deadline of a write: the first time on a machine takes seconds."""
        pool = Pool("mask-rules", 1, inf)
        try:
            await pool.run(Caller(None, inf), load_rules)
        finally:
            pool.close()
        self._has_rules = True

    def _check(self, writer: WriteCaller, handler: WriteHandler[P, R], request: P) -> "_Checked[P, R]":
        """Look for secrets, and for an answer kept under the request's key."""
        request, secrets = check_secrets(request, self._secrets)
        if request.idempotency_key is None:
            return _Checked(request, secrets)
        digest = digest_of(handler.name, handler.digested(request))
        with read_transaction(self._records.store, Author(writer.agent, writer.via, utc_now())) as transaction:
            return _Checked(request, secrets, digest, _read_answer(transaction, writer, handler, request, digest))

    async def _store(
        self, caller: Caller, writer: WriteCaller, handler: WriteHandler[P, R], checked: "_Checked[P, R]"
    ) -> R:
        request = checked.request
        for _ in range(_ATTEMPTS):
            made = await self._prepare(caller, writer, handler, request)
            try:
                stored: Stored[R] = await self._pools.writes.run(
                    caller, self._transact, writer, handler, request, made, checked.digest
                )
            except Outdated:
                continue
            if request.dry_run:
                await self._trail.add(_audit_entry(writer, handler, stored, utc_now(), kept=False))
                return stored.result
            return cast("R", await self._finish(caller, stored, made.refused))
        raise ComponentFailed("records", "the record changes faster than it can be updated")

    async def _finish(self, caller: Caller, stored: Stored[Any], refused: str | None = None) -> Any:
        if isinstance(stored.result, Forgotten):
            return await self._erasures.verify(caller, stored.result)
        indexed = await self._published.reached_everywhere(stored.result.seq, INDEX_SECONDS)
        ids = [stored.id, *(one.id for one in (*stored.written, *stored.named))]
        notes = [note for note in self._indexes.set_aside.of(ids) if note.part in SEARCHED]
        lacking = [NotIndexed(id=note.id, part=note.part.value, cause=note.cause) for note in notes]
        if refused is not None and not any(note.part is Part.VECTORS for note in notes):
            lacking.append(NotIndexed(id=stored.id, part=Part.VECTORS.value, cause=refused))
        return changed(stored.result, indexed=indexed and not lacking, not_indexed=lacking)

    def _transact(
        self, writer: WriteCaller, handler: WriteHandler[P, R], request: P, made: Prepared, digest: str
    ) -> Stored[R]:
        author, key, keep = Author(writer.agent, writer.via, utc_now()), request.idempotency_key, not request.dry_run
        with write_transaction(self._records.store, author, keep=keep) as transaction:
            known = None if key is None else _read_answer(transaction, writer, handler, request, digest)
            stored = handler.store(transaction, writer, request, made) if known is None else known
            if not keep:
                return replace(stored, result=changed(stored.result, seq=0))  # nothing to wait for
            if key is not None and known is None:
                others = {one.id for one in (*stored.written, *stored.named)} - {stored.id}
                receipt = Receipt(digest, stored.id, dump_result(stored.result), tuple(sorted(others)))
                transaction.keep_receipt(handler.name, key, receipt)
            transaction.audit(_audit_entry(writer, handler, stored, author.at, kept=True))
            return stored

    async def _prepare(
        self, caller: Caller, writer: WriteCaller, handler: WriteHandler[P, Any], request: P
    ) -> Prepared:
        """Return the vectors of the records' future texts; computing them takes too long for a transaction."""
        own, revision = None, None
        if isinstance(request, UpdateDecisionParams | SetStatusParams):
            own, revision = await self._pools.records.run(caller, self._read_decision, writer, request.id)
        stated = handler.stated(request, own)
        texts = texts_of(stated)
        if self._embedder is None:
            return Prepared(stated, revision=revision)
        model, pool = self._embedder, self._pools.embedder
        try:
            found = await asyncio.gather(*(pool.run(caller, embed_alone, text, model) for text in texts))
        except RefusedText as error:  # the record is kept, and embedded later if that succeeds
            return Prepared(stated, revision=revision, refused=str(error))
        made = Prepared(stated, self._embedder.model, dict(zip(texts, found, strict=True)), revision)
        if not isinstance(request, RecordDecisionParams | RememberParams) or not found or "read" not in writer.scopes:
            return made  # near records are shown to readers alone
        if embedding_text(stated[0]) != texts[0]:  # a text cut into passages is not compared
            return made
        project = project_for(writer, request.project, SENSITIVITIES[request.sensitivity])
        return await self._compare(caller, writer, replace(stated[0], project=project), found[0][0], made)

    async def _compare(
        self, caller: Caller, writer: WriteCaller, new: Record, vector: FloatArray, made: Prepared
    ) -> Prepared:
        """Return `made` with the decisions of similar texts, the nearest first, and contradicting records."""
        kinds = (Kind.DECISION,) if isinstance(new, Decision) else (Kind.ARTIFACT, Kind.TURN)
        index = self._indexes[DECISIONS if isinstance(new, Decision) else MEMORY]
        distances = await self._pools.vectors.run(caller, find_nearest, index, kinds, vector, writer.viewer)
        if not distances:
            return made
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
            (one.kind, PossibleConflict(id=str(one.record.id), title=title_of(one.record), why=why))
            for one, why in compared.conflicts
        ]
        return replace(
            made,
            duplicates=tuple(duplicates[:MOST]),
            conflicts=tuple(conflicts[:MOST]),
            warnings=_warnings(compared),
        )

    def _read_decision(self, writer: WriteCaller, id: str) -> tuple[Decision, int]:
        """Return a decision's own content, and its revision."""
        with read_transaction(self._records.store, Author(writer.agent, writer.via, utc_now())) as transaction:
            stored = decision_of(transaction, writer, id)
            if not stored.origin.is_written:
                check_owner(stored, writer)
            return own_content(transaction, stored), stored.revision


def check_secrets(request: T, policies: SecretPolicies) -> tuple[T, tuple[FieldSecret, ...]]:
    """Return a request without secrets, or with secrets if the policy only warns, and the secrets found.

    Raise InvalidParams, naming the fields, if the policy refuses secrets or if a name has one: names of records,
    projects and calls cannot be masked. Records from files are never masked here, since the sender computed their ids
    and digests from their texts.
    """
    policy = policies.files if isinstance(request, PutRecords) else policies.agents
    if policy == "allow":
        return request, ()
    found = mask_values(request, _NAMES)
    secrets = found.by_field
    if not secrets or policy == "warn":
        return request, secrets
    if policy == "refuse" or isinstance(request, PutRecords):
        raise InvalidParams(tuple(Violation(one.field, refusal(one.kind)) for one in secrets))
    if names := [one for one in secrets if one.is_name]:
        raise InvalidParams(tuple(Violation(one.field, name_refusal(one.kind)) for one in names))
    return found.value, tuple(replace(one, masked=True) for one in secrets)


def _warnings(compared: Comparison) -> tuple[WriteWarning, ...]:
    if not compared.failed:
        return ()
    records = "record could" if compared.failed == 1 else "records could"
    message = f"possibleConflicts may lack some: {compared.failed} similar {records} not be compared with this one"
    return (WriteWarning("notCompared", message),)


def check_agent(params: _Params, writer: WriteCaller) -> None:
    """Raise InvalidParams if the parameters name another agent than the caller."""
    if params.agent_id is not None and params.agent_id != writer.agent:
        raise refused("agentId", "must be absent, or the agent of the token")


def changed(result: R, **members: object) -> R:
    """Return a result with other values of members."""
    if isinstance(result, Forgotten):
        return cast("R", replace(result, result=result.result.model_copy(update=members)))
    assert isinstance(result, Wire)
    return cast("R", result.model_copy(update=members))


def _read_answer(
    transaction: WriteTransaction, writer: WriteCaller, handler: WriteHandler[P, R], request: P, digest: str
) -> Stored[R] | None:
    """Return the stored answer under the key, without records hidden from the agent by now; None for a new key.

    Raise Conflict if the key belongs to another request, or the record is deleted or hidden since, and the errors of
    the request itself for a token that may no longer make it.
    """
    assert request.idempotency_key is not None
    known = transaction.receipt(handler.name, request.idempotency_key)
    if known is None:
        return None
    if isinstance(request, PutRecords):
        check_import(writer)
    shown = handler.shows_record and known.record is not None
    lost = shown and not transaction.of_any_kind(str(known.record), writer.viewer)
    if known.digest != digest:
        hidden = lost or isinstance(request, ForgetParams)
        raise Conflict(None if hidden else known.record, "idempotency", "the parameters of the first call", "others")
    if known.answer is None or lost:
        raise _key_spent()
    kept = read_result(handler.result, handler.former(request, from_json(known.answer)))
    again = handler.shown_again(transaction, writer, kept)
    if again is None:
        raise _key_spent()
    return replace(again, id=known.record or "")


def _audit_entry(
    writer: WriteCaller, handler: WriteHandler[Any, Any], stored: Stored[Any], at: datetime, *, kept: bool
) -> AuditEntry:
    """Return the row of an answered write."""
    return AuditEntry(
        at=at,
        agent=writer.agent,
        via=writer.via,
        method=writer.method or handler.name,
        request_id=writer.request_id,
        records=tuple(dict.fromkeys((*stored.written, *stored.named))) if kept else stored.named,
    )


def _key_spent() -> Conflict:
    return Conflict(None, "idempotency", "a new key", "one whose record is forgotten")
