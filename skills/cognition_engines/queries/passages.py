"""Passages of texts for an event loop: the best window's sentences, or sentences with the query's words."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from cognition_engines.embedding.cache import QueryCache
from cognition_engines.indexes.keywords.language import make_analyzer
from cognition_engines.ingest.adr.summary import summarize_decision
from cognition_engines.kinds.registry import embedding_text
from cognition_engines.models import Decision
from cognition_engines.queries.pools import Caller, Pools
from cognition_engines.search.query import QueryParser
from cognition_engines.search.snippets import Room, Span, Window, passage
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.store.values import StoredRecord

TOKENISED: Final = 200_000  # characters in one call, which take 0.1 s; beyond them, windows are placed by length
_USUAL_WINDOW: Final = 1000  # characters


@dataclass(frozen=True, slots=True)
class PassageRequest:
    """A text of `stored` to cut to `room`, by words alone if `window` is None.

    `own` is the part of the record in `text`, word by word as in the embedded text. With `summarized`, a decision's
    summary takes the place of a passage without the query's words, unless the text has a best window.
    """

    stored: StoredRecord
    text: str
    room: Room
    own: str = ""
    window: Window | None = None
    summarized: bool = False


class Passages:
    """Cutter of texts to their best passages."""

    def __init__(self, embeddings: QueryCache | None, pools: Pools, parser: QueryParser, set_aside: SetAside) -> None:
        self._embeddings = embeddings
        self._pools = pools
        self._set_aside = set_aside
        self._analyzer = make_analyzer(parser.relevance.language)
        self._parser = parser

    async def cut(
        self, caller: Caller, query: str, cuts: Sequence[PassageRequest], part: Part = Part.SNIPPETS
    ) -> list[str | None]:
        """Return a passage of each text, in order; None for a record set aside by `part`.

        Raise ComponentFailed naming the part that did not answer.
        """
        return await self._pools.keywords.run(caller, self._cut, query, cuts, part) if cuts else []

    def _cut(self, query: str, cuts: Sequence[PassageRequest], part: Part) -> list[str | None]:
        words = self._parser.parse(query).words
        left = TOKENISED
        found: list[str | None] = []
        for each in cuts:
            work = partial(self._passage, each, words, left)
            none: tuple[str | None, int] = (None, left)
            text, left = self._set_aside.attempt(part, each.stored, work, none)
            found.append(text)
        return found

    def _passage(self, cut: PassageRequest, words: frozenset[str], left: int) -> tuple[str | None, int]:
        """Return a passage, and how many of the `left` characters may still be tokenised."""
        span = None
        if cut.window is not None and cut.window.total > 1 and cut.room.measure(cut.text) > cut.room.most:
            text = embedding_text(cut.stored.record) or ""
            span = self._span(cut, cut.window, text, exact=len(text) <= left)
            left -= len(text)
        found = passage(cut.text, span, words, self._analyzer.analyze, cut.room)
        record = cut.stored.record if cut.summarized and span is None else None  # else the window is found by meaning
        if isinstance(record, Decision) and words.isdisjoint(self._analyzer.analyze(found)):
            found = summarize_decision(record.text, cut.room.most)
        return found, left

    def _span(self, cut: PassageRequest, window: Window, text: str, *, exact: bool) -> Span | None:
        """Return the window's span in the text to cut; None if the text does not contain it."""
        start, end = self._place(window, text) if exact else _estimate_span(window, text)
        shift = text.rfind(cut.own) - cut.text.find(cut.own)
        start, end = max(0, start - shift), min(len(cut.text), end - shift)
        return (start, end) if start < end else None

    def _place(self, window: Window, text: str) -> Span:
        assert self._embeddings is not None  # without a model there are no windows
        spans = self._embeddings.spans(text)
        # only a different number of windows shows that the vectors were stored with others
        return spans[window.place] if len(spans) == window.total else _estimate_span(window, text)


def _estimate_span(window: Window, text: str) -> Span:
    """Estimate a window's span, as if windows were spread evenly over the text."""
    width = min(len(text), _USUAL_WINDOW)
    start = (len(text) - width) * window.place // max(1, window.total - 1)
    return start, start + width
