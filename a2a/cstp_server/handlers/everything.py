"""Answers `cstp.search` and `cstp.fetch`."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Final

from cognition_engines.engine import Engine
from cognition_engines.errors import NoGoodMatch
from cognition_engines.exchange.lines import record_members
from cognition_engines.kinds.artifacts import Artifact, ArtifactChunk, Turn, conversation_name
from cognition_engines.kinds.extractions import Extraction, heading
from cognition_engines.kinds.graph import Event
from cognition_engines.kinds.knowledge import Chunk, Episode
from cognition_engines.kinds.registry import add_prefix, keyword_text, spec_of
from cognition_engines.kinds.spec import KINDS, Kind
from cognition_engines.models import Decision, Viewer
from cognition_engines.queries.answers.fitting import NO_TIME, Cutting, FittedItem, fit
from cognition_engines.queries.answers.search_options import (
    SearchOptions,
    count_omitted,
    explain_result,
    memory_filters,
    shown_path,
    shown_place,
)
from cognition_engines.queries.answers.shown_items import make_items
from cognition_engines.queries.everything import FoundRecord, SearchRequest
from cognition_engines.queries.knowledge import cite_source, title
from cognition_engines.store.reads.row_reader import RowReader
from cognition_engines.store.values import StoredRecord
from cstp.errors import InvalidParams, JsonValue, NotFound, Violation
from cstp.methods.everything import FETCH, SEARCH
from cstp.values.everything import (
    FetchParams,
    FetchResult,
    FoundType,
    NearestOfAnyKind,
    SearchedRecord,
    SearchParams,
    SearchResult,
)
from cstp.values.reads import MADE_TITLE, title_from
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call

_TYPES: Final[Mapping[Kind, FoundType]] = {
    Kind.DECISION: "decision",
    Kind.CHUNK: "chunk",
    Kind.EXTRACTION: "extraction",
    Kind.EPISODE: "episode",
    Kind.ARTIFACT: "artifact",
    Kind.TURN: "turn",
    Kind.EVENT: "event",
}


def everything_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""

    async def search(params: SearchParams, call: Call) -> SearchResult:
        asked, rows = engine.read_options(params), RowReader(engine.indexes.set_aside)
        try:
            ranked = await engine.search(_request(params, asked, call.viewer), call.agent, rows)
        except NoGoodMatch as none:
            nearest = {"no_good_match": True, "nearest": _nearest(none)}
            return _answer(params, asked, [], 0).model_copy(update=nearest)
        found = [each for each in ranked if params.min_score is None or each.score >= params.min_score]
        shown = make_items(engine.indexes.set_aside, found, partial(_item, params=params))
        items, count = [item for _, item in shown], len(found) + len(rows.left_out)
        if params.max_tokens is not None:
            cut = partial(engine.cut, agent=call.agent)
            items = await _fit_records(cut, params, asked, shown, count, params.max_tokens)
        return _answer(params, asked, items, count)

    async def fetch(params: FetchParams, call: Call) -> FetchResult:
        kind = None if params.kind is None else KINDS[params.kind]
        found = await engine.fetch(params.id, kind, call.viewer, call.agent)
        if not found:
            raise NotFound(params.id)
        if len(found) > 1:
            kinds = ", ".join(sorted(one.kind.label for one in found))
            message = f"is required: the id means several records, of these kinds: {kinds}"
            raise InvalidParams((Violation("kind", message),))
        return _whole(found[0])

    return (BoundMethod(SEARCH, search), BoundMethod(FETCH, fetch))


def _whole(stored: StoredRecord) -> FetchResult:
    record, id = stored.record, str(stored.record.id)
    spec = spec_of(record)
    text = (keyword_text if spec.shown_text is None else spec.shown_text)(record) or ""
    title = spec.title(record) or getattr(record, "title", None) or getattr(record, "name", None)

    def is_shown(value: JsonValue) -> bool:
        return value in (None, "", [], {}) or (isinstance(value, str) and len(value) > MADE_TITLE and value in text)

    return FetchResult(
        kind=stored.kind.label,
        id=id,
        title=title or title_from(text, id),
        text=text,
        origin=stored.origin.made_by,
        recorded_by=stored.origin.recorded_by,
        metadata={
            name: value
            for name, value in record_members(record).items()
            if name not in ("id", "title") and not is_shown(value)
        },
    )


def _request(params: SearchParams, asked: SearchOptions, viewer: Viewer) -> SearchRequest:
    filters = memory_filters(params)
    return SearchRequest(
        params.query,
        viewer,
        None if params.kinds is None else tuple(KINDS[name] for name in params.kinds),
        filters,
        tuple(params.tags or ()),
        tuple(params.paths or ()),
        asked.mode,
        params.limit,
        params.explain,
        params.abstain,
        asked.as_of,
    )


def _answer(params: SearchParams, asked: SearchOptions, items: Sequence[SearchedRecord], found: int) -> SearchResult:
    return SearchResult(
        results=list(items),
        query_time_ms=asked.query_time_ms,
        interpreted=asked.dates,
        omitted=count_omitted(params.max_tokens, found - len(items)),
        no_good_match=False if params.abstain else None,
    )


async def _fit_records(
    cut: Cutting,
    params: SearchParams,
    asked: SearchOptions,
    shown: Sequence[tuple[FoundRecord, SearchedRecord]],
    found: int,
    max_tokens: int,
) -> list[SearchedRecord]:
    """Return the items that fit, with their contents cut, or without contents their snippets."""
    field = "content" if params.include else "snippet"
    parts = [
        FittedItem(item, None, each.stored)
        if (text := getattr(item, field)) is None
        else FittedItem(item, field, each.stored, own=text, window=each.window)
        for each, item in shown
    ]
    empty = _answer(params, asked, [], found).model_copy(update=NO_TIME)
    return [item for item in await fit(cut, params.query, parts, max_tokens, empty) if isinstance(item, SearchedRecord)]


def _item(found: FoundRecord, params: SearchParams) -> SearchedRecord:
    record = found.stored.record
    source, source_id = _source(found)
    return SearchedRecord(
        type=_TYPES[found.kind],
        id=_id(found.kind, found.id),
        title=_title(found),
        snippet=found.snippet,
        score=found.score,
        source=source,
        source_id=source_id,
        date=found.stored.facets.at,
        origin=found.stored.origin.made_by,
        recorded_by=found.stored.origin.recorded_by,
        status=record.status if isinstance(record, Decision) else None,
        superseded_by=list(found.superseded_by),
        conversation=conversation_name(record) if isinstance(record, Turn) else None,
        path=None if isinstance(record, Decision) else shown_path(found.stored.origin),
        place=shown_place(record),
        content=found.text if params.include else None,
        explain=explain_result(found.explanation, found.window),
    )


def _nearest(none: NoGoodMatch) -> NearestOfAnyKind | None:
    if none.id is None or none.cosine is None or none.kind is None:
        return None
    kind = KINDS[none.kind]
    return NearestOfAnyKind(type=_TYPES[kind], id=_id(kind, none.id), cosine=none.cosine)


def _id(kind: Kind, id: str) -> str | int:
    return int(id) if kind is Kind.EPISODE else id


def _title(found: FoundRecord) -> str | None:
    match found.stored.record:
        case Decision() | Artifact() | ArtifactChunk() as record:
            return record.title
        case Chunk() as chunk:
            return title(chunk, found.source)
        case Extraction() as extraction:
            return heading(extraction)
        case Turn() as turn:
            return turn.speaker or turn.role
        case Event() as event:
            return event.category
        case Episode():
            return None
        case other:
            raise ValueError(f"{type(other).__name__}: no search finds such a record")


def _source(found: FoundRecord) -> tuple[str | None, str | None]:
    """Return the source of a record, and the id of the record that it belongs to."""
    record, facets = found.stored.record, found.stored.facets
    match record:
        case Decision():
            origin = found.stored.origin
            return shown_path(origin) or PurePosixPath(origin.source).name, None
        case Chunk() | Extraction():
            id = record.source_id
            return cite_source(record, {} if found.source is None or id is None else {id: found.source}), id
        case Event():
            return facets.system, None if record.artifact_id is None else add_prefix(Kind.ARTIFACT, record.artifact_id)
        case Turn():
            return facets.system, record.conversation_id
        case Artifact() | ArtifactChunk() | Episode():
            return facets.system, None
        case other:
            raise ValueError(f"{type(other).__name__}: no search finds such a record")
