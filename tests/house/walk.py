"""Product files entered by calls, and the shapes of a written decision on the way."""

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, Final

from pydantic import BaseModel

from cognition_engines.sync_engine import SyncEngine
from tests.house.counts import MANY, MEMBERS, ROOT, snake
from tests.isolation.world import make_world, put
from tests.serving import SeededEmbedder, Serving, start
from tests.stores import Stores

# threads that follow the records at any time
FOLLOWERS: Final = ("-follower", "-vectors", "filler", "watcher", "retention", "audit", "listings")
PACKAGES: Final = (str(ROOT / "a2a") + "/", str(ROOT / "skills") + "/")
QUERY: Final = "`queryDecisions`, a new text"
CACHED: Final = "`queryDecisions`, the same text"
WRITE: Final = "`recordDecision`"
MCP: Final = "`query_decisions` over MCP"
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

FILES: Final = {
    "0001-bake.md": "# Bake rye\n\n## Status\n\nAccepted\n\n## Decision\n\nWe bake it.\n",
    "notes.md": "# Notes\n\nOf rye.\n",
    "rows.jsonl": '{"kind": "entity", "id": "rye", "name": "rye"}\n',
}


@dataclass(frozen=True)
class Shape:
    """A class, or dicts with names in a common style, and the decision members held by the values."""

    name: str
    members: frozenset[str]

    def __str__(self) -> str:
        return f"{self.name}: {' '.join(sorted(self.members))}"


@dataclass(frozen=True)
class Trail:
    """Product files entered by a call, in order of first entry, and the call count."""

    files: tuple[str, ...]
    calls: int


class Walk:
    """Call files during a recording, in order, and a decision's shapes in them."""

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

    @property
    def trail(self) -> Trail:
        return Trail(tuple(dict.fromkeys(self.files)), len(self.files))

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
    """Return the shape of a value that holds decision members, or answers with a decision's hash; else None."""
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
    """Return the shapes that are not part of another shape with the same name."""
    shapes = list(found)
    return [each for each in shapes if not any(each.name == one.name and each.members < one.members for one in shapes)]


def walk_calls(folder: Path) -> tuple[dict[str, Trail], list[Shape]]:
    """Return the trails of server calls, by name, and the shapes of a written decision.

    Each call except the cached call is the second of the kind to a server over a new folder.
    """
    trails: dict[str, Trail] = {}
    for number, (name, ask) in enumerate(((QUERY, query), (MCP, query_by_tool), (WRITE, write))):
        walk = Walk()
        with profiled(walk), started(folder / str(number)) as serving:
            ask(serving, "a call before, so that all is loaded")
            with walk.recording():
                ask(serving, "window filter")
            trails[name] = walk.trail
            shapes = whole_shapes(walk.shapes)
            if name == QUERY:
                with walk.recording():
                    ask(serving, "window filter")
                trails[CACHED] = walk.trail
    return trails, shapes


def query(serving: Serving, words: str) -> None:
    serving.ask("queryDecisions", query=words)


def query_by_tool(serving: Serving, words: str) -> None:
    params = {"name": "query_decisions", "arguments": {"query": words}}
    url = f"{serving.url.removesuffix('/cstp')}/mcp?tools=all"
    if not serving.tokens:  # the calls have the same, as in `Serving.send`
        serving.tokens.append(serving.token())
    headers = {"Authorization": f"Bearer {serving.tokens[0]}", "Accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = serving.client.post(url, json=body, headers=headers)
    assert not answer.json()["result"].get("isError"), answer.text


def write(serving: Serving, words: str) -> None:
    serving.ask("recordDecision", idempotencyKey=words.replace(" ", "-"), **DECISION)


def walk_ingest(folder: Path) -> Trail:
    """Return the trail of an engine that ingests three small files, after three others."""
    walk = Walk()
    store, indexes = f"sqlite:///{folder / 'records.sqlite3'}", folder / "indexes"
    with profiled(walk), SyncEngine.open(store, indexes, embedder=None) as engine:
        for words in ("first", "second"):
            (folder / words).mkdir(parents=True)
            for name, text in FILES.items():
                (folder / words / name).write_text(text.replace("rye", words))
            with walk.recording():
                done = engine.ingest([folder / words])
            assert done.new == 4, done
    return walk.trail


@contextmanager
def profiled(walk: Walk) -> Iterator[None]:
    """Note calls in this thread and all threads started before the block ends."""
    threading.setprofile(walk.note)
    sys.setprofile(walk.note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@contextmanager
def started(folder: Path) -> Iterator[Serving]:
    """Start a server over the records of a small world."""
    serving, stop = start(folder, Stores(), embedder := SeededEmbedder(), None)
    try:
        put(serving.records, embedder, make_world(Random(3)).entries)
        serving.caught_up()
        serving.token()
        yield serving
    finally:
        stop()
