"""A text as a document of the keyword index: its words, how much each of them counts, and who may find it."""

from collections.abc import Iterable, Mapping
from math import log2
from typing import Final

import tantivy

from cognition_engines.indexes.keywords.language import in_words, make_analyzer
from cognition_engines.indexes.keywords.schema import HIGHEST, K1, LENGTH, LETTERS, LOWEST, B
from cognition_engines.indexes.keywords.visible_idf import Counted
from cognition_engines.indexes.keywords.words import id_term
from cognition_engines.models import Sensitivity
from cognition_engines.relevance import Relevance
from cognition_engines.store.values import Text

ID_WEIGHT: Final = 20.0  # how often the id of a text counts, so that it is first whatever names it


class DocumentMaker:
    """Makes the documents of texts, weighed as `relevance` has it."""

    def __init__(self, relevance: Relevance) -> None:
        self._relevance = relevance
        self._analyzer = make_analyzer(relevance.language)

    def make(self, text: Text) -> tuple[tantivy.Document, Counted]:
        """The document of a text, and what of it is counted."""
        counts, length = self._weigh(text)
        letters = _letters(counts.values(), length)
        document = tantivy.Document(key=text.key, word=" ".join(sorted(counts)))
        document.add_text("levelled", " ".join([letters[times] + word for word, times in counts.items()]))
        for clearance in range(text.sensitivity, max(Sensitivity) + 1):
            document.add_integer("clearance", clearance)
        if text.project is not None:
            document.add_text("project", text.project)
        for mark in text.marks:
            document.add_integer("mark", mark)
        return document, Counted(tuple(counts), text.project, int(text.sensitivity))

    def _weigh(self, text: Text) -> tuple[Mapping[str, float], float]:
        """Return how often each word counts, and the length of the text without names and parts of words."""
        counts: dict[str, float] = {}
        others: dict[str, float] = {}
        for weight, part in self._parts(text):
            self._analyzer.count(part, weight, counts, others)
        length = sum(counts.values())
        for word, counted in others.items():
            counts[word] = counts.get(word, 0.0) + counted
        if text.id is not None and (term := id_term(text.id)) is not None:
            counts[term] = ID_WEIGHT
        return counts, length

    def _parts(self, text: Text) -> Iterable[tuple[float, str]]:
        """All that a text is found by, with the weight of each part."""
        relevance = self._relevance
        yield 1.0, text.body
        if text.title is not None and relevance.title_weight != 1:
            yield relevance.title_weight - 1.0, text.title
        if text.day is not None and relevance.dates_in_words:
            yield 1.0, in_words(text.day, relevance.language)
        own = min(1.0, relevance.long_turn / max(1, len(text.body))) ** 2
        for weight, bodies in zip(relevance.adjacent, text.adjacent, strict=False):
            yield from ((weight * own * min(1.0, relevance.long_turn / max(1, len(body))), body) for body in bodies)


def _letters(counted: Iterable[float], length: float) -> dict[float, str]:
    """The letter of the level of a word that counts this often in a text of `length` words."""
    norm = K1 * (1 - B + B * length / LENGTH)
    levels = {times: min(HIGHEST, max(LOWEST, round(log2(times / norm)))) for times in set(counted)}
    return {times: LETTERS[level - LOWEST] for times, level in levels.items()}
