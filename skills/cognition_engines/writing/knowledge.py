"""Knowledge records as sent, checked and written: sources with their chunks, chunks and extractions.

Also records owned by files, as put by an ingest.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from secrets import token_hex
from typing import Any, Final, Literal, cast

from pydantic import JsonValue, ValidationError
from pydantic.alias_generators import to_snake

from cognition_engines.drafts.chunking import LONGEST, Piece, chunks_of, pieces_of
from cognition_engines.drafts.ids import content_identity, sha256_hex
from cognition_engines.drafts.plain_values import Value, safe_name, unsound
from cognition_engines.drafts.refusal_messages import faults_of
from cognition_engines.kinds.artifacts import ArtifactChunk
from cognition_engines.kinds.knowledge import Chunk, Source
from cognition_engines.kinds.registry import SPECS, OtherRecord, kind_of, validate_record
from cognition_engines.kinds.spec import INGESTED, KIND_NAMES, TARGETS, WRITTEN, Kind, Role
from cognition_engines.models import EVERYTHING, SENSITIVITIES
from cognition_engines.store.audit.chain import AuditedRecord
from cognition_engines.store.values import PART, Entry, IdTaken, StoredRecord
from cognition_engines.store.write_transaction import WriteTransaction
from cognition_engines.writing.entries import (
    Prepared,
    Stored,
    WriteHandler,
    check_owner,
    entry_of,
    owned_as,
    project_for,
    refused,
)
from cognition_engines.writing.kept_answers import former_knowledge, former_put
from cognition_engines.writing.requests import GivenRecord, PutRecords, StoreKnowledge, WriteCaller
from cstp.errors import Conflict, InvalidParams, NotFound, Violation
from cstp.values.knowledge import StoredRecordState, StoreKnowledgeParams, StoreKnowledgeResult
from cstp.values.records import PutRecordsResult

# The accepted kinds; a record comes after the records it refers to.
KINDS: Final = (Kind.SOURCE, Kind.CHUNK, Kind.EXTRACTION)
LONGEST_TEXT: Final = 32_768  # characters per sent text
MOST_ITEMS: Final = 100  # of a list
MOST_FAULTS: Final = 100
_KIND: Final = "kind"
Fault = tuple[str, str]


def knowledge_request(params: StoreKnowledgeParams) -> StoreKnowledge:
    """Read the records in parameters. Raise InvalidParams with all faults, at most a hundred."""
    return StoreKnowledge(
        records=read_given(params.records),
        project=params.project,
        sensitivity=SENSITIVITIES[params.sensitivity],
        idempotency_key=params.idempotency_key,
        dry_run=params.dry_run,
    )


def read_given(sent: Sequence[Mapping[str, JsonValue]]) -> tuple[GivenRecord, ...]:
    """Read the records in objects. Raise InvalidParams with the faults, by each member's path.

    Once a hundred faults are found, later records are not checked.
    """
    found: list[GivenRecord] = []
    faults: list[Fault] = []
    seen: set[tuple[Kind, str]] = set()
    for place, members in enumerate(sent):
        if len(faults) >= MOST_FAULTS:
            raise _refused([*faults[: MOST_FAULTS - 1], (f"records[{place}]", "and later ones are not checked yet")])
        path = f"records[{place}]"
        kind = _kind(members)
        if kind is None:
            names = ", ".join(one.label for one in KINDS)
            faults.append((f"{path}.{_KIND}", f"must be one of {names}"))
            continue
        wrong = [*_bounds({name: value for name, value in members.items() if name != _KIND})]
        record, others = (None, []) if wrong else _validate_given(kind, members)
        faults += [(f"{path}.{inner}" if inner else path, reason) for inner, reason in (*wrong, *others)]
        if record is not None:
            found.append(record)
            if record.record.id is not None and (kind, str(record.record.id)) in seen:
                faults.append((f"{path}.id", "is the id of an earlier record of this call"))
            seen.add((kind, str(record.record.id)))
    if faults:
        raise _refused(faults)
    return tuple(found)


def _refused(faults: Sequence[Fault]) -> InvalidParams:
    return InvalidParams(tuple(Violation(path, reason) for path, reason in faults))


def _kind(members: Mapping[str, JsonValue]) -> Kind | None:
    name = members.get(_KIND)
    kind = KIND_NAMES.get(name) if isinstance(name, str) else None
    return kind if kind in KINDS else None


def _validate_given(kind: Kind, members: Mapping[str, JsonValue]) -> tuple[GivenRecord | None, list[Fault]]:
    given = {name: value for name, value in members.items() if name != _KIND}
    twice = sorted(name for name in given if to_snake(name) != name and to_snake(name) in given)
    faults = [(name, "is given in both spellings; give it once") for name in twice]
    bad = unsound(cast(Mapping[str, Value], given))
    faults += [(_show_name(name), reason) for name, reason in bad.items()]
    text = given.pop("content", None) if kind is Kind.SOURCE else None
    if text is not None and (not isinstance(text, str) or not text.strip() or len(text) > LONGEST):
        faults.append(("content", "must be text, and not blank"))
    if faults:
        return None, faults
    try:
        record = validate_record(kind, given)
    except ValidationError as error:
        return None, faults_of(error, kind, cast(Mapping[str, Value], given))
    return GivenRecord(record, text if isinstance(text, str) else None), []  # type: ignore[arg-type]


def _show_name(name: str) -> str:
    """Return a member's name for violations; "a member" if it cannot be shown."""
    return safe_name(name, "a member").strip("'")


