"""Random records of searched or listed kinds, with few distinct values, so that ties are common."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import numpy as np

from cognition_engines.kinds.artifacts import Artifact, ArtifactChunk, Turn
from cognition_engines.kinds.extractions import CLASSES, PatternContent, WarningContent
from cognition_engines.kinds.graph import Actor, Event, Subject
from cognition_engines.kinds.knowledge import Chunk, Episode
from cognition_engines.kinds.registry import Record, kind_of
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Decision, DecisionDetails, Sensitivity, Viewer
from cognition_engines.spaces import NO_NUMBER, Space
from cognition_engines.store.values import Entry, Page
from cstp.values.decisions import AffectedPart

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
WORDS = ("database", "queue", "cache", "token", "index", "deploy")
PEOPLE = ("Ana Ruiz", "ana  ruiz", "Bo", "straße")
TOPICS = ("rag", "RAG", "storage", "Straße")
CONTEXTS = ("meeting", "email", "note")
SYSTEMS = ("manual", "Slack")
PROJECTS = ("alpha", "Alpha", "beta")
CATEGORIES = ("Decision", "decision", "QualityRisk")
RECORDED_BY = (None, "ann", "Ann")
LEVELS = (Sensitivity.NORMAL, Sensitivity.NORMAL, Sensitivity.SENSITIVE, Sensitivity.HIGHLY_SENSITIVE)


class Maker:
    """A maker of successive records; every id is used once."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.number = 0
        self.artifacts: list[str] = []

    def maybe(self, value: Any) -> Any:
        return None if self.random.random() < 0.3 else value

    def one(self, values: Sequence[Any]) -> Any:
        return self.random.choice(values)

    def some(self, values: Sequence[str]) -> tuple[str, ...]:
        return tuple(self.random.sample(values, k=self.random.randrange(len(values))))

    def text(self) -> str:
        return " ".join(self.random.choices(WORDS, k=4))

    def moment(self) -> Any:
        return self.maybe(EPOCH + timedelta(days=self.random.randrange(5)))

    def rights(self) -> dict[str, Any]:
        return {"project": self.maybe(self.one(PROJECTS)), "sensitivity": self.one(LEVELS), "metadata": {}}

    def record(self, kind: Kind, id: int | None = None) -> Record:
        """Make a new record of the kind, or another version of the record numbered `id`."""
        if id is None:
            self.number += 1
            id = self.number
        record: Record = _MAKERS[kind](self, f"{id:05}")
        return record


def _decision(maker: Maker, id: str) -> Record:
    rights = maker.rights()
    return Decision(
        id,
        maker.text(),
        maker.text(),
        category=maker.maybe(maker.one(CATEGORIES)),
        confidence=maker.maybe(maker.one([0.0, 0.5, 1.0])),
        stakes=maker.maybe(maker.one(["low", "High"])),
        status=maker.one(["accepted", "other", "superseded"]),
        status_text=maker.maybe("Accepted"),
        outcome=maker.maybe("success"),
        date=maker.moment(),
        tags=tuple(maker.random.sample(TOPICS, k=maker.random.randrange(3))),
        feature=maker.maybe(maker.one(["checkout", "Checkout", "search"])),
        pr=maker.maybe(maker.one(["17", "170"])),
        valid_from=maker.maybe(maker.moment()),
        valid_to=maker.maybe(maker.moment()),
        # separate, so that everything else stays the same
        affects=_affects(Random(f"affects {id}")),
        details=_details(Random(id)),
        project=rights["project"],
        sensitivity=rights["sensitivity"],
    )


def _affects(random: Random) -> tuple[AffectedPart, ...]:
    paths = random.choice([(), ("src/**",), ("*.py", "docs/"), ("docs/*.md", "!docs/a.md"), ("src/a.py", "src/")])
    named = random.choice([(), ("orders",)])
    return (*(AffectedPart("path", one) for one in paths), *(AffectedPart("package", one) for one in named))


def _details(random: Random) -> DecisionDetails | None:
    due = random.choice([None, *(EPOCH + timedelta(days=day) for day in range(5))])
    return random.choice([None, DecisionDetails("Bake", review_by=due), DecisionDetails("Bake", review_by=due)])


def _chunk(maker: Maker, id: str) -> Record:
    return Chunk(
        id=id,
        content=maker.text(),
        source_id=maker.maybe(maker.one(["s-1", "S-1"])),
        source=maker.maybe(maker.one(["kindle", "Reader"])),
        tags=maker.some(TOPICS),
        created_at=maker.moment(),
        **maker.rights(),
    )


def _extraction(maker: Maker, id: str) -> Record:
    shared: dict[str, Any] = {
        "id": id,
        "topics": maker.some(TOPICS),
        "source_id": "s-1",
        "extracted_at": maker.moment(),
        **maker.rights(),
    }
    if maker.random.random() < 0.5:
        return CLASSES["pattern"](content=PatternContent(name=maker.text(), solution="do it"), **shared)
    return CLASSES["warning"](content=WarningContent(title=maker.text(), description="mind it"), **shared)


