"""A decision in force ranks before the predecessor if both match about equally; the predecessor stays."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity
from tests.kinds import entry

MODES = ("hybrid", "semantic", "keyword")
MEMBER = {"queryDecisions": "decisions", "search": "results", "recall": "results"}
QUESTION = "where do we keep sessions of visitors"


def decision(id: str, title: str, **members: Any) -> Any:
    at = datetime(2025, 1, 1, tzinfo=UTC)
    return entry(Kind.DECISION, id, title=title, text=title, status="accepted", date=at, **members)


PAIR = (
    decision("a-old", "Keep sessions of visitors in files", superseded_by=("b-new",)),
    decision("b-new", "Keep sessions of visitors in the database cluster", supersedes=("a-old",)),
)
OTHERS = [decision(f"other-{number}", f"Paint wall {number} of the office where we sit") for number in range(8)]


@pytest.fixture(scope="module")
def memory(remembering: Callable[..., Any]) -> Any:
    return remembering([*PAIR, *OTHERS])


def found(memory: Any, method: str, query: str, token: str | None = None, **params: Any) -> list[dict[str, Any]]:
    answer = memory.ask(method, token, query=query, explain=True, limit=10, **params)
    listed: list[dict[str, Any]] = answer[MEMBER[method]]
    return listed


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", list(MEMBER))
def test_the_decision_in_force_comes_before_its_predecessor(memory: Any, method: str, mode: str) -> None:
    first, second, *_ = found(memory, method, QUESTION, mode=mode)
    assert [first["id"], second["id"]] == ["b-new", "a-old"]
    assert first["explain"]["boosts"]["current"] is True
    assert "current" not in second["explain"]["boosts"]
    assert first["explain"]["score"] > second["explain"]["score"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", ["search", "recall"])
def test_a_memory_comes_before_its_predecessor(remembering: Callable[..., Any], method: str, mode: str) -> None:
    old = entry(Kind.ARTIFACT, "m-early", content="The wifi password of the boathouse is heron", context="note")
    content = "The wifi password of the boathouse is otter since last winter"
    new = entry(Kind.ARTIFACT, "m-later", content=content, context="note", supersedes=("m-early",))
    others = [entry(Kind.ARTIFACT, f"m-{place}", content=f"Boat {place} is blue", context="note") for place in range(8)]
    first, second, *_ = found(remembering([old, new, *others]), method, "the wifi password of the boathouse", mode=mode)
    assert [first["id"], second["id"]] == ["art_m-later", "art_m-early"]
    assert first["explain"]["boosts"]["current"] is True


def test_before_within_a_question_speaks_of_no_past(memory: Any) -> None:
    first, *_ = found(memory, "queryDecisions", f"{QUESTION} before a backup")
    assert first["id"] == "b-new"


@pytest.mark.parametrize(
    "query", [f"{QUESTION} before", f"before, {QUESTION}", f"originally, {QUESTION}", f"{QUESTION} in 2025"]
)
def test_a_question_about_the_past_keeps_the_order(memory: Any, query: str) -> None:
    results = found(memory, "queryDecisions", query)
    assert {one["id"] for one in results[:2]} == {"a-old", "b-new"}
    assert not any("current" in one["explain"]["boosts"] for one in results)


def test_a_far_weaker_successor_stays_behind(remembering: Callable[..., Any]) -> None:
    far = decision("b-new", "Rent a rack", supersedes=("a-old",))
    results = found(remembering([PAIR[0], far, *OTHERS]), "queryDecisions", QUESTION)
    assert results[0]["id"] == "a-old"
    assert not any("current" in one["explain"]["boosts"] for one in results)


def test_a_successor_hidden_from_the_caller_changes_nothing(remembering: Callable[..., Any]) -> None:
    title, secret = "Keep sessions of visitors in the database cluster", Sensitivity.HIGHLY_SENSITIVE
    hidden = decision("b-new", title, supersedes=("a-old",), sensitivity=secret)
    memory = remembering([PAIR[0], hidden, *OTHERS])
    results = found(memory, "queryDecisions", QUESTION, memory.token(clearance="normal"))
    assert results[0]["id"] == "a-old"
    assert not any("current" in one["explain"]["boosts"] for one in results)


def test_a_second_successor_counts_from_the_next_question_on(remembering: Callable[..., Any]) -> None:
    memory = remembering([PAIR[0], decision("b-new", "Rent a rack", supersedes=("a-old",)), *OTHERS])
    assert found(memory, "queryDecisions", QUESTION)[0]["id"] == "a-old"
    memory.put([decision("c-new", "Keep sessions of visitors in the database cluster", supersedes=("a-old",))])
    assert [one["id"] for one in found(memory, "queryDecisions", QUESTION)[:2]] == ["c-new", "a-old"]
