"""Questions about a person's statements, over the wire: that speaker's turns, preferences and instructions."""

from collections.abc import Callable
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from tests.kinds import entry


def turn(id: str, content: str, speaker: str | None, **members: Any) -> Any:
    return entry(Kind.TURN, id, content=content, speaker=speaker, conversation_id="c", **members)


SAID = [
    turn("ana", "I went to the lake and camped near the pier.", "Ana Reyes"),
    turn("ben", "We camped near the lake.", "Ben"),
    turn("user", "My plan is to camp at the lake with my sister.", "user"),
    turn("unnamed", "My plan is to swim in the lake on Sunday.", None),
    turn("assistant", "A plan to camp at the lake.", "assistant"),
    turn("hidden", "Nothing of the lake.", "Mara", sensitivity="sensitive"),
    turn("wanted", "I prefer the harbour report in tables.", "user"),
    turn("lesson", "Always name a berth in the harbour report.", "user"),
    turn("advised", "I prefer the harbour report.", "assistant"),
    *[turn(f"report-{number}", f"The harbour report of week {number} is a report.", "Lea") for number in range(4)],
]


@pytest.fixture(scope="module")
def memory(remembering: Callable[..., Any]) -> Any:
    return remembering(SAID)


def recall(memory: Any, query: str, **params: Any) -> list[Any]:
    found: list[Any] = memory.recall(memory.token(), query=query, expand=False, **params)["results"]
    return found


def ids(memory: Any, query: str, **params: Any) -> list[str]:
    return [each["id"].removeprefix("art_") for each in recall(memory, query, **params)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Where has Ben camped near the lake?", "ben"),
        ("Where has Ana Reyes camped near the lake?", "ana"),
        ("Where in the lake is Ana Reyes's camp, near the pier?", "ana"),
    ],
)
def test_turns_of_a_named_speaker_come_first(memory: Any, query: str, first: str) -> None:
    assert ids(memory, query)[0] == first


def test_a_question_asked_as_i_is_about_the_user_or_a_speaker_without_a_name(memory: Any) -> None:
    assert set(ids(memory, "What is my plan for the lake?")[:2]) == {"user", "unnamed"}


def test_a_question_about_the_advice_of_the_assistant_prefers_no_speaker(memory: Any) -> None:
    asked, plain = ("What plan did you give me to camp at the lake?", "A plan given to camp at the lake")
    assert ids(memory, asked)[0] == ids(memory, plain)[0] == "assistant"


@pytest.mark.parametrize("mode", ["semantic", "keyword"])
def test_other_modes_rank_by_the_whole_question(memory: Any, mode: str) -> None:
    scores = {each["id"]: each["score"] for each in recall(memory, "camped near the lake, Ben", mode=mode)}
    lower = {each["id"]: each["score"] for each in recall(memory, "camped near the lake, ben", mode=mode)}
    assert scores == lower


def test_a_speaker_whom_the_caller_does_not_see_changes_nothing(memory: Any) -> None:
    """Keep the name as part of the meaning, like a name absent from all records."""
    for query in ("What has Mara said of the lake?", "What has mara said of the lake?"):
        assert "hidden" not in ids(memory, query)
    one, other = (recall(memory, f"What has {name} said of the lake?") for name in ("Mara", "mara"))
    assert [(each["id"], each["score"]) for each in one] == [(each["id"], each["score"]) for each in other]


def test_a_request_for_advice_finds_preferences_and_demands_of_a_person(memory: Any) -> None:
    """Use questions with equal words; an assistant's preference is not a person's."""
    advice, other = (
        {each["id"]: each["score"] for each in recall(memory, f"{words} the harbour report look?")}
        for words in ("How should", "Should how")
    )
    assert advice.keys() == other.keys()
    assert {id for id in advice if advice[id] > other[id]} == {"art_wanted", "art_lesson"}
    assert {id for id in advice if advice[id] == other[id]} == advice.keys() - {"art_wanted", "art_lesson"}


def test_explain_names_turns_gaining_by_their_speaker_or_as_a_statement(memory: Any) -> None:
    def gained(query: str, boost: str, **params: Any) -> set[str]:
        found = recall(memory, query, explain=True, limit=20, **params)
        return {one["id"].removeprefix("art_") for one in found if one["explain"]["boosts"].get(boost)}

    assert gained("Where has Ben camped near the lake?", "speaker") == {"ben"}
    assert gained("Where has Ben camped near the lake?", "speaker", mode="keyword") == set()
    assert gained("What should I consider for the harbour report?", "statement") == {"wanted", "lesson"}
    assert gained("What is in the harbour report?", "statement") == set()
