"""Decision writes, each inside a transaction: recorded, updated, reviewed, given a status, linked."""

from dataclasses import replace
from secrets import token_hex
from typing import Final, TypeVar

from cognition_engines.kinds.decisions import ACYCLIC, UNDECIDED, DecisionLink, LinkType, Review
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import SENSITIVITIES, Decision
from cognition_engines.queries.decision_values import edge_of
from cognition_engines.store.audit.chain import AuditedRecord, record_of
from cognition_engines.store.reads.decisions import ratified_by
from cognition_engines.store.values import StoredRecord
from cognition_engines.store.write_transaction import WriteTransaction
from cognition_engines.writing.entries import (
    RATIFY,
    Prepared,
    Stored,
    WriteHandler,
    check_affects,
    check_link_owner,
    check_links,
    check_owner,
    check_validity,
    decision_of,
    entry_of,
    identity_of,
    other_conflicts,
    project_for,
    refused,
    seen_conflicts,
)
from cognition_engines.writing.kept_answers import (
    digested_decision,
    digested_link,
    digested_review,
    digested_status,
    digested_update,
    former_decision,
    former_link,
    former_review,
    former_update,
)
from cognition_engines.writing.requests import WriteCaller
from cognition_engines.writing.stated_decisions import (
    completeness,
    decision_from,
    details_of,
    period_of,
    review_content,
    stated_members,
    updated_decision,
)
from cstp.errors import Conflict, Forbidden
from cstp.values.decision_links import LinkDecisionsParams, LinkDecisionsResult, UnlinkDecisionsParams
from cstp.values.decision_writes import (
    DecisionUpdates,
    RecordDecisionParams,
    RecordDecisionResult,
    ReviewDecisionParams,
    ReviewDecisionResult,
    SetStatusParams,
    SetStatusResult,
    UpdateDecisionParams,
    UpdateDecisionResult,
)
from cstp.values.writes import WriteResult, WriteWarning

D = TypeVar("D", bound=WriteResult)

FIRST_STATUS: Final = "pending"
ACCEPTED: Final = "accepted"
SUPERSEDES: Final[LinkType] = "supersedes"


class Outdated(Exception):
    """The record has changed since the vectors were made."""


def record(
    transaction: WriteTransaction, writer: WriteCaller, params: RecordDecisionParams, made: Prepared
) -> Stored[RecordDecisionResult]:
    """Store a new decision, with links."""
    level, (stated,) = SENSITIVITIES[params.sensitivity], made.stated
    assert isinstance(stated, Decision)
    project = project_for(writer, params.project, level)
    check_affects(stated)
    id, at = f"dec_{token_hex(8)}", transaction.author.at
    details = details_of(stated)
    if params.review_in is not None:
        details = replace(details, review_by=at + period_of(params.review_in))
    decision = replace(
        stated,
        id=id,
        status=FIRST_STATUS,
        status_text=FIRST_STATUS,
        date=at,
        details=details,
        project=project,
        sensitivity=level,
    )
    targets = _targets(transaction, writer, params)
    entry = entry_of(decision, writer, made, identity=identity_of(id))
    stored = transaction.put(entry, made.model, None, ("decision",))
    warnings = []
    for member, target, type, context in targets:
        link = DecisionLink(id, str(target.record.id), type, writer.agent, at, None, context)
        stored = transaction.add_link(stored, target, link)
        warnings += [replace(one, message=f"{member}: {one.message}") for one in _about(stored, target, link.type)]
    conflicts = other_conflicts(made, *(params.supersedes or ()))
    result = RecordDecisionResult(
        id=id,
        indexed=False,
        seq=transaction.seq(),
        timestamp=at,
        created=True,
        status=FIRST_STATUS,
        revision=stored.revision,
        content_hash=entry.origin.content_hash,
        quality=completeness(decision, details),
        possible_duplicates=list(made.duplicates),
        possible_conflicts=[one for _, one in conflicts],
        warnings=[*warnings, *made.warnings],
    )
    return _recorded(id, result)


