"""Writes of knowledge: sources with their chunks, chunks, and what was extracted, all in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import Final

from cognition_engines.drafts.chunking import Piece
from cognition_engines.drafts.document_chunks import chunks_of, pieces_of
from cognition_engines.drafts.ids import content_identity, hashed
from cognition_engines.kinds.artifacts import ArtifactChunk
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.knowledge import Chunk, Source
from cognition_engines.kinds.registry import SPECS, OtherRecord, kind_of
from cognition_engines.kinds.spec import TARGETS, WRITTEN, Role
from cognition_engines.store.values import PART, StoredRecord
from cognition_engines.store.write_transaction import WriteTransaction
from cognition_engines.writing.entries import PreparedTexts, entry_of, owned_as
from cognition_engines.writing.errors import RecordNotFound, WriteRefused, WritesRefused
from cognition_engines.writing.memory_requests import GivenRecord, KnowledgeRecord, StoredKnowledge, StoreKnowledge
from cognition_engines.writing.requests import Writer
from cognition_engines.writing.rules import check_owner, check_sensitivity, project_for

# What refers to something comes after it.
_ORDER: Final = (Kind.SOURCE, Kind.CHUNK, Kind.EXTRACTION)


@dataclass(slots=True)
class _Call:
    """What one call has stored so far: under which ids, by kind and the id that the caller gives."""

    transaction: WriteTransaction
    writer: Writer
    made: PreparedTexts
    ids: dict[tuple[Kind, str], str] = field(default_factory=dict)
    seq: int = 0  # of the last change to what it leaves as it is


def knowledge_stated(asked: StoreKnowledge) -> list[OtherRecord]:
    """The records that a request states, those that texts are cut into among them, for their texts."""
    found: list[OtherRecord] = []
    for one in asked.records:
        found += [one.record, *_chunks(one.record, _pieces(one))]
    return found


def store_knowledge(
    transaction: WriteTransaction, writer: Writer, asked: StoreKnowledge, made: PreparedTexts
) -> StoredKnowledge:
    """Stores all records, or none. Raises WritesRefused with all that is wrong with their rights."""
    records = _with_rights(writer, asked)
    call = _Call(transaction, writer, made)
    done: dict[int, KnowledgeRecord] = {}
    for kind in _ORDER:
        for place, one in enumerate(records):
            if kind_of(one.record) is kind:
                done[place] = _store(call, one)
    answers = tuple(done[place] for place in range(len(records)))
    return StoredKnowledge(id=answers[0].id, seq=transaction.seq() or call.seq, records=answers)


def _with_rights(writer: Writer, asked: StoreKnowledge) -> list[GivenRecord]:
    """The records with projects and levels, which the writer may give."""
    found, faults = [], []
    for place, one in enumerate(asked.records):
        record = one.record
        level = asked.sensitivity if record.sensitivity is None else record.sensitivity
        project = record.project
        try:
            project = project_for(writer, asked.project if project is None else project)
            check_sensitivity(writer, level)
        except WriteRefused as error:
            faults.append((f"records[{place}].{error.member}", error.message))
        found.append(replace(one, record=replace(record, project=project, sensitivity=level)))
    if faults:
        raise WritesRefused(faults)
    return found


def _store(call: _Call, given: GivenRecord) -> KnowledgeRecord:
    record = _referring(call, given.record)
    kind, named = kind_of(record), None if record.id is None else str(record.id)
    identity = content_identity(replace(record, id=None), f"{WRITTEN} {call.writer.agent} {record.project}")
    known = _known(call, kind, named, record.project, identity)
    id = f"{SPECS[kind].made_prefix}{token_hex(8)}" if known is None else str(known.record.id)
    if named is not None:
        call.ids[kind, named] = id
    record = replace(record, id=id)  # type: ignore[arg-type]  # no episode
    entry = entry_of(record, call.writer, call.made, known, identity=None if named else identity, given=named)
    pieces = _pieces(given)
    if pieces:
        entry = replace(entry, origin=replace(entry.origin, digest=_whole(entry.origin.digest, pieces)))
    if known is not None and known.origin.digest == entry.origin.digest:
        call.seq = max(call.seq, known.seq)
        return KnowledgeRecord(kind.label, id, "unchanged", len(pieces))
    if known is not None:
        check_owner(known, call.writer)
    stored = call.transaction.put(entry, call.made.model, known)
    call.transaction.revise(stored, entry, ("content",), None)
    if pieces:
        _store_chunks(call, record, pieces, known)
    return KnowledgeRecord(kind.label, id, "created" if known is None else "changed", len(pieces))


def _store_chunks(call: _Call, source: OtherRecord, pieces: Sequence[Piece], known: StoredRecord | None) -> None:
    if known is not None:
        before = call.transaction.children(Kind.CHUNK, str(source.id), Role.SOURCE)
        call.transaction.drop([one for one in before if one.origin.ordinal == PART])
    for chunk in _chunks(source, pieces):
        entry = owned_as(entry_of(chunk, call.writer, call.made, ordinal=PART), known)
        call.transaction.put(entry, call.made.model, None)


def _known(call: _Call, kind: Kind, named: str | None, project: str | None, identity: str) -> StoredRecord | None:
    """The record that is meant, of those that the writer sees in the project; its own before others.

    That of the id that is given, else an equal one of the writer.
    """
    found = call.transaction.named(kind, named, call.writer.viewer) if named else ()
    if not named:
        found = call.transaction.of_identity(kind, identity, call.writer.viewer)
    here = [one for one in found if one.record.project == project]
    own = [one for one in here if one.origin.recorded_by == call.writer.agent]
    return next(iter((*own, *here)), None)


def _referring(call: _Call, record: OtherRecord) -> OtherRecord:
    """The record with the ids that what it refers to is stored under. Raises RecordNotFound for what is not seen."""
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
            raise RecordNotFound(id)
        known = str(found.record.id)
    return known


def _pieces(given: GivenRecord) -> Sequence[Piece]:
    """What the text of a source is cut into, as on ingest."""
    return () if given.text is None else pieces_of(given.text.replace("\r\n", "\n"))


def _chunks(record: OtherRecord, pieces: Sequence[Piece]) -> list[Chunk | ArtifactChunk]:
    return chunks_of(record, pieces, WRITTEN) if isinstance(record, Source) else []


def _whole(digest: str, pieces: Sequence[Piece]) -> str:
    """The digest of a source with its text, which it does not hold."""
    return hashed("\0".join([digest, *(piece.text for piece in pieces)]))[:32]
