"""Records with seeded vectors, a reference that filters and ranks them the slow way, and servers over them."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import httpx
import numpy as np
import pytest

from cognition_engines.embedding.base import Embedder, Wanted, always
from cognition_engines.indexes.indexes import Indexes, open_indexes
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Decision, Filters, Reason, Sensitivity, Viewer
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Entry, FloatArray
from cstp_server.settings import Settings
from cstp_server.tokens import create_token
from tests.serving import listen
from tests.stores import Stores

DIM = 8
WORDS = (
    "database",
    "queue",
    "cache",
    "token",
    "index",
    "deploy",
    "schema",
    "retry",
    "budget",
    "backup",
    "shard",
    "log",
)
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)


def unit(values: Any) -> FloatArray:
    """Rows of length 1."""
    rows = np.atleast_2d(np.asarray(values, np.float64))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@dataclass(frozen=True)
class SeededEmbedder:
    """Vectors from a digest of the text: without meaning, but equal for equal texts."""

    model: str = "seeded-8"
    dim: int = DIM

    def embed_query(self, text: str, wanted: Wanted = always) -> FloatArray:
        seed = int.from_bytes(sha256(text.encode()).digest()[:8], "big")
        return unit(np.random.default_rng(seed).normal(size=self.dim))[0]

    def embed_text(self, text: str) -> FloatArray:
        return self.embed_query(text)[None]

    def windows(self, text: str) -> int:
        return 1


@dataclass(frozen=True)
class Known:
    """A decision as the reference knows it; `vectors` None where it has none."""

    decision: Decision
    vectors: FloatArray | None


@dataclass(frozen=True)
class Reference:
    """What the answers must be, worked out record by record."""

    known: Mapping[str, Known]

    def matching(self, filters: Filters, viewer: Viewer) -> list[Known]:
        return [one for one in self.known.values() if meets(one.decision, filters) and may_see(one.decision, viewer)]

    def cosine(self, one: Known, vector: FloatArray) -> float | None:
        if one.vectors is None:
            return None
        return round(max(float(np.dot(w.astype(np.float64), vector.astype(np.float64))) for w in one.vectors), 6)

    def distance(self, id: str, vector: FloatArray) -> float | None:
        cosine = self.cosine(self.known[id], vector)
        return None if cosine is None else min(2.0, max(0.0, round(1 - cosine, 6)))

    def semantic(self, filters: Filters, viewer: Viewer, vector: FloatArray, limit: int) -> list[tuple[str, float]]:
        """Ids and cosines, best first, ties by id."""
        found = [(one.decision.id, self.cosine(one, vector)) for one in self.matching(filters, viewer)]
        return best([(id, cosine) for id, cosine in found if cosine is not None], limit)


def best(scored: Iterable[tuple[str, float]], limit: int) -> list[tuple[str, float]]:
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:limit]


def may_see(decision: Decision, viewer: Viewer) -> bool:
    """The rule of isolation, stated once more."""
    if int(decision.sensitivity) > int(viewer.clearance):
        return False
    return viewer.projects is None or (decision.project is not None and decision.project in viewer.projects)


def meets(decision: Decision, filters: Filters) -> bool:
    """The rule of the filters, stated once more."""

    def among(given: str | None, wanted: Sequence[str]) -> bool:
        return given is not None and given.casefold() in {text.casefold() for text in wanted}

    if filters.category is not None and not among(decision.category, [filters.category]):
        return False
    if filters.stakes is not None and not among(decision.stakes, filters.stakes):
        return False
    if filters.status is not None and not (
        among(decision.status, filters.status) or among(decision.status_text, filters.status)
    ):
        return False
    for low, high, value in (
        (filters.min_confidence, filters.max_confidence, decision.confidence),
        (filters.date_after, filters.date_before, decision.date),
    ):
        if (low is not None or high is not None) and value is None:
            return False
        if (low is not None and value < low) or (high is not None and value > high):  # type: ignore[operator]
            return False
    return True


def random_decision(random: Random, number: int) -> Decision:
    """Few different values of everything, so that filters meet some and ties are common."""

    def maybe(value: Any) -> Any:
        return None if random.random() < 0.25 else value

    status = random.choice(["proposed", "accepted", "rejected", "other"])
    return Decision(
        id=f"d-{random.randrange(10**6):06}-{number}",
        title=" ".join(random.choices(WORDS, k=2)),
        text=" ".join(random.choices(WORDS, k=random.choice([0, 1, 3, 6]))),
        category=maybe(random.choice(["architecture", "Architecture", "process", "team"])),
        confidence=maybe(random.choice([0.0, 0.25, 0.5, 0.75, 1.0])),
        stakes=maybe(random.choice(["low", "Medium", "high"])),
        status=status,
        status_text=random.choice([status, status.title(), "Accepted, with doubts", None]),
        outcome=maybe("success"),
        date=maybe(EPOCH + timedelta(days=random.randrange(6), hours=random.choice([0, 12]))),
        reasons=tuple(Reason(random.choice(["pattern", "analysis"])) for _ in range(random.randrange(3))),
        project=maybe(random.choice(["alpha", "Alpha", "beta"])),
        sensitivity=Sensitivity(random.choice([0, 0, 0, 1, 2])),
    )


def random_filters(random: Random) -> Filters:
    """Each condition in about a third of them."""

    def maybe(make: Callable[[], Any]) -> Any:
        return make() if random.random() < 0.3 else None

    low, high = sorted(random.choices([0.0, 0.25, 0.5, 0.75, 1.0], k=2))
    early, late = sorted(EPOCH + timedelta(days=random.randrange(6), hours=random.choice([0, 12])) for _ in range(2))
    return Filters(
        category=maybe(lambda: random.choice(["architecture", "PROCESS", "arch", "nothing"])),
        min_confidence=maybe(lambda: low),
        max_confidence=maybe(lambda: high),
        date_after=maybe(lambda: early),
        date_before=maybe(lambda: late),
        stakes=maybe(lambda: tuple(random.sample(["LOW", "medium", "high", "none"], k=2))),
        status=maybe(lambda: tuple(random.sample(["accepted", "Accepted, with doubts", "OTHER", "acc"], k=2))),
    )


def random_viewer(random: Random) -> Viewer:
    projects = random.choice([None, {"alpha"}, {"alpha", "beta"}, {"Alpha"}, {"unknown"}])
    return Viewer(Sensitivity(random.randrange(3)), None if projects is None else frozenset(projects))


def random_vectors(random: Random) -> FloatArray | None:
    """None, one or several windows; small whole numbers, so that equal vectors are common."""
    windows = random.choice([0, 1, 1, 1, 2, 5])
    if windows == 0:
        return None
    rows = [[random.randrange(-1, 2) for _ in range(DIM)] for _ in range(windows)]
    return unit([row if any(row) else [1] * DIM for row in rows])


def put(records: Records, known: Sequence[Known], model: str = "seeded-8") -> None:
    """Stores decisions with their vectors; those without any are stored without."""
    for has, name in ((True, model), (False, None)):
        entries = []
        for one in known:
            if (one.vectors is not None) is has:
                digest = sha256(repr((one.decision, None if one.vectors is None else one.vectors.tobytes())).encode())
                entries.append(Entry(one.decision, Origin("/made/up.md", 0, None, digest.hexdigest()), one.vectors))
        for start in range(0, len(entries), 2000):
            records.put(entries[start : start + 2000], name)


@pytest.fixture(scope="session")
def kit() -> ModuleType:
    """The functions and values of this file, which tests cannot import."""
    return sys.modules[__name__]


@pytest.fixture
def records(stores: Stores, tmp_path: Path) -> Iterator[Records]:
    store = open_records(stores.records(tmp_path))
    yield store
    store.close()


@dataclass(frozen=True)
class Asking:
    """A running server over a store that the test fills, and its callers."""

    url: str
    settings: Settings
    records: Records
    indexes: Indexes
    client: httpx.Client

    def token(self, **rights: Any) -> str:
        agent = f"agent-{time.monotonic_ns()}"
        _, text = create_token(self.settings.tokens_path, agent, lifetime=timedelta(hours=1), **rights)
        return text

    def send(self, token: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The whole JSON-RPC answer."""
        request = {"jsonrpc": "2.0", "id": 1, "method": "cstp.queryDecisions", "params": params}
        fields = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        answer = self.client.post(self.url, content=json.dumps(request), headers=fields)
        assert answer.status_code == 200, answer.text
        reply: dict[str, Any] = answer.json()
        return reply

    def ask(self, token: str, query: str, **params: Any) -> dict[str, Any]:
        """The result; an error fails the test."""
        reply = self.send(token, {"query": query, **params})
        assert "result" in reply, reply
        result: dict[str, Any] = reply["result"]
        return result

    def caught_up(self, wait_until: Callable[..., None]) -> None:
        wait_until(lambda: self.indexes[DECISIONS].snapshot.seq == self.records.last_seq())


