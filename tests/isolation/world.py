"""Random records of all kinds that name each other, with random rights, and their visibility.

Words, people, topics and times are few, so that visible and hidden records have nearly everything in common.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

from cognition_engines.embedding.base import Embedder
from cognition_engines.kinds.extractions import EXTRACTION_TYPES
from cognition_engines.kinds.registry import add_prefix, embedding_text, kind_of
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import SENSITIVITIES, DecisionDetails, Sensitivity, Viewer
from cognition_engines.store.records import Records
from cognition_engines.store.values import Entry
from cstp.values.decisions import AffectedPart
from tests.kinds import entry

WORDS: Final = ("index", "record", "token", "window", "filter", "limit", "graph", "vector", "batch", "query")
PEOPLE: Final = ("Ana", "Bo", "Cy", "Di", "Ed", "Flo", "Gus", "Hal", "Ida", "Jo", "the chief", "the owner")
THINGS: Final = ("engine", "harbour", "lamp", "crane", "Ana")
TOPICS: Final = ("rag", "RAG", "ops", "eval")
CATEGORIES: Final = ("Decision", "Commitment", "QualityRisk", "Incident")
CONTEXTS: Final = ("meeting", "email", "document", "note")
SYSTEMS: Final = ("slack", "Slack", "wiki")
CONVERSATIONS: Final = ("talk-1", "talk-2")
TITLES: Final = ("the handbook", "The Handbook", "the report")
LEVELS: Final = (*["normal"] * 3, "sensitive", "highly_sensitive")
PATHS: Final = ("src/index/lists.py", "src/index.py", "docs/limits.md")
PATTERNS: Final = ("src/**", "*.py", "src/index/", "docs/*", "!src/index.py")
PROJECTS: Final = (None, "alpha", "alpha", "beta")
NUMBERS: Final = range(1, 9)  # of decisions
EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)
IN_FUTURE: Final = datetime(2999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class World:
    """Records, and names for questions about them."""

    entries: Sequence[Entry]
    ids: Mapping[Kind, Sequence[str]]


def _entry(kind: Kind, id: str | int, members: Mapping[str, Any]) -> Entry:
    if kind is Kind.DECISION and "sensitivity" in members:
        members = {**members, "sensitivity": SENSITIVITIES[members["sensitivity"]]}
    return entry(kind, id, **members)


class _Maker:
    """A maker of records, with ids of meaningless order."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.entries: list[Entry] = []
        self.ids: dict[Kind, list[str]] = {}

    def put(self, kind: Kind, **members: Any) -> str:
        id = str(self.random.randrange(10**6, 10**9))
        given = self.rights() | members
        given = {name: value for name, value in given.items() if value is not None}
        self.entries.append(_entry(kind, int(id) if kind is Kind.EPISODE else id, given))
        self.ids.setdefault(kind, []).append(add_prefix(kind, id))
        return id

    def rights(self) -> dict[str, Any]:
        project = self.random.choice(PROJECTS)
        return {"sensitivity": self.random.choice(LEVELS)} | ({} if project is None else {"project": project})

    def maybe(self, make: Callable[[], Any]) -> Any:
        return make() if self.random.random() < 0.7 else None

    def one(self, values: Sequence[Any]) -> Any:
        return self.random.choice(values)

    def some(self, values: Sequence[Any], most: int = 2) -> list[Any]:
        return self.random.sample(values, k=self.random.randint(0, most))

    def words(self, count: int) -> str:
        return " ".join(self.random.choices(WORDS, k=count))

    def body(self, count: int) -> str:
        """Return this many words, or many more: lengths of hidden texts must not matter."""
        return self.words(count * self.random.choice([1, 1, 1, 2, 40]))

    def when(self) -> str:
        return (EPOCH + timedelta(days=self.random.randrange(6), hours=self.random.choice([0, 12]))).isoformat()

    def share(self) -> float:
        return float(self.one([0.0, 0.25, 0.5, 0.75, 1.0]))

    def some_id(self, *kinds: Kind) -> str:
        return str(self.one([id for kind in kinds for id in self.ids[kind]]))


def make_world(random: Random) -> World:
    """Make about 200 records."""
    maker = _Maker(random)
    _decisions(maker)
    _knowledge(maker)
    _memory(maker)
    _graph(maker)
    return World(maker.entries, maker.ids)


