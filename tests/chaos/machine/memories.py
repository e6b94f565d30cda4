"""Memories, episodes and knowledge as plain values, and the cascade of an erasure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


@dataclass
class Memory:
    """A turn, artifact, event, episode, source, chunk or extraction, with the protocol's names."""

    kind: str
    id: str
    word: str  # in its text
    project: str | None
    own_level: int
    owner: str
    level: int = 0  # at least the parent's level
    place: tuple[str, int | str | None] | None = None  # its name in a request
    parent: str | None = None
    expires: str | None = None
    long: bool = False
    cites: tuple[str, ...] = ()
    revisions: int = 0
    version: int = 1
    file: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.level = max(self.level, self.own_level)

    @property
    def words(self) -> list[str]:
        return [self.word]

    def own(self) -> tuple[object, ...]:
        """Return the record's own content, for comparison."""
        return (self.kind, self.word, self.project, self.own_level, self.expires, self.long, self.version)


@dataclass(frozen=True)
class Cascade:
    """Records erased with a record, itself first, and the number shown to the caller."""

    gone: list[Memory]
    counts: dict[str, int]


PARTS = {"turn": ("event", "artifact_chunk"), "artifact": ("event", "artifact_chunk"), "source": ("chunk",)}
_COUNTED = {"chunk": "chunks", "artifact_chunk": "chunks", "event": "events", "extraction": "extractions"}
NOTHING = dict.fromkeys(("chunks", "events", "entities", "edges", "extractions", "reviews", "links", "revisions"), 0)


def cascade_of(root: Memory, every: Iterable[Memory], sees: Callable[[Memory], bool]) -> Cascade:
    """Return the cascade of a memory for a viewer."""
    stored = list(every)
    gone = [root, *(one for one in stored if one.parent == root.id and one.kind in PARTS.get(root.kind, ()))]
    cut = {one.id: one for one in gone if one.kind == "chunk"}
    chunks = {one.id: one for one in stored if one.kind == "chunk"}
    for one in stored:
        if one.kind == "extraction" and one is not root:
            judge = sees if sees(one) else _all
            others = [chunks[id] for id in one.cites if id in chunks and id not in cut]
            if any(id in cut and judge(cut[id]) for id in one.cites) and not any(map(judge, others)):
                gone.append(one)
    counts = dict(NOTHING, revisions=root.revisions)
    for one in gone[1:]:
        if sees(one):
            counts[_COUNTED[one.kind]] += 1
    return Cascade(gone, counts)


def _all(_: Memory) -> bool:
    return True
