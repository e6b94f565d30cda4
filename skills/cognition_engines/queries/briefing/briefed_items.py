"""Items of a briefing, each made from a stored record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from cognition_engines.kinds.knowledge import Episode
from cognition_engines.kinds.registry import SPECS
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Decision
from cognition_engines.queries.answers.shown_items import shown_path
from cognition_engines.queries.briefing.token_budget import Item
from cognition_engines.queries.decision_values import date_source
from cognition_engines.store.values import StoredRecord
from cstp.values.records import RecordChange
from cstp.values.session_context import (
    BriefedChange,
    BriefedDecision,
    BriefedEpisode,
    BriefedExtraction,
    ReadyAction,
    Section,
)

Why: TypeAlias = Literal["governs", "proposed", "matches", "newest"]
_LONGEST: Final = 200  # characters of a title taken from the beginning of a text


@dataclass(frozen=True, slots=True)
class Draft:
    """An item to be made from a record, which is None if it no longer exists."""

    section: Section
    stored: StoredRecord | None
    make: Callable[[], Item]


def decision_item(stored: StoredRecord, text: str | None, why: Why, matched: Sequence[str] = ()) -> Item:
    """Return a decision with the part of the text to show, and the patterns matching the files."""
    decision = stored.record
    assert isinstance(decision, Decision)
    assert text is not None
    id, patterns = str(decision.id), [one.partition(":")[2] for one in matched]
    item = BriefedDecision(
        **_list_members(stored), id=id, status=decision.status, why=why, matched=patterns or None, text=text
    )
    governs = f"{'would govern' if why == 'proposed' else 'governs'} {', '.join(patterns)}" if patterns else None
    return Item("decisions", "decision", id, item, _facts(decision.status, governs), text)


def action_item(stored: StoredRecord, action: Literal["review_outcome", "draft_unratified"]) -> Item:
    """Return a decision waiting for an action."""
    decision = stored.record
    assert isinstance(decision, Decision)
    id, due = str(decision.id), decision.review_by
    item = ReadyAction(**_list_members(stored), id=id, action=action, status=decision.status, review_by=due)
    overdue = action == "review_outcome" and due is not None
    return Item(
        "ready", "decision", id, item, _facts(f"review due {due:%Y-%m-%d}" if overdue else f"still {decision.status}")
    )


def change_item(stored: StoredRecord | None, change: RecordChange) -> Item:
    """Return a change of a record, which is None if the viewer sees it no longer."""
    kind, id, at = change.kind, change.id, change.at
    members = {"title": None, "date": None, "recorded_by": None} if stored is None else _list_members(stored)
    item = BriefedChange(**members, kind=kind, id=id, op=change.op, at=at)
    facts = _facts(f"{kind} {'gone' if change.op == 'delete' else 'changed'} {at:%Y-%m-%d}")
    return Item("changes", kind, id, item, facts, cursor=change.seq)


def lesson_item(stored: StoredRecord, text: str | None, section: Section) -> Item:
    """Return a pattern, a warning or an episode with the part of the text to show."""
    assert text is not None
    record, members = stored.record, _list_members(stored)
    if isinstance(record, Episode):
        assert record.id is not None
        episode = BriefedEpisode(**members, id=record.id, reward=record.reward, text=text)
        return Item(section, "episode", str(record.id), episode, _facts(f"reward {record.reward:g}"), text)
    id = str(record.id)
    return Item(section, "extraction", id, BriefedExtraction(**members, id=id, text=text), (), text)


def _facts(*texts: str | None) -> Sequence[str]:
    return [text for text in texts if text]


def _list_members(stored: StoredRecord) -> dict[str, Any]:
    """Return the members of every item."""
    return {
        "title": _title(stored),
        "date": stored.facets.at,
        "date_source": date_source(stored.record),
        "recorded_by": stored.origin.recorded_by,
        "origin": stored.origin.made_by,
        "path": shown_path(stored.origin) if stored.origin.made_by == "file" else None,
    }


def _title(stored: StoredRecord) -> str | None:
    record = stored.record
    if isinstance(record, Episode):
        text = " ".join(record.query[: 4 * _LONGEST].split())
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return getattr(record, "title", None) if stored.kind is Kind.SOURCE else SPECS[stored.kind].title(record)
