"""Records with seeded vectors, a slow reference for filtering and ranking, and servers over them."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cognition_engines.embedding.base import Embedder
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import STATUSES, Decision, Sensitivity, Viewer
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Entry, FloatArray
from cstp.values.decision_searches import QueryFilters
from cstp.values.decisions import Reason
from tests.serving import DIM, SeededEmbedder, Serving, start, unit
from tests.stores import Stores

WORDS = (
    *("database", "queue", "cache", "token", "index", "deploy"),
    *("schema", "retry", "budget", "backup", "shard", "log"),
)
__all__ = ["DIM", "SeededEmbedder", "unit"]
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Known:
    """A decision as known to the reference; `vectors` None without vectors."""

    decision: Decision
    vectors: FloatArray | None


@dataclass(frozen=True)
class Reference:
    """Expected answers, computed record by record."""

    known: Mapping[str, Known]

    def matching(self, filters: QueryFilters, viewer: Viewer) -> list[Known]:
        return [one for one in self.known.values() if meets(one.decision, filters) and may_see(one.decision, viewer)]

    def cosine(self, one: Known, vector: FloatArray) -> float | None:
        if one.vectors is None:
            return None
        return round(max(float(np.dot(w.astype(np.float64), vector.astype(np.float64))) for w in one.vectors), 6)

    def distance(self, id: str, vector: FloatArray) -> float | None:
        cosine = self.cosine(self.known[id], vector)
        return None if cosine is None else min(2.0, max(0.0, round(1 - cosine, 6)))

    def semantic(
        self, filters: QueryFilters, viewer: Viewer, vector: FloatArray, limit: int
    ) -> list[tuple[str, float]]:
        """Return ids and cosines, best first, ties by id."""
        found = [(one.decision.id, self.cosine(one, vector)) for one in self.matching(filters, viewer)]
        return best([(id, cosine) for id, cosine in found if cosine is not None], limit)


def best(scored: Iterable[tuple[str, float]], limit: int) -> list[tuple[str, float]]:
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:limit]


def may_see(decision: Decision, viewer: Viewer) -> bool:
    """Return whether the viewer may see a record: the isolation rule restated."""
    if int(decision.sensitivity) > int(viewer.clearance):
        return False
    return viewer.projects is None or (decision.project is not None and decision.project in viewer.projects)


def meets(decision: Decision, filters: QueryFilters) -> bool:
    """Return whether a record meets the filters: their rule restated."""

    def among(given: str | None, wanted: Sequence[str]) -> bool:
        return given is not None and given.casefold() in {text.casefold() for text in wanted}

    if filters.category is not None and not among(decision.category, [filters.category]):
        return False
    if filters.stakes is not None and not among(decision.stakes, filters.stakes):
        return False
    if filters.status is not None and not (
        among(decision.status, filters.status)
        or (not among(decision.status_text, STATUSES) and among(decision.status_text, filters.status))
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
    """Return a decision with few distinct values, so that filters match some and ties are common."""

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
        status_text=random.choice([status, status.title(), "Accepted", "Accepted, with doubts", None]),
        outcome=maybe("success"),
        date=maybe(EPOCH + timedelta(days=random.randrange(6), hours=random.choice([0, 12]))),
        reasons=tuple(Reason(random.choice(["pattern", "analysis"])) for _ in range(random.randrange(3))),
        project=maybe(random.choice(["alpha", "Alpha", "beta"])),
        sensitivity=Sensitivity(random.choice([0, 0, 0, 1, 2])),
    )


def random_filters(random: Random) -> QueryFilters:
    """Return filters, each condition in about a third of them."""

    def maybe(make: Callable[[], Any]) -> Any:
        return make() if random.random() < 0.3 else None

    low, high = sorted(random.choices([0.0, 0.25, 0.5, 0.75, 1.0], k=2))
    early, late = sorted(EPOCH + timedelta(days=random.randrange(6), hours=random.choice([0, 12])) for _ in range(2))
    return QueryFilters(
        category=maybe(lambda: random.choice(["architecture", "PROCESS", "arch", "nothing"])),
        min_confidence=maybe(lambda: low),
        max_confidence=maybe(lambda: high),
        date_after=maybe(lambda: early),
        date_before=maybe(lambda: late),
        stakes=maybe(lambda: random.sample(["LOW", "medium", "high", "none"], k=2)),
        status=maybe(lambda: random.sample(["accepted", "Accepted, with doubts", "OTHER", "acc"], k=2)),
    )


def random_viewer(random: Random) -> Viewer:
    projects = random.choice([None, {"alpha"}, {"alpha", "beta"}, {"Alpha"}, {"unknown"}])
    return Viewer(Sensitivity(random.randrange(3)), None if projects is None else frozenset(projects))


def random_vectors(random: Random) -> FloatArray | None:
    """Return no, a single or several windows; small whole numbers, so that equal vectors are common."""
    windows = random.choice([0, 1, 1, 1, 2, 5])
    if windows == 0:
        return None
    rows = [[random.randrange(-1, 2) for _ in range(DIM)] for _ in range(windows)]
    return unit([row if any(row) else [1] * DIM for row in rows])


def put(records: Records, known: Sequence[Known], model: str = "seeded-8") -> None:
    """Store decisions with their vectors, or without if they have none."""
    for has, name in ((True, model), (False, None)):
        entries = []
        for one in known:
            if (one.vectors is not None) is has:
                digest = sha256(repr((one.decision, None if one.vectors is None else one.vectors.tobytes())).encode())
                entries.append(Entry(one.decision, Origin("/made/up.md", 0, None, digest.hexdigest()), one.vectors))
        for first in range(0, len(entries), 2000):
            records.put(entries[first : first + 2000], name)


@pytest.fixture(scope="session")
def kit() -> ModuleType:
    """Return functions and values of this file, which tests cannot import."""
    return sys.modules[__name__]


@pytest.fixture
def records(stores: Stores, tmp_path: Path) -> Iterator[Records]:
    store = open_records(stores.records(tmp_path))
    yield store
    store.close()


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores) -> Iterator[Callable[..., Serving]]:
    """Yield `asking(embedder, known)`: starts a server over these records, with this value as embedding model."""
    stops: list[Callable[[], None]] = []

    def run(embedder: Embedder | None, known: Sequence[Known] = ()) -> Serving:
        folder = tmp_path_factory.mktemp("asking")
        serving, stop = start(folder, lasting_stores, embedder, fill=partial(put, known=known), agent={"id": "tester"})
        stops.append(stop)
        return serving

    yield run
    for stop in stops:
        stop()
