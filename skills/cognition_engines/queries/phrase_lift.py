"""Phrases: the best results are reordered, those first that have words of the query next to each other, in order.

If the query asks for advice, turns that state a preference or an instruction come first, too. The index has no
positions of words; the texts of a few results are read from the snapshot of the search.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeVar

from cognition_engines.indexes.keywords.language import QueryAnalyzer
from cognition_engines.indexes.keywords.words import is_phrase
from cognition_engines.kinds.artifacts import Turn
from cognition_engines.kinds.registry import Record, embedding_text
from cognition_engines.models import Viewer
from cognition_engines.relevance import Relevance
from cognition_engines.retrieval.fusion import Hit, Part
from cognition_engines.set_aside import Part as DerivedPart, SetAside
from cognition_engines.store.reads.row_reader import RowReader
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord
from cognition_engines.unicode_forms import fold_text

BEST: Final = 20  # results that are examined
LONGEST: Final = 1 << 16  # characters of a text that are examined
MOST_PAIRS: Final = 64
_AROUND: Final = ".,;:!?()[]{}<>*\"'“”‘’«»¿¡"  # around a word of a query
# quotes, hyphens and dashes, and characters that are not shown
_TYPOGRAPHIC: Final = tuple(
    (each, read)
    for written, read in (("‘’‚‛", "'"), ("“”„‟", '"'), ("‐‑‒–—−", "-"), ("\u00ad\u200b\u2060\ufeff", ""))
    for each in written
)
K = TypeVar("K")
V = TypeVar("V")
QUERIES: Final = 512  # whose pairs are cached
SHARES: Final = 8192  # of pairs in a record that are cached

LOOKED_AT: Final = 600  # characters of a text or a question: a long message begins with what is asked and wanted
_ADVICE: Final = re.compile(
    r"\bhow (?:should|can|could|do|would|might|to)\b"
    r"|\bwhat (?:should|would|kind|type|are some|are the|is the best|steps|tools)\b"
    r"|\b(?:which|where|can you|could you|would you|should i|suggest|recommend|help me)\b",
    re.IGNORECASE,
)
_STATEMENT: Final = re.compile(
    r"\bi(?:['’]d| would| really| still| usually| always| generally)? (?:prefer|rather)\b"
    r"|\bmy preference\b|\bwhen i ask\b|\bfrom now on\b"
    r"|(?:^|[.!?]\s)(?:please )?(?:always|never)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ReadText:
    """The share of a query's pairs of words in the text of a record, 0 to 1, and whether the text is a statement."""

    share: float
    states: bool


@dataclass(frozen=True, slots=True)
class Weights:
    """The gain of a score, 0 to 1, by all pairs of words of a query, and by a statement as a share of its rest to 1."""

    phrase: float
    statement: float


NOTHING: Final = ReadText(0.0, False)


def asks_for_advice(question: str) -> bool:
    """Return whether a question asks how, what or where something should be done, in English."""
    return _ADVICE.search(question[:LOOKED_AT]) is not None


def is_statement(record: Record) -> bool:
    """Return whether a record is a turn in which a person states a preference or an instruction, in English."""
    if not isinstance(record, Turn) or "assistant" in (record.role, record.speaker):
        return False
    return _STATEMENT.search(record.content[:LOOKED_AT]) is not None


