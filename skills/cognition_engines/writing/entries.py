"""Common parts of all writes: permission rules, and a record's origin, digest and vectors."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Final, Generic, TypeVar

from cognition_engines.drafts.ids import digest, with_place
from cognition_engines.kinds.affects import check_part, check_together
from cognition_engines.kinds.decisions import UNDECIDED, DecisionLink
from cognition_engines.kinds.registry import Record, embedding_text, kind_of
from cognition_engines.kinds.spec import WRITTEN, Kind, Origin
from cognition_engines.models import Decision, Sensitivity
from cognition_engines.path_patterns import BadPattern
from cognition_engines.store.audit.chain import AuditedRecord
from cognition_engines.store.values import Entry, FloatArray, StoredRecord
from cognition_engines.store.write_transaction import WriteTransaction
from cognition_engines.writing.requests import WriteCaller
from cstp.errors import Conflict, Forbidden, InvalidParams, NotFound, Violation
from cstp.values.decisions import Duplicate
from cstp.values.writes import PossibleConflict, WriteWarning

P = TypeVar("P")
R = TypeVar("R")

AMEND_OTHERS: Final = "admin"
REVIEW: Final = "review"
RATIFY: Final = "ratify"


def refused(field: str, message: str) -> InvalidParams:
    """Return the error for a call's member."""
    return InvalidParams((Violation(field, message),))


def project_for(writer: WriteCaller, asked: str | None, level: Sensitivity) -> str | None:
    """Return a new record's project: the requested project, or the writer's only project.

    Raise InvalidParams for another project, and for a level above the writer's clearance: the writer would not see its
    own record.
    """
    allowed = writer.viewer.projects
    project = asked
    if allowed is not None and asked is None:
        if len(allowed) != 1:
            raise refused("project", "is required: this token has several projects")
        (project,) = allowed
    if allowed is not None and project not in allowed:
        raise refused("project", "must be one of this token's projects")
    if level > writer.viewer.clearance:
        raise refused("sensitivity", "must be at most the clearance of this token")
    return project


def decision_of(transaction: WriteTransaction, writer: WriteCaller, id: str) -> StoredRecord:
    """Return the decision meant by the writer. Raise NotFound if none is visible."""
    found = transaction.find(Kind.DECISION, id, writer.viewer)
    if found is None:
        raise NotFound(id)
    return found


def check_owner(stored: StoredRecord, writer: WriteCaller) -> None:
    """Raise Conflict for a file's content, Forbidden for another agent's if the writer may not amend it."""
    if not stored.origin.is_written:
        path = stored.origin.path or stored.origin.source.rpartition("/")[2]
        raise Conflict(str(stored.record.id), "fileOwned", "a record that an agent wrote", f"the file {path}")
    if stored.origin.recorded_by != writer.agent and AMEND_OTHERS not in writer.scopes:
        raise Forbidden(AMEND_OTHERS)


def check_affects(decision: Decision, within: str = "") -> None:
    """Raise InvalidParams, with the member of `within`, for bad patterns and for too many wildcards."""
    for place, part in enumerate(decision.affects):
        try:
            check_part(part.type, part.pattern)
        except BadPattern as error:
            raise refused(f"{within}affects[{place}].pattern", str(error)) from None
    try:
        check_together((part.type, part.pattern) for part in decision.affects)
    except BadPattern as error:
        raise refused(f"{within}affects", str(error)) from None


def check_links(targets: Iterable[StoredRecord], writer: WriteCaller) -> None:
    """Raise Forbidden for a link to a decision by a file or another agent, unless the writer may review."""
    if REVIEW not in writer.scopes and any(one.origin.recorded_by != writer.agent for one in targets):
        raise Forbidden(REVIEW)


def check_validity(decision: Decision, changed: Sequence[str], writer: WriteCaller) -> None:
    """Raise Forbidden for changed times on a decision that binds others, unless the writer may ratify."""
    moved = "valid_from" in changed or "valid_to" in changed
    if moved and decision.status not in UNDECIDED and RATIFY not in writer.scopes:
        raise Forbidden(RATIFY)


