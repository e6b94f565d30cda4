"""Any number of records of each kind, made from embedded real texts: seeded noise on the vectors, seeded fields.

One window each. Every record that is drawn from, names or belongs to another does so at random, so that what a record
leads to does not depend on how many there are, but for the most frequent names.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Any, Final

import numpy as np

from benchmarks.corpus import DAYS, FIRST_DAY, NOISE, reworded, window_words
from benchmarks.texts import Text
from cognition_engines.kinds.registry import Record, validate_record
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Decision
from cognition_engines.store.values import Entry, FloatArray

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
    Kind.CHUNK,
    Kind.EXTRACTION,
    Kind.ARTIFACT,
    Kind.ARTIFACT_CHUNK,
    Kind.TURN,
    Kind.EVENT,
    Kind.EPISODE,
    Kind.DECISION,
)
_OTHERS: Final = (Kind.SOURCE, Kind.CLUSTER, Kind.ENTITY, Kind.EDGE)
KINDS: Final = (*_OTHERS, *_EMBEDDED)


@dataclass(frozen=True, slots=True)
class KindsCorpus:
    """`size` records of each kind. The same arguments give the same records."""

    texts: Sequence[Text]
    vectors: Sequence[FloatArray]  # of the texts, (windows, dimensions) each
    size: int

    def entries(self) -> Iterator[Entry]:
        place = count()
        for kind in KINDS:
            for start in range(0, self.size, _BLOCK):
                yield from self._block(kind, range(start, min(self.size, start + _BLOCK)), place)

    def _block(self, kind: Kind, numbers: range, place: Iterator[int]) -> Iterator[Entry]:
        random = np.random.default_rng((int(kind), numbers.start))
        chosen = random.integers(len(self.texts), size=len(numbers)).tolist()
        windows = [int(random.integers(len(self.vectors[text]))) for text in chosen]
        vectors = np.stack([self.vectors[text][window] for text, window in zip(chosen, windows, strict=True)])
        vectors += random.standard_normal(vectors.shape, np.float32) * np.float32(NOISE / np.sqrt(vectors.shape[1]))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        fields = _Fields(self.size, random)
        for at, number in enumerate(numbers):
            text, other = self.texts[chosen[at]], self.texts[int(random.integers(len(self.texts)))]
            body = reworded(window_words(text.body, windows[at]), other.body, random) or text.title
            record = fields.record(kind, number, text.title, body)
            cut = kind is Kind.ARTIFACT and number % PASSAGES == 0
            own = vectors[at : at + 1] if kind in _EMBEDDED and not cut else None
            yield Entry(record, Origin("/benchmark", next(place), None, "benchmark"), own)


def topic(number: int) -> str:
    """Lower numbers are more frequent: the first of 200 is on 7 of 100 draws."""
    return f"topic-{number}"


def source_id(number: int) -> str:
    return f"src_{number}"


def decision_id(number: int) -> str:
    return f"dec_{number}"


def chunk_id(number: int) -> str:
    return f"chk_{number}"


def artifact_id(number: int) -> str:
    return f"art_{number}"


def cluster_id(number: int) -> str:
    return f"clu_{number}"


def conversation_id(number: int) -> str:
    return f"conversation-{number}"


def project(number: int) -> str:
    return f"project-{number}"


def _person(number: int) -> str:
    return f"Person {number}"


class _Fields:
    """What the texts themselves do not say."""

    def __init__(self, size: int, random: np.random.Generator) -> None:
        self._size = size
        self._random = random

    def record(self, kind: Kind, number: int, title: str, body: str) -> Record:
        made: dict[str, Any] = {"project": project(self._below(PROJECTS)), **self._members(kind, number, title, body)}
        if kind is Kind.DECISION:
            return Decision(**made)
        return validate_record(kind, made)

    def _members(self, kind: Kind, number: int, title: str, body: str) -> dict[str, Any]:
        title = " ".join(title.split())[:200] or "untitled"
        match kind:
            case Kind.DECISION:
                return {"id": decision_id(number), "title": title, "text": body, "date": self._moment()}
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
            return {"id": source_id(number), "title": f"{title} {number}", "created_at": self._day()}
        if kind is Kind.CLUSTER:
            return {"id": cluster_id(number), "name": f"{title} {number}", "description": title}
        return {
            "id": chunk_id(number),
            "title": title,
            "content": body,
            "source_id": source_id(number // CHUNKS),
            "tags": self._topics(2),
            "cluster_ids": [cluster_id(self._below(self._size))],
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
            "source_id": source_id(number // CHUNKS),
            "chunk_id": chunk_id(number),
            "extracted_at": self._day(),
        }

    def _said(self, kind: Kind, number: int, title: str, body: str) -> dict[str, Any]:
        if kind is Kind.ARTIFACT:
            return {
                "id": artifact_id(number),
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
                "artifact_id": artifact_id(number // PASSAGES * PASSAGES),
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
            "artifact_id": artifact_id(self._below(self._size)),
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

    def _moment(self) -> Any:
        return FIRST_DAY + timedelta(days=float(self._random.random()) * DAYS)

    def _day(self) -> str:
        moment: str = self._moment().isoformat()
        return moment

    def _topics(self, most: int) -> list[str]:
        return [topic(number) for number in self._skewed(TOPICS, most)]

    def _people(self, most: int) -> list[str]:
        return [_person(number) for number in self._skewed(self._size, most)]

    def _skewed(self, below: int, most: int) -> list[int]:
        """Different numbers below `below`, lower ones more often: few are frequent, most are rare."""
        return sorted({int(below * share**2) for share in self._random.random(most).tolist()})
