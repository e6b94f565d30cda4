"""The files of the product that a query enters on its way, and the shapes that a written decision takes on its way."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, Final

from pydantic import BaseModel

from tests.house.counts import MANY, MEMBERS, ROOT, snake
from tests.isolation.world import make_world, put
from tests.serving import SeededEmbedder, start
from tests.stores import Stores

# threads that follow the records whenever they like
FOLLOWERS: Final = ("-follower", "-vectors", "filler", "watcher", "retention", "audit", "listings")
PACKAGES: Final = (str(ROOT / "a2a") + "/", str(ROOT / "skills") + "/")
MEMBERS_AND_HASH: Final = MEMBERS | {"content_hash"}  # only answers have the latter
DECISION: Final[dict[str, Any]] = {
    "decision": "Bake rye",
    "confidence": 0.5,
    "category": "bread",
    "stakes": "low",
    "context": "wheat is scarce",
    "reasons": [{"type": "analysis", "text": "it grows here"}],
    "alternatives": [{"option": "wheat"}],
    "pattern": "use what grows",
    "kpiIndicators": ["loaves"],
    "mentalState": "calm",
    "reviewBy": "2030-01-01",
    "feature": "ovens",
    "pr": "7",
    "commit": "abc",
    "affects": [{"type": "path", "pattern": "ovens/*"}],
    "validFrom": "2020-01-01",
    "validTo": "2031-01-01",
    "threadId": "morning",
    "trace": {"steps": 1},
    "deliberation": {"steps": 2},
    "bridge": {"steps": 3},
    "preDecision": {"steps": 4},
}


@dataclass(frozen=True)
class Shape:
    """A class, or dicts with names in one style, and the members of a decision that its values hold."""

    name: str
    members: frozenset[str]

    def __str__(self) -> str:
        return f"{self.name}: {' '.join(sorted(self.members))}"


class Walk:
    """The files of the calls during a recording, in order, and the shapes that a decision has in them."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.shapes: dict[Shape, None] = {}
        self._recording = False

    @contextmanager
    def recording(self) -> Iterator[None]:
        self.files, self.shapes, self._recording = [], {}, True
        try:
            yield
        finally:
            self._recording = False

    def note(self, frame: FrameType, event: str, value: object) -> None:
        path = frame.f_code.co_filename
        follows = threading.current_thread().name.endswith(FOLLOWERS)
        if not self._recording or follows or event not in ("call", "return") or not path.startswith(PACKAGES):
            return
        if event == "call":
            self.files.append(path.removeprefix(PACKAGES[0]).removeprefix(PACKAGES[1]))
        found = [shape_of(each) for each in (frame.f_locals.values() if event == "call" else (value,))]
        self.shapes |= dict.fromkeys(each for each in found if each is not None)


def shape_of(value: object) -> Shape | None:
    """Return the shape of a value that holds the members of a decision, or answers with the hash of one; else None."""
    if isinstance(value, dict):
        names = {name for name in value if isinstance(name, str)}
        members = frozenset(map(snake, names)) & MEMBERS
        shape = Shape("dict in snake_case" if snake(" ".join(names)) == " ".join(names) else "dict", members)
    elif is_dataclass(value) and not isinstance(value, type):
        shape = Shape(type(value).__name__, frozenset(each.name for each in fields(value)) & MEMBERS_AND_HASH)
    elif isinstance(value, BaseModel):
        shape = Shape(type(value).__name__, frozenset(type(value).model_fields) & MEMBERS_AND_HASH)
    else:
        return None
    return shape if "content_hash" in shape.members or len(shape.members) >= MANY else None


def whole_shapes(found: Iterable[Shape]) -> list[Shape]:
    """Return the shapes without those that are parts of others of the same name."""
    shapes = list(found)
    return [each for each in shapes if not any(each.name == one.name and each.members < one.members for one in shapes)]


def walks(folder: Path) -> tuple[list[str], list[Shape]]:
    """Return the file of each call that a bare queryDecisions makes, in order, and the shapes of a recordDecision.

    Both are asked of a server over `folder`, a second time.
    """
    walk, embedder, world = Walk(), SeededEmbedder(), make_world(Random(3))
    threading.setprofile(walk.note)  # of all threads that begin from here on
    try:
        serving, stop = start(folder, Stores(), embedder, None)
        try:
            put(serving.records, embedder, world.entries)
            serving.caught_up()
            serving.ask("queryDecisions", query="a call before, so that all is loaded")
            with walk.recording():
                serving.ask("queryDecisions", query="window filter")
            files = walk.files
            serving.ask("recordDecision", idempotencyKey="first", **DECISION)
            with walk.recording():
                serving.ask("recordDecision", idempotencyKey="second", **DECISION)
            return files, whole_shapes(walk.shapes)
        finally:
            stop()
    finally:
        threading.setprofile(None)
