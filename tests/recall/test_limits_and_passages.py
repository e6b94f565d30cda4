"""cstp.recall over a socket: results counted by the limit, attached events, passages with their neighbours."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from cognition_engines.errors import ComponentFailed
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.values import FloatArray
from cognition_engines.wanted import Wanted, always
from tests.kinds import entry

TEXT = "Alpha begins here. " + "Then comes a long middle part about queues. " * 3 + "And omega ends it."


def event(id: str, artifact: str, **members: Any) -> Any:
    given = {"category": "Decision", "narrative": f"narrative of {id}"} | members
    return entry(Kind.EVENT, id, artifact_id=artifact, **given)


def passage(id: str, index: int, start: int, end: int, **members: Any) -> Any:
    given = {"artifact_id": "long", "content": TEXT[start:end], "start_char": start, "end_char": end} | members
    return entry(Kind.ARTIFACT_CHUNK, id, chunk_index=index, total_chunks=3, **given)


@pytest.fixture(scope="module")
def memory(remembering: Callable[..., Any]) -> Any:
    entries = [
        entry(Kind.ARTIFACT, f"doc{number}", content=f"launch report {number}", context="meeting")
        for number in range(12)
    ]
    for number in range(12):
        days = (f"2024-03-0{day}" for day in range(1, 4))
        entries += [event(f"e{number}-{day[-1]}", f"doc{number}", event_time=day) for day in days]
    entries.append(event("e0-none", "doc0"))
    entries.append(entry(Kind.ARTIFACT, "long", content=TEXT, chunked=True, context="document"))
    entries += [
        passage("long::chunk::000", 0, 0, 60),
        passage("long::chunk::001", 1, 40, 120, start_char=40),
        passage("long::chunk::002", 2, 110, len(TEXT), artifact_id="art_long"),
        event("of-long", "art_long"),
    ]
    return remembering(entries)


@pytest.mark.parametrize("limit", [1, 2, 3, 10, 11, 50])
@pytest.mark.parametrize("selector", [{"query": "launch report"}, {"context": "meeting"}, {"id": "doc0"}])
def test_limit_counts_results_and_events(memory: Any, token: str, selector: dict[str, Any], limit: int) -> None:
    answer = memory.recall(token, **selector, limit=limit)
    attached = [event["id"] for result in answer["results"] for event in result["events"]]
    shown = [*(result["id"] for result in answer["results"]), *attached]
    assert len(shown) <= limit
    assert len(set(shown)) == len(shown)
    # results come first, and use the remaining room; events of results have a third of found records
    if "query" in selector:
        assert len(shown) == min(limit, answer["totalCount"])
        assert len(answer["results"]) >= min(limit - limit // 3, 12)
    else:
        assert len(answer["results"]) == min(limit, answer["totalCount"])


def test_attached_events_come_newest_first_and_those_without_a_time_last(memory: Any, token: str) -> None:
    (result,) = memory.recall(token, id="doc0")["results"]
    assert [event["id"] for event in result["events"]] == ["evt_e0-3", "evt_e0-2", "evt_e0-1", "evt_e0-none"]
    (result,) = memory.recall(token, id="doc0", limit=3)["results"]
    assert [event["id"] for event in result["events"]] == ["evt_e0-3", "evt_e0-2"]


def test_a_long_artifact_is_one_result_and_whole_by_id(memory: Any, token: str) -> None:
    answer = memory.recall(token, query="a long middle part about queues", limit=50)
    of_long = [result for result in answer["results"] if result["type"] == "chunk" or result["id"] == "art_long"]
    assert [result["metadata"]["artifactId"] for result in of_long] == ["art_long"]
    assert answer["totalCount"] == 12 + 37 + 1 + 1
    (whole,) = memory.recall(token, id="long")["results"]
    assert whole["content"] == TEXT
    (part,) = memory.recall(token, id="long::chunk::001")["results"]
    assert (part["content"], part["metadata"]["chunkInfo"]) == (TEXT[40:120], "2/3")
    assert [event["id"] for event in part["events"]] == ["evt_of-long"]


def test_neighbours_do_not_repeat_overlaps(memory: Any, token: str) -> None:
    (middle,) = memory.recall(token, id="long::chunk::001", expandNeighbors=True)["results"]
    assert middle["content"] == TEXT
    (first,) = memory.recall(token, id="long::chunk::000", expandNeighbors=True)["results"]
    assert first["content"] == TEXT[:120]
    (last,) = memory.recall(token, id="long::chunk::002", expandNeighbors=True)["results"]
    assert last["content"] == TEXT[40:]


def chunk(id: str, index: int, content: str, **members: Any) -> Any:
    return entry(Kind.CHUNK, id, source_id="src", chunk_index=index, total_chunks=9, content=content, **members)


SHARED = "these words stand in both of them"


@pytest.mark.parametrize(
    ("before", "here", "joined"),
    [
        (f"one {SHARED}", f"{SHARED} two", f"one {SHARED} two"),
        ("one", "two", "one\ntwo"),
        ("ends with few", "few words", "ends with few\nfew words"),
        ("The head. Short tail.", "Short tail. Middle", "The head. Short tail. Middle"),
        ("it is in a word", "a wording", "it is in a word\na wording"),
        (SHARED, SHARED, SHARED),
        ("aaaaaaaaaaaaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaaaaaaaab!", "aaaaaaaaaaaaaaaaaaaaaaaaab!"),
    ],
)
def test_shared_text_joins_passages(remembering: Callable[..., Any], before: str, here: str, joined: str) -> None:
    memory = remembering([chunk("c0", 0, before), chunk("c1", 1, here), chunk("c5", 5, "not beside them")], None)
    answer = memory.recall(memory.token(), id="c1", expandNeighbors=True)
    assert answer["results"][0]["content"] == joined
    assert memory.recall(memory.token(), id="c1")["results"][0]["content"] == here


def test_false_positions_are_not_believed(remembering: Callable[..., Any]) -> None:
    memory = remembering(
        [
            chunk("c0", 0, "one thing", start_char=0, end_char=9),
            chunk("c1", 1, "another thing", start_char=3, end_char=16),
            chunk("c2", 2, "far away", start_char=100, end_char=108),
        ],
        None,
    )
    (result,) = memory.recall(memory.token(), id="c1", expandNeighbors=True)["results"]
    assert result["content"] == "one thing\nanother thing\nfar away"


def test_a_hidden_or_filtered_neighbour_is_left_out(remembering: Callable[..., Any]) -> None:
    memory = remembering(
        [
            chunk("c0", 0, "secret", sensitivity="sensitive", source="kindle"),
            chunk("c1", 1, "open", source="kindle"),
            chunk("c2", 2, "elsewhere", source="web"),
        ],
        None,
    )
    (result,) = memory.recall(memory.token(), id="c1", expandNeighbors=True, source="KINDLE")["results"]
    assert result["content"] == "open"
    cleared = memory.token(clearance="sensitive")
    (result,) = memory.recall(cleared, id="c1", expandNeighbors=True, source="KINDLE")["results"]
    assert result["content"] == "secret\nopen"


def test_a_filter_not_met_by_a_record_by_id_gives_no_result(memory: Any, token: str) -> None:
    answer = memory.recall(token, id="doc0", context="email")
    assert (answer["results"], answer["related"], answer["entities"], answer["totalCount"]) == ([], [], [], 0)


@pytest.mark.long("makes many records")
def test_an_artifact_with_missing_chunks_is_not_counted(remembering: Callable[..., Any]) -> None:
    empty = entry(Kind.ARTIFACT, "empty", content="Queues hold messages", chunked=True)
    memory = remembering([empty, entry(Kind.ARTIFACT, "whole", content="Queues hold messages")])
    answer = memory.recall(memory.token(), query="queues", limit=50)
    assert [result["id"] for result in answer["results"]] == ["art_whole"]
    assert answer["totalCount"] == 1


@dataclass
class Failing:
    """An embedder with a constant vector for every text, and none for stored texts while it is down."""

    model: str = "same-4"
    dim: int = 4
    down: bool = False

    def embed_query(self, text: str, wanted: Wanted = always) -> FloatArray:
        return np.full(self.dim, 0.5, np.float32)

    def embed_text(self, text: str) -> FloatArray:
        if self.down:
            raise ComponentFailed("embedder", "down")
        return self.embed_query(text)[None]


@pytest.mark.long("makes many records")
def test_records_waiting_for_vectors_are_counted_once_found_by_words(remembering: Callable[..., Any]) -> None:
    def part(id: str, artifact: str, content: str) -> Any:
        return entry(Kind.ARTIFACT_CHUNK, id, artifact_id=artifact, content=content, chunk_index=0, total_chunks=2)

    model = Failing()
    memory = remembering(
        [
            entry(Kind.TURN, "t1", conversation_id="c", content="a boat"),
            entry(Kind.ARTIFACT, "seen", content="ships", chunked=True),
            part("seen-0", "seen", "ships"),
            entry(Kind.ARTIFACT, "new", content="harbours", chunked=True),
        ],
        model,
    )
    token = memory.token()
    assert memory.recall(token, query="harbour")["totalCount"] == 2
    model.down = True
    memory.records.put(
        [
            entry(Kind.TURN, "t2", conversation_id="c", content="the harbour"),
            part("seen-1", "seen", "its harbour"),
            part("new-0", "new", "a harbour"),
            part("new-1", "new", "one more harbour"),
            part("not-asked-for", "gone", "something else"),
        ],
        None,
    )
    memory.caught_up()
    answer = memory.recall(token, query="harbour")
    assert answer["totalCount"] == len(answer["results"]) == 4
