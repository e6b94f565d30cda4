"""A query: its spaces with their ranking, and its text.

Words, phrases, known items, possible names and intent are each read once from the text.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import chain, islice
from typing import Final

from cognition_engines.indexes.keywords.language import QueryAnalyzer
from cognition_engines.indexes.keywords.words import compose_words, find_id_terms, find_tokens, is_exact, is_phrase
from cognition_engines.kinds.fields import normal
from cognition_engines.models import Conditions, Mode, Viewer
from cognition_engines.relevance import Relevance
from cognition_engines.spaces import Space
from cognition_engines.unicode_forms import fold_text

QUERIES: Final = 512  # cached
LONGEST_CACHED: Final = 1 << 11  # characters
MOST_PAIRS: Final = 64
LOOKED_AT: Final = 600  # characters of a text or a question: a long message begins with its question and wishes
_AROUND: Final = ".,;:!?()[]{}<>*\"'“”‘’«»¿¡"  # around a word of a query
# quotes, hyphens and dashes, and invisible characters
_TYPOGRAPHIC: Final = tuple(
    (each, read)
    for written, read in (("‘’‚‛", "'"), ("“”„‟", '"'), ("‐‑‒–—−", "-"), ("\u00ad\u200b\u2060\ufeff", ""))
    for each in written
)

MOST_ITEMS: Final = 8  # pieces of a query
LONGEST_ITEM: Final = 200  # characters, which bounds the terms to look up
_FAMILIES: Final = ('"“”„‟', "«»", "‹›", "「」", "『』", "`")  # of quotation marks
# any two marks of a family, as languages differ in their order; an apostrophe within a word is no mark
_QUOTED: Final = re.compile(
    "|".join(
        f"[{marks}]([^{marks}]{{2,{LONGEST_ITEM}}})[{marks}]" for marks in ('"“”„‟', "«»", "‹›", "「」", "『』", "`")
    )
    + rf"|[‘‚]((?:[^‘’‚]|\b’\b){{2,{LONGEST_ITEM}}})[’‘](?!\w)"
)
# a possessive, a file's line or a host's port, and the `@`, `-` or `v` before a version
_SHORTER: Final = (
    (re.compile("['’]s$"), ""),
    (re.compile(r"(\.[a-z]\w{0,7}|^\d+(?:\.\d+){3})(?::\d+){1,2}$", re.IGNORECASE), r"\1"),
    (re.compile(r"(?:^v|(?<=\w)[@-]v?)(?=\d+\.\d+\.\d)"), " "),
)
_LIKE_ID: Final = re.compile(r"[\d\-_.:/#@]")

LONGEST_NAME: Final = 3  # words
LONGEST_QUESTION: Final = 1 << 10  # characters in which names are looked for
_WORD: Final = re.compile(r"\w[^\s,;:!?()\[\]{}\"“”«»]*")
_AFTER: Final = ".'’"  # after a word
_POSSESSIVES: Final = ("'s", "’s")
_FIRST_PERSON: Final = re.compile(r"(?<![\w/.])(?:i(?![\w/.])|(?:me|my|mine)\b)", re.IGNORECASE)
# a question such as `What did you recommend for my essay?`
_ADDRESSED: Final = re.compile(
    r"\b(?:did|have|had) you\b"
    r"|\byou (?:said|recommended|suggested|mentioned|gave|advised|explained|described|proposed|listed|provided)\b"
    r"|\byour (?:advice|recommendation|suggestion|answer|explanation|reply|response)",
    re.IGNORECASE,
)

_ADVICE: Final = re.compile(
    r"\bhow (?:should|can|could|do|would|might|to)\b"
    r"|\bwhat (?:should|would|kind|type|are some|are the|is the best|steps|tools)\b"
    r"|\b(?:which|where|can you|could you|would you|should i|suggest|recommend|help me)\b",
    re.IGNORECASE,
)
# words in a question about the past, which wants former decisions
_PAST: Final = re.compile(
    r"\b(?:before(?=\W*$)|earlier|previous(?:ly)?|formerly|original(?:ly)?|initially|used to|no longer|history of|"
    r"replaced|superseded|abandoned)\b|^before,",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The records of a space allowed in a search."""

    space: Space
    conditions: Conditions