def pairs_of(query: str, is_content: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the pairs of adjacent words in a query, each once, if `is_content` holds for one of the two.

    A word that is a phrase by itself, such as `QD-4711`, comes after them.
    """
    written = [word for each in query.split() if (word := each.strip(_AROUND))]
    words = [fold_phrase(word) for word in written]
    content = [is_content(word) for word in words]
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


def share_of(pairs: Sequence[str], text: str) -> float:
    """Return the share of the pairs that are in a text word for word, 0 to 1."""
    flat = fold_phrase(text[:LONGEST])
    return sum(pair in flat for pair in pairs) / len(pairs)


def read_text(pairs: Sequence[str], record: Record) -> ReadText:
    """Return the share of the pairs in the text of a record, and whether it is a statement."""
    return ReadText(share_of(pairs, embedding_text(record) or ""), is_statement(record))


def lift_hits(hits: Sequence[Hit], read: Sequence[ReadText], weights: Weights, ids: Callable[[Hit], str]) -> list[Hit]:
    """Return the hits in a new order, best first: the first ones gain by what was read in their texts.

    `read` are those of the first hits. The scores stay within 0 to 1: all are divided by 1 + the weight of phrases.
    """
    first = []
    for hit, text in zip(hits, read, strict=False):
        score = (hit.score + weights.phrase * text.share) / (1 + weights.phrase)
        states = text.states and weights.statement > 0
        if states:
            score += weights.statement * (1 - score)
        first.append(replace(hit, score=round(score, 9), phrase=text.share, states=states))
    first.sort(key=lambda hit: (-hit.score, ids(hit)))
    others = [replace(hit, score=round(hit.score / (1 + weights.phrase), 9)) for hit in hits[len(first) :]]
    return [*first, *others]


class Phrases:
    """Reads the texts of the best results. Any thread of the pool of records may ask.

    What was read in a text is cached by the text's `seq`, so a repeated query reads no text.
    """

    def __init__(self, records: Records, relevance: Relevance, set_aside: SetAside) -> None:
        self.records: Final = records
        self._set_aside: Final = set_aside
        self._weight: Final = relevance.phrase_weight
        self._statement_weight: Final = relevance.statement_weight if relevance.language == "en" else 0.0
        self._queries: Final = QueryAnalyzer(relevance)
        self._pairs: dict[str, tuple[str, ...]] = {}
        self._read: dict[tuple[tuple[str, ...], int, int], ReadText] = {}  # by pairs, key and seq

    def lift(self, query: str, viewer: Viewer, parts: Sequence[Part], hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits, raising those with adjacent words of the query; unchanged if none could have any.

        If the query asks for advice, raise turns that state a preference or an instruction, too.
        """
        read = self._read_best(query, viewer, parts, hits)
        if not read:
            return [*hits]
        weights = Weights(self._weight, self._statement_weight if asks_for_advice(query) else 0.0)
        return lift_hits(hits, read, weights, lambda hit: parts[hit.part].snapshot.ids[hit.row])

    def shares(self, query: str, viewer: Viewer, parts: Sequence[Part], hits: Sequence[Hit]) -> list[float]:
        """Return the share of the query's word pairs in each of the BEST first hits; empty if none could have one."""
        return [text.share for text in self._read_best(query, viewer, parts, hits)]

    def _read_best(self, query: str, viewer: Viewer, parts: Sequence[Part], hits: Sequence[Hit]) -> list[ReadText]:
        if not self._weight or not any(len(part.keyword.rows) for part in parts):
            return []
        pairs = self._pairs.get(query)
        if pairs is None:
            _make_room(self._pairs, QUERIES)
            pairs = self._pairs[query] = pairs_of(query, self._queries.is_content)
        return self.texts_of(pairs, viewer, [_record(parts, hit) for hit in hits[:BEST]]) if pairs else []

    def texts_of(self, pairs: tuple[str, ...], viewer: Viewer, records: Sequence[tuple[int, int]]) -> list[ReadText]:
        """Return what is in the text of each record, given by key and seq.

        Return NOTHING for a record that has changed since, or whose text cannot be read.
        """
        known = [self._read.get((pairs, *record)) for record in records]
        lacking = {key: seq for (key, seq), text in zip(records, known, strict=True) if text is None}
        rows = RowReader(self._set_aside)
        read = self.records.reads.as_of(lacking, viewer, rows) if lacking else {}
        new = {key: text for key, stored in read.items() if (text := self._read_text(pairs, stored)) is not None}
        _make_room(self._read, SHARES)
        self._read.update({(pairs, key, lacking[key]): text for key, text in new.items()})
        return [new.get(key, NOTHING) if text is None else text for (key, _), text in zip(records, known, strict=True)]

    def _read_text(self, pairs: Sequence[str], stored: StoredRecord) -> ReadText | None:
        work = partial(read_text, pairs, stored.record)
        return self._set_aside.attempt(DerivedPart.SNIPPETS, stored.version, work, None)

    def sees(self, key: int, viewer: Viewer) -> bool:
        """Return whether a viewer sees a record now."""
        return bool(self.records.reads.by_keys([key], viewer))


def _record(parts: Sequence[Part], hit: Hit) -> tuple[int, int]:
    snapshot = parts[hit.part].snapshot
    return int(snapshot.keys[hit.row]), int(snapshot.seqs[hit.row])


def _make_room(cache: dict[K, V], most: int) -> None:
    if len(cache) >= most:
        cache.clear()
