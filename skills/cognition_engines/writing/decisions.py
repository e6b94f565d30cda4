"""Writes of decisions, each inside one transaction: recorded, updated, reviewed, given a status, linked."""

from collections.abc import Mapping
from dataclasses import replace
from secrets import token_hex
from typing import Any, Final

from cognition_engines.drafts.ids import content_hash
from cognition_engines.kinds.decisions import ACYCLIC, UNDECIDED, DecisionLink, LinkType, Review
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Decision
from cognition_engines.store.audit.audit_rows import AuditedRecord, record_of
from cognition_engines.store.reads.decisions import ratified_by
from cognition_engines.store.values import StoredRecord
from cognition_engines.store.write_transaction import WriteTransaction
from cognition_engines.writing.entries import (
    RATIFY,
    Handler,
    Prepared,
    check_affects,
    check_link_owner,
    check_links,
    check_owner,
    check_validity,
    decision_of,
    entry_of,
    identity_of,
    project_for,
    seen_conflicts,
)
from cognition_engines.writing.requests import (
    ChangedStatus,
    LinkDecisions,
    LinkedDecisions,
    RecordDecision,
    RecordedDecision,
    Request,
    ReviewDecision,
    ReviewedDecision,
    ScopeNeeded,
    SetStatus,
    UnlinkDecisions,
    UpdatedDecision,
    UpdateDecision,
    WriteCaller,
    WriteConflict,
    WriteRefused,
    Written,
)
from cognition_engines.writing.stated_decisions import completeness, details_of, stated_members, updated_decision
from cstp.values.writes import WriteWarning

FIRST_STATUS: Final = "pending"
ACCEPTED: Final = "accepted"
SUPERSEDES: Final[LinkType] = "supersedes"


class Outdated(Exception):
    """The record has changed since the vectors were made."""


def record(
    transaction: WriteTransaction, writer: WriteCaller, asked: RecordDecision, made: Prepared
) -> RecordedDecision:
    """Store a new decision, with its links."""
    project = project_for(writer, asked.project, asked.sensitivity)
    check_affects(asked.stated)
    id, at = f"dec_{token_hex(8)}", transaction.author.at
    details = details_of(asked.stated)
    if asked.review_in is not None:
        details = replace(details, review_by=at + asked.review_in)
    decision = replace(
        asked.stated,
        id=id,
        status=FIRST_STATUS,
        status_text=FIRST_STATUS,
        date=at,
        details=details,
        project=project,
        sensitivity=asked.sensitivity,
    )
    targets = _targets(transaction, writer, asked)
    entry = entry_of(decision, writer, made, identity=identity_of(id))
    stored = transaction.put(entry, made.model, None)
    transaction.revise(stored, entry, ("decision",), None)
    warnings = []
    for member, target, type, context in targets:
        link = DecisionLink(id, str(target.record.id), type, writer.agent, at, None, context)
        stored = transaction.add_link(stored, target, link)
        warnings += [replace(one, message=f"{member}: {one.message}") for one in _about(stored, target, link.type)]
    return RecordedDecision(
        id=id,
        seq=transaction.seq(),
        at=at,
        status=FIRST_STATUS,
        revision=stored.revision,
        content_hash=content_hash(decision),
        quality=completeness(decision, details),
        duplicates=made.duplicates,
        conflicts=tuple(one for one in made.conflicts if one.id not in asked.supersedes),
        warnings=(*warnings, *made.warnings),
    )


def _targets(
    transaction: WriteTransaction, writer: WriteCaller, asked: RecordDecision
) -> list[tuple[str, StoredRecord, LinkType, str | None]]:
    """Return the links of a new decision: member, target, type and context. Raise as `link` does."""
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
    """Store another content of a decision; keep the earlier ones."""
    stored = decision_of(transaction, writer, asked.id)
    check_owner(stored, writer)
    check_affects(asked.stated, "updates.")
    id = str(stored.record.id)
    if asked.expected_revision is not None and asked.expected_revision != stored.revision:
        raise WriteConflict(id, "revision", str(asked.expected_revision), str(stored.revision))
    if stored.revision != made.revision:
        raise Outdated
    before = own_content(transaction, stored)
    after = updated_decision(before, asked)
    if after.valid_from is not None and after.valid_to is not None and after.valid_from > after.valid_to:
        member = "valid_from" if "valid_from" in asked.names else "valid_to"
        raise WriteRefused(f"updates.{member}", "validFrom must not be later than validTo, as the decision has it")
    given, had = stated_members(asked.stated), stated_members(before)
    changed = tuple(name for name in asked.names if given[name] != had[name])
    if "confidence" in changed and transaction.reviews(stored):
        raise WriteConflict(id, "state", "a decision without a review", "a review, which froze the confidence")
    check_validity(before, changed, writer)
    if not changed:
        return UpdatedDecision(id=id, seq=stored.seq, updated=(), revision=stored.revision)
    entry = entry_of(after, writer, made, stored)
    stored = transaction.put(entry, made.model, stored)
    transaction.revise(stored, entry, changed, asked.reason)
    return UpdatedDecision(id=id, seq=transaction.seq(), updated=changed, revision=stored.revision)


