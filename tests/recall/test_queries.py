"""cstp.recall by a query: documents before their events, within a conversation, and in each mode."""

from collections.abc import Callable
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from tests.kinds import entry


def turn(id: str, conversation: str, place: int, content: str, **others: Any) -> Any:
    return entry(Kind.TURN, id, conversation_id=conversation, turn_index=place, content=content, **others)


@pytest.fixture(scope="module", params=["model", "words"])
def memory(request: pytest.FixtureRequest, remembering: Callable[..., Any]) -> Any:
    entries = [
        turn("a0", "harbour", 0, "the crane lifts the mast", session="morning"),
        turn("a1", "harbour", 1, "the tide is out", session="morning"),
        turn("a2", "harbour", 2, "a crane needs grease", session="noon", sensitivity="sensitive"),
        turn("a3", "harbour", 3, "nothing of that", session="noon", importance=0.9),
        turn("b0", "bakery", 0, "a crane stands beside the bakery"),
        turn("c0", "harbour", 4, "the crane of another project", project="other"),
        entry(Kind.DECISION, "dec", title="Buy a crane", text="It lifts the mast."),
        entry(Kind.CHUNK, "chunk", content="Every crane lifts."),
    ]
    return remembering(entries) if request.param == "model" else remembering(entries, embedder=None)


def ids(answer: dict[str, Any]) -> list[str]:
    return [result["id"] for result in answer["results"]]


def test_a_query_within_a_conversation_finds_turns_of_it_alone_best_first(memory: Any) -> None:
    token = memory.token(projects=None, clearance="highly_sensitive")
    answer = memory.recall(token, query="which crane lifts the mast", conversationId="harbour")
    assert answer["selector"] == "query"
    assert ids(answer)[0] == "art_a0"
    assert {result["metadata"]["conversationId"] for result in answer["results"]} == {"harbour"}
    assert answer["results"][0]["metadata"]["session"] == "morning"
    assert answer["totalCount"] == len(answer["results"])
    assert "turns" not in answer


def test_a_query_within_a_conversation_shows_nothing_hidden_and_keeps_the_filters(memory: Any) -> None:
    shown = ids(memory.recall(memory.token(projects=None), query="crane", conversationId="harbour"))
    assert "art_a2" not in shown
    assert "art_a0" in shown
    assert memory.recall(memory.token(projects=["none"]), query="crane", conversationId="harbour")["results"] == []
    token = memory.token(projects=None)
    important = memory.recall(token, query="nothing of that", conversationId="harbour", minImportance=0.8)
    assert ids(important) == ["art_a3"]
    assert memory.recall(token, query="crane", conversationId="unknown")["results"] == []


def test_every_mode_of_the_server_is_answered_and_others_are_refused(memory: Any) -> None:
    token = memory.token()
    assert ids(memory.recall(token, query="bakery", mode="keyword")) == ["art_b0"]
    has_model = memory.embedder is not None
    for mode in ("semantic", "hybrid"):
        reply = memory.send("recall", token, **{"query": "grease crane", "mode": mode})
        if has_model:
            scores = [result["score"] for result in reply["result"]["results"]]
            assert scores == sorted(scores, reverse=True)
            assert len(scores) == reply["result"]["totalCount"]
        else:
            (violation,) = reply["error"]["data"]["violations"]
            assert violation == {"field": "mode", "message": 'must be "keyword": this server has no embedding model'}


def test_a_mode_without_a_query_is_refused(memory: Any) -> None:
    error = memory.send("recall", memory.token(), **{"conversationId": "harbour", "mode": "keyword"})["error"]
    assert error["data"]["violations"] == [{"field": "mode", "message": "means nothing without query"}]


@pytest.mark.long("makes many records")
def test_events_push_no_document_out_and_lift_their_own_document(remembering: Callable[..., Any]) -> None:
    entries = [entry(Kind.ARTIFACT, f"note{number}", content=f"crane {'tide ' * number}") for number in range(8)]
    entries += [entry(Kind.ARTIFACT, "minutes", content="tide tide tide tide")]
    entries += [
        entry(Kind.EVENT, f"e{number}", artifact_id="minutes", category="Decision", narrative=f"crane grease {number}")
        for number in range(12)
    ]
    memory = remembering(entries)
    answer = memory.recall(memory.token(), query="crane grease", limit=9)
    assert ids(answer)[0] == "art_minutes"
    assert len(ids(answer)) == 6
    events = [event for result in answer["results"] for event in result["events"]]
    assert len(events) == 3
    assert {event["category"] for event in events} == {"Decision"}
    assert [result["type"] for result in answer["results"]] == ["artifact"] * 6
    assert answer["totalCount"] == 21


@pytest.mark.long("makes many records")
def test_an_event_without_a_document_ranks_as_a_document(remembering: Callable[..., Any]) -> None:
    entries = [
        entry(Kind.ARTIFACT, "note", content="the tide"),
        entry(Kind.EVENT, "alone", category="Decision", narrative="buy a crane"),
    ]
    memory = remembering(entries)
    assert ids(memory.recall(memory.token(), query="crane"))[0] == "evt_alone"
