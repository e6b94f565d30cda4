"""Answers recall: one selector decides, the other steps are the same for each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from cognition_engines.engine import Engine
from cognition_engines.errors import NoGoodMatch
from cognition_engines.kinds.artifacts import Turn
from cognition_engines.kinds.graph import Entity, Event
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Decision, Viewer
from cognition_engines.queries.answers.fitting import Cutting, FittedItem, fit
from cognition_engines.queries.answers.search_options import (
    SearchOptions,
    count_omitted,
    explain_result,
    memory_filters,
    no_match,
)
from cognition_engines.queries.answers.shown_items import make_item, make_items, make_plain_items
from cognition_engines.queries.recall.results import NamedCount, RecallAnswer, RecallRequest, RelatedRecord, Result
from cognition_engines.queries.recall.selection import content_of
from cognition_engines.set_aside import SetAside
from cognition_engines.store.reads.memories import TurnPage
from cognition_engines.store.values import StoredRecord
from cstp.errors import NotFound
from cstp.methods.memories import RECALL
from cstp.values import recall as wire
from cstp.values.base import Wire
from cstp.values.reads import SNIPPET_BYTES, Interpreted
from cstp_server.handlers.recall_metadata import Successors, actors_of, metadata_of, subject_of, successors_of
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call

_TYPES: Final[Mapping[Kind, wire.ResultType]] = {
    Kind.ARTIFACT: "artifact",
    Kind.TURN: "artifact",
    Kind.ARTIFACT_CHUNK: "chunk",
    Kind.CHUNK: "chunk",
    Kind.EVENT: "event",
    Kind.DECISION: "decision",
}


def recall_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""

    async def answer(params: wire.RecallParams, call: Call) -> wire.RecallResult:
        asked = engine.read_options(params)
        time = asked.dates if params.id is None else None
        try:
            found = await engine.recall(_request(params, asked, call.viewer), call.agent)
        except NoGoodMatch as none:
            omitted = {} if params.max_tokens is None else {"omitted": 0}
            nothing = _recall_result(_Shown(RecallAnswer((), (), (), 0), [], [], [], [], 0), params, time)
            return nothing.model_copy(update=no_match(none) | omitted)
        if found is None:
            raise NotFound(str(params.id))
        shown = _show(found, engine.indexes.set_aside, by_id=params.id is not None)
        whole = (
            _recall_result(shown, params, time)
            if found.turns is None
            else _conversation(shown, found.turns, params.conversation_id)
        )
        if params.max_tokens is None and not params.snippets:
            return whole
        cut = partial(engine.cut, agent=call.agent)
        return await _cut_result(cut, whole, shown, params)

    return (BoundMethod(RECALL, answer),)


def _request(params: wire.RecallParams, asked: SearchOptions, viewer: Viewer) -> RecallRequest:
    categories = wire.DEFAULT_CATEGORIES if params.graph_filters is None else tuple(params.graph_filters)
    return RecallRequest(
        viewer=viewer,
        filters=memory_filters(params),
        limit=params.limit,
        expand=params.expand,
        include_events=params.include_events,
        include_entities=params.include_entities,
        expand_neighbors=params.expand_neighbors,
        budget=params.graph_budget,
        categories=None if wire.EVERY_CATEGORY in categories else categories,
        id=params.id,
        conversation_id=params.conversation_id,
        query=params.query,
        mode=asked.mode,
        as_of=asked.as_of,
        explain=params.explain,
        abstain=params.abstain,
        min_score=params.min_score,
    )


@dataclass(frozen=True, slots=True)
class _Shown:
    """An answer without the records that cannot be shown, whose number is `lacking`, and the items of the others."""

    found: RecallAnswer
    results: Sequence[wire.RecallItem]
    related: Sequence[wire.RelatedItem]
    entities: Sequence[wire.EntityItem]
    turns: Sequence[wire.TurnItem]
    lacking: int


def _show(found: RecallAnswer, set_aside: SetAside, *, by_id: bool) -> _Shown:
    """Return the items of an answer. An answer to an id has its record, or raises as the record does."""
    successors = found.superseded_by
    results: list[tuple[Result, wire.RecallItem]] = []
    lacking = (
        found.left_out
        + sum(1 + len(result.events) for result in found.results)
        + len(found.related)
        + len(found.entities)
    )
    for result in found.results:
        events = make_plain_items(set_aside, result.events, _to_attached)
        work = partial(_item, result, [item for _, item in events], successors)
        item = work() if by_id else make_item(set_aside, result.stored, work)
        if item is not None:
            results.append((replace(result, events=[stored for stored, _ in events]), item))
    related = make_items(set_aside, found.related, partial(_to_related, superseded_by=successors))
    entities = make_items(set_aside, found.entities, _entity)
    lacking -= sum(1 + len(item.events) for _, item in results) + len(related) + len(entities)
    page, turns = found.turns, list[tuple[StoredRecord, wire.TurnItem]]()
    if page is not None:
        indices = {stored.key: index for stored, index in zip(page.stored, page.indices, strict=True)}
        turns = make_plain_items(set_aside, page.stored, partial(_turn, indices=indices, superseded_by=successors))
        lacking += len(page.stored) - len(turns)
        page = replace(page, stored=[stored for stored, _ in turns])
    kept = [each for each, _ in results], [each for each, _ in related], [each for each, _ in entities]
    return _Shown(
        replace(found, results=kept[0], related=kept[1], entities=kept[2], turns=page),
        *([item for _, item in results], [item for _, item in related], [item for _, item in entities]),
        [item for _, item in turns],
        lacking,
    )


def _recall_result(shown: _Shown, params: wire.RecallParams, time: Interpreted | None) -> wire.RecallResult:
    selector: wire.Selector = "id" if params.id is not None else "query" if params.query is not None else "context"
    return wire.RecallResult(
        results=list(shown.results),
        related=list(shown.related),
        entities=list(shown.entities),
        total_count=shown.found.total,
        selector=selector,
        omitted=shown.lacking or None,
        no_good_match=False if params.abstain and selector == "query" else None,
        interpreted=time,
    )


def _conversation(shown: _Shown, page: TurnPage, id: str | None) -> wire.RecallResult:
    return wire.RecallResult(
        results=[],
        related=[],
        entities=[],
        total_count=page.total,
        selector="conversationId",
        turns=list(shown.turns),
        total_turns=page.total,
        conversation_id=id,
        omitted=shown.lacking or None,
    )


async def _cut_result(
    cut: Cutting, whole: wire.RecallResult, found: _Shown, params: wire.RecallParams
) -> wire.RecallResult:
    """Return the answer with its texts cut: found records first, then their events, entities and related records."""
    query = (params.query or "") if whole.selector == "query" else ""
    longest = SNIPPET_BYTES if params.snippets else None
    omitted = count_omitted(params.max_tokens, found.lacking)
    none: dict[str, object] = {"results": [], "related": [], "entities": [], "omitted": omitted}
    empty = whole.model_copy(update=none | ({} if whole.turns is None else {"turns": []}))
    groups = _parts(whole, found.found)
    parts = [part for group in groups for part in group]
    fitted = iter(await fit(cut, query, parts, params.max_tokens, empty, longest))
    kept, turns, events, entities, related = ([next(fitted) for _ in group] for group in groups)
    attached = iter(events)
    each = [(item, [next(attached) for _ in before.events]) for item, before in zip(kept, whole.results, strict=True)]
    shown = [item.model_copy(update={"events": _drop_missing(its)}) for item, its in each if item is not None]
    shown_events = sum(len(_drop_missing(its)) for item, its in each if item is not None)
    there = (
        len(shown)
        + shown_events
        + len(_drop_missing(turns))
        + len(_drop_missing(entities))
        + len(_drop_missing(related))
    )
    left = {"results": shown, "entities": _drop_missing(entities), "related": _drop_missing(related)}
    counted = {} if omitted is None else {"omitted": found.lacking + len(parts) - there}
    return empty.model_copy(update=left | counted | ({} if whole.turns is None else {"turns": _drop_missing(turns)}))


def _parts(whole: wire.RecallResult, found: RecallAnswer) -> list[list[FittedItem]]:
    """Return the parts of an answer: its results, turns, events, entities and related records."""
    named = whole.selector == "id"
    results = list(zip(whole.results, found.results, strict=True))
    turns = () if found.turns is None else found.turns.stored
    return [
        [_part(item.model_copy(update={"events": []}), result, whole=named) for item, result in results],
        [FittedItem(turn, "content", stored) for turn, stored in zip(whole.turns or (), turns, strict=True)],
        [
            FittedItem(event, "narrative", stored, rank=1)
            for item, result in results
            for event, stored in zip(item.events, result.events, strict=True)
        ],
        [
            FittedItem(entity, None, one.stored, rank=1)
            for entity, one in zip(whole.entities, found.entities, strict=True)
        ],
        [
            FittedItem(item, "content", one.stored, rank=1)
            for item, one in zip(whole.related, found.related, strict=True)
        ],
    ]


def _drop_missing(items: Iterable[Wire | None]) -> list[Wire]:
    return [item for item in items if item is not None]


def _part(item: wire.RecallItem, result: Result, *, whole: bool) -> FittedItem:
    record = result.stored.record
    own = record.text if isinstance(record, Decision) else content_of(result.stored)
    return FittedItem(item, "content", result.stored, whole=whole, own=own, window=result.window)


def _turn(stored: StoredRecord, indices: Mapping[int, int], superseded_by: Successors) -> wire.TurnItem:
    turn = stored.record
    assert isinstance(turn, Turn)
    return wire.TurnItem(
        id=_id(stored),
        session=turn.session,
        role=turn.role,
        speaker=turn.speaker,
        turn_index=indices[stored.key],
        ts=turn.ts,
        content=turn.content,
        superseded_by=successors_of(stored, superseded_by),
    )


def _item(result: Result, events: Sequence[wire.AttachedEvent], superseded_by: Successors) -> wire.RecallItem:
    stored = result.stored
    return wire.RecallItem(
        id=_id(stored),
        type=_TYPES[stored.kind],
        content=result.content,
        context=_context(stored),
        metadata=metadata_of(stored, superseded_by, result.source),
        score=result.score,
        origin=stored.origin.made_by,
        recorded_by=stored.origin.recorded_by,
        events=list(events),
        explain=explain_result(result.explanation, result.window),
    )


def _to_related(related: RelatedRecord, superseded_by: Successors) -> wire.RelatedItem:
    stored = related.stored
    metadata = metadata_of(stored, superseded_by)
    assert isinstance(metadata, wire.ArtifactMetadata | wire.EventMetadata)  # nothing else is a node's neighbour
    return wire.RelatedItem(
        id=_id(stored),
        type="event" if stored.kind is Kind.EVENT else "artifact",
        content=content_of(stored),
        context=_context(stored),
        metadata=metadata,
        score=related.score,
        origin=stored.origin.made_by,
        recorded_by=stored.origin.recorded_by,
        reason=related.reason.value,
        via=related.via,
    )


def _entity(mentioned: NamedCount) -> wire.EntityItem:
    entity = mentioned.stored.record
    assert isinstance(entity, Entity)
    return wire.EntityItem(
        id=_id(mentioned.stored),
        name=entity.name,
        type=entity.type,
        role=entity.role,
        organization=entity.organization,
        aliases=list(entity.aliases),
        mention_count=mentioned.count,
    )


def _id(stored: StoredRecord) -> str:
    return str(stored.record.id)


def _context(stored: StoredRecord) -> str | None:
    return stored.facets.context


def _to_attached(stored: StoredRecord) -> wire.AttachedEvent:
    event = stored.record
    assert isinstance(event, Event)
    return wire.AttachedEvent(
        id=_id(stored),
        category=event.category,
        narrative=event.narrative,
        event_time=event.event_time,
        confidence=event.confidence,
        actors=actors_of(event),
        subject=subject_of(event),
    )
