"""A decision or a review as an agent states it: members, title and text, and how complete a decision is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from cognition_engines.kinds.decisions import ReviewContent
from cognition_engines.models import Decision, DecisionDetails
from cstp.values.decision_writes import DecisionMembers, DecisionUpdates, ReviewDecisionParams
from cstp.values.decisions import AffectedPart, Alternative, CitedSource, Evidence, Quality, Reason

RULE: Final = "completeness-1"
_LONG_TEXT: Final = 20  # characters
_LONG_CONTEXT: Final = 10
_DAYS: Final = {"d": 1, "w": 7, "m": 30}
# Places of a decision's stated members, under their own names except for `decision`, the statement.
_IN_DETAILS: Final = frozenset(DecisionDetails.__dataclass_fields__) - {"statement"}
_UNSTATED: Final = {
    *("id", "title", "text", "status", "status_text", "outcome", "date", "supersedes", "superseded_by", "details"),
    *("date_source", "project", "sensitivity", "metadata"),
}
_ON_DECISION: Final = frozenset(Decision.__dataclass_fields__) - _UNSTATED
# List members, with their item classes.
_LISTS: Final[Mapping[str, type[Any] | None]] = {
    "reasons": Reason,
    "alternatives": Alternative,
    "affects": AffectedPart,
    "sources": CitedSource,
    "tags": None,
    "kpi_indicators": None,
}


def decision_from(params: DecisionMembers) -> Decision:
    """Return the decision stated in parameters."""
    stated = type(params).model_fields.keys() & (_ON_DECISION | _IN_DETAILS | {"decision"})
    members = {name: value for name in stated if (value := getattr(params, name)) is not None}
    for name in members.keys() & _LISTS.keys():
        item = _LISTS[name]
        members[name] = tuple(members[name] if item is None else (item(**dict(one)) for one in members[name]))
    return stated_decision(**members)


def review_content(params: ReviewDecisionParams) -> ReviewContent:
    """Return the review content stated in parameters."""
    return ReviewContent(
        actual_result=params.actual_result,
        lessons=params.lessons,
        notes=params.notes,
        affected_kpis=dict(params.affected_kpis or {}),
        observed_at=params.observed_at,
        evidence=tuple(Evidence(one.uri, one.kind, one.hash) for one in params.evidence or ()),
    )


def period_of(text: str) -> timedelta:
    """Return `2w` as a timedelta."""
    return timedelta(days=int(text[:-1]) * _DAYS[text[-1]])


def stated_decision(before: Decision | None = None, /, **members: Any) -> Decision:
    """Return a decision with these members, and the other members from `before`; absent members have their defaults.

    `decision` is the statement, a text that is not blank; `confidence` and a reason's `strength` are 0 to 1.
    """
    details = DecisionDetails(
        members.pop("decision", ""), **{name: members.pop(name) for name in _IN_DETAILS & members.keys()}
    )
    title, text = title_and_text(details, members.get("reasons", ()))
    return replace(before or Decision(id=None, title=""), title=title, text=text, details=details, **members)


def stated_members(decision: Decision) -> dict[str, Any]:
    """Return all members of `stated_decision`."""
    details = details_of(decision)
    own = {name: getattr(decision, name) for name in _ON_DECISION}
    return own | {name: getattr(details, name) for name in _IN_DETAILS} | {"decision": details.statement}


def details_of(decision: Decision) -> DecisionDetails:
    """Return the details of a decision stated by an agent."""
    assert decision.details is not None
    return decision.details


def updated_decision(own: Decision, updates: DecisionUpdates) -> Decision:
    """Return a decision with an update's values."""
    given = stated_members(decision_from(updates))
    return stated_decision(own, **stated_members(own) | {name: given[name] for name in updates.model_fields_set})


def title_and_text(details: DecisionDetails, reasons: Sequence[Reason]) -> tuple[str, str]:
    """Return the statement's first line, and the other searched members as Markdown."""
    title, _, rest = details.statement.strip().partition("\n")
    parts = [
        rest.strip(),
        _section("Context and Problem Statement", details.context),
        _section("Considered Options", "\n".join(_options(details.alternatives))),
        _section("Reasons", "\n".join(_reasons(reasons))),
        _section("Pattern", details.pattern),
    ]
    return title.strip(), "\n\n".join(filter(None, parts))


def _section(heading: str, text: str | None) -> str:
    return f"## {heading}\n\n{text.strip()}" if text and text.strip() else ""


def _options(alternatives: Sequence[Alternative]) -> Iterator[str]:
    for each in alternatives:
        yield f"* {each.option}" if each.why is None else f"* {each.option}: {each.why}"


def _reasons(reasons: Sequence[Reason]) -> Iterator[str]:
    for each in reasons:
        yield f"* {each.type}" if each.text is None else f"* {each.type}: {each.text}"


def completeness(decision: Decision, details: DecisionDetails) -> Quality:
    """Return a decision's completeness, 0 to 1: the sum of the parts' weights, by RULE."""
    types = {reason.type for reason in decision.reasons}
    places = (decision.project, decision.feature, decision.pr, details.file)
    parts = (
        (0.15, details.pattern is not None, "name the pattern that it follows"),
        (0.15, bool(decision.tags), "add tags"),
        (0.15, len(types) > 1, "give reasons of two types"),
        (0.10, bool(types), "give a reason"),
        (0.10, bool(details.alternatives), "name an alternative, and why not"),
        (0.10, len(details.statement) > _LONG_TEXT, "say in a sentence what was decided"),
        (0.10, len(details.context or "") > _LONG_CONTEXT, "say what made it necessary"),
        (0.10, any(places), "say where it applies: project, feature, pr"),
        (0.05, details.review_by is not None, "say when to look again: reviewIn"),
    )
    score = round(sum(share for share, has, _ in parts if has), 2)
    return Quality(score, RULE, tuple(advice for _, has, advice in parts if not has))