@dataclass(frozen=True, slots=True)
class Ranking:
    """Rules by which search candidates become a single order.

    With `groups` an artifact and its chunks are a single hit, and legs find more until there are enough. With
    `calibrated` a record's score does not depend on other candidates. With `rewrites` signals may change the embedded
    question. With `for_choice` there are up to twice the limit of hits, without distances by words alone, and by words
    alone each matching row is a candidate.
    """

    groups: bool = False
    calibrated: bool = False
    rewrites: bool = False
    for_choice: bool = False


BY_SPACE: Final = Ranking()
CALIBRATED: Final = Ranking(groups=True, calibrated=True)
RECALLED: Final = Ranking(groups=True, rewrites=True, for_choice=True)


@dataclass(frozen=True, slots=True)
class Query:
    """A search: text, viewer, mode, spaces and number of hits.

    With `abstain` a search by meaning fails with NoGoodMatch if nothing is near enough, or if near turns answer for
    others instead of the speaker in question. A time in the text is relative to `as_of`, by default now. The last
    `apart` spaces are ranked apart from the others, with scores on the same scale.
    """

    text: str
    viewer: Viewer
    mode: Mode
    sought: Sequence[SearchScope]
    limit: int
    abstain: bool = False
    as_of: datetime | None = None
    ranking: Ranking = BY_SPACE
    apart: int = 0

    @property
    def sets(self) -> tuple[range, ...]:
        """Return the numbers of spaces ranked together."""
        first = len(self.sought) - self.apart
        return (range(first), range(first, len(self.sought))) if self.ranking.for_choice else (range(first),)


@dataclass(frozen=True, slots=True)
class PossibleName:
    """A possible name in a question, in the form for name comparison, and the characters, with an `'s`."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)  # without slots, for the cached properties
class QueryText:
    """A query's text. Each part is read once, when the first step of a search needs it."""

    text: str
    analyzer: QueryAnalyzer = field(repr=False)

    @cached_property
    def _weights(self) -> tuple[Mapping[str, float], Mapping[str, float]]:
        return self.analyzer.weigh(self.text)

    @cached_property
    def content_words(self) -> frozenset[str]:
        """Return the query's words as in texts, without stop words unless there are no others."""
        return frozenset(self._weights[0])

    @cached_property
    def words(self) -> frozenset[str]:
        """Return the content words, and the names and ids."""
        return self.content_words.union(self._weights[1])

    @cached_property
    def pairs(self) -> tuple[str, ...]:
        """Return the query's phrases, see `read_pairs`."""
        return read_pairs(self.text, self.analyzer.content_words)

    @cached_property
    def items(self) -> tuple[str, ...]:
        """Return the query's items that may be unique to a record, see `read_items`."""
        return read_items(self.text)

    @cached_property
    def names(self) -> tuple[PossibleName, ...]:
        """Return possible names in the query, the longest first at each place."""
        return tuple(read_names(self.text))

    @cached_property
    def is_about_user(self) -> bool:
        """Return whether a question is in the first person and not about an earlier answer, in English."""
        looked_at = self.text[:LONGEST_QUESTION]
        return bool(_FIRST_PERSON.search(looked_at) and not _ADDRESSED.search(looked_at))

    @cached_property
    def is_about_past(self) -> bool:
        """Return whether a question asks for former decisions, in English."""
        return _PAST.search(self.text) is not None

    @cached_property
    def asks_for_advice(self) -> bool:
        """Return whether a question asks how to do something, what to do or where, in English."""
        return _ADVICE.search(self.text[:LOOKED_AT]) is not None