def _episode(maker: Maker, id: str) -> Record:
    return Episode(
        id=int(id),
        query=maker.text(),
        reward=0.5,
        tags=maker.some(TOPICS),
        category=maker.maybe(maker.one(CATEGORIES)),
        created_at=maker.moment(),
        **maker.rights(),
    )


def _artifact(maker: Maker, id: str) -> Record:
    maker.artifacts.append(f"art_{id}")
    return Artifact(
        id=f"art_{id}",
        content=maker.text(),
        context=maker.one(CONTEXTS),
        author=maker.maybe(maker.one(PEOPLE)),
        participants=maker.some(PEOPLE),
        mentions=maker.some(PEOPLE),
        source_system=maker.one(SYSTEMS),
        importance=maker.one([0.0, 0.5, 1.0]),
        ts=maker.moment(),
        chunked=maker.random.random() < 0.2,
        **maker.rights(),
    )


def _artifact_chunk(maker: Maker, id: str) -> Record:
    parent = maker.one([*maker.artifacts, "art_nowhere"])
    return ArtifactChunk(id=f"art_{id}", artifact_id=parent, content=maker.text(), **maker.rights())


def _turn(maker: Maker, id: str) -> Record:
    return Turn(
        id=f"art_{id}",
        conversation_id=maker.one(["c-1", "c-2"]),
        content=maker.text(),
        turn_index=int(id),
        speaker=maker.maybe(maker.one(PEOPLE)),
        mentions=maker.some(PEOPLE),
        source_system=maker.one(SYSTEMS),
        importance=maker.one([0.0, 0.5]),
        ts=maker.moment(),
        **maker.rights(),
    )


def _event(maker: Maker, id: str) -> Record:
    return Event(
        id=f"evt_{id}",
        category=maker.one(CATEGORIES),
        narrative=maker.text(),
        artifact_id=maker.maybe(maker.one([*maker.artifacts, "art_nowhere"])),
        event_time=maker.moment(),
        actors=tuple(Actor(ref=ref) for ref in maker.some(PEOPLE)),
        subject=maker.maybe(Subject(ref=maker.one(PEOPLE))),
        **maker.rights(),
    )


_MAKERS: dict[Kind, Callable[[Maker, str], Record]] = {
    Kind.DECISION: _decision,
    Kind.CHUNK: _chunk,
    Kind.EXTRACTION: _extraction,
    Kind.EPISODE: _episode,
    Kind.ARTIFACT: _artifact,
    Kind.ARTIFACT_CHUNK: _artifact_chunk,
    Kind.TURN: _turn,
    Kind.EVENT: _event,
}
MADE = tuple(_MAKERS)


def entry(record: Record, vectors: Any = None) -> Entry:
    origin = Origin(
        "/made/up.jsonl", 0, None, repr((kind_of(record), record)), recorded_by=RECORDED_BY[len(str(record)) % 3]
    )
    return Entry(record, origin, vectors)


def page_of(
    space: Space,
    keys: Any,
    *,
    labels: Mapping[str, Any] | None = None,
    numbers: Mapping[str, Any] | None = None,
    **given: Any,
) -> Page:
    """Return a page of records with only the given members, as the changes after `after`."""
    keys, after = np.asarray(keys, np.int64), given.get("after", 0)
    count = len(keys)
    plain: dict[str, Any] = {
        "after": after,
        "seq": after + int(keys.max(initial=0)),
        "removed": np.empty(0, np.int64),
        "seqs": after + keys,
        "first_seqs": after + keys,
        "ids": [f"d-{key:06}" for key in keys.tolist()],
        "sensitivity": np.zeros(count, np.int8),
        "sets": {each.name: [()] * count for each in space.sets},
        "counts": np.zeros(count, np.int64),
        "vectors": np.empty((0, 1), np.float32),
    }
    unlabelled = {each.name: [None] * count for each in space.labels}
    unnumbered = {each.name: np.full(count, NO_NUMBER if each.whole else np.nan) for each in space.numbers}
    return Page(
        **plain | given, keys=keys, labels=unlabelled | dict(labels or {}), numbers=unnumbered | dict(numbers or {})
    )


def random_viewer(random: Random) -> Viewer:
    projects = random.choice([None, {"alpha"}, {"alpha", "beta"}, {"Alpha"}, {"unknown"}])
    return Viewer(Sensitivity(random.randrange(3)), None if projects is None else frozenset(projects))


def may_see(viewer: Viewer, project: str | None, sensitivity: int) -> bool:
    return sensitivity <= viewer.clearance and (viewer.projects is None or project in viewer.projects)
