"""The answer of recall: the showable items, with shortened texts on request."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from cognition_engines.queries.answers.fitting import Cutting, FittedItem, fit
from cognition_engines.queries.answers.search_options import count_omitted
from cognition_engines.queries.answers.shown_items import make_plain_items
from cognition_engines.queries.recall.recalled_records import (
    Relation,
    Successors,
    attached_event,
    entity_item,
    recall_item,
    related_item,
    turn_item,
)
from cognition_engines.queries.recall.results import Result
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.store.reads.memories import TurnPage
from cognition_engines.store.values import StoredRecord
from cstp.values.base import Wire
from cstp.values.reads import SNIPPET_BYTES, Interpreted
from cstp.values.recall import (
    AttachedEvent,
    EntityItem,
    RecallItem,
    RecallParams,
    RecallResult,
    RelatedItem,
    Selector,
    TurnItem,
)


@dataclass(frozen=True, slots=True)
class Recalled:
    """The parts of an answer: results, each with its events, and others; `total` is the number of matching records.

    `expected` is the number of the answer's records, including unreadable and hidden records.
    """

    selector: Selector
    total: int
    expected: int
    results: Sequence[tuple[FittedItem, Sequence[FittedItem]]] = ()
    turns: Sequence[FittedItem] = ()
    entities: Sequence[FittedItem] = ()
    related: Sequence[FittedItem] = ()

    @property
    def parts(self) -> list[FittedItem]:
        """All parts: the results, turns, events of results, entities, and related records."""
        results = [result for result, _ in self.results]
        events = [event for _, attached in self.results for event in attached]
        return [*results, *self.turns, *events, *self.entities, *self.related]


def show_results(
    set_aside: SetAside, results: Sequence[Result], superseded_by: Successors, *, by_id: bool
) -> list[tuple[FittedItem, Sequence[FittedItem]]]:
    """Return the showable results, each with its events. With `by_id` raise as the record does."""
    shown: list[tuple[FittedItem, Sequence[FittedItem]]] = []
    for result in results:
        events = make_plain_items(set_aside, result.events, attached_event)
        work = partial(recall_item, result, superseded_by)
        item = work() if by_id else set_aside.attempt(Part.ANSWERS, result.stored, work, None)
        if item is not None:
            part = FittedItem(item, "content", result.stored, whole=by_id, own=result.own, window=result.window)
            shown.append((part, [FittedItem(event, "narrative", stored, rank=1) for stored, event in events]))
    return shown


def show_turns(set_aside: SetAside, page: TurnPage, superseded_by: Successors) -> list[FittedItem]:
    """Return a conversation's showable turns."""
    indices = {stored.key: index for stored, index in zip(page.stored, page.indices, strict=True)}
    make = partial(turn_item, indices=indices, superseded_by=superseded_by)
    return [FittedItem(item, "content", stored) for stored, item in make_plain_items(set_aside, page.stored, make)]


def show_related(set_aside: SetAside, related: Iterable[Relation], superseded_by: Successors) -> list[FittedItem]:
    """Return the showable related records."""
    made = (
        (one, set_aside.attempt(Part.ANSWERS, one[0], partial(related_item, one, superseded_by), None))
        for one in related
    )
    return [FittedItem(item, "content", stored, rank=1) for (stored, _, _), item in made if item is not None]


def show_entities(set_aside: SetAside, counted: Iterable[tuple[StoredRecord, int]]) -> list[FittedItem]:
    """Return the showable entities."""
    made = (
        (stored, set_aside.attempt(Part.ANSWERS, stored, partial(entity_item, stored, count), None))
        for stored, count in counted
    )
    return [FittedItem(item, None, stored, rank=1) for stored, item in made if item is not None]


async def make_answer(found: Recalled, params: RecallParams, dates: Interpreted | None, cut: Cutting) -> RecallResult:
    """Return the answer, with texts cut if `params` bound them.

    Results and turns take precedence, then events, entities and related records.
    """
    parts = found.parts
    omitted, of_query = count_omitted(params.max_tokens, found.expected - len(parts)), found.selector == "query"
    of_conversation = found.selector == "conversationId"
    answered = partial(
        RecallResult,
        total_count=found.total,
        selector=found.selector,
        total_turns=found.total if of_conversation else None,
        conversation_id=params.conversation_id if of_conversation else None,
        no_good_match=False if params.abstain and of_query else None,
        interpreted=dates if of_query else None,
    )
    items: Sequence[Wire | None] = [part.item for part in parts]
    if params.max_tokens is not None or params.snippets:
        query = (params.query or "") if of_query else ""
        turns: list[TurnItem] | None = [] if of_conversation else None
        empty = answered(results=[], related=[], entities=[], turns=turns, omitted=omitted)
        longest = SNIPPET_BYTES if params.snippets else None
        items = await fit(cut, query, parts, params.max_tokens, empty, longest)
    turns = [item for item in items if isinstance(item, TurnItem)]
    entities = [item for item in items if isinstance(item, EntityItem)]
    related = [item for item in items if isinstance(item, RelatedItem)]
    shown = _with_events(items, found)
    count = len(shown) + sum(len(item.events) for item in shown) + len(turns) + len(entities) + len(related)
    return answered(
        results=shown,
        related=related,
        entities=entities,
        turns=turns if of_conversation else None,
        omitted=None if omitted is None else found.expected - count,
    )


def _with_events(items: Sequence[Wire | None], found: Recalled) -> list[RecallItem]:
    """Return the results among an answer's items, each with its events."""
    count = len(found.results)
    events = iter(items[count + len(found.turns) :])
    results = []
    for item, (_, attached) in zip(items[:count], found.results, strict=True):
        its = [event for event in islice(events, len(attached)) if isinstance(event, AttachedEvent)]
        if isinstance(item, RecallItem):
            results.append(item.model_copy(update={"events": its}) if its else item)
    return results