def check_link_owner(link: DecisionLink, writer: WriteCaller) -> None:
    """Raise Forbidden for ending another agent's link, unless the writer may amend others' records."""
    if link.agent != writer.agent and AMEND_OTHERS not in writer.scopes:
        raise Forbidden(AMEND_OTHERS)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Results computed before a request's transaction: vectors by text, similar decisions, conflicts, warnings.

    `stated` are the records stated by the request. `model` None is a server without a model; `revision` is the revision
    of the decision with these texts, None for others. `refused` is the model's reason for refusing a text.
    """

    stated: Sequence[Record]
    model: str | None = None
    vectors: Mapping[str, FloatArray] = field(default_factory=dict)
    revision: int | None = None
    duplicates: tuple[Duplicate, ...] = ()
    conflicts: tuple[tuple[Kind, PossibleConflict], ...] = ()
    refused: str | None = None
    warnings: tuple[WriteWarning, ...] = ()

    def vectors_of(self, record: Record) -> FloatArray | None:
        """Return a record's vectors; None if it has nothing to embed, or there is no model."""
        text = embedding_text(record)
        return None if text is None or self.model is None else self.vectors[text]


def other_conflicts(made: Prepared, *ids: str) -> list[tuple[Kind, PossibleConflict]]:
    """Return the conflicts with records other than these ids."""
    return [(kind, one) for kind, one in made.conflicts if one.id not in ids]


def seen_conflicts(
    transaction: WriteTransaction, writer: WriteCaller, conflicts: Iterable[PossibleConflict], *kinds: Kind
) -> list[tuple[Kind, PossibleConflict]]:
    """Return the conflicts with records still visible to the writer, with the records' kinds."""
    return [
        (kind, one) for one in conflicts for kind in kinds if transaction.find(kind, one.id, writer.viewer) is not None
    ]


@dataclass(frozen=True, slots=True)
class Stored(Generic[R]):
    """A write's result, and the records to name in the audit: `written` ones only exist if the write is kept.

    `id` is the record's id.
    """

    id: str
    result: R
    written: tuple[AuditedRecord, ...] = ()
    named: tuple[AuditedRecord, ...] = ()


def _no_records(*_: object) -> Sequence[Record]:
    return ()


@dataclass(frozen=True, slots=True)
class WriteHandler(Generic[P, R]):
    """The functions for a method.

    `name` identifies kept results. `store` writes, inside a transaction. `digested` returns the request members in the
    digest, `former` the members of a kept result, which an earlier version may have named otherwise. `stated` returns
    the records whose texts are embedded, from the request and from the content of the changed decision. `shown_again`
    returns a kept result as the writer may see it now, None if it may not; with `shows_record` only an agent that sees
    the record is answered again. `finished` completes a returned result.
    """

    name: str
    result: type[R]
    store: Callable[[WriteTransaction, WriteCaller, P, Prepared], Stored[R]]
    digested: Callable[[P], Mapping[str, object]]
    shown_again: Callable[[WriteTransaction, WriteCaller, R], Stored[R] | None]
    former: Callable[[P, dict[str, Any]], dict[str, Any]] = lambda _, members: members
    stated: Callable[[P, Any], Sequence[Record]] = _no_records
    shows_record: bool = True
    finished: Callable[[R], R] = lambda result: result


def texts_of(records: Iterable[Record]) -> list[str]:
    """Return the records' texts to embed, each once."""
    return list(dict.fromkeys(text for one in records if (text := embedding_text(one)) is not None))


def entry_of(
    record: Record,
    writer: WriteCaller,
    made: Prepared,
    known: StoredRecord | None = None,
    ordinal: int = 0,
    identity: str | None = None,
    given: str | None = None,
) -> Entry:
    """Return a writer's record with vectors; a new version of a known record keeps origin and expiry.

    `given` is the writer's id for a new record, `identity` the identifying values, if not the id alone.
    """
    vectors = made.vectors_of(record)
    if known is not None:
        origin = replace(known.origin, digest=digest(record))
        return Entry(record, with_place(origin), vectors, expires_at=known.expires_at)
    own = identity or identity_of(f"{kind_of(record).label} {record.id}")
    origin = Origin(
        WRITTEN, ordinal, None, digest(record), given=given, identity=own, recorded_by=writer.agent, via=writer.via
    )
    return Entry(record, with_place(origin), vectors)


def identity_of(name: str) -> str:
    """Return the identity of a record written by an agent: 32 hexadecimal digits."""
    return sha256(f"{WRITTEN} {name}".encode()).hexdigest()[:32]


def owned_as(entry: Entry, whole: StoredRecord | None) -> Entry:
    """Return a passage or an event as part of a known record, owned by the record's owner, not the amending agent."""
    if whole is None:
        return entry
    return replace(entry, origin=replace(entry.origin, recorded_by=whole.origin.recorded_by, via=whole.origin.via))