def _recorded(id: str, result: RecordDecisionResult) -> Stored[RecordDecisionResult]:
    others = [one.id for one in result.possible_duplicates] + [one.id for one in result.possible_conflicts]
    return Stored(id, result, _decisions(id), _decisions(*dict.fromkeys(others)))


def _decisions(*ids: str) -> tuple[AuditedRecord, ...]:
    return tuple(record_of(Kind.DECISION, id) for id in ids)


def _targets(
    transaction: WriteTransaction, writer: WriteCaller, params: RecordDecisionParams
) -> list[tuple[str, StoredRecord, LinkType, str | None]]:
    """Return a new decision's links: member, target, type and context. Raise as `link` does."""
    targets = [
        (f"supersedes[{place}]", decision_of(transaction, writer, id), SUPERSEDES, None)
        for place, id in enumerate(params.supersedes or ())
    ] + [
        (f"relatedTo[{place}].id", decision_of(transaction, writer, one.id), one.type, one.context)
        for place, one in enumerate(params.related_to or ())
    ]
    check_links((target for _, target, _, _ in targets), writer)
    known: set[tuple[int, str]] = set()
    for member, target, type, _ in targets:
        if (target.key, type) in known:
            raise refused(member, f"must not name a decision twice with the type {type}")
        known.add((target.key, type))
    return targets


def update(
    transaction: WriteTransaction, writer: WriteCaller, params: UpdateDecisionParams, made: Prepared
) -> Stored[UpdateDecisionResult]:
    """Store new content for a decision; keep the earlier content."""
    stored = decision_of(transaction, writer, params.id)
    check_owner(stored, writer)
    check_affects(decision_from(params.updates), "updates.")
    id = str(stored.record.id)
    if params.expected_revision is not None and params.expected_revision != stored.revision:
        raise Conflict(id, "revision", str(params.expected_revision), str(stored.revision))
    if stored.revision != made.revision:
        raise Outdated
    before = own_content(transaction, stored)
    after = updated_decision(before, params.updates)
    names = sorted(params.updates.model_fields_set)
    if after.valid_from is not None and after.valid_to is not None and after.valid_from > after.valid_to:
        member = "validFrom" if "valid_from" in names else "validTo"
        raise refused(f"updates.{member}", "validFrom must not be later than validTo, as the decision has it")
    had, has = stated_members(before), stated_members(after)
    changed = tuple(name for name in names if has[name] != had[name])
    if "confidence" in changed and transaction.reviews(stored):
        raise Conflict(id, "state", "a decision without a review", "a review, which froze the confidence")
    check_validity(before, changed, writer)
    seq = stored.seq
    if changed:
        entry = entry_of(after, writer, made, stored)
        stored = transaction.put(entry, made.model, stored, changed, params.reason)
        seq = transaction.seq()
    fields = [_member(name) for name in changed]
    return _of_decision(
        UpdateDecisionResult(id=id, indexed=False, seq=seq, updated_fields=fields, revision=stored.revision)
    )


def _member(name: str) -> str:
    return DecisionUpdates.model_fields[name].alias or name


def _of_decision(result: D) -> Stored[D]:
    return Stored(result.id, result, named=_decisions(result.id))


def review(
    transaction: WriteTransaction, writer: WriteCaller, params: ReviewDecisionParams, _: Prepared
) -> Stored[ReviewDecisionResult]:
    """Add a review; earlier reviews are kept."""
    stored = decision_of(transaction, writer, params.id)
    before = transaction.reviews(stored)
    assert isinstance(stored.record, Decision)
    at = transaction.author.at
    if params.observed_at is not None and params.observed_at > at:
        raise refused("observedAt", "must not be in the future")
    one = Review(
        id=f"rev_{token_hex(8)}",
        number=len(before) + 1,
        at=at,
        agent=writer.agent,
        via=writer.via,
        self_review=stored.origin.recorded_by == writer.agent,
        outcome=params.outcome,
        previous_outcome=stored.record.outcome,
        content=review_content(params),
    )
    shown = transaction.add_review(stored, one)
    assert isinstance(shown.record, Decision)
    return _of_decision(
        ReviewDecisionResult(
            id=str(stored.record.id),
            indexed=False,
            seq=transaction.seq(),
            review_id=one.id,
            reviewed_at=at,
            reindexed=False,
            status=shown.record.status,
            revision=shown.revision,
            self_review=one.self_review,
            previous_outcome=one.previous_outcome,
        )
    )