def _decisions(maker: _Maker) -> None:
    # separate, so that everything else is as without links, reviews and patterns
    linking, due, governing, numbering = Random(24), Random(25), Random(26), Random(27)
    for _ in range(24):
        status = maker.one(["proposed", "accepted"])
        status = due.choice([status, status, status, "superseded"])
        others = maker.ids.get(Kind.DECISION, [])[-6:]
        maker.put(
            Kind.DECISION,
            title=maker.words(2),
            text=maker.body(6),
            category=maker.maybe(lambda: maker.one(["storage", "Storage", "search"])),
            confidence=maker.maybe(maker.share),
            stakes=maker.maybe(lambda: maker.one(["low", "high"])),
            status=status,
            status_text=status.title(),
            date=maker.maybe(lambda: datetime.fromisoformat(maker.when())),
            supersedes=tuple(linking.sample(others, k=min(len(others), 2))),
            superseded_by=tuple(linking.sample(others, k=min(len(others), 1))),
            affects=tuple(AffectedPart("path", one) for one in governing.sample(PATTERNS, k=governing.randint(0, 2)))
            + ((AffectedPart("data", "orders"),) if governing.random() < 0.3 else ()),
            outcome=due.choice([None, None, "success"]),
            details=DecisionDetails("Decided", review_by=due.choice([None, EPOCH, EPOCH, IN_FUTURE])),
            metadata={"number": numbering.choice(NUMBERS)},
        )


def _knowledge(maker: _Maker) -> None:
    for title in (*TITLES, maker.words(2)):
        maker.put(Kind.SOURCE, title=title)
        maker.put(Kind.CLUSTER, name=maker.words(2), description=maker.words(3))
    for place in range(24):
        maker.put(
            Kind.CHUNK,
            title=maker.words(2),
            content=maker.body(8),
            author=maker.maybe(lambda: maker.one(PEOPLE)),
            source=maker.maybe(lambda: maker.one(SYSTEMS)),
            source_id=maker.maybe(lambda: maker.some_id(Kind.SOURCE)),
            tags=maker.some(TOPICS),
            chunk_index=place % 4,
            total_chunks=4,
            cluster_ids=[maker.some_id(Kind.CLUSTER) for _ in range(2)],
            last_highlighted_at=maker.maybe(maker.when),
        )
    for place in range(70):
        type = EXTRACTION_TYPES[place % len(EXTRACTION_TYPES)]
        maker.put(
            Kind.EXTRACTION,
            type=type,
            content=_content(maker, type),
            topics=maker.random.sample(TOPICS, k=2),
            source_id=maker.maybe(lambda: maker.some_id(Kind.SOURCE)),
            source_title=maker.maybe(lambda: maker.one(TITLES)),
            chunk_id=maker.maybe(lambda: maker.some_id(Kind.CHUNK)),
            extracted_at=maker.maybe(maker.when),
        )
    for _ in range(24):
        maker.put(
            Kind.EPISODE,
            query=maker.words(3),
            reward=maker.share(),
            tags=maker.some(TOPICS),
            category=maker.maybe(lambda: maker.one(["coding", "Coding"])),
            created_at=maker.maybe(maker.when),
        )


def _content(maker: _Maker, type: str) -> dict[str, Any]:
    """Return eight words."""
    match type:
        case "decision":
            return {"question": maker.words(4), "options": [maker.words(2), maker.words(2)]}
        case "pattern":
            return {"name": maker.words(2), "solution": maker.words(6)}
        case "warning":
            return {"title": maker.words(2), "description": maker.words(6)}
        case "persona":
            return {"role": maker.words(2), "expertise": [maker.words(6)]}
        case "checklist":
            return {"name": maker.words(2), "items": [{"item": maker.words(6), "required": True}]}
        case "workflow":
            return {"name": maker.words(2), "steps": [{"order": 1, "action": maker.words(6)}]}
        case _:
            return {"name": maker.words(2), "steps": [{"order": 1, "title": maker.words(6)}]}


