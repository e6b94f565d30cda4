"""Settings for a record's relevance beyond the meaning and the words of the query.

Each can be switched off: benchmarks show each gain (docs/quality.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Literal

Language = Literal["en", "de", "fr", "es", "it", "pt", "nl"]

# By model name prefix, the least cosine of the nearest record for 95 of 100 answered questions: 0.43 on decisions,
# SciFact and conversations alike (docs/quality.md).
LEAST_COSINES: Final[Mapping[str, float]] = {"minilm-": 0.43}
MOST_ADJACENT: Final = 3  # turns on each side whose words also find a turn


@dataclass(frozen=True, slots=True)
class Relevance:
    """Weights for texts and queries.

    `language` selects stop words, stems and months. Without `stop_words` every word in a query counts. Title words
    count `title_weight` times.

    A turn is also found by the words of adjacent turns: `adjacent` has their weights for the distances 1, 2 and so on,
    at most MOST_ADJACENT. Words of a neighbour with more than `long_turn` characters count less in proportion; in a
    turn with more, which carries context itself, they count less by the square. With `dates_in_words` a turn is also
    found by day, month name, and year.

    Among the best results of a hybrid search, records with adjacent query words get up to `phrase_weight` on their
    scores of 0 to 1. Likewise records from the time named in a query, such as `in May 2023`, get `date_weight`, and
    turns by the speakers in question get `speaker_weight`. If a query asks for advice, turns with a preference or an
    instruction get `statement_weight` times the distance of their scores to 1.

    `least_cosine` is the least cosine of the nearest record for an answered question; None is the model's.
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
        """Return a digest of all settings that change an index's content; another digest needs another index."""
        parts = (self.language, self.title_weight, self.adjacent, self.long_turn, self.dates_in_words)
        return blake2b(repr(parts).encode(), digest_size=4).hexdigest()


def least_cosine_of(relevance: Relevance, model: str | None) -> float | None:
    """Return the least cosine of the nearest record for an answered question; None if unknown."""
    if model is None or relevance.least_cosine is not None:
        return None if model is None else relevance.least_cosine
    return next((least for name, least in LEAST_COSINES.items() if model.startswith(name)), None)


RELEVANCE: Final = Relevance()