def set_status(
    transaction: WriteTransaction, writer: WriteCaller, params: SetStatusParams, made: Prepared
) -> Stored[SetStatusResult]:
    """Give a decision another status; a status binding others needs the scope `ratify`."""
    stored = decision_of(transaction, writer, params.id)
    if not stored.origin.is_written:
        check_owner(stored, writer)
    if RATIFY not in writer.scopes:
        if params.status not in UNDECIDED:
            raise Forbidden(RATIFY)
        check_owner(stored, writer)
        if own_content(transaction, stored).status not in UNDECIDED:
            raise Forbidden(RATIFY)
    if stored.revision != made.revision:
        raise Outdated
    before = own_content(transaction, stored)
    entry = entry_of(replace(before, status=params.status, status_text=params.status), writer, made, stored)
    if before.status != params.status:
        if params.status == ACCEPTED:
            transaction.void_unratified(stored)
        stored = transaction.put(entry, made.model, stored, ("status",), params.reason)
    return _of_decision(
        SetStatusResult(
            id=str(stored.record.id),
            indexed=False,
            seq=transaction.seq() or stored.seq,
            status=params.status,
            previous=before.status,
            ratified_by=ratified_by(transaction.revisions(stored)),
        )
    )


def link(
    transaction: WriteTransaction, writer: WriteCaller, params: LinkDecisionsParams, _: Prepared
) -> Stored[LinkDecisionsResult]:
    """Link two decisions visible to the writer. Raise Conflict for a circle in a type without circles."""
    source = decision_of(transaction, writer, params.source_id)
    target = decision_of(transaction, writer, params.target_id)
    if source.key == target.key:
        raise refused("targetId", "must be another decision than sourceId")
    source_id, target_id = str(source.record.id), str(target.record.id)
    known = _link(transaction, source, target, params.edge_type)
    if known is not None and known.agent != writer.agent:
        raise Conflict(source_id, "state", f"no link {params.edge_type} of another agent to targetId", "one")
    binds = params.edge_type == SUPERSEDES and known is None and not _awaits(transaction, source)
    if binds and RATIFY not in writer.scopes:
        raise Forbidden(RATIFY)
    if params.edge_type in ACYCLIC and source_id in _reachable(transaction, writer, target_id, params.edge_type):
        raise Conflict(source_id, "state", f"no circle of {params.edge_type}", "a way back from targetId")
    at = transaction.author.at
    made = DecisionLink(source_id, target_id, params.edge_type, writer.agent, at, params.weight, params.context)
    source = transaction.add_link(source, target, made)
    return _linked(transaction, made, _about(source, target, params.edge_type))


def unlink(
    transaction: WriteTransaction, writer: WriteCaller, params: UnlinkDecisionsParams, _: Prepared
) -> Stored[LinkDecisionsResult]:
    """End a link between two decisions. Raise Conflict if there is none."""
    source = decision_of(transaction, writer, params.source_id)
    target = decision_of(transaction, writer, params.target_id)
    id = str(source.record.id)
    kept = _link(transaction, source, target, params.edge_type)
    if kept is None:
        raise Conflict(id, "state", f"a link {params.edge_type} to targetId", "none")
    check_link_owner(kept, writer)
    transaction.remove_link(source, target, params.edge_type)
    return _linked(transaction, kept, [])


def _linked(
    transaction: WriteTransaction, link: DecisionLink, warnings: list[WriteWarning]
) -> Stored[LinkDecisionsResult]:
    return _of_link(
        LinkDecisionsResult(id=link.source, indexed=False, seq=transaction.seq(), edge=edge_of(link), warnings=warnings)
    )


