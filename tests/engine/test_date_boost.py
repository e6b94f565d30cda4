"""Records from a period named in a question get a boost: 40 questions over decisions of four months."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cognition_engines.embedding.base import Embedder
from cognition_engines.embedding.open import EmbeddingChoice, open_embedder
from cognition_engines.engine import EngineOptions
from cognition_engines.models import EVERYTHING, Mode
from cognition_engines.relevance import RELEVANCE
from cognition_engines.sync_engine import SyncEngine
from cstp.values.decision_searches import DecisionSummary, QueryDecisionsParams

NOW = datetime(2024, 12, 31, tzinfo=UTC)
MONTHS = {"2023-05": "May 2023", "2023-11": "November 2023", "2024-03": "March 2024", "2024-08": "August 2024"}
TOPICS = {
    "caching": "Redis, local memory, the proxy, no cache",
    "logging": "JSON lines, plain text, syslog, a collector",
    "retries": "three attempts, no attempts, backoff, a queue",
    "backups": "nightly copies, hourly copies, snapshots, replicas",
    "deployment": "containers, packages, images, one binary",
    "the database": "PostgreSQL, SQLite, MySQL, files",
    "authentication": "tokens, sessions, certificates, passwords",
    "rate limits": "fixed windows, sliding windows, buckets, none",
    "search": "vectors, keywords, both, a service",
    "schemas": "strict, lenient, versioned, generated",
    "the editor": "plugins, scripts, themes, nothing",
    "monitoring": "metrics, traces, probes, dashboards",
    "queues": "one broker, a table, a log, streams",
    "time zones": "UTC, local time, offsets, names",
    "encryption": "disks, columns, backups, transport",
    "feature flags": "files, a table, headers, builds",
    "documentation": "a wiki, Markdown, pages, comments",
    "testing": "real parts, fakes, recordings, properties",
    "the frontend": "templates, components, islands, one page",
    "hosting": "our racks, a cloud, two clouds, the edge",
}


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    found = open_embedder(EmbeddingChoice())
    assert found is not None
    return found


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dated")


@contextmanager
def opened(folder: Path, embedder: Embedder, weight: float) -> Iterator[SyncEngine]:
    """Yield the engine over all decisions and an undated decision."""
    records = folder / "decisions.jsonl"
    options = EngineOptions(relevance=replace(RELEVANCE, date_weight=weight))
    with SyncEngine.open(f"sqlite:///{folder / 'records.sqlite3'}", folder / "indexes", embedder, options) as engine:
        if not records.exists():
            records.write_text("\n".join(map(json.dumps, decisions())), encoding="utf-8")
            assert engine.ingest([records]).new == 4 * len(TOPICS) + 1
        yield engine


def id_of(topic: str, month: str) -> str:
    return f"{topic.replace(' ', '-')}-{month}"


def decisions() -> Iterator[dict[str, str]]:
    for topic, choices in TOPICS.items():
        for month, choice in zip(MONTHS, choices.split(", "), strict=True):
            text = f"For {topic} we choose {choice}. It is what {topic} needs now."
            yield {
                "kind": "decision",
                "id": id_of(topic, month),
                "title": f"{topic}: {choice}",
                "text": text,
                "date": f"{month}-17",
            }
    yield {
        "kind": "decision",
        "id": "undated",
        "title": "caching: what we know",
        "text": "What we decide about caching.",
    }


def questions() -> dict[str, str]:
    """Return the answer's id by question: two months of each topic."""
    asked = {}
    for number, topic in enumerate(TOPICS):
        for month in list(MONTHS)[number % 2 :: 2]:
            asked[f"What did we decide about {topic} in {MONTHS[month]}?"] = id_of(topic, month)
    return asked


def ask(engine: SyncEngine, query: str, mode: Mode = Mode.HYBRID, limit: int = 50) -> list[DecisionSummary]:
    asked = QueryDecisionsParams(query=query, limit=limit, mode=mode, explain=True, as_of=NOW)
    return engine.query_decisions(asked, EVERYTHING).decisions


@pytest.mark.long("computes with the packaged model, or over many records")
def test_more_questions_with_a_month_find_their_answer_first(store: Path, embedder: Embedder) -> None:
    first = {}
    asked = questions()
    assert len(asked) == 40
    for weight in (0.0, RELEVANCE.date_weight):
        with opened(store, embedder, weight) as engine:
            first[weight] = sum(ask(engine, query, limit=1)[0].id == id for query, id in asked.items())
    assert first[0.0] <= 15
    assert first[RELEVANCE.date_weight] >= 30


@pytest.mark.long("computes with the packaged model, or over many records")
def test_scores_descend_and_the_boost_is_at_most_its_weight(store: Path, embedder: Embedder) -> None:
    query, weight = "What did we decide about caching in March 2024?", 0.4
    with opened(store, embedder, 0.0) as engine:
        before = {match.id: match.explain for match in ask(engine, query)}
    with opened(store, embedder, weight) as engine:
        after = ask(engine, query)
    assert [match.explain.boosts.date for match in after if match.explain and match.id == "undated"] == [0.0]
    scores = []
    for match in after:
        reason, plain = match.explain, before.get(match.id)
        assert reason is not None
        assert reason.boosts.date == float((match.date or NOW).strftime("%Y-%m") == "2024-03")
        scores.append(reason.score)
        if plain is not None and (plain.boosts.phrase, reason.boosts.phrase) == (None, None):
            assert reason.score == pytest.approx((plain.score + weight * reason.boosts.date) / (1 + weight), abs=1e-6)
    assert scores == sorted(scores, reverse=True)
    assert 0 <= scores[-1] <= scores[0] <= 1


DATED = "What did we decide about caching in March 2024?"


@pytest.mark.parametrize(
    ("query", "mode"),
    [(DATED, Mode.SEMANTIC), (DATED, Mode.KEYWORD), ("We may march on with caching", Mode.HYBRID)],
    ids=["by meaning", "by words", "without a time"],
)
def test_other_modes_and_questions_rank_without_the_boost(
    store: Path, embedder: Embedder, query: str, mode: Mode
) -> None:
    found = []
    for weight in (0.0, 0.4):
        with opened(store, embedder, weight) as engine:
            found.append([(match.id, match.explain) for match in ask(engine, query, mode)])
    assert found[0] == found[1]
    assert mode is Mode.HYBRID or {reason.boosts.date for _, reason in found[0] if reason is not None} == {None}


def test_a_time_of_other_months_is_relative_to_the_given_moment(store: Path, embedder: Embedder) -> None:
    with opened(store, embedder, 0.4) as engine:
        for as_of, id in ((NOW, "caching-2024-08"), (datetime(2023, 12, 31, tzinfo=UTC), "caching-2023-05")):
            last = "August" if as_of == NOW else "May"
            asked = QueryDecisionsParams(query=f"For caching we choose in {last}", limit=1, as_of=as_of)
            assert engine.query_decisions(asked, EVERYTHING).decisions[0].id == id


def test_a_moment_without_a_time_zone_is_in_utc(store: Path, embedder: Embedder) -> None:
    with opened(store, embedder, 0.4) as engine:
        asked = [
            QueryDecisionsParams(query="For caching we choose", limit=1, as_of=as_of)
            for as_of in (datetime(2023, 12, 31), datetime(2023, 12, 31, tzinfo=UTC))
        ]
        found = [engine.query_decisions(one, EVERYTHING) for one in asked]
        assert found[0].decisions == found[1].decisions != []
