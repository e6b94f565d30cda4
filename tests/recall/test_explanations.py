"""`explain` in searches over all kinds: scores and places of the legs, without any other change."""

from collections.abc import Callable
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from tests.kinds import entry

LISTS = {"recall": "results", "searchKnowledge": "results", "findEpisodes": "episodes"}


@pytest.fixture(scope="module", params=["model", "words"])
def memory(request: pytest.FixtureRequest, remembering: Callable[..., Any]) -> Any:
    entries = []
    for number in range(6):
        words = f"crane {'grease ' * number}tide{number}"
        entries += [
            entry(Kind.ARTIFACT, f"note{number}", content=words),
            entry(Kind.CHUNK, f"chunk{number}", content=words),
            entry(Kind.EPISODE, number + 1, query=words, reward=0.5, reflection="Measure first."),
        ]
    return remembering(entries) if request.param == "model" else remembering(entries, embedder=None)


def found(memory: Any, method: str, **params: Any) -> list[dict[str, Any]]:
    reply = memory.answer(method, query="grease crane", **params)
    assert "result" in reply, reply
    listed: list[dict[str, Any]] = reply["result"][LISTS[method]]
    return listed


@pytest.mark.parametrize("method", list(LISTS))
def test_every_result_explains_its_rank(memory: Any, method: str) -> None:
    modes = ("hybrid", "semantic", "keyword") if memory.embedder is not None else ("keyword",)
    for mode in modes:
        plain = found(memory, method, mode=mode)
        explained = found(memory, method, mode=mode, explain=True)
        assert [one | {"explain": None} for one in plain] == [one | {"explain": None} for one in explained]
        assert not any("explain" in one for one in plain)
        reasons = [one["explain"] for one in explained]
        scores = [one["score"] for one in reasons]
        assert scores == sorted(scores, reverse=True) == [one["score"] for one in explained]
        assert all((one["bm25"] is None) is (mode == "semantic") for one in reasons)
        assert all((one["matchedWindow"] is None) is (mode == "keyword") for one in reasons)
        assert all((one["cosine"] is None) is (memory.embedder is None) or mode == "keyword" for one in reasons)
        if mode != "semantic":
            assert min(one["ranks"]["keyword"] for one in reasons) == 1
        if mode != "keyword":
            assert min(one["ranks"]["semantic"] for one in reasons) == 1


def test_unsearched_records_have_no_explanation(memory: Any) -> None:
    answer = memory.recall(memory.token(), id="art_note1", explain=True)
    assert "explain" not in answer["results"][0]
