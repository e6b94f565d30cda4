"""Answers within a token limit: texts are cut to their best passages, and items that do not fit are left out."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from pydantic_core import to_json

from cognition_engines.queries.passages import PassageRequest
from cognition_engines.search.snippets import Room, Window
from cognition_engines.store.values import StoredRecord
from cstp.values.base import Wire

Cutting: TypeAlias = Callable[
    [str, Sequence[PassageRequest]], Awaitable[list[str | None]]
]  # a passage of each text, for a query; None for an uncuttable text
NO_TIME: Final = {"query_time_ms": 0}  # of an answer whose size must be the same each time
TOKEN_BYTES: Final = 3  # of JSON in UTF-8, so that no text in a usual language has more tokens than counted
LEAST: Final = 300  # bytes for each text before any gets more
_UNBOUNDED: Final = 2**62  # bytes
_SPARE: Final = 100  # bytes, of the answer's final counts and time
_TRUNCATED: Final = len(',"truncated":false,')  # with the comma before the item


@dataclass(frozen=True, slots=True)
class FittedItem:
    """An item of an answer; `field` is its member with the text of `stored` to cut, None without such a text.

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
        """Return the item's bytes without its text."""
        bare = self.item if self.field is None else self.item.model_copy(update={self.field: ""})
        return size_of(bare) + _TRUNCATED + self.extra


def size_of(answer: Wire) -> int:
    """Return the size of an answer over MCP in bytes."""
    return len(answer.model_dump_json(by_alias=False).encode())


async def fit(
    cut: Cutting,
    query: str,
    parts: Sequence[FittedItem],
    max_tokens: int | None,
    empty: Wire,
    longest: int | None = None,
) -> list[Wire | None]:
    """Return the items with texts cut so that the answer fits, added to `empty`; None for omitted items.

    Only a whole item's text may have more than `longest` bytes. `truncated` of each states whether its text was cut; a
    text that neither fits nor can be cut is left out. Earlier items take precedence.
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


def _rooms(sized: Sequence[tuple[FittedItem, int, int]], left: int) -> list[int | None]:
    """Return the bytes for each text: first a few for each fitting item, then the rest by rank, evenly."""
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
