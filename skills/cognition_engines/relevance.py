"""The settings that make a record a better answer, in addition to the meaning and the words of the query.

Each of them can be switched off: benchmarks show the gain of each (docs/quality.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Literal

Language = Literal["en", "de", "fr", "es", "it", "pt", "nl"]

# By the beginning of a model's name, the cosine that the nearest record has at least for 95 of 100 questions that it
# answers: 0.43 on decisions, SciFact and conversations alike (docs/quality.md).
LEAST_COSINES: Final[Mapping[str, float]] = {"minilm-": 0.43}
MOST_ADJACENT: Final = 3  # turns on each side of a turn, in whose words it may be found


@dataclass(frozen=True, slots=True)
class Relevance:
    """The weights of texts and queries.

    `language` is the language of stop words, stems and months. Without `stop_words` every word of a query counts. Words
    of a title count `title_weight` times. A turn is found by the words of the turns around it, which count by the
    weights of `adjacent`: for turns at a distance of one, of two, and so on, at most MOST_ADJACENT. Words of a
    neighbour with more than `long_turn` characters count less in proportion; in a turn with more, which carries its
    context itself, they count less by the square. With `dates_in_words` a turn is also found by its day, the name of
    its month, and its year. Of the best results of a hybrid search, those with adjacent words of the query get up to
    `phrase_weight` on their scores of 0 to 1. In the same way records of the time that a query names, such as `in May
    2023`, get `date_weight`, and turns of the speakers that it asks about get `speaker_weight`. Of the best results of
    a query that asks for advice, turns that state a preference or an instruction get `statement_weight` of what their
    scores lack to 1. `least_cosine` is the cosine of the nearest record from which on a question counts as answered;
    None is the model's.
    """

    language: Language = "en"
    stop_words: bool = True
    title_weight: int = 3
    adjacent: tuple[float, ...] = (1 / 2, 1 / 3, 1 / 6)
    long_turn: int = 200
    dates_in_words: bool = True
    phrase_weight: float = 0.2
    date_weight: float = 0.1
    speaker_weight: float = 0.15
    statement_weight: float = 0.3
    least_cosine: float | None = None

    def __post_init__(self) -> None:
        if len(self.adjacent) > MOST_ADJACENT:
            raise ValueError(f"adjacent: has more than {MOST_ADJACENT} weights")

    @property
    def of_texts(self) -> str:
        """A digest of all settings that change the content of an index: another digest needs another index."""
        parts = (self.language, self.title_weight, self.adjacent, self.long_turn, self.dates_in_words)
        return blake2b(repr(parts).encode(), digest_size=4).hexdigest()


def least_cosine_of(relevance: Relevance, model: str | None) -> float | None:
    """Return the cosine of the nearest record from which on a question counts as answered; None if it is not known."""
    if model is None or relevance.least_cosine is not None:
        return None if model is None else relevance.least_cosine
    return next((least for name, least in LEAST_COSINES.items() if model.startswith(name)), None)


RELEVANCE: Final = Relevance()
