"""What all writes share: the rules of who may write what, and a record's origin, digest and vectors."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final

from cognition_engines.drafts.ids import digest, with_place
from cognition_engines.kinds.decisions import UNDECIDED
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.registry import OtherRecord, Record, embedding_text, kind_of
from cognition_engines.kinds.reviews import DecisionLink
from cognition_engines.kinds.spec import WRITTEN, Origin
from cognition_engines.models import Decision, Sensitivity
from cognition_engines.store.values import Entry, FloatArray, StoredRecord
from cognition_engines.store.write_transaction import WriteTransaction
from cognition_engines.writing.requests import (
    PossibleDuplicate,
    RecordNotFound,
    ScopeNeeded,
    WriteCaller,
    WriteConflict,
    WriteRefused,
)

AMEND_OTHERS: Final = "admin"
REVIEW: Final = "review"
RATIFY: Final = "ratify"


def project_for(writer: WriteCaller, asked: str | None) -> str | None:
    """The project of a new record: the one asked for, or the only one that the writer has."""
    allowed = writer.viewer.projects
    if allowed is None:
        return asked
    if asked is None:
        if len(allowed) != 1:
            raise WriteRefused("project", "is required: this token has several projects")
        return next(iter(allowed))
    if asked not in allowed:
        raise WriteRefused("project", "must be one of this token's projects")
    return asked


def check_sensitivity(writer: WriteCaller, asked: Sensitivity) -> None:
    """Raises WriteRefused for a level above the writer's clearance: it would not see its own record."""
    if asked > writer.viewer.clearance:
        raise WriteRefused("sensitivity", "must be at most the clearance of this token")


def decision_of(transaction: WriteTransaction, writer: WriteCaller, id: str) -> StoredRecord:
    """The decision that the writer means. Raises RecordNotFound where it sees none."""
    found = transaction.find(Kind.DECISION, id, writer.viewer)
    if found is None:
        raise RecordNotFound(id)
    return found


def check_owner(stored: StoredRecord, writer: WriteCaller) -> None:
    """Raises where the content is a file's, or another agent's and the writer may not amend it."""
    if not stored.origin.written:
        path = stored.origin.path or stored.origin.source.rpartition("/")[2]
        raise WriteConflict(str(stored.record.id), "fileOwned", "a record that an agent wrote", f"the file {path}")
    if stored.origin.recorded_by != writer.agent and AMEND_OTHERS not in writer.scopes:
        raise ScopeNeeded(AMEND_OTHERS)


def check_links(targets: Iterable[StoredRecord], writer: WriteCaller) -> None:
    """Raise ScopeNeeded for a link to a decision of a file or another agent, unless the writer may review."""
    if REVIEW not in writer.scopes and any(one.origin.recorded_by != writer.agent for one in targets):
        raise ScopeNeeded(REVIEW)


def check_validity(decision: Decision, changed: Sequence[str], writer: WriteCaller) -> None:
    """Raise ScopeNeeded for other times of a decision that binds others, unless the writer may ratify."""
    moved = "valid_from" in changed or "valid_to" in changed
    if moved and decision.status not in UNDECIDED and RATIFY not in writer.scopes:
        raise ScopeNeeded(RATIFY)


def check_link_owner(link: DecisionLink, writer: WriteCaller) -> None:
    """Raise ScopeNeeded for the end of another agent's link, unless the writer may amend what others wrote."""
    if link.agent != writer.agent and AMEND_OTHERS not in writer.scopes:
        raise ScopeNeeded(AMEND_OTHERS)


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is made of a request before its transaction: vectors by text, and decisions that say nearly the same.

    `model` None is a server without one; `revision` is that of the decision whose texts these are, None for others.
    """

    model: str | None = None
    vectors: Mapping[str, FloatArray] = field(default_factory=dict)
    revision: int | None = None
    duplicates: tuple[PossibleDuplicate, ...] = ()

    def vectors_of(self, record: Record) -> FloatArray | None:
        """Return the vectors of a record; None if it has nothing to embed, or there is no model."""
        text = embedding_text(record)
        return None if text is None or self.model is None else self.vectors[text]


def texts_of(records: Iterable[Record]) -> list[str]:
    """The texts of records that have to be embedded, each once."""
    return list(dict.fromkeys(text for one in records if (text := embedding_text(one)) is not None))


def content_digest(record: OtherRecord) -> str:
    """Of all that a record says, its id left out."""
    return digest(record)


def content_hash_of(record: OtherRecord) -> str:
    """Of all that a record says, 64 hexadecimal digits."""
    return sha256(content_digest(record).encode()).hexdigest()


def entry_of(
    record: OtherRecord,
    writer: WriteCaller,
    made: Prepared,
    known: StoredRecord | None = None,
    ordinal: int = 0,
    identity: str | None = None,
    given: str | None = None,
) -> Entry:
    """A record of a writer with its vectors; another content of a known one keeps that one's origin.

    `given` is the id by which the writer calls a new record, `identity` what makes it this one, if not its id alone.
    """
    vectors = made.vectors_of(record)
    if known is not None:
        return Entry(record, with_place(replace(known.origin, digest=content_digest(record))), vectors)
    own = sha256(f"{WRITTEN} {kind_of(record).label} {record.id}".encode()).hexdigest()[:32]
    origin = Origin(
        WRITTEN,
        ordinal,
        None,
        content_digest(record),
        given=given,
        identity=identity or own,
        recorded_by=writer.agent,
        via=writer.via,
    )
    return Entry(record, with_place(origin), vectors)


def owned_as(entry: Entry, whole: StoredRecord | None) -> Entry:
    """A passage or an event as part of a known record: its owner is the owner of that, not the agent who amends it."""
    if whole is None:
        return entry
    return replace(entry, origin=replace(entry.origin, recorded_by=whole.origin.recorded_by, via=whole.origin.via))
