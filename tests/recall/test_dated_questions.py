"""Periods in questions, in all searches over the wire: the recognized period, the boost, and the reference date."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity
from tests.kinds import entry

LISTS = {
    "queryDecisions": "decisions",
    "searchKnowledge": "results",
    "findEpisodes": "episodes",
    "recall": "results",
}
MAY = datetime(2023, 5, 7, 10, tzinfo=UTC)
JULY = datetime(2024, 7, 1, tzinfo=UTC)
INTERPRETED = {"dateFrom": "2023-05-01T00:00:00Z", "dateTo": "2023-05-31T23:59:59.999999Z"}


def some() -> list[Any]:
    """Return two records of each kind, at two times; the later text is nearer to the question."""
    near, far = "We buy a crane for the mast.", "We buy a crane for the mast and paint it."
    guarded = {"title": near, "text": near, "date": MAY, "sensitivity": Sensitivity.SENSITIVE}
    return [
        entry(Kind.DECISION, "dec-late", title="crane", text=near, date=JULY),
        entry(Kind.DECISION, "dec-may", title="crane", text=far, date=MAY),
        entry(Kind.DECISION, "dec-undated", title="crane", text=far),
        entry(Kind.DECISION, "dec-hidden", **guarded),
        entry(Kind.CHUNK, "late", content=near, created_at=JULY),
        entry(Kind.CHUNK, "may", content=far, created_at=MAY),
        entry(Kind.EPISODE, 1, query="crane", reward=0.5, reflection=near, created_at=JULY),
        entry(Kind.EPISODE, 2, query="crane", reward=0.5, reflection=far, created_at=MAY),
        entry(Kind.TURN, "late", content=near, conversation_id="c", ts=JULY),
        entry(Kind.TURN, "may", content=far, conversation_id="c", ts=MAY),
    ]


@pytest.fixture(scope="module")
def memory(remembering: Callable[..., Any]) -> Any:
    return remembering(some())


def dates(answer: dict[str, Any], method: str) -> list[float | None]:
    return [one["explain"]["boosts"]["date"] for one in answer["result"][LISTS[method]]]


@pytest.mark.parametrize("method", list(LISTS))
def test_an_explained_answer_shows_the_recognized_time(memory: Any, method: str) -> None:
    asked = {"query": "a crane in May 2023", "asOf": "2024-12-31"}
    assert "interpreted" not in memory.answer(method, **asked)["result"]
    assert "interpreted" not in memory.answer(method, query="a crane we may buy", explain=True)["result"]
    found = memory.answer(method, **asked, explain=True)
    assert found["result"]["interpreted"] == INTERPRETED
    assert {1.0, 0.0} == set(dates(found, method))
    open_ended = memory.answer(method, query="a crane since May 2023", explain=True)["result"]["interpreted"]
    assert open_ended == INTERPRETED | {"dateTo": None}


@pytest.mark.parametrize("mode", ["semantic", "keyword"])
@pytest.mark.parametrize("method", list(LISTS))
def test_other_modes_show_the_time_and_rank_without_it(memory: Any, method: str, mode: str) -> None:
    found = memory.answer(method, query="a crane in May 2023", mode=mode, explain=True)
    assert found["result"]["interpreted"] == INTERPRETED
    assert set(dates(found, method)) == {None}


@pytest.mark.parametrize("method", list(LISTS))
def test_a_time_is_relative_to_the_given_moment(memory: Any, method: str) -> None:
    read = {}
    for as_of in ("2023-05-01", "2023-04-30T23:59:59Z", "2024-05-01T01:00:00+05:00"):
        answer = memory.answer(method, query="a crane in May", asOf=as_of, explain=True)
        read[as_of] = answer["result"]["interpreted"]["dateFrom"][:7], 1.0 in dates(answer, method)
    assert list(read.values()) == [("2023-05", True), ("2022-05", False), ("2023-05", True)]


@pytest.mark.parametrize("method", list(LISTS))
def test_an_invalid_moment_is_refused(memory: Any, method: str) -> None:
    error = memory.answer(method, query="a crane", asOf="in May")["error"]
    assert [one["field"] for one in error["data"]["violations"]] == ["asOf"]


def test_an_answer_without_a_good_match_shows_the_time(remembering: Callable[..., Any]) -> None:
    memory = remembering(some(), search={"least_cosine": 0.9})
    for method in LISTS:
        found = memory.answer(method, query="zebra quagga in May 2023", abstain=True, explain=True)["result"]
        assert found["noGoodMatch"]
        assert found["interpreted"] == INTERPRETED


def test_results_fitting_into_tokens_come_with_the_time(memory: Any) -> None:
    for method in ("queryDecisions", "searchKnowledge", "recall"):
        found = memory.answer(method, query="a crane in May 2023", maxTokens=8000, explain=True)["result"]
        assert found["interpreted"] == INTERPRETED


def test_a_moment_without_a_query_means_nothing(memory: Any) -> None:
    error = memory.answer("recall", context="note", asOf="2024-01-01")["error"]
    assert error["data"]["violations"] == [{"field": "asOf", "message": "means nothing without query"}]
    by_id = memory.answer("recall", id="art_may", query="in May 2023", explain=True)["result"]
    assert "interpreted" not in by_id
