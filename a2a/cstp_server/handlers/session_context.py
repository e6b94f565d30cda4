"""Answers `cstp.getSessionContext`: the items of each section, in the order of their value."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, TypeAlias

from cognition_engines.engine import Engine
from cognition_engines.kinds.knowledge import Episode
from cognition_engines.kinds.registry import SPECS
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Decision
from cognition_engines.queries.answers.search_options import shown_path
from cognition_engines.queries.session_context import BriefChange, BriefRecord, SessionContext, SessionRequest
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.store.codec import moment
from cognition_engines.store.values import StoredRecord
from cstp.methods.everything import GET_SESSION_CONTEXT
from cstp.values import session_context as wire
from cstp_server.handlers.briefing import Item, Rest, brief, measure
from cstp_server.handlers.records import checked_cursor
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call

_Why: TypeAlias = Literal["governs", "proposed", "matches", "newest"]
_LONGEST = 200  # characters of a title that is the beginning of a text


def session_context_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's method, bound to the engine."""

    async def get_session_context(params: wire.GetSessionContextParams, call: Call) -> wire.GetSessionContextResult:
        since = None if params.since is None else await checked_cursor(params.since, call, engine.following)
        sections = tuple(name for name in wire.SECTIONS if params.include is None or name in params.include)
        request = SessionRequest(
            call.viewer,
            call.agent,
            datetime.now(UTC),
            sections,
            params.task_description,
            tuple(params.files or ()),
            params.project,
            since,
            params.decisions_limit,
            params.ready_limit,
        )
        found = await engine.session_context(request, call.agent)
        more = found.more if since is not None and "changes" in sections else None
        items, unread = _items(found, params, engine.indexes.set_aside)
        answer = brief(params, sections, items, Rest(found.cursor, more, unread))
        if params.if_none_match is not None and params.if_none_match == answer.etag:
            return wire.GetSessionContextResult(not_modified=True)
        return answer

    return (BoundMethod(GET_SESSION_CONTEXT, get_session_context),)


@dataclass(frozen=True, slots=True)
class _Draft:
    """An item to be made of a record, which is None for a record that is gone."""

    section: wire.Section
    stored: StoredRecord | None
    make: Callable[[], Item]


def _items(
    found: SessionContext, params: wire.GetSessionContextParams, set_aside: SetAside
) -> tuple[list[Item], Counter[wire.Section]]:
    """Return the items by value, and the number of records of each section that are no items."""
    items: list[Item] = []
    unread: Counter[wire.Section] = Counter({"decisions": found.unread})
    for draft in _drafts(found, params):
        work = partial(_make, draft, markdown=params.format == "markdown")
        item = work() if draft.stored is None else set_aside.attempt(Part.BRIEFING, draft.stored.version, work, None)
        if item is None:
            unread[draft.section] += 1
        else:
            items.append(item)
    return items, unread


def _make(draft: _Draft, *, markdown: bool) -> Item:
    return measure(draft.make(), markdown=markdown)


def _drafts(found: SessionContext, params: wire.GetSessionContextParams) -> Iterator[_Draft]:
    """Yield the items by value: for the files, for the task, overdue, changed. Without a task, lessons come last.

    The first change is the first item, so that no other one can keep a reader of changes where it is.
    """
    why: _Why = "newest" if params.task_description is None else "matches"
    changes = [_Draft("changes", one.stored, partial(_change, one)) for one in found.changes]
    yield from changes[:1]
    yield from (_Draft("decisions", one.stored, partial(_decision, one, "governs")) for one in found.governing)
    yield from (_Draft("decisions", one.stored, partial(_decision, one, "proposed")) for one in found.proposed)
    yield from (_Draft("decisions", one.stored, partial(_decision, one, why)) for one in found.decisions)
    if params.task_description is not None:
        yield from _lessons(found)
    yield from (_Draft("ready", one, partial(_action, one, "review_outcome")) for one in found.overdue)
    yield from (_Draft("ready", one, partial(_action, one, "draft_unratified")) for one in found.undecided)
    yield from changes[1:]
    if params.task_description is None:
        yield from _lessons(found)


def _lessons(found: SessionContext) -> Iterator[_Draft]:
    for name, records in found.lessons.items():
        make = _episode if name == "episodes" else partial(_extraction, name)
        yield from (_Draft(name, one.stored, partial(make, one)) for one in records)


def _decision(one: BriefRecord, why: _Why) -> Item:
    decision = one.stored.record
    assert isinstance(decision, Decision)
    assert one.text is not None
    id = str(decision.id)
    matched = [text.partition(":")[2] for text in one.matched] or None
    item = wire.BriefedDecision(
        **_members(one.stored), id=id, status=decision.status, why=why, matched=matched, text=one.text
    )
    governs = None if matched is None else f"{'would govern' if why == 'proposed' else 'governs'} {', '.join(matched)}"
    return Item("decisions", "decision", id, item, _facts(decision.status, governs), one.text)


def _action(stored: StoredRecord, action: Literal["review_outcome", "draft_unratified"]) -> Item:
    decision = stored.record
    assert isinstance(decision, Decision)
    id, due = str(decision.id), decision.review_by
    item = wire.ReadyAction(**_members(stored), id=id, action=action, status=decision.status, review_by=due)
    overdue = action == "review_outcome" and due is not None
    return Item(
        "ready", "decision", id, item, _facts(f"review due {due:%Y-%m-%d}" if overdue else f"still {decision.status}")
    )


def _change(one: BriefChange) -> Item:
    change, at = one.change, moment(one.change.seq)
    op: Literal["put", "delete"] = "delete" if change.gone else "put"
    members = {"title": None, "date": None, "recorded_by": None} if one.stored is None else _members(one.stored)
    item = wire.BriefedChange(**members, kind=change.kind.label, id=change.id, op=op, at=at)
    word = "gone" if change.gone else "changed"
    facts = _facts(f"{change.kind.label} {word} {at:%Y-%m-%d}")
    return Item("changes", change.kind.label, change.id, item, facts, cursor=change.seq)


def _extraction(section: wire.Section, one: BriefRecord) -> Item:
    assert one.text is not None
    id = str(one.stored.record.id)
    item = wire.BriefedExtraction(**_members(one.stored), id=id, text=one.text)
    return Item(section, "extraction", id, item, (), one.text)


def _episode(one: BriefRecord) -> Item:
    episode = one.stored.record
    assert isinstance(episode, Episode)
    assert episode.id is not None
    assert one.text is not None
    item = wire.BriefedEpisode(**_members(one.stored), id=episode.id, reward=episode.reward, text=one.text)
    return Item("episodes", "episode", str(episode.id), item, _facts(f"reward {episode.reward:g}"), one.text)


def _facts(*texts: str | None) -> Sequence[str]:
    return [text for text in texts if text]


def _members(stored: StoredRecord) -> dict[str, Any]:
    """Return the members of every item."""
    return {
        "title": _title(stored),
        "date": stored.facets.at,
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
