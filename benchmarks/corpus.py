"""Decisions of any number, made from embedded real texts: seeded noise on the vectors, seeded order of the words.

The first records are the texts as they are; the others are perturbed copies of randomly chosen ones. Fields that
architecture decision records do not have are drawn at random, so that each filter matches a known share.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.texts import Text
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Decision, Filters
from cognition_engines.store.values import Entry, FloatArray

NOISE: Final = 0.5  # length of the noise beside a vector of length 1: copies have a cosine of about 0.89 to it
WORDS: Final = 180  # what a window of 254 tokens holds, about
FIRST_DAY: Final = datetime(2015, 1, 1, tzinfo=UTC)
DAYS: Final = 3650
_STATUS: Final = (("accepted", 0.5), ("proposed", 0.2), ("superseded", 0.2), ("rejected", 0.1))
_STAKES: Final = (("low", 0.5), ("medium", 0.3), ("high", 0.2))
_CATEGORIES: Final = (("architecture", 0.2), ("integration", 0.1), ("", 0.7))  # "" takes the topic of its text


@dataclass(frozen=True, slots=True)
class Question:
    """A filter to be measured: what it is called in the table, and as the request has it."""

    name: str
    filters: Filters


NONE: Final = Question("no filter", Filters())
ALL_SIX: Final = Question(
    "all six conditions",
    Filters(
        category="architecture",
        min_confidence=0.2,
        max_confidence=0.8,
        date_after=FIRST_DAY + timedelta(days=0.15 * DAYS),
        date_before=FIRST_DAY + timedelta(days=0.85 * DAYS),
        stakes=("medium", "high"),
        status=("accepted", "proposed"),
    ),
)
ANOTHER_TOPIC: Final = Question("another topic", Filters(category="science"))
QUESTIONS: Final = (
    NONE,
    Question("one condition", Filters(category="integration")),
    ALL_SIX,
    Question("a rare category", Filters(category="rare")),
    Question("one stakes", Filters(stakes=("high",))),
    Question("one status", Filters(status=("accepted",))),
    ANOTHER_TOPIC,
)
SHARES: Final = (0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)


def share_question(share: float) -> Question:
    """A filter that matches about `share` of the records, whatever they are about."""
    return Question(f"{share:.0%} at random", Filters(max_confidence=share))


@dataclass(frozen=True, slots=True)
class Corpus:
    """`size` decisions. `vectors` (W, dim) holds their windows in order, `counts` how many each has."""

    decisions: Sequence[Decision]
    vectors: FloatArray
    counts: NDArray[np.int64]

    def entries(self) -> Iterator[Entry]:
        ends = np.cumsum(self.counts)
        for place, (decision, end) in enumerate(zip(self.decisions, ends.tolist(), strict=True)):
            windows = self.vectors[end - self.counts[place] : end]
            yield Entry(decision, Origin("/benchmark", place, None, "benchmark"), windows)


def make_corpus(texts: Sequence[Text], vectors: Sequence[FloatArray], size: int, *, real_windows: bool) -> Corpus:
    """`vectors` are those of `texts`, (windows, dim) each. Without `real_windows` every record has one window.

    The same arguments give the same corpus.
    """
    random = np.random.default_rng(7)
    texts_of, windows_of = _bases(vectors, size, random, real_windows)
    taken = [
        vectors[text] if window is None else vectors[text][window : window + 1]
        for text, window in zip(texts_of, windows_of, strict=True)
    ]
    counts = np.array([len(part) for part in taken], np.int64)
    stacked = np.concatenate(taken)
    copied = int(counts[: len(texts)].sum())
    noise = random.standard_normal((len(stacked) - copied, stacked.shape[1]), np.float32)
    stacked[copied:] += noise * np.float32(NOISE / np.sqrt(stacked.shape[1]))
    stacked /= np.linalg.norm(stacked, axis=1, keepdims=True)
    fields = _Fields(size, random)
    decisions = []
    for place, (text, window) in enumerate(zip(texts_of, windows_of, strict=True)):
        body = texts[text].body if window is None else window_words(texts[text].body, window)
        if place >= len(texts):
            body = reworded(body, texts[int(random.integers(len(texts)))].body, random)
        decisions.append(fields.decision(place, texts[text], body))
    return Corpus(decisions, stacked, counts)


def _bases(
    vectors: Sequence[FloatArray], size: int, random: np.random.Generator, real_windows: bool
) -> tuple[list[int], list[int | None]]:
    """For each record the text that it is made from, and which window of it; None is all of them."""
    own = min(size, len(vectors))
    if real_windows:
        texts = [*range(own), *random.integers(len(vectors), size=size - own).tolist()]
        return texts, [None] * size
    counts = np.array([len(found) for found in vectors])
    owners = np.repeat(np.arange(len(vectors)), counts)
    first = np.cumsum(counts) - counts
    picked = random.integers(len(owners), size=size - own)
    texts = [*range(own), *owners[picked].tolist()]
    return texts, [*[0] * own, *(picked - first[owners[picked]]).tolist()]


def window_words(body: str, window: int) -> str:
    """About the words that the window was made of."""
    words = body.split()
    start = min(window * WORDS, max(0, len(words) - WORDS))
    return " ".join(words[start : start + WORDS])


def reworded(body: str, other: str, random: np.random.Generator) -> str:
    """Half to all of the words of `body` and a few of `other`, in any order: copies must not all score the same."""
    words, strange = body.split(), other.split()
    kept = random.permutation(len(words))[: int(len(words) * random.uniform(0.5, 1.0))]
    added = random.permutation(len(strange))[: len(words) // 6]
    return " ".join([*(words[place] for place in kept.tolist()), *(strange[place] for place in added.tolist())])


class _Fields:
    """Random but seeded values for what the texts themselves do not say."""

    def __init__(self, size: int, random: np.random.Generator) -> None:
        self._category = _draw(_CATEGORIES, size, random)
        self._stakes = _draw(_STAKES, size, random)
        self._status = _draw(_STATUS, size, random)
        self._confidence = random.random(size).tolist()
        self._day = (random.random(size) * DAYS).tolist()
        self._project = random.integers(20, size=size).tolist()

    def decision(self, place: int, text: Text, body: str) -> Decision:
        return Decision(
            id=f"dec_{place:08d}",
            title=text.title,
            text=body,
            category="rare" if place % 1000 == 7 else self._category[place] or text.topic,
            confidence=self._confidence[place],
            stakes=self._stakes[place],
            status=self._status[place],
            status_text=self._status[place].title(),
            date=FIRST_DAY + timedelta(days=self._day[place]),
            project=f"project-{self._project[place]}",
        )


def _draw(choices: Sequence[tuple[str, float]], size: int, random: np.random.Generator) -> list[str]:
    drawn: list[str] = random.choice([name for name, _ in choices], size, p=[share for _, share in choices]).tolist()
    return drawn