@dataclass(frozen=True)
class Running:
    asking: Asking
    stop: Callable[[], None]


def start_asking(folder: Path, stores: Stores, embedder: Embedder | None, known: Sequence[Known]) -> Running:
    settings = Settings.model_validate(
        {"data_dir": folder, "server": {"port": 0}, "auth": {"reload_seconds": 1e-6}, "agent": {"id": "tester"}}
        | {"limits": {"default": "1000000/minute"}, "store": {"url": stores.records(folder)}}
    )
    records = open_records(settings.store_url)
    if known:
        put(records, known)
    indexes = open_indexes(settings.indexes_path, records, embedder, VectorChoice("chroma", stores.vectors))
    url, client, stop = listen(settings, records, indexes, embedder)
    return Running(Asking(url, settings, records, indexes, client), stop)


@pytest.fixture(scope="module")
def asking(
    tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores, wait_until: Callable[..., None]
) -> Iterator[Callable[..., Asking]]:
    """`asking(embedder, known)`: a server over these records, with this value as its embedding model."""
    running: list[Running] = []

    def start(embedder: Embedder | None, known: Sequence[Known] = ()) -> Asking:
        folder = tmp_path_factory.mktemp("asking")
        running.append(start_asking(folder, lasting_stores, embedder, known))
        return running[-1].asking

    yield start
    for one in running:
        one.stop()
