"""Any number of records of each kind, made from embedded real texts: seeded noise on the vectors, seeded fields.

The first records of a kind are the texts as they are, the others perturbed copies of randomly chosen ones. Fields that
the texts lack are drawn at random, so that each filter matches a known share. Records refer to random others, so that
the number of links of a record does not depend on the size, but for the most frequent names.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate, count
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.texts import Text
from cognition_engines.kinds.registry import Record, validate_record
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Decision
from cognition_engines.store.values import Entry, FloatArray
from cstp.values.decision_searches import QueryFilters
from cstp.values.decisions import AffectedPart

NOISE: Final = 0.5  # length of the noise beside a vector of length 1: copies have a cosine of about 0.89 to it
WORDS: Final = 180  # of a window of 254 tokens, about
FIRST_DAY: Final = datetime(2015, 1, 1, tzinfo=UTC)
DAYS: Final = 3650
_STATUS: Final = (("accepted", 0.5), ("proposed", 0.2), ("superseded", 0.2), ("rejected", 0.1))
_STAKES: Final = (("low", 0.5), ("medium", 0.3), ("high", 0.2))
_CATEGORIES: Final = (("architecture", 0.2), ("integration", 0.1), ("", 0.7))  # "" takes the topic of its text
TOPICS: Final = 200  # also tags
PROJECTS: Final = 20
TURNS: Final = 20  # of a conversation
PASSAGES: Final = 10  # of an artifact that is cut; one in so many is
CHUNKS: Final = 10  # of a source
CONTEXTS: Final = ("meeting", "email", "document", "note")
CATEGORIES: Final = ("Decision", "Commitment", "QualityRisk", "Execution", "Feedback", "Change")
EPISODE_CATEGORIES: Final = ("coding", "research", "writing", "planning")
_TYPES: Final = ("pattern", "pattern", "decision", "warning")
_BLOCK: Final = 1000
_EMBEDDED: Final = (
    Kind.CHUNK, Kind.EXTRACTION, Kind.ARTIFACT, Kind.ARTIFACT_CHUNK, Kind.TURN, Kind.EVENT, Kind.EPISODE, Kind.DECISION
)  # fmt: skip
_OTHERS: Final = (Kind.SOURCE, Kind.CLUSTER, Kind.ENTITY, Kind.EDGE)
KINDS: Final = (*_OTHERS, *_EMBEDDED)
_PREFIXES: Final = {
    Kind.SOURCE: "src", Kind.CLUSTER: "clu", Kind.CHUNK: "chk", Kind.ARTIFACT: "art", Kind.DECISION: "dec"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """A filter to be measured: what it is called in the table, and as the request has it."""

    name: str
    filters: QueryFilters


NONE: Final = Question("no filter", QueryFilters())
ALL_SIX: Final = Question(
    "all six conditions",
    QueryFilters(
        category="architecture",
        min_confidence=0.2,
        max_confidence=0.8,
        date_after=FIRST_DAY + timedelta(days=0.15 * DAYS),
        date_before=FIRST_DAY + timedelta(days=0.85 * DAYS),
        stakes=["medium", "high"],
        status=["accepted", "proposed"],
    ),
)
ANOTHER_TOPIC: Final = Question("another topic", QueryFilters(category="science"))
QUESTIONS: Final = (
    NONE,
    Question("one condition", QueryFilters(category="integration")),
    ALL_SIX,
    Question("a rare category", QueryFilters(category="rare")),
    Question("1% at random", QueryFilters(max_confidence=0.01)),
    Question("one stakes", QueryFilters(stakes=["high"])),
    Question("one status", QueryFilters(status=["accepted"])),
    ANOTHER_TOPIC,
)


@dataclass(frozen=True, slots=True)
class Corpus:
    """`size` records of each of `kinds`, with all windows of their texts if `real_windows`, otherwise with one.

    `vectors` are those of the texts, (windows, dimensions) each. The same arguments give the same records.
    """

    texts: Sequence[Text]
    vectors: Sequence[FloatArray]
    size: int
    kinds: Sequence[Kind] = KINDS
    real_windows: bool = False

    def entries(self) -> Iterator[Entry]:
        place = count()
        for kind in self.kinds:
            for start in range(0, self.size, _BLOCK):
                yield from self._block(kind, range(start, min(self.size, start + _BLOCK)), place)

    def _block(self, kind: Kind, numbers: range, place: Iterator[int]) -> Iterator[Entry]:
        random = np.random.default_rng((int(kind), numbers.start))
        fields = _Fields(self.size, random)
        for number in numbers:
            copied = number >= len(self.texts)
            at = int(random.integers(len(self.texts))) if copied else number
            text, vectors = self.texts[at], self.vectors[at]
            body = text.body
            if not self.real_windows:
                window = int(random.integers(len(vectors))) if copied else 0
                vectors, body = vectors[window : window + 1], window_words(body, window)
            if copied:
                other = self.texts[int(random.integers(len(self.texts)))]
                vectors, body = perturb(vectors, random), reworded(body, other.body, random)
            record = fields.record(kind, number, text, body or text.title)
            cut = kind is Kind.ARTIFACT and number % PASSAGES == 0
            own = vectors if kind in _EMBEDDED and not cut else None
            yield Entry(record, Origin("/benchmark", next(place), None, "benchmark"), own)


@dataclass(frozen=True, slots=True)
class Decisions:
    """A corpus of decisions, in memory. `vectors` (W, dim) are their windows in order, `counts` how many each has."""

    made: Sequence[Entry]
    vectors: FloatArray
    counts: NDArray[np.int64]

    @property
    def records(self) -> list[Decision]:
        return [entry.record for entry in self.made if isinstance(entry.record, Decision)]

    def entries(self) -> Iterator[Entry]:
        return iter(self.made)


def make_decisions(
    texts: Sequence[Text], vectors: Sequence[FloatArray], size: int, *, real_windows: bool = False
) -> Decisions:
    """Return `size` decisions; see Corpus."""
    made = list(Corpus(texts, vectors, size, (Kind.DECISION,), real_windows).entries())
    windows = [entry.vectors for entry in made if entry.vectors is not None]
    return Decisions(made, np.concatenate(windows), np.array([len(each) for each in windows], np.int64))


def perturb(vectors: FloatArray, random: np.random.Generator) -> FloatArray:
    """Return unit vectors with noise of the length NOISE."""
    noise = random.standard_normal(vectors.shape, np.float32) * np.float32(NOISE / np.sqrt(vectors.shape[1]))
    noisy: FloatArray = vectors + noise
    noisy /= np.linalg.norm(noisy, axis=1, keepdims=True)
    return noisy


def window_words(body: str, window: int) -> str:
    """Return about the words of a window."""
    words = body.split()
    start = min(window * WORDS, max(0, len(words) - WORDS))
    return " ".join(words[start : start + WORDS])


def reworded(body: str, other: str, random: np.random.Generator) -> str:
    """Return half or more of the words of `body` and a few of `other`, in any order: scores of copies must differ."""
    words, strange = body.split(), other.split()
    kept = random.permutation(len(words))[: int(len(words) * random.uniform(0.5, 1.0))]
    added = random.permutation(len(strange))[: len(words) // 6]
    return " ".join([*(words[place] for place in kept.tolist()), *(strange[place] for place in added.tolist())])


def topic(number: int) -> str:
    """Return the name of a topic; lower numbers are more frequent: the first of 200 has 7 of 100 draws."""
    return f"topic-{number}"


def record_id(kind: Kind, number: int) -> str:
    return f"{_PREFIXES[kind]}_{number}"


def conversation_id(number: int) -> str:
    return f"conversation-{number}"


def project(number: int) -> str:
    return f"project-{number}"


def _person(number: int) -> str:
    return f"Person {number}"


class _Fields:
    """Random but seeded values for the fields that the texts lack."""

    def __init__(self, size: int, random: np.random.Generator) -> None:
        self._size = size
        self._random = random

    def record(self, kind: Kind, number: int, text: Text, body: str) -> Record:
        place: dict[str, Any] = {"project": project(self._below(PROJECTS))}
        title = " ".join(text.title.split())[:200] or "untitled"
        if kind is Kind.DECISION:
            return Decision(**place, **self._decision(number, title, body, text.topic))
        return validate_record(kind, place | self._members(kind, number, title, body))

    def _members(self, kind: Kind, number: int, title: str, body: str) -> dict[str, Any]:
        match kind:
            case Kind.EPISODE:
                return self._episode(number, body)
            case Kind.SOURCE | Kind.CLUSTER | Kind.CHUNK:
                return self._read(kind, number, title, body)
            case Kind.EXTRACTION:
                return self._extraction(number, title, body)
            case Kind.ARTIFACT | Kind.ARTIFACT_CHUNK | Kind.TURN:
                return self._said(kind, number, title, body)
            case _:
                return self._linked(kind, number, body)

    def _decision(self, number: int, title: str, body: str, topic: str) -> dict[str, Any]:
        status = self._weighted(_STATUS)
        return {
            "id": record_id(Kind.DECISION, number),
            "title": title,
            "text": body,
            "category": "rare" if number % 1000 == 7 else self._weighted(_CATEGORIES) or topic,
            "confidence": float(self._random.random()),
            "stakes": self._weighted(_STAKES),
            "status": status,
            "status_text": status.title(),
            "date": self._moment(),
            "affects": (AffectedPart("path", f"src/part_{number // 20}/**"),) if number % 20 == 0 else (),
        }

    def _episode(self, number: int, body: str) -> dict[str, Any]:
        return {
            "id": number + 1,
            "query": body[:300],
            "reward": round(float(self._random.uniform(-1, 1)), 3),
            "reflection": body,
            "tags": self._topics(4),
            "category": self._one(EPISODE_CATEGORIES),
            "created_at": self._day(),
        }

    def _read(self, kind: Kind, number: int, title: str, body: str) -> dict[str, Any]:
        if kind is Kind.SOURCE:
            return {"id": record_id(Kind.SOURCE, number), "title": f"{title} {number}", "created_at": self._day()}
        if kind is Kind.CLUSTER:
            return {"id": record_id(Kind.CLUSTER, number), "name": f"{title} {number}", "description": title}
        return {
            "id": record_id(Kind.CHUNK, number),
            "title": title,
            "content": body,
            "source_id": record_id(Kind.SOURCE, number // CHUNKS),
            "tags": self._topics(2),
            "cluster_ids": [record_id(Kind.CLUSTER, self._below(self._size))],
            "chunk_index": number % CHUNKS,
            "total_chunks": CHUNKS,
            "created_at": self._day(),
        }

    def _extraction(self, number: int, title: str, body: str) -> dict[str, Any]:
        type_ = self._one(_TYPES)
        content = {
            "pattern": {"name": title, "problem": title, "solution": body},
            "decision": {"question": title, "recommended_approach": body},
            "warning": {"title": title, "description": body},
        }[type_]
        return {
            "id": f"ext_{number}",
            "type": type_,
            "content": content,
            "topics": self._topics(2),
            "source_id": record_id(Kind.SOURCE, number // CHUNKS),
            "chunk_id": record_id(Kind.CHUNK, number),
            "extracted_at": self._day(),
        }

    def _said(self, kind: Kind, number: int, title: str, body: str) -> dict[str, Any]:
        if kind is Kind.ARTIFACT:
            return {
                "id": record_id(Kind.ARTIFACT, number),
                "title": title,
                "content": body,
                "context": self._one(CONTEXTS),
                "participants": self._people(2),
                "importance": self._share(),
                "ts": self._day(),
                "chunked": number % PASSAGES == 0,
            }
        if kind is Kind.ARTIFACT_CHUNK:
            return {
                "id": f"passage_{number}",
                "artifact_id": record_id(Kind.ARTIFACT, number // PASSAGES * PASSAGES),
                "content": body,
                "chunk_index": number % PASSAGES,
                "total_chunks": PASSAGES,
            }
        conversation, place = divmod(number, TURNS)
        began = FIRST_DAY + timedelta(hours=conversation % (24 * DAYS))
        return {
            "id": f"art_turn_{number}",
            "project": project(conversation % PROJECTS),
            "conversation_id": conversation_id(conversation),
            "turn_index": place,
            "speaker": _person((conversation * 2 + place % 2) % self._size),
            "content": body,
            "ts": (began + timedelta(minutes=place)).isoformat(),
        }

    def _linked(self, kind: Kind, number: int, body: str) -> dict[str, Any]:
        if kind is Kind.ENTITY:
            return {"id": f"ent_{number}", "name": _person(number), "type": "person", "aliases": [f"p{number}"]}
        if kind is Kind.EDGE:
            other = (number + 1 + self._below(self._size - 1)) % self._size
            return {
                "id": f"edg_{number}",
                "source_id": f"ent_{number}",
                "target_id": f"ent_{other}",
                "type": "WORKS_WITH",
                "confidence": self._share(),
            }
        return {
            "id": f"evt_{number}",
            "artifact_id": record_id(Kind.ARTIFACT, self._below(self._size)),
            "category": self._one(CATEGORIES),
            "narrative": body[:1000],
            "event_time": self._day(),
            "actors": self._people(2),
            "subject": self._people(1)[0],
            "confidence": self._share(),
        }

    def _share(self) -> float:
        return round(float(self._random.random()), 3)

    def _below(self, number: int) -> int:
        return int(self._random.integers(number))

    def _one(self, names: Sequence[str]) -> str:
        return names[self._below(len(names))]

    def _weighted(self, choices: Sequence[tuple[str, float]]) -> str:
        """Return a name by its share of 1."""
        share = float(self._random.random())
        ends = accumulate(part for _, part in choices)
        return next((name for (name, _), end in zip(choices, ends, strict=True) if share < end), choices[-1][0])

    def _moment(self) -> datetime:
        return FIRST_DAY + timedelta(days=float(self._random.random()) * DAYS)

    def _day(self) -> str:
        return self._moment().isoformat()

    def _topics(self, most: int) -> list[str]:
        return [topic(number) for number in self._skewed(TOPICS, most)]

    def _people(self, most: int) -> list[str]:
        return [_person(number) for number in self._skewed(self._size, most)]

    def _skewed(self, below: int, most: int) -> list[int]:
        """Return different numbers below `below`, lower ones more often: few are frequent, most are rare."""
        return sorted({int(below * share**2) for share in self._random.random(most).tolist()})