def _of_link(result: LinkDecisionsResult) -> Stored[LinkDecisionsResult]:
    return Stored(result.id, result, named=_decisions(result.edge.source_id, result.edge.target_id))


def _new_again(
    transaction: WriteTransaction, writer: WriteCaller, result: RecordDecisionResult
) -> Stored[RecordDecisionResult]:
    seen = [one for one in result.possible_duplicates if transaction.find(Kind.DECISION, one.id, writer.viewer)]
    conflicts = seen_conflicts(transaction, writer, result.possible_conflicts, Kind.DECISION)
    others = {"possible_duplicates": seen, "possible_conflicts": [one for _, one in conflicts]}
    return _recorded(result.id, result.model_copy(update={"created": False, **others}))


def _again(_: WriteTransaction, __: WriteCaller, result: D) -> Stored[D]:
    return _of_decision(result)


def _link_again(
    transaction: WriteTransaction, writer: WriteCaller, result: LinkDecisionsResult
) -> Stored[LinkDecisionsResult] | None:
    ends = (result.edge.source_id, result.edge.target_id)
    seen = all(transaction.find(Kind.DECISION, id, writer.viewer) for id in ends)
    return _of_link(result) if seen else None


RECORD: Final = WriteHandler(
    "RecordDecision",
    RecordDecisionResult,
    record,
    digested_decision,
    _new_again,
    former_decision,
    lambda params, _: (decision_from(params),),
)
UPDATE: Final = WriteHandler(
    "UpdateDecision",
    UpdateDecisionResult,
    update,
    digested_update,
    _again,
    former_update,
    lambda params, own: (updated_decision(own, params.updates),),
)
REVIEW: Final = WriteHandler(
    "ReviewDecision",
    ReviewDecisionResult,
    review,
    digested_review,
    _again,
    former_review,
    finished=lambda result: result.model_copy(update={"reindexed": result.indexed}),
)
SET_STATUS: Final = WriteHandler(
    "SetStatus", SetStatusResult, set_status, digested_status, _again, stated=lambda _, own: (own,)
)
LINK: Final = WriteHandler("LinkDecisions", LinkDecisionsResult, link, digested_link, _link_again, former_link)
UNLINK: Final = WriteHandler("UnlinkDecisions", LinkDecisionsResult, unlink, digested_link, _link_again, former_link)


def _awaits(transaction: WriteTransaction, stored: StoredRecord) -> bool:
    """Return whether a decision is still to be ratified, and the supersessions with it."""
    return stored.origin.is_written and own_content(transaction, stored).status in UNDECIDED


def _link(
    transaction: WriteTransaction, source: StoredRecord, target: StoredRecord, type: LinkType
) -> DecisionLink | None:
    """Return the link with a type between two decisions."""
    found = transaction.links([str(source.record.id)], type)
    return next((one for one in found if one.target == str(target.record.id)), None)


def own_content(transaction: WriteTransaction, stored: StoredRecord) -> Decision:
    """Return a decision's own content, without the effects of reviews and successors."""
    found = transaction.revisions(stored)[-1].record
    assert isinstance(found, Decision)
    return found


def _about(source: StoredRecord, target: StoredRecord, type: LinkType) -> list[WriteWarning]:
    """Return a warning if a supersession has no effect: some see the old decision but not the new."""
    new, old = source.facets, target.facets
    if type != SUPERSEDES or (new.project == old.project and new.sensitivity <= old.sensitivity):
        return []
    message = "the old decision stays in force: some who see it do not see the new one (project or sensitivity)"
    return [WriteWarning("supersessionWithoutEffect", message)]


def _reachable(transaction: WriteTransaction, writer: WriteCaller, start: str, type: LinkType) -> set[str]:
    """Return the decisions reachable by links with a type, including the start, if visible to the writer.

    A path through a hidden decision does not count: refusing a link for it would reveal the decision.
    """
    found, edge = {start}, [start]
    while edge:
        links = transaction.links(edge, type, writer.viewer)
        edge = [one.target for one in links if one.target not in found]
        found.update(edge)
    return found