def _memory(maker: _Maker) -> None:
    replacing = Random(26)  # apart, as the links of decisions
    for place in range(20):
        chunked = place % 4 == 0
        id = maker.put(
            Kind.ARTIFACT,
            title=maker.words(2),
            content=maker.body(8),
            context=maker.one(CONTEXTS),
            author=maker.maybe(lambda: maker.one(PEOPLE)),
            participants=maker.some(PEOPLE, 1),
            mentions=maker.some(THINGS, 1),
            source_system=maker.one(SYSTEMS),
            importance=maker.share(),
            ts=maker.maybe(maker.when),
            chunked=chunked,
            supersedes=_replaced(maker, replacing),
        )
        for index in range(3 if chunked else 0):
            maker.put(
                Kind.ARTIFACT_CHUNK,
                artifact_id=id,
                title=maker.words(2),
                content=maker.body(8),
                chunk_index=index,
                total_chunks=3,
                **_child_rights(maker),
            )
    for place in range(24):
        maker.put(
            Kind.TURN,
            conversation_id=maker.one(CONVERSATIONS),
            content=maker.body(6),
            turn_index=place // 2 if place % 3 else None,
            role=maker.maybe(lambda: maker.one(["user", "assistant"])),
            speaker=maker.maybe(lambda: maker.one(PEOPLE[:4])),
            ts=maker.maybe(maker.when),
            source_system=maker.one(SYSTEMS),
            importance=maker.share(),
            mentions=maker.some(THINGS, 1),
            supersedes=_replaced(maker, replacing),
        )
    for _ in range(40):
        maker.put(
            Kind.EVENT,
            category=maker.one(CATEGORIES),
            narrative=maker.body(5),
            artifact_id=maker.maybe(lambda: maker.some_id(Kind.ARTIFACT, Kind.TURN)),
            event_time=maker.maybe(maker.when),
            actors=[{"ref": maker.one(PEOPLE), "role": "owner"}],
            subject=maker.maybe(lambda: {"ref": maker.one(THINGS)}),
            confidence=maker.maybe(maker.share),
            **_child_rights(maker),
        )


def _replaced(maker: _Maker, replacing: Random) -> list[str]:
    """Return at most two of the latest memories, with any rights."""
    others = [*maker.ids.get(Kind.ARTIFACT, []), *maker.ids.get(Kind.TURN, [])][-6:]
    return replacing.sample(others, k=replacing.randrange(min(len(others), 2) + 1))


def _child_rights(maker: _Maker) -> dict[str, Any]:
    """Return a child's rights: mostly none.

    A child in another project than the artifact keeps only the artifact's sensitivity, which its readers may ask for
    (see the known limits); so it has the highest.
    """
    return maker.one([{"project": None, "sensitivity": "normal"}] * 4 + [{"sensitivity": "highly_sensitive"}])


def _graph(maker: _Maker) -> None:
    for name in (*PEOPLE, *THINGS, "Ana", "the captain"):
        maker.put(Kind.ENTITY, name=name, type="person", aliases=maker.some(PEOPLE, 1), role=maker.maybe(maker.when))
    for _ in range(30):
        source, target = maker.random.sample([*maker.ids[Kind.ENTITY], *PEOPLE], k=2)
        artifact = maker.maybe(lambda: maker.some_id(Kind.ARTIFACT, Kind.TURN))
        maker.put(
            Kind.EDGE,
            source_id=source,
            target_id=target,
            type="KNOWS",
            confidence=maker.share(),
            artifact_id=artifact,
            **({} if artifact is None else _child_rights(maker)),
        )


def visible(entries: Sequence[Entry], viewer: Viewer) -> list[Entry]:
    """Return the records visible to the viewer: the isolation rule restated, with inheritance by children."""
    owners = {one.record.id: one.record for one in entries if kind_of(one.record) in (Kind.ARTIFACT, Kind.TURN)}

    def seen(record: Any) -> bool:
        artifact = getattr(record, "artifact_id", None)
        owner: Any = None if artifact is None else owners.get(add_prefix(Kind.ARTIFACT, artifact))
        project = record.project or (None if owner is None else owner.project)
        levels = [one.sensitivity or Sensitivity.NORMAL for one in (record, owner) if one is not None]
        if max(levels) > viewer.clearance:
            return False
        return viewer.projects is None or (project is not None and project in viewer.projects)

    return [one for one in entries if seen(one.record)]


def put(records: Records, embedder: Embedder | None, entries: Sequence[Entry]) -> None:
    """Store records with vectors of their texts."""

    def told(one: Entry) -> Entry:
        text = None if embedder is None else embedding_text(one.record)
        return one if embedder is None or text is None else replace(one, vectors=embedder.embed_text(text))

    records.put([told(one) for one in entries], None if embedder is None else embedder.model)
