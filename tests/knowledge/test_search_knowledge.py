"""cstp.searchKnowledge: modes, filters alone and together, shape, isolation, failed parts."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.values import Entry
from tests.kinds import entry
from tests.serving import DIM, SeededEmbedder, Serving, unit
from tests.stores import free_port

Serve = Callable[..., Serving]

MODES = ("hybrid", "semantic", "keyword")
CONTENTS: Mapping[str, dict[str, Any]] = {
    "decision": {"question": "queue"},
    "pattern": {"name": "queue", "solution": "s"},
    "warning": {"title": "queue", "description": "d"},
    "methodology": {"name": "queue"},
    "checklist": {"name": "queue"},
    "persona": {"role": "queue"},
    "workflow": {"name": "queue"},
}


def chunk(id: str, content: str = "a queue of tasks", **members: Any) -> Entry:
    vectors = members.pop("vectors", None)
    return entry(Kind.CHUNK, id, vectors, content=content, **members)


def extraction(id: str, type: str = "pattern", content: dict[str, Any] | None = None, **members: Any) -> Entry:
    vectors = members.pop("vectors", None)
    return entry(Kind.EXTRACTION, id, vectors, type=type, content=content or CONTENTS[type], **members)


def source(id: str, title: str, **members: Any) -> Entry:
    return entry(Kind.SOURCE, id, title=title, **members)


def ids(result: Any) -> list[str]:
    return [each["id"] for each in result["results"]]


@pytest.mark.parametrize(
    "place",
    [
        {"slide": 3},
        {"cell": 7, "headings": ["Queues"], "section": "Queues"},
        {"chapter": "One", "page": 12, "headings": ["Tides", "Neap"], "section": "Neap"},
    ],
)
def test_the_place_of_a_chunk_comes_back(serve: Serve, place: dict[str, Any]) -> None:
    serving = serve()
    serving.put([chunk("c-1", place=place)])
    serving.caught_up()
    for method in ("searchKnowledge", "search"):
        (found,) = serving.ask(method, query="queue")["results"]
        assert found["place"] == place
    assert serving.ask("getChunk", chunkId="c-1")["place"] == place


# parameters missing from tests/wire/search-knowledge.txt
FULL: Mapping[str, tuple[str, dict[str, Any]]] = {
    "checklist": (
        "name",
        {"name": "queue", "items": [{"item": "first", "required": True}, "second"], "context": None},
    ),
    "persona": (
        "role",
        {"role": "queue", "responsibilities": ["r"], "expertise": [], "communicationStyle": "plain"},
    ),
    "workflow": (
        "name",
        {
            "name": "queue",
            "trigger": "t",
            "steps": [{"order": None, "action": "act", "outputs": []}, "then"],
            "decisionPoints": ["d"],
        },
    ),
}


def test_an_extraction_of_each_type_comes_whole(serve: Serve) -> None:
    serving = serve()
    serving.put(
        [
            extraction(f"e-{type}", type, content, topics=["ops"], chunk_id="c-9", source_id="s-9")
            for type, (_, content) in FULL.items()
        ]
    )
    serving.caught_up()
    for type, (name, content) in FULL.items():
        (found,) = serving.ask("searchKnowledge", query="queue", filters={"type": type})["results"]
        assert found.pop("score") >= 0
        assert found == {
            "id": f"e-{type}",
            "type": "extraction",
            "extractionType": type,
            "title": content[name],
            "content": content,
            "topics": ["ops"],
            "distance": None,
            "origin": "file",
            "recordedBy": None,
            "chunkId": "c-9",
            "chunkInfo": None,
            "source": {"sourceId": "s-9", "title": "s-9"},
        }


def test_chunks_and_extractions_come_in_one_order_by_their_scores(serve: Serve) -> None:
    serving = serve(SeededEmbedder())
    query = SeededEmbedder().embed_query("queue")
    other = unit(np.random.default_rng(1).normal(size=DIM))[0]

    def near(share: float) -> Any:
        return unit(share * query + (1 - share) * other)

    made = [chunk("c-1", vectors=near(1.0)), extraction("e-1", vectors=near(0.9)), chunk("c-2", vectors=near(0.6))]
    serving.put([*made, extraction("e-2", vectors=near(0.2)), chunk("c-3", vectors=-near(1.0))])
    serving.caught_up()
    result = serving.ask("searchKnowledge", query="queue", mode="semantic")
    assert ids(result) == ["c-1", "e-1", "c-2", "e-2", "c-3"]
    scores = [each["score"] for each in result["results"]]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == pytest.approx(1.0, abs=1e-6)
    assert [each["distance"] for each in result["results"]] == pytest.approx([1 - s for s in scores], abs=2e-6)
    assert result["metadata"]["searchType"] == "semantic"
    assert serving.ask("searchKnowledge", query="queue")["metadata"]["searchType"] == "hybrid"


def test_found_chunks_resolve_in_get_chunk(serve: Serve) -> None:
    serving = serve()
    serving.put([chunk("c-1"), extraction("e-1", chunk_id="c-1")])
    serving.caught_up()
    found = serving.ask("searchKnowledge", query="queue")["results"]
    assert sorted(each["id"] for each in found) == ["c-1", "e-1"]
    for each in found:
        assert serving.ask("getChunk", chunkId=each["chunkId"])["content"] == "a queue of tasks"


def test_a_source_is_named_by_its_id_or_its_title_in_any_case(serve: Serve) -> None:
    serving = serve()
    serving.put(
        [
            source("s-1", "Große Queues"),
            source("s-2", "GROSSE QUEUES"),
            source("s-3", "Queues"),
            source("s-4", "Secret", sensitivity="sensitive"),
            *(chunk(f"c-{number}", source_id=f"s-{number}") for number in range(1, 6)),
            extraction("e-1", source_id="s-1"),
            chunk("c-none"),
        ]
    )
    serving.caught_up()
    token = serving.token()
    for name, expected in (
        ("s-1", ["c-1", "e-1"]),
        ("große queues", ["c-1", "c-2", "e-1"]),
        ("queues", ["c-3"]),
        ("queue", []),
        ("S-1", []),
        ("s-5", ["c-5"]),  # names a missing source
        ("s-4", ["c-4"]),  # a hidden source is like an unknown source
        ("secret", []),
        ("a\0b", []),
    ):
        found = serving.ask("searchKnowledge", token, query="queue", filters={"source": name}, limit=100)
        assert sorted(ids(found)) == expected, name
    assert ids(serving.ask("searchKnowledge", query="queue", filters={"source": "secret"})) == ["c-4"]
    hidden = serving.ask("searchKnowledge", token, query="queue", filters={"source": "s-4"})
    assert hidden["results"][0]["source"] == {"sourceId": "s-4", "title": "s-4"}
    assert hidden["metadata"]["sourcesCited"] == ["s-4"]


# of a chunk about rag, a chunk about ops, a pattern about RAG, a warning about ops and a persona
FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["c-ops", "c-rag", "e-pattern", "e-persona", "e-warning"]),
    ({"type": "chunk"}, ["c-ops", "c-rag"]),
    ({"type": "extraction"}, ["e-pattern", "e-persona", "e-warning"]),
    ({"type": "pattern"}, ["e-pattern"]),
    ({"type": ["warning", "chunk"]}, ["c-ops", "c-rag", "e-warning"]),
    ({"type": ["persona"]}, ["e-persona"]),
    ({"type": "workflow"}, []),
    ({"topic": "Rag"}, ["c-rag", "e-pattern"]),
    ({"topic": "op"}, []),
    ({"topic": ""}, ["c-ops", "c-rag", "e-pattern", "e-persona", "e-warning"]),
    ({"source": "BOOK"}, ["c-ops", "e-warning"]),
    ({"type": ["pattern", "chunk"], "topic": "ops", "source": "book"}, ["c-ops"]),
    ({"type": "extraction", "topic": "rag", "source": "s-1"}, []),
]


def test_filters_alone_and_together_hold_in_every_mode(serve: Serve) -> None:
    serving = serve(SeededEmbedder())
    serving.put([source("s-1", "Book")])
    given: list[dict[str, Any]] = [{"vectors": unit(np.random.default_rng(at).normal(size=DIM))} for at in range(5)]
    serving.put(
        [
            chunk("c-rag", "a cache of tokens", tags=["rag"], **given[0]),
            chunk("c-ops", tags=["ops"], source_id="s-1", **given[1]),
            extraction("e-pattern", topics=["RAG"], **given[2]),
            extraction("e-warning", "warning", topics=["ops"], source_id="s-1", **given[3]),
            extraction("e-persona", "persona", **given[4]),
        ]
    )
    serving.caught_up()
    for filters, expected in FILTERS:
        found = {mode: ids(serving.ask("searchKnowledge", query="queue", mode=mode, filters=filters)) for mode in MODES}
        assert sorted(found["semantic"]) == sorted(found["hybrid"]) == expected, filters
        assert sorted(found["keyword"]) == [id for id in expected if id != "c-rag"], filters
        # never fewer than there are
        assert ids(serving.ask("searchKnowledge", query="queue", filters=filters, limit=2)) == found["hybrid"][:2]


@pytest.mark.long("asks with every filter")
def test_any_search_makes_one_store_call_and_a_second_for_a_source(serve: Serve) -> None:
    serving = serve()
    serving.put([source(f"s-{number}", f"Book {number}") for number in range(100)])
    serving.put([chunk(f"c-{number}", source_id=f"s-{number}") for number in range(100)])
    serving.put([extraction(f"e-{number}", source_id=f"s-{number}") for number in range(100)])
    serving.caught_up()
    for params, calls in (({}, 1), ({"limit": 100}, 1), ({"filters": {"source": "book 7"}}, 2)):
        before = serving.calls.count
        assert serving.ask("searchKnowledge", query="queue", **params)["results"]
        assert serving.calls.count - before == calls


def test_a_just_changed_record_is_read_again_and_a_deleted_record_is_gone(serve: Serve) -> None:
    serving = serve()
    serving.put([chunk(f"c-{number}", tags=["ops"]) for number in range(4)])
    serving.caught_up()
    serving.put([chunk("c-1", tags=["other"]), chunk("c-2", tags=["ops"], sensitivity="sensitive")])
    serving.records.delete(Kind.CHUNK, ["c-3"])
    found = serving.ask("searchKnowledge", serving.token(), query="queue", filters={"topic": "ops"})
    assert ids(found) == ["c-0"]


def test_without_its_chroma_server_every_independent_search_is_answered(serve: Serve) -> None:
    serving = serve(SeededEmbedder(), f"http://127.0.0.1:{free_port()}")
    serving.put([chunk("c-1", vectors=unit(np.eye(DIM)[0])), chunk("c-2", vectors=unit(np.eye(DIM)[1]))])
    serving.caught_up()
    for mode in ("hybrid", "semantic", "keyword"):
        assert sorted(ids(serving.ask("searchKnowledge", query="queue", mode=mode))) == ["c-1", "c-2"]
    assert [one["chunkId"] for one in serving.ask("getChunk", chunkId="c-1")["relatedChunks"]] == ["c-2"]
