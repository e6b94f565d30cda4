"""Common parts of the answers of searches: the mode, abstention, explanations, places, and a bound of tokens.

Texts are cut to their best passages, and items that do not fit are left out.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from time import perf_counter
from typing import Any, Final, TypeAlias

from pydantic_core import to_json

from cognition_engines.engine import Engine
from cognition_engines.errors import NoGoodMatch
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Decision, Mode
from cognition_engines.queries.passages import PassageRequest
from cognition_engines.retrieval.scores import Explanation
from cognition_engines.retrieval.snippets import Room, Window
from cognition_engines.store.values import StoredRecord
from cstp.contract import Wire
from cstp.errors import InvalidParams, Violation
from cstp.methods.decisions import QueryDecisionsParams
from cstp.methods.episodes import FindEpisodesParams
from cstp.methods.everything import SearchParams
from cstp.methods.knowledge import SearchKnowledgeParams
from cstp.methods.recall import RecallParams
from cstp.reads import Boosts, Explained, Interpreted, LegRanks, MatchedWindow, NearestRecord, PassagePlace

Cutting: TypeAlias = Callable[
    [str, Sequence[PassageRequest]], Awaitable[list[str | None]]
]  # a passage of each text, for a query; None for a text that cannot be cut
AnySearch: TypeAlias = QueryDecisionsParams | SearchKnowledgeParams | SearchParams | RecallParams | FindEpisodesParams
NO_TIME: Final = {"query_time_ms": 0}  # of an answer whose size must be the same each time
TOKEN_BYTES: Final = 3  # of JSON in UTF-8, so that no text of a usual language has more tokens than are counted
LEAST: Final = 300  # bytes that each text gets before any gets more
_UNBOUNDED: Final = 2**62  # bytes
_SPARE: Final = 100  # bytes, of counts and the time that the answer has in the end
_TRUNCATED: Final = len(',"truncated":false,')  # with the comma before the item


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of a search's answer: its mode, the moment for relative times, and the dates to explain.

    `began` is a value of `perf_counter`.
    """

    mode: Mode
    as_of: datetime
    dates: Interpreted | None
    began: float

    @property
    def query_time_ms(self) -> int:
        """The milliseconds since it began."""
        return round((perf_counter() - self.began) * 1000)


def read_search(engine: Engine, params: AnySearch) -> Asked:
    """Return the options of a search's answer; its dates only if they are explained and the query names some.

    Raise InvalidParams for an unavailable mode, and for `abstain` in the mode keyword or without a least cosine.
    """
    began = perf_counter()
    mode = engine.modes[0] if params.mode is None else Mode(params.mode)
    if mode not in engine.modes:
        raise InvalidParams((Violation("mode", 'must be "keyword": this server has no embedding model'),))
    if params.abstain and mode is Mode.KEYWORD:
        raise InvalidParams((Violation("abstain", "needs a search by meaning, which the mode keyword is not"),))
    if params.abstain and engine.least_cosine is None:
        raise InvalidParams((Violation("abstain", "needs search.least_cosine, which is not known of this model"),))
    as_of = params.as_of or datetime.now(UTC)
    found = engine.read_dates(params.query, as_of) if params.explain and params.query is not None else None
    dates = None if found is None else Interpreted(date_from=found.first, date_to=found.last)
    return Asked(mode, as_of, dates, began)


def decision_members(decision: Decision) -> dict[str, Any]:
    """Return the members that every answer has of a decision, but for its id."""
    return {
        "title": decision.title,
        "category": decision.category,
        "confidence": decision.confidence,
        "stakes": decision.stakes,
        "status": decision.status,
        "outcome": decision.outcome,
        "date": decision.date,
    }


def count_omitted(max_tokens: int | None, lacking: int) -> int | None:
    """Return the number of results that an answer lacks; None if no bound of tokens is given and it lacks none."""
    return None if max_tokens is None and not lacking else lacking


def no_match(found: NoGoodMatch) -> dict[str, Any]:
    """Return the members of an answer without a good match."""
    nearest = None if found.id is None or found.cosine is None else NearestRecord(id=found.id, cosine=found.cosine)
    return {"no_good_match": True, "nearest": nearest}


def explain_result(found: Explanation | None, window: Window | None) -> Explained | None:
    """Return the explanation of a result; None if `explain` is off."""
    if found is None:
        return None
    return Explained(
        score=found.score,
        boosts=Boosts(
            phrase=found.phrase,
            date=found.date,
            exact=found.exact or None,
            current=found.current or None,
            speaker=found.speaker or None,
            statement=found.states or None,
        ),
        bm25=found.bm25,
        cosine=found.cosine,
        ranks=LegRanks(semantic=found.semantic_rank, keyword=found.keyword_rank),
        matched_window=None if window is None else MatchedWindow(index=window.place, total=window.total),
    )