class QueryParser:
    """A query parser, for searches that weigh words and signals by `relevance`.

    Agents repeat their queries, so the latest texts are cached. Thread-safe.
    """

    def __init__(self, relevance: Relevance) -> None:
        self.relevance: Final = relevance
        self.analyzer: Final = QueryAnalyzer(relevance)
        self._known: dict[str, QueryText] = {}

    def parse(self, text: str) -> QueryText:
        """Return a query whose parts are read on demand."""
        known = self._known.get(text)
        if known is None:
            known = QueryText(text, self.analyzer)
            if len(text) <= LONGEST_CACHED:
                if len(self._known) >= QUERIES:
                    self._known = {}  # a new cache, as another thread may use the old one
                self._known[text] = known
        return known


def read_pairs(query: str, content_of: Callable[[Sequence[str]], Sequence[bool]]) -> tuple[str, ...]:
    """Return the adjacent word pairs in a query, each once, if at least one is a content word.

    `content_of` returns for each word whether it is a content word. A word as specific as a phrase, such as `QD-4711`,
    comes after the pairs.
    """
    written = [word for each in query.split() if (word := each.strip(_AROUND))]
    words = [fold_phrase(word) for word in written]
    content = content_of(words)
    sides = zip(words, words[1:], content, content[1:], strict=False)
    pairs = [f"{one} {other}" for one, other, first, second in sides if first or second]
    alone = [word for word, as_written in zip(words, written, strict=True) if is_phrase(as_written)]
    return tuple(dict.fromkeys([*pairs, *alone]))[:MOST_PAIRS]


def fold_phrase(text: str) -> str:
    """Return the form in which phrases are compared: with plain quotes and hyphens, single blanks and no emphasis."""
    folded = fold_text(text)
    if not folded.isascii():
        for written, read in _TYPOGRAPHIC:
            folded = folded.replace(written, read)
    return " ".join(folded.replace("*", "").split())


def read_items(query: str) -> tuple[str, ...]:
    """Return the items with at most MOST_ITEMS pieces in a query, quotations and exact tokens before possible ids.

    A possible record id begins with `=`.
    """
    alone = len(query.split()) == 1
    quoted = (" ".join(next(filter(None, each.groups())).split()).lstrip("= ") for each in _QUOTED.finditer(query))
    shouted = query.isupper() and not alone
    exact = (
        (token, _shorten(token))
        for token in find_tokens(compose_words(query))
        if len(token) <= LONGEST_ITEM and is_exact(token) and not (shouted and token.isalpha())
    )
    ids = (term for term in find_id_terms(query) if alone or _LIKE_ID.search(term[1:]))
    pieces: dict[str, list[str]] = {}
    for items in chain(zip(quoted), exact, zip(ids)):
        pieces.setdefault(fold_text(items[0].removeprefix("=")), []).extend(items)
    return tuple(dict.fromkeys(chain.from_iterable(islice(pieces.values(), MOST_ITEMS))))


def _shorten(token: str) -> str:
    """Return a form in which an exact token may stand in a text."""
    for longer, shorter in _SHORTER:
        token = longer.sub(shorter, token)
    return token.strip()


def read_names(question: str) -> Iterator[PossibleName]:
    """Yield possible names, the longest first at each place: words with a capital, or in a script without case."""
    words = [(match.group().rstrip(_AFTER), match.start()) for match in _WORD.finditer(question[:LONGEST_QUESTION])]
    for first, (word, start) in enumerate(words):
        if word[0].islower() and word.isalpha():
            continue
        for last in range(min(first + LONGEST_NAME, len(words)) - 1, first - 1, -1):
            end = words[last][1] + len(words[last][0])
            written = question[start:end]
            bare = next((written[: -len(each)] for each in _POSSESSIVES if written.endswith(each)), written)
            yield PossibleName(normal(bare), start, end)


def cut_names(question: str, names: Sequence[PossibleName]) -> str:
    """Return the question without the names, which are in order; the whole question if no word is left."""
    starts, ends = [0, *(name.end for name in names)], [*(name.start for name in names), len(question)]
    left = " ".join("".join(question[start:end] for start, end in zip(starts, ends, strict=True)).split())
    return left if _WORD.search(left) else question
