"""The part of a text that answers a query: whole sentences, unchanged. Plain functions.

Sentences are chosen by the query's words; a word in fewer sentences weighs more.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Final, NamedTuple, TypeAlias

Span: TypeAlias = tuple[int, int]  # from and to, in characters
Analyze: TypeAlias = Callable[[str], Sequence[str]]  # the words of a text, as the keyword index has them
Measure: TypeAlias = Callable[[str], int]  # how much of the room a text takes

# The end of a sentence: a mark and a blank, an empty line, a line before a heading, an item, a quote or a row.
_END: Final = re.compile(
    r"[.!?…][\"'”’»)\]*_`]{0,4}\s+|[。！？][」』）]{0,2}\s*|\n[ \t]*\n\s*|"
    r"\n(?=[ \t]*(?:[-*+]|\d{1,9}[.)]|#{1,6}|>)[ \t]|\|)"
)

_LAST_HEADING: Final = re.compile(r"\n#{1,6} [^\n]*\Z")  # over a text for which there was no room


class Window(NamedTuple):
    """A window of a record's text: the place, from 0, among `total` windows."""

    place: int
    total: int


@dataclass(frozen=True, slots=True)
class Room:
    """The room for a passage: at most `most`, as counted by `measure`.

    With `beyond`, sentences around the window fill the room left by the window.
    """

    most: int
    measure: Measure = len
    beyond: bool = False


@dataclass(frozen=True, slots=True)
class _Sentence:
    start: int
    end: int
    size: int
    words: frozenset[str]


def passage(text: str, window: Span | None, words: frozenset[str], analyze: Analyze, room: Room) -> str:
    """Return the contiguous sentences of `window` (of the whole text if it is None) with most of `words`.

    The result is a slice of the text without blanks at the ends; the whole text if that fits. Without any of the words
    it begins where the window begins.
    """
    if room.measure(text) <= room.most:
        return text.strip()
    start, end = (0, len(text)) if window is None else window
    sentences = [
        _Sentence(*span, room.measure(text[slice(*span)]), words.intersection(analyze(text[slice(*span)])))
        for span in _sentences(text, start, end, room)
    ]
    if not sentences:
        return ""
    first, last = _best_run(sentences, room.most)
    left = room.most - sum(one.size for one in sentences[first : last + 1])
    while first > 0 and sentences[first - 1].size <= left:
        first -= 1
        left -= sentences[first].size
    begin, finish = sentences[first].start, sentences[last].end
    if room.beyond and (first, last) == (0, len(sentences) - 1):
        begin, finish = _widen_span(text, (begin, finish), left, room)
    return _LAST_HEADING.sub("", text[begin:finish].rstrip()).strip()


def _sentences(text: str, start: int, end: int, room: Room) -> Iterator[Span]:
    """Yield the sentences in `text[start:end]`, whole even if they extend beyond it; long ones in pieces."""
    for first, last in _whole_sentences(text, _sentence_start(text, start, room), end):
        if last > start:
            yield from _pieces(text, first, last, room)


def _sentence_start(text: str, start: int, room: Room) -> int:
    """Return where the sentence around `start` begins, as far back as there would be room for it."""
    low = max(0, start - room.most)
    opening = start if low else 0
    for cut in _END.finditer(text, low, start):
        opening = cut.end()
    return opening


def _whole_sentences(text: str, start: int, end: int) -> Iterator[Span]:
    for cut in _END.finditer(text, start):
        if start >= end:
            return
        yield start, cut.end()
        start = cut.end()
    if start < min(end, len(text)):
        yield start, len(text)


def _pieces(text: str, start: int, end: int, room: Room) -> Iterator[Span]:
    """Yield the sentence or, if there is no room for it, the pieces, cut between words if there are any."""
    while start < end:
        stop = min(end, start + room.most)
        while (size := room.measure(text[start:stop])) > room.most and stop > start + 1:
            stop = max(start + 1, start + (stop - start) * room.most // size)
        if stop < end and (blank := max(text.rfind(" ", start + 1, stop), text.rfind("\n", start + 1, stop))) > 0:
            stop = blank + 1
        yield start, stop
        start = stop


def _best_run(sentences: Sequence[_Sentence], most: int) -> tuple[int, int]:
    """Return the first and the last of the neighbours that fit together and have the words with most weight.

    Among equal runs take the last, so that it begins with a searched word; the first if none has a word.
    """
    having = Counter(word for one in sentences for word in one.words)
    weights = {word: log(1 + len(sentences) / count) for word, count in having.items()}
    held: Counter[str] = Counter()
    best, found, last, size, weight = 0.0, (0, 0), -1, 0, 0.0
    for first, one in enumerate(sentences):
        while last + 1 < len(sentences) and (last < first or size + sentences[last + 1].size <= most):
            last += 1
            size += sentences[last].size
            weight += sum(weights[word] for word in sentences[last].words if not held[word])
            held.update(sentences[last].words)
        if first == 0 or weight > best + 1e-9 or (weight > 0 and abs(weight - best) <= 1e-9):
            best, found = weight, (first, last)
        size -= one.size
        held.subtract(one.words)
        weight -= sum(weights[word] for word in one.words if not held[word])
    return found


def _widen_span(text: str, span: Span, left: int, room: Room) -> Span:
    """Return the span with the sentences after it, then those before it, as far as there is room."""
    begin, finish = span
    for first, last in _sentences(text, finish, min(len(text), finish + left), room):
        size = room.measure(text[max(first, finish) : last])
        if size > left:
            break
        finish, left = last, left - size
    for first, last in reversed(list(_sentences(text, max(0, begin - left), begin, room))):
        size = room.measure(text[first : min(last, begin)])
        if size > left:
            break
        begin, left = min(first, begin), left - size
    return begin, finish
