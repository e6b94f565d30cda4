"""Records of any kind as values of answers: found by a search, nearest to a query, or fetched whole."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from cognition_engines.exchange.lines import record_members
from cognition_engines.kinds.artifacts import Artifact, ArtifactChunk, Turn, conversation_name
from cognition_engines.kinds.extractions import Extraction, heading
from cognition_engines.kinds.graph import Event
from cognition_engines.kinds.knowledge import Chunk, Episode
from cognition_engines.kinds.registry import add_prefix, keyword_text, spec_of
from cognition_engines.kinds.spec import KINDS, Kind
from cognition_engines.models import Decision
from cognition_engines.queries.answers.search_options import explain_result, shown_place
from cognition_engines.queries.answers.shown_items import shown_path
from cognition_engines.queries.decision_values import date_source
from cognition_engines.queries.knowledge import cite_source, title
from cognition_engines.queries.search import CurrentHit
from cognition_engines.store.reads.knowledge import SourceName, source_of
from cognition_engines.store.values import StoredRecord
from cstp.errors import JsonValue
from cstp.values.everything import FOUND_TYPES, FetchResult, NearestOfAnyKind, SearchedRecord
from cstp.values.reads import MADE_TITLE, title_from

_TYPES: Final = {KINDS[name]: name for name in FOUND_TYPES}


def searched_record(
    hit: CurrentHit,
    sources: Mapping[str, SourceName],
    snippet: str | None,
    content: str | None,
    superseded_by: Sequence[str],
) -> SearchedRecord:
    """Return a found record; for an artifact chunk the artifact."""
    stored, record = hit.stored, hit.stored.record
    kind, id = _shown_as(stored)
    source, source_id = _source(stored, sources)
    return SearchedRecord(
        type=_TYPES[kind],
        id=id,
        title=_title(stored, sources),
        snippet=snippet,
        score=hit.hit.score,
        source=source,
        source_id=source_id,
        date=stored.facets.at,
        date_source=date_source(record),
        origin=stored.origin.made_by,
        recorded_by=stored.origin.recorded_by,
        status=record.status if isinstance(record, Decision) else None,
        superseded_by=list(superseded_by),
        conversation=conversation_name(record) if isinstance(record, Turn) else None,
        path=None if isinstance(record, Decision) else shown_path(stored.origin),
        place=shown_place(record),
        content=content,
        explain=explain_result(hit.explanation, hit.window),
    )


def nearest_record(stored: StoredRecord, cosine: float) -> NearestOfAnyKind:
    """Return a record that is not near enough, by the kind and the id that it would have as a result."""
    kind, id = _shown_as(stored)
    return NearestOfAnyKind(type=_TYPES[kind], id=id, cosine=cosine)


def fetched_record(stored: StoredRecord) -> FetchResult:
    """Return a record whole."""
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


def _shown_as(stored: StoredRecord) -> tuple[Kind, str | int]:
    """Return the kind and the id of a result; for an artifact chunk those of its artifact."""
    record, id = stored.record, str(stored.record.id)
    if not isinstance(record, ArtifactChunk):
        return stored.kind, int(id) if stored.kind is Kind.EPISODE else id
    return Kind.ARTIFACT, id if stored.facets.parent is None else add_prefix(Kind.ARTIFACT, record.artifact_id)


def _title(stored: StoredRecord, sources: Mapping[str, SourceName]) -> str | None:
    match stored.record:
        case Decision() | Artifact() | ArtifactChunk() as record:
            return record.title
        case Chunk() as chunk:
            return title(chunk, sources.get(source_of(stored) or ""))
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


def _source(stored: StoredRecord, sources: Mapping[str, SourceName]) -> tuple[str | None, str | None]:
    """Return a record's source, and the id of the record it belongs to."""
    record, facets = stored.record, stored.facets
    match record:
        case Decision():
            origin = stored.origin
            return shown_path(origin) or PurePosixPath(origin.source).name, None
        case Chunk() | Extraction():
            return cite_source(record, sources), record.source_id
        case Event():
            return facets.system, None if record.artifact_id is None else add_prefix(Kind.ARTIFACT, record.artifact_id)
        case Turn():
            return facets.system, record.conversation_id
        case Artifact() | ArtifactChunk() | Episode():
            return facets.system, None
        case other:
            raise ValueError(f"{type(other).__name__}: no search finds such a record")
