"""Writes of decisions, each inside one transaction: recorded, updated, reviewed, given a status, linked."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from secrets import token_hex
from typing import Final

from cognition_engines.drafts.ids import decision_digest, with_place
from cognition_engines.kinds.decisions import UNDECIDED
from cognition_engines.kinds.reviews import ACYCLIC, DecisionLink, LinkType, Review
from cognition_engines.kinds.spec import WRITTEN, Origin
from cognition_engines.models import Decision, DecisionDetails
from cognition_engines.store.values import Entry, Revision, StoredRecord
from cognition_engines.store.write_transaction import WriteTransaction
from cognition_engines.writing.entries import (
    RATIFY,
    Prepared,
    check_link_owner,
    check_links,
    check_owner,
    check_sensitivity,
    check_validity,
    decision_of,
    project_for,
)
from cognition_engines.writing.requests import (
    ChangedStatus,
    DecisionFields,
    LinkDecisions,
    LinkedDecisions,
    RecordDecision,
    RecordedDecision,
    ReviewDecision,
    ReviewedDecision,
    ScopeNeeded,
    SetStatus,
    UnlinkDecisions,
    UpdatedDecision,
    UpdateDecision,
    Warning,
    WriteCaller,
    WriteConflict,
    WriteRefused,
)
from cognition_engines.writing.text import completeness, title_and_text

FIRST_STATUS: Final = "pending"
ACCEPTED: Final = "accepted"
SUPERSEDES: Final[LinkType] = "supersedes"
# Where a member of a decision is kept, if not under its own name.
_IN_DETAILS: Final = frozenset(DecisionDetails.__dataclass_fields__) - {"statement"}
_ON_DECISION: Final = frozenset(DecisionFields.__dataclass_fields__) - _IN_DETAILS - {"decision"}


class Outdated(Exception):
    """The record has changed since the vectors were made."""


def decision_from(fields: DecisionFields, before: Decision) -> Decision:
    """A decision of these fields, with the id, rights, status, outcome and date of `before`."""
    title, text = title_and_text(fields)
    details = DecisionDetails(fields.decision, **{name: getattr(fields, name) for name in _IN_DETAILS})
    own = {name: getattr(fields, name) for name in _ON_DECISION}
    return replace(before, title=title, text=text, details=details, **own)


def fields_of(decision: Decision) -> DecisionFields:
    """What an agent stated of a decision."""
    assert decision.details is not None
    own = {name: getattr(decision, name) for name in _ON_DECISION}
    details = {name: getattr(decision.details, name) for name in _IN_DETAILS}
    return DecisionFields(decision=decision.details.statement, **own, **details)


def updated_fields(fields: DecisionFields, request: UpdateDecision) -> DecisionFields:
    """The fields with the values that an update gives."""
    values: Mapping[str, object] = {name: getattr(request.fields, name) for name in request.names}
    return replace(fields, **values)  # type: ignore[arg-type]


def record(
    transaction: WriteTransaction, writer: WriteCaller, asked: RecordDecision, made: Prepared
) -> RecordedDecision:
    """Stores a new decision, whose links are made with it."""
    project = project_for(writer, asked.project)
    check_sensitivity(writer, asked.sensitivity)
    at = transaction.author.at
    fields = asked.fields
    if asked.review_in is not None:
        fields = replace(fields, review_by=at + asked.review_in)
    bare = Decision(
        id=f"dec_{token_hex(8)}",
        title="",
        status=FIRST_STATUS,
        status_text=FIRST_STATUS,
        date=at,
        project=project,
        sensitivity=asked.sensitivity,
    )
    decision = decision_from(fields, bare)
    targets = _targets(transaction, writer, asked)
    entry = _entry(decision, writer, made)
    stored = transaction.put(entry, made.model, None)
    transaction.revise(stored, entry, ("decision",), None)
    warnings = []
    for member, target, type, context in targets:
        link = DecisionLink(str(decision.id), str(target.record.id), type, writer.agent, at, None, context)
        stored = transaction.add_link(stored, target, link)
        warnings += [replace(one, message=f"{member}: {one.message}") for one in _about(stored, target, link.type)]
    return RecordedDecision(
        id=str(decision.id),
        seq=transaction.seq(),
        at=at,
        status=FIRST_STATUS,
        revision=stored.revision,
        content_hash=content_hash(decision),
        quality=completeness(fields, project),
        duplicates=made.duplicates,
        warnings=tuple(warnings),
    )


def _targets(
    transaction: WriteTransaction, writer: WriteCaller, asked: RecordDecision
) -> list[tuple[str, StoredRecord, LinkType, str | None]]:
    """Return the links of a new decision: member, target, type and context. Raises as `link` does."""
    targets = [
        (f"supersedes[{place}]", decision_of(transaction, writer, id), SUPERSEDES, None)
        for place, id in enumerate(asked.supersedes)
    ] + [
        (f"related_to[{place}].id", decision_of(transaction, writer, one.id), one.type, one.context)
        for place, one in enumerate(asked.related_to)
    ]
    check_links((target for _, target, _, _ in targets), writer)
    known: set[tuple[int, str]] = set()
    for member, target, type, _ in targets:
        if (target.key, type) in known:
            raise WriteRefused(member, f"must not name a decision twice with the type {type}")
        known.add((target.key, type))
    return targets


def update(
    transaction: WriteTransaction, writer: WriteCaller, asked: UpdateDecision, made: Prepared
) -> UpdatedDecision:
    """Stores another content of a decision; the ones before are kept."""
    stored = decision_of(transaction, writer, asked.id)
    check_owner(stored, writer)
    id = str(stored.record.id)
    if asked.expected_revision is not None and asked.expected_revision != stored.revision:
        raise WriteConflict(id, "revision", str(asked.expected_revision), str(stored.revision))
    if stored.revision != made.revision:
        raise Outdated
    before = own_content(transaction, stored)
    fields = updated_fields(fields_of(before), asked)
    _check_validity(fields, asked.names)
    changed = tuple(name for name in asked.names if getattr(fields, name) != getattr(fields_of(before), name))
    if "confidence" in changed and transaction.reviews(stored):
        raise WriteConflict(id, "state", "a decision without a review", "a review, which froze the confidence")
    check_validity(before, changed, writer)
    if not changed:
        return UpdatedDecision(id=id, seq=stored.seq, updated=(), revision=stored.revision)
    entry = _entry(decision_from(fields, before), writer, made, stored)
    stored = transaction.put(entry, made.model, stored)
    transaction.revise(stored, entry, changed, asked.reason)
    return UpdatedDecision(id=id, seq=transaction.seq(), updated=changed, revision=stored.revision)


def review(transaction: WriteTransaction, writer: WriteCaller, asked: ReviewDecision, _: Prepared) -> ReviewedDecision:
    """Adds a review; earlier ones are kept."""
    stored = decision_of(transaction, writer, asked.id)
    before = transaction.reviews(stored)
    assert isinstance(stored.record, Decision)
    at = transaction.author.at
    observed = asked.content.observed_at
    if observed is not None and observed > at:
        raise WriteRefused("observed_at", "must not be in the future")
    one = Review(
        id=f"rev_{token_hex(8)}",
        number=len(before) + 1,
        at=at,
        agent=writer.agent,
        via=writer.via,
        self_review=stored.origin.recorded_by == writer.agent,
        outcome=asked.outcome,
        previous_outcome=stored.record.outcome,
        content=asked.content,
    )
    shown = transaction.add_review(stored, one)
    assert isinstance(shown.record, Decision)
    return ReviewedDecision(
        id=str(stored.record.id),
        seq=transaction.seq(),
        review_id=one.id,
        at=at,
        status=shown.record.status,
        revision=shown.revision,
        self_review=one.self_review,
        previous_outcome=one.previous_outcome,
    )


def set_status(transaction: WriteTransaction, writer: WriteCaller, asked: SetStatus, made: Prepared) -> ChangedStatus:
    """Gives a decision another status; what binds others needs the scope `ratify`."""
    stored = decision_of(transaction, writer, asked.id)
    if not stored.origin.written:
        check_owner(stored, writer)
    if RATIFY not in writer.scopes:
        if asked.status not in UNDECIDED:
            raise ScopeNeeded(RATIFY)
        check_owner(stored, writer)
        if own_content(transaction, stored).status not in UNDECIDED:
            raise ScopeNeeded(RATIFY)
    if stored.revision != made.revision:
        raise Outdated
    before = own_content(transaction, stored)
    entry = _entry(replace(before, status=asked.status, status_text=asked.status), writer, made, stored)
    if before.status != asked.status:
        if asked.status == ACCEPTED:
            transaction.void_unratified(stored)
        stored = transaction.put(entry, made.model, stored)
        transaction.revise(stored, entry, ("status",), asked.reason)
    return ChangedStatus(
        id=str(stored.record.id),
        seq=transaction.seq() or stored.seq,
        status=asked.status,
        previous=before.status,
        ratified_by=ratifier(transaction, stored),
    )


def link(transaction: WriteTransaction, writer: WriteCaller, asked: LinkDecisions, _: Prepared) -> LinkedDecisions:
    """Links two decisions that the writer sees. Raises WriteConflict for a circle of what must have none."""
    source = decision_of(transaction, writer, asked.source_id)
    target = decision_of(transaction, writer, asked.target_id)
    if source.key == target.key:
        raise WriteRefused("target_id", "must be another decision than sourceId")
    source_id, target_id = str(source.record.id), str(target.record.id)
    known = _link(transaction, source, target, asked.type)
    if known is not None and known.agent != writer.agent:
        raise WriteConflict(source_id, "state", f"no link {asked.type} of another agent to targetId", "one")
    if asked.type == SUPERSEDES and known is None and RATIFY not in writer.scopes and not _awaits(transaction, source):
        raise ScopeNeeded(RATIFY)
    if asked.type in ACYCLIC and source_id in _reachable(transaction, writer, target_id, asked.type):
        raise WriteConflict(source_id, "state", f"no circle of {asked.type}", "a way back from targetId")
    at = transaction.author.at
    made = DecisionLink(source_id, target_id, asked.type, writer.agent, at, asked.weight, asked.context)
    source = transaction.add_link(source, target, made)
    warnings = tuple(_about(source, target, asked.type))
    return LinkedDecisions(id=source_id, seq=transaction.seq(), link=made, warnings=warnings)


def unlink(transaction: WriteTransaction, writer: WriteCaller, asked: UnlinkDecisions, _: Prepared) -> LinkedDecisions:
    """Ends a link between two decisions. Raises RecordNotFound where there is none."""
    source = decision_of(transaction, writer, asked.source_id)
    target = decision_of(transaction, writer, asked.target_id)
    id = str(source.record.id)
    kept = _link(transaction, source, target, asked.type)
    if kept is None:
        raise WriteConflict(id, "state", f"a link {asked.type} to targetId", "none")
    check_link_owner(kept, writer)
    transaction.remove_link(source, target, asked.type)
    return LinkedDecisions(id=id, seq=transaction.seq(), link=kept, removed=True)


def content_hash(decision: Decision) -> str:
    """Of all that a decision says, 64 hexadecimal digits."""
    return sha256(decision_digest(decision).encode()).hexdigest()


def ratifier(transaction: WriteTransaction, stored: StoredRecord) -> str | None:
    """Who gave a decision the status that it has, where only some may give it."""
    return ratified_by(transaction.revisions(stored))


def ratified_by(revisions: Sequence[Revision]) -> str | None:
    """As `ratifier`, of the contents that a decision had."""
    found = [one for one in revisions if "status" in one.changed]
    last = found[-1] if found else None
    return None if last is None or not _binds(last.record) else last.agent


def _binds(found: object) -> bool:
    return isinstance(found, Decision) and found.status not in UNDECIDED


def _awaits(transaction: WriteTransaction, stored: StoredRecord) -> bool:
    """Return whether a decision is still to be ratified, and with it its supersessions."""
    return stored.origin.written and own_content(transaction, stored).status in UNDECIDED


def _link(
    transaction: WriteTransaction, source: StoredRecord, target: StoredRecord, type: LinkType
) -> DecisionLink | None:
    """Return the link of a type between two decisions."""
    found = transaction.links([str(source.record.id)], type)
    return next((one for one in found if one.target == str(target.record.id)), None)


def own_content(transaction: WriteTransaction, stored: StoredRecord) -> Decision:
    """What a decision states itself, whatever reviews and successors make of it."""
    found = transaction.revisions(stored)[-1].record
    assert isinstance(found, Decision)
    return found


def _entry(decision: Decision, writer: WriteCaller, made: Prepared, known: StoredRecord | None = None) -> Entry:
    if known is not None:
        origin = replace(known.origin, digest=decision_digest(decision))
    else:
        identity = sha256(f"{WRITTEN} {decision.id}".encode()).hexdigest()[:32]
        digest = decision_digest(decision)
        origin = Origin(WRITTEN, 0, None, digest, identity=identity, recorded_by=writer.agent, via=writer.via)
    expires_at = None if known is None else known.expires_at
    return Entry(decision, with_place(origin), made.vectors_of(decision), expires_at=expires_at)


def _about(source: StoredRecord, target: StoredRecord, type: LinkType) -> list[Warning]:
    """That a supersession will not take effect, where some see the old decision and not the new one."""
    new, old = source.facets, target.facets
    if type != SUPERSEDES or (new.project == old.project and new.sensitivity <= old.sensitivity):
        return []
    message = "the old decision stays in force: some who see it do not see the new one (project or sensitivity)"
    return [Warning("supersessionWithoutEffect", message)]


def _check_validity(fields: DecisionFields, given: Sequence[str]) -> None:
    """Raises WriteRefused for an update after which a decision would end before it begins."""
    if fields.valid_from is not None and fields.valid_to is not None and fields.valid_from > fields.valid_to:
        member = "valid_from" if "valid_from" in given else "valid_to"
        raise WriteRefused(f"updates.{member}", "validFrom must not be later than validTo, as the decision has it")


def _reachable(transaction: WriteTransaction, writer: WriteCaller, start: str, type: LinkType) -> set[str]:
    """The decisions that links of a type lead to, with the start, as far as the writer sees them.

    A way through a hidden decision counts for none: to refuse a link for it would show that the decision is there.
    """
    found, edge = {start}, [start]
    while edge:
        links = transaction.links(edge, type, writer.viewer)
        edge = [one.target for one in links if one.target not in found]
        found.update(edge)
    return found
