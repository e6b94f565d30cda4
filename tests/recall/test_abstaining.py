"""`abstain` in searches over all kinds: no results rather than poor results, and the nearest record is named."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity
from cognition_engines.relevance import Relevance, least_cosine_of
from tests.kinds import entry

LISTS = {
    "search": "results",
    "queryDecisions": "decisions",
    "searchKnowledge": "results",
    "findEpisodes": "episodes",
    "recall": "results",
}


def some() -> list[Any]:
    return [
        entry(Kind.DECISION, "dec-1", title="Buy a crane", text="It lifts the mast."),
        entry(Kind.DECISION, "hidden", title="zebra walrus quagga", text="zebra", sensitivity=Sensitivity.SENSITIVE),
        entry(Kind.CHUNK, "chunk-1", content="Buy a crane that lifts the mast."),
        entry(Kind.EPISODE, 1, query="Buy a crane", reward=0.5, reflection="It lifts the mast."),
        entry(Kind.ARTIFACT, "note", content="Buy a crane: it lifts the mast."),
    ]


@pytest.fixture(scope="module")
def memory(remembering: Callable[..., Any]) -> Any:
    return remembering(some(), search={"least_cosine": 0.6})


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
@pytest.mark.parametrize("method", list(LISTS))
def test_answerable_questions_are_answered_as_without_abstaining(memory: Any, method: str, mode: str) -> None:
    asked = {"query": "buy a crane lifts the mast", "mode": mode}
    found = memory.answer(method, **asked, abstain=True)["result"]
    plain = memory.answer(method, **asked)["result"]
    assert found[LISTS[method]] == plain[LISTS[method]] != []
    assert found["noGoodMatch"] is False
    assert "nearest" not in found
    assert "noGoodMatch" not in plain


@pytest.mark.parametrize("method", list(LISTS))
def test_unanswerable_questions_get_no_results_and_the_nearest_visible_record(memory: Any, method: str) -> None:
    found = memory.answer(method, query="zebra walrus quagga", abstain=True)["result"]
    assert found[LISTS[method]] == []
    assert found["noGoodMatch"] is True
    nearest = found["nearest"]
    assert nearest["id"] in {"dec-1", "chunk-1", 1, "art_note"}
    assert -1 <= nearest["cosine"] < 0.6
    assert set(nearest) == {"id", "cosine"} | ({"type"} if method == "search" else set())
    assert memory.answer(method, query="zebra walrus quagga")["result"][LISTS[method]] != []


OF_KINDS = {
    "decision": [entry(Kind.DECISION, "dec-1", title="Buy a crane")],
    "chunk": [entry(Kind.CHUNK, "chunk-1", content="Buy a crane.")],
    "episode": [entry(Kind.EPISODE, 7, query="Buy a crane", reward=0.5, reflection="It lifts.")],
    "artifact": [
        entry(Kind.ARTIFACT, "note", content="Buy a crane.", chunked=True),
        entry(Kind.ARTIFACT_CHUNK, "part", artifact_id="note", content="Buy a crane.", chunk_index=0, total_chunks=1),
    ],
    "turn": [entry(Kind.TURN, "turn", conversation_id="c", content="Buy a crane.", turn_index=0)],
}


@pytest.mark.parametrize("kind", OF_KINDS)
def test_a_search_over_all_kinds_names_the_nearest_record(remembering: Callable[..., Any], kind: str) -> None:
    memory = remembering(OF_KINDS[kind], search={"least_cosine": 0.6})
    (found,) = memory.answer("search", query="crane", limit=1)["result"]["results"]
    nearest = memory.answer("search", query="zebra walrus quagga", abstain=True)["result"]["nearest"]
    assert (nearest["type"], nearest["id"]) == (found["type"], found["id"])
    assert found["type"] == kind


def test_the_nearest_episode_is_named_by_its_readable_number(memory: Any) -> None:
    for method in ("findEpisodes", "search"):
        given = {"query": "zebra walrus quagga", "abstain": True}
        only = {"kinds": ["episode"]} if method == "search" else {}
        nearest = memory.answer(method, **given, **only)["result"]["nearest"]
        read = memory.answer("getEpisode", id=nearest["id"])["result"]
        assert (read["id"], read["query"]) == (nearest["id"], "Buy a crane")


@pytest.mark.parametrize("method", ["queryDecisions", "searchKnowledge"])
def test_an_answer_without_results_has_its_duration(memory: Any, method: str) -> None:
    # the model of these tests takes microseconds for a word, so hundreds of them take milliseconds
    query = f"{method} " + " ".join(f"z{number}" for number in range(1000))
    began = perf_counter()
    found = memory.answer(method, query=query, abstain=True)["result"]
    assert found["noGoodMatch"] is True
    assert 0 < found["queryTimeMs"] <= (perf_counter() - began) * 1000 + 1


def test_an_expired_record_is_not_named(remembering: Callable[..., Any]) -> None:
    gone = replace(some()[0], expires_at=datetime(2020, 1, 1, tzinfo=UTC))
    memory = remembering([gone], search={"least_cosine": 0.6})
    found = memory.answer("queryDecisions", query="zebra walrus quagga", abstain=True)["result"]
    assert found["noGoodMatch"] is True
    assert "nearest" not in found


def test_an_answer_within_tokens_reports_no_omission(memory: Any) -> None:
    found = memory.answer("recall", query="zebra walrus quagga", abstain=True, maxTokens=500)["result"]
    assert (found["noGoodMatch"], found["omitted"]) == (True, 0)


def test_no_nearest_record_is_named_without_records(memory: Any) -> None:
    found = memory.answer("queryDecisions", query="crane", filters={"category": "tooling"}, abstain=True)["result"]
    assert (found["noGoodMatch"], found["total"]) == (True, 0)
    assert "nearest" not in found


def said(**turns: str) -> list[Any]:
    """Return conversation turns of Ana, Ben and an assistant, by speaker; a digit makes a name distinct."""
    return [
        entry(
            Kind.TURN,
            name,
            conversation_id="talk",
            content=content,
            turn_index=place,
            speaker=(speaker := name.rstrip("0123456789").capitalize()),
            role="assistant" if speaker == "Bot" else "user",
        )
        for place, (name, content) in enumerate(turns.items())
    ]


ASKED = "What harbour did Ana paint?"
PAINTED = "I paint the old harbour at dawn."
OF_SPEAKERS = {
    "another one says it": (said(ben=PAINTED, ana="I sing."), ASKED, True),
    "the named one says it": (said(ana=PAINTED, ben="I sing."), ASKED, False),
    "both say it": (said(ana=PAINTED, ben=PAINTED), ASKED, False),
    "it is said to the named one": (said(ben="You paint the old harbour!", ana="I sing."), ASKED, False),
    "another one is asked": (said(ana="Did Ben paint the harbour?", ben="Yes."), ASKED, True),
    "no speaker is named": (said(ben=PAINTED, ana="I sing."), "Who did paint the old harbour?", False),
    "both are named": (said(ben=PAINTED, ana="I sing."), "Did Ana and Ben paint the old harbour?", False),
    "an assistant says it": (said(bot="Painters paint a harbour.", ana="I sing."), ASKED, False),
}


@pytest.mark.parametrize("method", ["recall", "search"])
@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
@pytest.mark.parametrize("case", OF_SPEAKERS)
def test_a_question_about_a_speaker_is_refused_if_the_turns_are_about_another_speaker(
    remembering: Callable[..., Any], case: str, mode: str, method: str
) -> None:
    turns, query, refused = OF_SPEAKERS[case]
    memory = remembering(turns, search={"least_cosine": 0.2})
    found = memory.answer(method, query=query, mode=mode, abstain=True)["result"]
    assert found["noGoodMatch"] is refused
    if refused:
        assert found["results"] == []
        assert found["nearest"]["cosine"] >= 0.2
    else:
        assert found["results"] == memory.answer(method, query=query, mode=mode)["result"]["results"] != []


def test_speakers_of_other_conversations_do_not_count(remembering: Callable[..., Any]) -> None:
    elsewhere = entry(Kind.TURN, "far", conversation_id="other", content=PAINTED, speaker="Eve", turn_index=0)
    memory = remembering([*said(ana="I sing.", ben="I dance."), elsewhere], search={"least_cosine": 0.2})
    assert memory.answer("recall", query=ASKED, abstain=True)["result"]["noGoodMatch"] is False


@pytest.mark.parametrize("method", list(LISTS))
def test_words_alone_cannot_abstain(memory: Any, method: str) -> None:
    error = memory.answer(method, query="crane", mode="keyword", abstain=True)["error"]
    message = "needs a search by meaning, which the mode keyword is not"
    assert error["data"]["violations"] == [{"field": "abstain", "message": message}]


def test_an_unknown_model_needs_the_setting(remembering: Callable[..., Any]) -> None:
    error = remembering(some()).answer("recall", query="crane", abstain=True)["error"]
    message = "needs search.least_cosine, which is not known of this model"
    assert error["data"]["violations"] == [{"field": "abstain", "message": message}]


def test_to_abstain_needs_a_query(memory: Any) -> None:
    error = memory.answer("recall", context="note", abstain=True)["error"]
    assert error["data"]["violations"] == [{"field": "abstain", "message": "means nothing without query"}]


@pytest.mark.long("makes many records")
def test_the_packaged_model_has_a_least_cosine_and_a_setting_overrules_it() -> None:
    assert least_cosine_of(Relevance(), "minilm-8fdf910da1b3-w254s200") == 0.43
    assert least_cosine_of(Relevance(least_cosine=0.5), "minilm-8fdf910da1b3-w254s200") == 0.5
    assert least_cosine_of(Relevance(), "words-32") is None
    assert least_cosine_of(Relevance(least_cosine=0.5), None) is None