@dataclass(frozen=True, slots=True)
class Part:
    """One item of an answer; `field` is its member with the text of `stored` to be cut, None if it has none.

    Items of a lower `rank` get remaining bytes before others. A `whole` item is never cut, whatever its size. `extra`
    are its bytes elsewhere in the answer. The other fields are those of `Cut`.
    """

    item: Wire
    field: str | None
    stored: StoredRecord
    rank: int = 0
    whole: bool = False
    extra: int = 0
    own: str = ""
    window: Window | None = None

    @property
    def text(self) -> str:
        return "" if self.field is None else getattr(self.item, self.field)

    @property
    def cost(self) -> int:
        """Bytes that it takes without its text."""
        bare = self.item if self.field is None else self.item.model_copy(update={self.field: ""})
        return size_of(bare) + _TRUNCATED + self.extra


def size_of(answer: Wire) -> int:
    """Return the size of an answer over MCP in bytes."""
    return len(answer.model_dump_json(by_alias=False).encode())


async def fit(
    cut: Cutting, query: str, parts: Sequence[Part], max_tokens: int | None, empty: Wire, longest: int | None = None
) -> list[Wire | None]:
    """Return the items with texts cut so that the answer fits, added to `empty`; None for omitted items.

    No text but that of a whole item has more than `longest` bytes. `truncated` of each states whether its text was cut;
    a text that does not fit and cannot be cut is left out. Earlier items take precedence.
    """
    left = _UNBOUNDED if max_tokens is None else max_tokens * TOKEN_BYTES - size_of(empty) - _SPARE
    most = _UNBOUNDED if longest is None else longest
    sizes = [min(_json_bytes(part.text), _UNBOUNDED if part.whole else most) for part in parts]
    rooms = _rooms([(part, part.cost, size) for part, size in zip(parts, sizes, strict=True)], left)
    cuts = {
        place: PassageRequest(part.stored, part.text, Room(room, _json_bytes, beyond=True), part.own, part.window)
        for place, (part, room) in enumerate(zip(parts, rooms, strict=True))
        if room is not None and room < _json_bytes(part.text)
    }
    texts = dict(zip(cuts, await cut(query, list(cuts.values())), strict=True))
    found: list[Wire | None] = []
    for place, (part, room) in enumerate(zip(parts, rooms, strict=True)):
        if room is None:
            found.append(None)
        elif part.field is None:
            found.append(part.item)
        else:
            changed = {part.field: texts[place] or "", "truncated": True} if place in texts else {"truncated": False}
            found.append(part.item.model_copy(update=changed))
    return found


def _rooms(sized: Sequence[tuple[Part, int, int]], left: int) -> list[int | None]:
    """Return the bytes for each text: at first a few for each item that fits, then the rest by rank, evenly."""
    rooms: list[int | None] = [size if part.whole else None for part, _, size in sized]
    left -= sum(cost + size for part, cost, size in sized if part.whole)
    for place, (part, cost, size) in enumerate(sized):
        if not part.whole and cost + min(size, LEAST) <= left:
            rooms[place] = min(size, LEAST)
            left -= cost + min(size, LEAST)
    for rank in sorted({part.rank for part, _, _ in sized}):
        lacking = [
            (size - room, place)
            for place, ((part, _, size), room) in enumerate(zip(sized, rooms, strict=True))
            if room is not None and part.rank == rank and size > room
        ]
        for number, (lack, place) in enumerate(sorted(lacking)):
            more = min(lack, max(0, left) // (len(lacking) - number))
            rooms[place] = (rooms[place] or 0) + more
            left -= more
    return rooms


def _json_bytes(text: str) -> int:
    """Return the bytes of a text within JSON."""
    return len(to_json(text)) - 2


def shown_place(record: object) -> PassagePlace | None:
    """Return the place of a chunk; None if it is unknown or the record is not a chunk."""
    if not isinstance(record, Chunk) or record.place is None:
        return None
    place = record.place
    return PassagePlace(
        chapter=place.chapter,
        section=place.section,
        page=place.page,
        slide=place.slide,
        cell=place.cell,
        headings=list(place.headings) or None,
    )


def shown_path(origin: Origin) -> str | None:
    """Return the path of the record's file in its repository, or the name of the file; None if no file has it."""
    if origin.path and origin.path != origin.source:
        return origin.path
    # paths of files on the server are not for callers
    return PurePosixPath(origin.source).name if origin.source.startswith("/") else None