def _bounds(value: JsonValue, path: str = "") -> Iterator[Fault]:
    """Yield a fault for each value longer than a call allows."""
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        yield path, f"must have at most {LONGEST_TEXT} characters"
    elif isinstance(value, list):
        if len(value) > MOST_ITEMS:
            yield path, f"must have at most {MOST_ITEMS} items"
        else:
            for place, item in enumerate(value):
                yield from _bounds(item, f"{path}[{place}]")
    elif isinstance(value, dict):
        for name, member in value.items():
            shown = _show_name(name)
            yield from _bounds(member, f"{path}.{shown}" if path else shown)


@dataclass(slots=True)
class _Call:
    """Records stored so far by a call: their ids, by kind and the id given by the caller."""

    transaction: WriteTransaction
    writer: WriteCaller
    made: Prepared
    ids: dict[tuple[Kind, str], str] = field(default_factory=dict)
    seq: int = 0  # of the last change, for unchanged records


def knowledge_stated(asked: StoreKnowledge) -> list[OtherRecord]:
    """Return a request's records, each followed by its text's chunks, for their texts."""
    found: list[OtherRecord] = []
    for one in asked.records:
        found += [one.record, *_chunks(one.record, _pieces(one))]
    return found


def store_knowledge(
    transaction: WriteTransaction, writer: WriteCaller, asked: StoreKnowledge, made: Prepared
) -> Stored[StoreKnowledgeResult]:
    """Store all records, or none. Raise InvalidParams with all faults of their rights."""
    records = _with_rights(writer, asked)
    call = _Call(transaction, writer, made)
    done: dict[int, StoredRecordState] = {}
    for kind in KINDS:
        for place, one in enumerate(records):
            if kind_of(one.record) is kind:
                done[place] = _store(call, one)
    states = [done[place] for place in range(len(records))]
    return _stored(StoreKnowledgeResult(records=states, indexed=False, seq=transaction.seq() or call.seq))


def _stored(result: StoreKnowledgeResult) -> Stored[StoreKnowledgeResult]:
    return Stored(result.records[0].id, result, tuple(AuditedRecord(one.kind, one.id) for one in result.records))


def _with_rights(writer: WriteCaller, asked: StoreKnowledge) -> list[GivenRecord]:
    """Return the records with project and sensitivity. Raise InvalidParams if the writer may not set them."""
    found, faults = [], []
    for place, one in enumerate(asked.records):
        record = one.record
        level = asked.sensitivity if record.sensitivity is None else record.sensitivity
        project = record.project
        try:
            project = project_for(writer, asked.project if project is None else project, level)
        except InvalidParams as error:
            faults += [(f"records[{place}].{one.field}", one.message) for one in error.violations]
        found.append(replace(one, record=replace(record, project=project, sensitivity=level)))
    if faults:
        raise _refused(faults)
    return found


def _store(call: _Call, given: GivenRecord) -> StoredRecordState:
    record = _resolve_references(call, given.record)
    kind, named = kind_of(record), None if record.id is None else str(record.id)
    identity = content_identity(replace(record, id=None), f"{WRITTEN} {call.writer.agent} {record.project}")
    known = _find_known(call, kind, named, record.project, identity)
    id = f"{SPECS[kind].made_prefix}{token_hex(8)}" if known is None else str(known.record.id)
    if named is not None:
        call.ids[kind, named] = id
    record = replace(record, id=id)  # type: ignore[arg-type]  # no episode
    entry = entry_of(record, call.writer, call.made, known, identity=None if named else identity, given=named)
    pieces = _pieces(given)
    if pieces:
        entry = replace(entry, origin=replace(entry.origin, digest=_digest_with_text(entry.origin.digest, pieces)))
    if known is not None and known.origin.digest == entry.origin.digest:
        call.seq = max(call.seq, known.seq)
        return _state(kind, id, "unchanged", len(pieces))
    if known is not None:
        check_owner(known, call.writer)
    call.transaction.put(entry, call.made.model, known, ("content",))
    if pieces:
        _store_chunks(call, record, pieces, known)
    return _state(kind, id, "created" if known is None else "changed", len(pieces))


def _state(kind: Kind, id: str, status: Literal["created", "unchanged", "changed"], chunks: int) -> StoredRecordState:
    label: Any = kind.label
    return StoredRecordState(kind=label, id=id, status=status, num_chunks=chunks)


def _store_chunks(call: _Call, source: OtherRecord, pieces: Sequence[Piece], known: StoredRecord | None) -> None:
    if known is not None:
        before = call.transaction.children(Kind.CHUNK, str(source.id), Role.SOURCE)
        call.transaction.drop([one for one in before if one.origin.ordinal == PART])
    for chunk in _chunks(source, pieces):
        entry = owned_as(entry_of(chunk, call.writer, call.made, ordinal=PART), known)
        call.transaction.put(entry, call.made.model, None)