def review(transaction: WriteTransaction, writer: WriteCaller, asked: ReviewDecision, _: Prepared) -> ReviewedDecision:
    """Add a review; earlier ones are kept."""
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
    """Give a decision another status; a status that binds others needs the scope `ratify`."""
    stored = decision_of(transaction, writer, asked.id)
    if not stored.origin.is_written:
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
    entry = entry_of(replace(before, status=asked.status, status_text=asked.status), writer, made, stored)
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
        ratified_by=ratified_by(transaction.revisions(stored)),
    )


def link(transaction: WriteTransaction, writer: WriteCaller, asked: LinkDecisions, _: Prepared) -> LinkedDecisions:
    """Link two decisions that the writer sees. Raise WriteConflict for a circle of a type that must have none."""
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
    """End a link between two decisions. Raise WriteConflict if there is none."""
    source = decision_of(transaction, writer, asked.source_id)
    target = decision_of(transaction, writer, asked.target_id)
    id = str(source.record.id)
    kept = _link(transaction, source, target, asked.type)
    if kept is None:
        raise WriteConflict(id, "state", f"a link {asked.type} to targetId", "none")
    check_link_owner(kept, writer)
    transaction.remove_link(source, target, asked.type)
    return LinkedDecisions(id=id, seq=transaction.seq(), link=kept, removed=True)


def _named(_: object, answer: Written, __: bool) -> tuple[AuditedRecord, ...]:
    return (record_of(Kind.DECISION, answer.id),)


def _named_new(_: object, answer: RecordedDecision, stored: bool) -> tuple[AuditedRecord, ...]:
    ids = [answer.id] if stored else []
    named = dict.fromkeys([*ids, *(one.id for one in answer.duplicates), *(one.id for one in answer.conflicts)])
    return tuple(record_of(Kind.DECISION, id) for id in named)


def _named_ends(_: object, answer: LinkedDecisions, __: bool) -> tuple[AuditedRecord, ...]:
    return record_of(Kind.DECISION, answer.link.source), record_of(Kind.DECISION, answer.link.target)


def _new_again(transaction: WriteTransaction, writer: WriteCaller, answer: RecordedDecision) -> RecordedDecision:
    seen = [one for one in answer.duplicates if transaction.find(Kind.DECISION, one.id, writer.viewer)]
    conflicts = seen_conflicts(transaction, writer, answer.conflicts)
    return replace(answer, created=False, duplicates=tuple(seen), conflicts=conflicts)


def _link_again(transaction: WriteTransaction, writer: WriteCaller, answer: LinkedDecisions) -> LinkedDecisions | None:
    ends = (answer.link.source, answer.link.target)
    return answer if all(transaction.find(Kind.DECISION, id, writer.viewer) for id in ends) else None


HANDLERS: Final[Mapping[type[Request[Any]], Handler[Any, Any]]] = {
    RecordDecision: Handler(
        record, RecordedDecision, _named_new, lambda asked, _: (asked.stated,), shown_again=_new_again
    ),
    UpdateDecision: Handler(update, UpdatedDecision, _named, lambda asked, own: (updated_decision(own, asked),)),
    ReviewDecision: Handler(review, ReviewedDecision, _named),
    SetStatus: Handler(set_status, ChangedStatus, _named, lambda _, own: (own,)),
    LinkDecisions: Handler(link, LinkedDecisions, _named_ends, shown_again=_link_again),
    UnlinkDecisions: Handler(unlink, LinkedDecisions, _named_ends, shown_again=_link_again),
}


def _awaits(transaction: WriteTransaction, stored: StoredRecord) -> bool:
    """Return whether a decision is still to be ratified, and with it its supersessions."""
    return stored.origin.is_written and own_content(transaction, stored).status in UNDECIDED


def _link(
    transaction: WriteTransaction, source: StoredRecord, target: StoredRecord, type: LinkType
) -> DecisionLink | None:
    """Return the link of a type between two decisions."""
    found = transaction.links([str(source.record.id)], type)
    return next((one for one in found if one.target == str(target.record.id)), None)


def own_content(transaction: WriteTransaction, stored: StoredRecord) -> Decision:
    """Return the content that a decision states itself, without the effects of reviews and successors."""
    found = transaction.revisions(stored)[-1].record
    assert isinstance(found, Decision)
    return found


def _about(source: StoredRecord, target: StoredRecord, type: LinkType) -> list[WriteWarning]:
    """Return a warning if a supersession has no effect, since some see the old decision and not the new one."""
    new, old = source.facets, target.facets
    if type != SUPERSEDES or (new.project == old.project and new.sensitivity <= old.sensitivity):
        return []
    message = "the old decision stays in force: some who see it do not see the new one (project or sensitivity)"
    return [WriteWarning("supersessionWithoutEffect", message)]


def _reachable(transaction: WriteTransaction, writer: WriteCaller, start: str, type: LinkType) -> set[str]:
    """Return the decisions that links of a type lead to, with the start, as far as the writer sees them.

    A path through a hidden decision does not count: to refuse a link for it would reveal the decision.
    """
    found, edge = {start}, [start]
    while edge:
        links = transaction.links(edge, type, writer.viewer)
        edge = [one.target for one in links if one.target not in found]
        found.update(edge)
    return found
