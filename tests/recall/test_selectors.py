"""cstp.recall over a socket: selectors, results, and the effect of limits and filters."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from tests.kinds import entry

MEMBERS = {"results", "related", "entities", "totalCount", "selector"}
ITEM = {"id", "type", "content", "context", "metadata", "score", "events", "origin", "recordedBy"}


def small() -> list[Any]:
    return [
        entry(Kind.ARTIFACT, "mail", content="Launch of the api in April", context="email", title="Launch",
              source_system="gmail", participants=["Ana Ruiz", "Chen, Bo"], ts="2024-03-01T10:15:30Z",
              importance=0.8, metadata={"thread": [1, {"a": None}]}),
        entry(Kind.EVENT, "launch", artifact_id="mail", category="Decision", narrative="Ana decided to launch",
              actors=[{"ref": "Ana Ruiz", "role": "owner"}], subject={"ref": "API", "type": "project"},
              event_time="2024-03-02", evidence=[{"quote": "in April", "start_char": 18, "end_char": 26}]),
        entry(Kind.EVENT, "undated", artifact_id="mail", category="Risk", narrative="It may rain", confidence=0.5),
        entry(Kind.TURN, "t0", conversation_id="c1", turn_index=0, role="user", content="ok", speaker="Ana Ruiz",
              session="first"),
        entry(Kind.TURN, "t1", conversation_id="c1", turn_index=1, role="assistant", content="ok"),
        entry(Kind.DECISION, "dec-1", title="Use queues", text="They decouple.", category="architecture",
              metadata={"decided_by": ["Ana"]}),
        entry(Kind.CHUNK, "chk-1", content="Queues hold messages", source_id="src-1", title="Queues", source="kindle",
              chunk_index=1, total_chunks=5, tags=["messaging"]),
        entry(Kind.ENTITY, "ana", name="Ana Ruiz", type="person", aliases=["Ana"], role="PM"),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def memory(remembering: Callable[..., Any]) -> Any:
    return remembering(small())


@pytest.mark.parametrize(
    ("id", "stored", "type"),
    [
        ("art_mail", "art_mail", "artifact"),
        ("mail", "art_mail", "artifact"),
        ("evt_launch", "evt_launch", "event"),
        ("launch", "evt_launch", "event"),
        ("t1", "art_t1", "artifact"),
        ("art_t1", "art_t1", "artifact"),
        ("dec-1", "dec-1", "decision"),
        ("chk-1", "chk-1", "chunk"),
    ],
)
def test_ids_resolve_with_and_without_prefix(memory: Any, token: str, id: str, stored: str, type: str) -> None:
    answer = memory.recall(token, id=id)
    assert set(answer) == MEMBERS
    assert (answer["selector"], answer["totalCount"]) == ("id", 1)
    (result,) = answer["results"]
    assert set(result) == ITEM
    assert (result["id"], result["type"], result["score"]) == (stored, type, None)


def test_all_members_of_a_turn_and_a_chunk_come_back(memory: Any, token: str) -> None:
    (turn,) = memory.recall(token, id="t0")["results"]
    assert (turn["content"], turn["context"]) == ("ok", "conversation")
    assert (turn["metadata"]["conversationId"], turn["metadata"]["session"]) == ("c1", "first")
    assert (turn["metadata"]["turnIndex"], turn["metadata"]["role"], turn["metadata"]["speaker"]) == (
        0, "user", "Ana Ruiz",
    )  # fmt: skip
    (chunk,) = memory.recall(token, id="chk-1")["results"]
    assert chunk["metadata"] == {
        "title": "Queues", "author": None, "source": "kindle", "sourceId": "src-1", "artifactId": None,
        "chunkInfo": "2/5", "tags": ["messaging"], "path": "memory.jsonl",
    }  # fmt: skip


@pytest.mark.parametrize("id", ["art_nothing", "evt_nothing", "nothing", "evt_mail", "ana", "art_evt_launch"])
def test_an_unknown_id_is_not_found_and_named_as_sent(memory: Any, token: str, id: str) -> None:
    error = memory.send("recall", token, **{"id": id})["error"]
    assert (error["code"], error["data"]) == (-32007, {"id": id})


def test_a_conversation_has_all_its_turns_including_equal_turns(memory: Any, token: str) -> None:
    assert memory.recall(token, conversationId="c1") == {
        "results": [], "related": [], "entities": [], "totalCount": 2, "selector": "conversationId",
        "turns": [
            {"id": "art_t0", "session": "first", "role": "user", "speaker": "Ana Ruiz", "turnIndex": 0, "ts": None,
             "content": "ok"},
            {"id": "art_t1", "session": None, "role": "assistant", "speaker": None, "turnIndex": 1, "ts": None,
             "content": "ok"},
        ],
        "totalTurns": 2, "conversationId": "c1",
    }  # fmt: skip


def test_an_unknown_conversation_has_no_turns(memory: Any, token: str) -> None:
    answer = memory.recall(token, conversationId="c2")
    assert (answer["turns"], answer["totalTurns"], answer["totalCount"]) == ([], 0, 0)


def test_the_latest_turns_come_in_ascending_order_and_the_total_is_all(remembering: Callable[..., Any]) -> None:
    turns = [
        entry(
            Kind.TURN, f"t{(number * 7) % 60:02}", conversation_id="long", turn_index=number, content=f"turn {number}"
        )
        for number in range(60)
    ]
    turns += [entry(Kind.TURN, "same", conversation_id="long", turn_index=59, content="the same place, later")]
    memory = remembering(turns, embedder=None)
    answer = memory.recall(memory.token(), conversationId="long", limit=50)
    assert [turn["turnIndex"] for turn in answer["turns"]] == [*range(11, 60), 59]
    assert answer["turns"][-1]["content"] == "the same place, later"
    assert answer["totalTurns"] == answer["totalCount"] == 61


@pytest.mark.parametrize("given", [each for each in product([False, True], repeat=4) if any(each)])
def test_the_first_selector_decides_and_is_named(memory: Any, token: str, given: tuple[bool, ...]) -> None:
    selectors = {"id": "t0", "query": "launch", "conversationId": "c1", "context": "conversation"}
    chosen = {name: value for (name, value), wanted in zip(selectors.items(), given, strict=True) if wanted}
    answer = memory.recall(token, **chosen)
    assert answer["selector"] == next(iter(chosen))
    assert ("turns" in answer) == (answer["selector"] == "conversationId")


def test_a_query_finds_every_type_best_first_with_scores(memory: Any, token: str) -> None:
    answer = memory.recall(token, query="queues that hold messages", includeEvents=True)
    assert answer["results"][0]["id"] == "chk-1"
    assert {result["type"] for result in answer["results"]} == {"artifact", "decision", "chunk"}
    scores = [result["score"] for result in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    events = {result["id"]: {event["id"] for event in result["events"]} for result in answer["results"]}
    assert events == {id: set() for id in events} | {"art_mail": {"evt_launch", "evt_undated"}}
    assert (answer["totalCount"], len(answer["results"])) == (7, 5)


def test_events_are_left_out_when_they_are_not_wanted(memory: Any, token: str) -> None:
    answer = memory.recall(token, query="launch", includeEvents=False)
    assert {result["type"] for result in answer["results"]} == {"artifact", "decision", "chunk"}
    assert [result["events"] for result in answer["results"]] == [[]] * 5
    assert answer["totalCount"] == 5
    assert memory.recall(token, id="mail", includeEvents=False)["results"][0]["events"] == []


def test_a_context_lists_newest_first(remembering: Callable[..., Any]) -> None:
    dated = {"a": "2024-01-01", "b": "2024-03-01", "c": "2024-02-01", "d": None, "e": "2024-02-01"}
    entries = [
        entry(Kind.ARTIFACT, id, content=id, context="Decision".casefold(), **({"ts": ts} if ts else {}))
        for id, ts in dated.items()
    ]
    entries += [entry(Kind.DECISION, "plain", title="a decision record is one, too")]
    entries += [entry(Kind.ARTIFACT, "other", content="x", context="meeting", ts="2024-02-01")]
    memory = remembering(entries, embedder=None)
    token = memory.token()
    answer = memory.recall(token, context="DECISION")
    assert [result["id"] for result in answer["results"]] == ["art_b", "art_c", "art_e", "art_a", "art_d", "plain"]
    assert answer["totalCount"] == 6
    assert {result["score"] for result in answer["results"]} == {None}
    short = memory.recall(token, context="decision", limit=2)
    assert ([result["id"] for result in short["results"]], short["totalCount"]) == (["art_b", "art_c"], 6)
    assert memory.recall(token, context="unknown")["results"] == []


@pytest.mark.long("makes many records")
def test_a_deleted_record_is_in_no_answer(remembering: Callable[..., Any]) -> None:
    memory = remembering(small())
    token = memory.token()
    memory.delete(Kind.ARTIFACT, "art_mail")
    assert memory.send("recall", token, **{"id": "mail"})["error"]["code"] == -32007
    assert memory.recall(token, context="email")["totalCount"] == 0
    answer = memory.recall(token, query="launch of the api", graphFilters=["*"])
    assert "art_mail" not in {item["id"] for item in [*answer["results"], *answer["related"]]}


def test_without_a_model_words_find_and_missing_vectors_are_not_counted(remembering: Callable[..., Any]) -> None:
    memory = remembering(small(), embedder=None)
    answer = memory.recall(memory.token(), query="launch")
    (mail,) = answer["results"]
    assert (mail["id"], [event["id"] for event in mail["events"]]) == ("art_mail", ["evt_launch", "evt_undated"])
    assert answer["totalCount"] == 2
    assert memory.recall(memory.token(), query="launch", limit=1)["totalCount"] == 2
    assert memory.recall(memory.token(), query="nobody said this")["totalCount"] == 0


def test_a_long_query_works_and_a_too_long_query_is_refused(memory: Any, token: str) -> None:
    assert memory.recall(token, query="launch " * 714 + "12")["totalCount"] == 7
    assert memory.send("recall", token, **{"query": "x" * 5001})["error"]["code"] == -32602


@pytest.mark.parametrize("store", [[], small()[:1]])
def test_an_empty_or_tiny_store_answers(remembering: Callable[..., Any], store: list[Any]) -> None:
    memory = remembering(store)
    answer = memory.recall(memory.token(), query="launch", graphFilters=["*"])
    assert (answer["totalCount"], answer["related"], answer["entities"]) == (len(store), [], [])