def _find_known(call: _Call, kind: Kind, named: str | None, project: str | None, identity: str) -> StoredRecord | None:
    """Return the meant record among those visible to the writer in the project; own records before others.

    It has the given id, or, without an id, it is an equal record by the writer.
    """
    found = call.transaction.find_by_name(kind, named, call.writer.viewer) if named else ()
    if not named:
        found = call.transaction.of_identity(kind, identity, call.writer.viewer)
    here = [one for one in found if one.record.project == project]
    own = [one for one in here if one.origin.recorded_by == call.writer.agent]
    return next(iter((*own, *here)), None)


def _resolve_references(call: _Call, record: OtherRecord) -> OtherRecord:
    """Return the record with the references' stored ids. Raise NotFound if one is not visible."""
    changed: dict[str, str | tuple[str, ...]] = {}
    for member, role in SPECS[kind_of(record)].ids.items():
        value = getattr(record, member)
        if isinstance(value, tuple):
            changed[member] = tuple(_id_of(call, TARGETS[role], id) for id in value)
        elif value is not None:
            changed[member] = _id_of(call, TARGETS[role], value)
    return replace(record, **changed)  # type: ignore[arg-type]


def _id_of(call: _Call, kind: Kind, id: str) -> str:
    known = call.ids.get((kind, id))
    if known is None:
        found = call.transaction.find(kind, id, call.writer.viewer)
        if found is None:
            raise NotFound(id)
        known = str(found.record.id)
    return known


def _pieces(given: GivenRecord) -> Sequence[Piece]:
    """Cut a source's text into pieces, as on ingest."""
    return () if given.text is None else pieces_of(given.text.replace("\r\n", "\n"))


def _chunks(record: OtherRecord, pieces: Sequence[Piece]) -> list[Chunk | ArtifactChunk]:
    return chunks_of(record, pieces, WRITTEN) if isinstance(record, Source) else []


def _digest_with_text(digest: str, pieces: Sequence[Piece]) -> str:
    """Return the digest of a source with its text, which it does not hold."""
    return sha256_hex("\0".join([digest, *(piece.text for piece in pieces)]))[:32]


def check_import(writer: WriteCaller) -> None:
    """Raise InvalidParams for a token that does not see everything: taken ids would show hidden records."""
    if writer.viewer != EVERYTHING:
        raise refused("records", "need a token of the highest clearance that has no list of projects")


def put_records(
    transaction: WriteTransaction, writer: WriteCaller, asked: PutRecords, made: Prepared
) -> Stored[PutRecordsResult]:
    """Put records as `Records.put` does; leave alone records already stored as sent.

    Raise InvalidParams for a record that no file can own, and Conflict for an id taken by another origin.
    """
    check_import(writer)
    faults = [
        (f"records[{place}].origin.source", "must be a file")
        for place, one in enumerate(asked.records)
        if one.origin.source == WRITTEN
    ]
    if faults:
        raise _refused(faults)
    batch = [_entry(one, writer, made) for one in asked.records]
    try:
        outcomes = transaction.put_all(batch, made.model, asked.replaces)
    except IdTaken as error:
        held = f"a record of the kind {error.kind.label}"
        raise Conflict(error.id, "state", "an id of the same origin", held) from None
    except ValueError as error:
        raise refused("records", str(error)) from None
    id = str(asked.records[0].record.id) if asked.records else ""
    values: Any = [one.value for one in outcomes]
    return Stored(id, PutRecordsResult(outcomes=values, known=[], guarded=[], indexed=False, seq=transaction.seq()))


def _entry(entry: Entry, writer: WriteCaller, made: Prepared) -> Entry:
    """Return an entry with vectors and sender."""
    origin = replace(entry.origin, recorded_by=writer.agent, via=INGESTED)
    return replace(entry, origin=origin, vectors=made.vectors_of(entry.record), updated_at=None)


def _again(
    transaction: WriteTransaction, writer: WriteCaller, result: StoreKnowledgeResult
) -> Stored[StoreKnowledgeResult] | None:
    if not all(transaction.find(KIND_NAMES[one.kind], one.id, writer.viewer) for one in result.records):
        return None
    states = [one.model_copy(update={"status": "unchanged"}) for one in result.records]
    return _stored(result.model_copy(update={"records": states}))


def _digested(request: StoreKnowledge | PutRecords) -> Mapping[str, object]:
    members = asdict(request)
    del members["idempotency_key"], members["dry_run"]
    return members


STORE_KNOWLEDGE: Final = WriteHandler(
    "StoreKnowledge",
    StoreKnowledgeResult,
    store_knowledge,
    _digested,
    _again,
    former_knowledge,
    lambda request, _: knowledge_stated(request),
)
PUT_RECORDS: Final = WriteHandler(
    "PutRecords",
    PutRecordsResult,
    put_records,
    _digested,
    lambda _, __, result: Stored("", result),  # its transaction knows the changes
    former_put,
    lambda request, _: [one.record for one in request.records],
    shows_record=False,
)
