"""cstp.getDecisions, cstp.getPatterns, cstp.getWarnings: shape, topics, sources, pages, isolation."""

from collections.abc import Callable
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.values import Entry
from tests.kinds import entry
from tests.serving import Serving

Serve = Callable[..., Serving]

CONTENTS: dict[str, dict[str, Any]] = {
    "decision": {"question": "Which database?"},
    "pattern": {"name": "Retry with jitter", "solution": "Wait a random time."},
    "warning": {"title": "Fan-out", "description": "One slow shard holds up all."},
}
METHODS = {"decision": "getDecisions", "pattern": "getPatterns", "warning": "getWarnings"}
ALL = pytest.mark.parametrize("type", METHODS)


def extraction(id: str, type: str = "pattern", content: dict[str, Any] | None = None, **members: Any) -> Entry:
    return entry(Kind.EXTRACTION, id, type=type, content=content or CONTENTS[type], **{"source_id": "s-1", **members})


def source(id: str, title: str, **members: Any) -> Entry:
    return entry(Kind.SOURCE, id, title=title, **members)


def ids(result: Any) -> list[str]:
    return [each["id"] for each in result["results"]]


@ALL
def test_a_topic_matches_whole_in_any_case_and_never_a_part(serve: Serve, type: str) -> None:
    serving = serve()
    serving.put(
        [
            extraction("e-rag", type, topics=["rag"]),
            extraction("e-both", type, topics=["Storage", "RAG"]),
            extraction("e-storage", type, topics=["storage"]),
            extraction("e-strasse", type, topics=["STRASSE"]),
            *(extraction(f"other-{other}", other, topics=["rag"]) for other in METHODS if other != type),
        ]
    )
    found = serving.ask(METHODS[type], topic="Rag")
    assert (ids(found), found["metadata"]["query"], found["metadata"]["totalCount"]) == (["e-both", "e-rag"], "Rag", 2)
    assert ids(serving.ask(METHODS[type], topic="straße")) == ["e-strasse"]
    for part in ("ra", "rag ", "stor", "%", "nothing"):
        assert serving.ask(METHODS[type], topic=part) == {
            "results": [],
            "metadata": {
                "query": part,
                "sourcesCited": [],
                "resultCount": 0,
                "totalCount": 0,
                "searchType": "filtered",
                "topics": ["rag", "storage", "strasse"],  # the most frequent first; of this type alone
            },
        }
    for none in ({}, {"topic": None}, {"topic": ""}):
        everything = serving.ask(METHODS[type], **none)
        assert (everything["metadata"]["query"], everything["metadata"]["totalCount"]) == ("all", 4)
        assert ("topics" in everything["metadata"]) is ("" in none.values())


@ALL
def test_totals_count_past_the_limit_and_pages_are_disjoint(serve: Serve, type: str) -> None:
    serving = serve()
    days = ["2026-01-01", "2026-01-02", None]
    made = [(f"e-{number:03}", days[number % 3]) for number in range(50)]
    serving.put([extraction(id, type, **({"extractedAt": at} if at else {})) for id, at in made])
    pages = [serving.ask(METHODS[type], limit=20, offset=offset) for offset in (0, 20, 40, 60)]
    assert [page["metadata"]["resultCount"] for page in pages] == [20, 20, 10, 0]
    assert {page["metadata"]["totalCount"] for page in pages} == {50}
    # newest first, ties by id, those without a time last
    ranked = {"2026-01-02": 0, "2026-01-01": 1, None: 2}
    assert [id for page in pages for id in ids(page)] == [
        id for id, _ in sorted(made, key=lambda pair: (ranked[pair[1]], pair[0]))
    ]


def test_the_limit_is_100_by_default_and_up_to_500(serve: Serve) -> None:
    serving = serve()
    serving.put([extraction(f"e-{number:03}") for number in range(502)])
    for params, count in (({}, 100), ({"limit": 1}, 1), ({"limit": 500.0}, 500)):
        metadata = serving.ask("getPatterns", **params)["metadata"]
        assert (metadata["resultCount"], metadata["totalCount"]) == (count, 502)


@ALL
def test_a_source_is_cited_by_its_title_once_and_hidden_sources_as_unknown(serve: Serve, type: str) -> None:
    serving = serve()
    serving.put(
        [
            source("s-b", "B book"),
            source("s-a", "A book"),
            source("s-hidden", "Hidden book", sensitivity="sensitive"),
            extraction("e-1", type, source_id="s-b", source_title="an older title"),
            extraction("e-2", type, source_id="s-a"),
            extraction("e-3", type, source_id="s-a"),
            extraction("e-4", type, source_id="s-hidden"),
            extraction("e-5", type, source_id="s-nowhere"),
            extraction("e-6", type, source_id="s-hidden", source_title="as the record has it"),
            extraction("e-7", type, source_id="s-nowhere", source_title="as the record has it"),
        ]
    )
    result = serving.ask(METHODS[type], serving.token())
    assert [(each["sourceId"], each["sourceTitle"]) for each in result["results"]] == [
        ("s-b", "B book"),
        ("s-a", "A book"),
        ("s-a", "A book"),
        ("s-hidden", "s-hidden"),
        ("s-nowhere", "s-nowhere"),
        ("s-hidden", "as the record has it"),
        ("s-nowhere", "as the record has it"),
    ]
    assert result["metadata"]["sourcesCited"] == ["A book", "B book", "as the record has it", "s-hidden", "s-nowhere"]
    seen = serving.ask(METHODS[type])["results"]
    assert [each["sourceTitle"] for each in seen if each["sourceId"] == "s-hidden"] == ["Hidden book", "Hidden book"]


def test_the_sources_of_a_page_alone_are_cited(serve: Serve) -> None:
    serving = serve()
    serving.put([source("s-a", "A book"), source("s-b", "B book")])
    serving.put([extraction("e-1", source_id="s-a"), extraction("e-2", source_id="s-b")])
    assert serving.ask("getPatterns", limit=1)["metadata"]["sourcesCited"] == ["A book"]


@pytest.mark.long("makes many records")
@ALL
def test_a_page_of_500_makes_three_store_calls(serve: Serve, type: str) -> None:
    serving = serve()
    serving.put([source(f"s-{number}", f"Book {number}") for number in range(500)])
    serving.put([extraction(f"e-{number}", type, source_id=f"s-{number}", topics=["t"]) for number in range(500)])
    serving.ask(METHODS[type])
    for params in ({"limit": 500}, {"limit": 500, "topic": "T"}, {"limit": 1}, {"offset": 300}):
        before = serving.calls.count
        result = serving.ask(METHODS[type], **params)
        assert serving.calls.count - before == 3
        assert len(result["metadata"]["sourcesCited"]) == result["metadata"]["resultCount"] > 0
