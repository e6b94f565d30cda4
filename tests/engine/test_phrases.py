"""A hybrid search ranks adjacent query words first."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.engine import Engine, EngineOptions
from cognition_engines.models import EVERYTHING, Mode
from cognition_engines.relevance import RELEVANCE, Relevance
from cognition_engines.search.candidates import BEST
from cognition_engines.search.query import read_pairs
from cognition_engines.search.signals.phrases import share_of
from cognition_engines.writing.requests import WriteCaller
from cstp.values.decision_searches import DecisionSummary, QueryDecisionsParams, QueryFilters
from cstp.values.recall import RecallParams
from tests.recall.conftest import WordEmbedder
from tests.stores import Stores
from tests.writing.written import new, update, write

ANN = WriteCaller("ann", EVERYTHING, frozenset({"read", "write"}))
QUERY = "Keep the old crane near the harbour"


@pytest.fixture
def open_engine(tmp_path: Path, stores: Stores) -> Iterator[Any]:
    opened: list[Engine] = []

    def open_one(relevance: Relevance = RELEVANCE) -> Engine:
        folder = tmp_path / str(len(opened))
        folder.mkdir()
        url = stores.records(folder)
        opened.append(Engine.open(url, folder, WordEmbedder(), EngineOptions(relevance=relevance)))
        return opened[-1]

    yield open_one
    for engine in opened:
        engine.close()


@pytest.fixture
def engine(open_engine: Any) -> Engine:
    found: Engine = open_engine()
    return found


async def record(engine: Engine, title: str, context: str, **rights: Any) -> str:
    done = await write(engine, ANN, new(title, context=context, **rights))
    await engine.reached(done.seq, seconds=60)
    return done.id


async def ask(engine: Engine, query: str = QUERY, **others: Any) -> list[DecisionSummary]:
    asked = {"mode": Mode.HYBRID, "explain": True} | others
    return (await engine.query_decisions(QueryDecisionsParams(query=query, **asked), EVERYTHING)).decisions


async def store_shuffled(engine: Engine, count: int) -> None:
    """Store records with all query words, in other orders, each with more additional words than the previous record."""
    for number in range(count):
        others = " ".join(f"word{number}x{place}" for place in range(2 * number))
        await record(engine, f"note {number}", f"near harbour the crane old keep the {others}")


async def store_exact(engine: Engine) -> str:
    """Store a record with the words in query order, and some others."""
    others = " ".join(f"other{place}" for place in range(4))
    return await record(engine, "Lifting", f"We keep the old crane near\nthe harbour {others}.")


@pytest.mark.long("computes with the packaged model, or over many records")
async def test_a_record_with_the_words_in_their_order_comes_before_better_records(open_engine: Any) -> None:
    places = []
    for relevance in (Relevance(phrase_weight=0.0), RELEVANCE):
        engine = open_engine(relevance)
        await store_shuffled(engine, 9)
        exact = await store_exact(engine)
        found = await ask(engine)
        places.append([match.id for match in found].index(exact))
    assert places[0] > places[1] == 0
    first, *others = [match.explain for match in found]
    assert first is not None
    assert first.boosts.phrase == 1.0
    phrases = [other.boosts.phrase for other in others if other is not None]
    assert all(phrase is not None and phrase < 0.5 for phrase in phrases)
    scores = [reason.score for reason in (first, *others) if reason is not None]
    assert scores == sorted(scores, reverse=True)
    assert 0 <= scores[-1] <= scores[0] <= 1


@pytest.mark.parametrize(("weight", "mode"), [(0.0, Mode.HYBRID), (None, Mode.KEYWORD), (None, Mode.SEMANTIC)])
async def test_without_its_weight_and_in_other_modes_nothing_is_lifted(
    open_engine: Any, weight: float | None, mode: Mode
) -> None:
    engine = open_engine(RELEVANCE if weight is None else Relevance(phrase_weight=weight))
    await store_shuffled(engine, 3)
    reasons = [match.explain for match in await ask(engine, mode=mode)]
    assert [reason.boosts.phrase for reason in reasons if reason is not None] == [None] * 3


@pytest.mark.long("computes with the packaged model, or over many records")
async def test_a_shorter_answer_is_the_beginning_of_a_longer_answer(engine: Engine) -> None:
    await store_shuffled(engine, BEST + 10)
    whole = [match.id for match in await ask(engine, limit=50)]
    assert len(whole) == BEST + 10
    for limit in (1, 5, BEST, BEST + 3):
        assert [match.id for match in await ask(engine, limit=limit)] == whole[:limit]
    shown = [match.explain.boosts.phrase for match in await ask(engine, limit=50) if match.explain is not None]
    assert [phrase is not None for phrase in shown] == [True] * BEST + [False] * 10


async def test_a_changed_text_counts_as_it_is_now(engine: Engine) -> None:
    await store_shuffled(engine, 5)
    id = await store_exact(engine)
    assert (await ask(engine))[0].id == id
    done = await write(engine, ANN, update(id, context="Sold: crane, harbour, old."))
    await engine.reached(done.seq, seconds=60)
    found = {match.id: match.explain for match in await ask(engine)}
    assert found[id] is not None
    assert found[id].boosts.phrase == 0.0


async def test_filters_and_recall_hold(engine: Engine) -> None:
    await store_shuffled(engine, 5)
    id = await store_exact(engine)
    assert await ask(engine, filters=QueryFilters(category="security")) == []
    recalled = (await engine.recall(RecallParams(query=QUERY, explain=True), EVERYTHING)).results[0]
    assert recalled.id == id
    assert recalled.explain is not None
    assert recalled.explain.boosts.phrase == 1.0


@pytest.mark.parametrize(
    ("query", "pairs"),
    [
        ("crane", ()),
        ("the crane", ("the crane",)),
        ("what is the crane?", ("the crane",)),
        ("to be or not to be", ()),
        ("(Old) crane, old crane", ("old crane", "crane old")),
        ("  ", ()),
        ("クレーン", ()),
        ("VX-2207?", ("vx-2207",)),
        ("a well-kept crane in 2207", ("a well-kept", "well-kept crane", "crane in", "in 2207")),
        ("open gates/opener.py", ("open gates/opener.py", "gates/opener.py")),
    ],
)
def test_pairs_are_adjacent_words_except_two_stop_words(query: str, pairs: tuple[str, ...]) -> None:
    stop = {"the", "to", "be", "or", "not", "what", "is"}
    assert read_pairs(query, lambda words: [word not in {*stop, "a", "in"} for word in words]) == pairs


def test_the_share_is_of_pairs_word_for_word() -> None:
    assert share_of(("old crane", "crane near"), "The Old\ncrane is near") == 0.5
    assert share_of(("café noir",), "cafe\u0301 noir") == 1.0
    assert share_of(("old crane",), "x" * 70_000 + " old crane") == 0.0
