"""Records with an unreadable row or links: every answer has the others, and counts them."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from cognition_engines.kinds.registry import embedding_text
from cognition_engines.kinds.spec import Kind
from cognition_engines.set_aside import Part
from tests.contained.conftest import ERRORS, MARK
from tests.kinds import entry
from tests.serving import SeededEmbedder, Serving, start
from tests.stores import Stores

Breaking = Callable[..., list[int]]
QUERIES = "cognition_engines.queries"
ROWS = "cognition_engines.store.reads.by_key:stored_record"
WORDS = ("Alga", MARK, "Coral")
BAD = "bad"
BOOK: dict[str, Any] = {"source_id": "source:book", "total_chunks": 10}
IDS = ("first", BAD, "last")
# function, position of its record, method, parameters, members with the items, part
CALLS: list[tuple[str, int, str, dict[str, Any], str, Part]] = [
    (f"{QUERIES}.decision_reads:_node", 0, "getGraph", {"nodeId": "d-hub"}, "nodes", Part.ANSWERS),
    (ROWS, 1, "getGraph", {"nodeId": "d-hub"}, "nodes", Part.ANSWERS),
    (f"{QUERIES}.knowledge:_to_related", 0, "getChunk", {"chunkId": "c-hub"}, "relatedChunks", Part.ANSWERS),
    (ROWS, 1, "getChunk", {"chunkId": "c-hub"}, "relatedChunks", Part.ANSWERS),
    (ROWS, 1, "recall", {"conversationId": "quay"}, "turns", Part.ANSWERS),
    (ROWS, 1, "recall", {"id": "art_a-hub"}, "events", Part.ANSWERS),
]


def library() -> list[Any]:
    found = [
        entry(Kind.DECISION, "d-hub", title="Keep the hub", text="Keep the hub.", supersedes=[f"d-{id}" for id in IDS]),
        entry(
            Kind.CHUNK,
            "c-hub",
            content="The hub of the harbour.",
            source_id="source:book",
            chunk_index=9,
            total_chunks=10,
        ),
        entry(Kind.ARTIFACT, "a-hub", content="The hub of the harbour."),
    ]
    for place, (id, word) in enumerate(zip(IDS, WORDS, strict=True)):
        found += [
            entry(Kind.DECISION, f"d-{id}", title=f"Moor {word}", text=f"Moor {word}."),
            entry(
                Kind.CHUNK,
                f"c-{id}",
                content=f"Moor {word}.",
                source_id="source:book",
                chunk_index=place,
                total_chunks=10,
            ),
            entry(Kind.TURN, f"t-{id}", conversation_id="quay", turn_index=place, content=f"I moor {word}."),
            entry(Kind.EVENT, f"e-{id}", artifact_id="a-hub", category="event", narrative=f"{word} was moored"),
        ]
    return [replace(one, vectors=SeededEmbedder().embed_text(embedding_text(one.record) or "")) for one in found]


@pytest.fixture(scope="module")
def quay(tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores) -> Iterator[Serving]:
    serving, stop = start(
        tmp_path_factory.mktemp("quay") / "data",
        lasting_stores,
        SeededEmbedder(),
        fill=lambda records: records.put(library(), SeededEmbedder().model),
    )
    serving.caught_up()
    yield serving
    stop()


def ids_of(answer: dict[str, Any], items: str) -> list[str]:
    found = answer["results"][0]["events"] if items == "events" else answer[items]
    return [str(one.get("id") or one["chunkId"]) for one in found]


@pytest.mark.parametrize("error", ERRORS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("call", CALLS, ids=lambda one: f"{one[0].rpartition(':')[2]}-{one[2]}-{one[4]}")
def test_an_answer_has_and_counts_all_but_the_raising_record(
    quay: Serving, broken: Breaking, monkeypatch: pytest.MonkeyPatch, call: Any, error: type[BaseException]
) -> None:
    function, place, method, params, items, part = call
    raised = broken(function, error, place)
    faulty = quay.ask(method, **params)
    notes = quay.indexes.set_aside.records
    monkeypatch.undo()
    whole = quay.ask(method, **params)
    quay.indexes.set_aside.clear(None, [(one.key, one.seq + 1) for one in notes])
    assert len(raised) >= 2  # tried once more, alone
    assert {(one.part, one.cause) for one in notes} == {(part, error.__name__)}
    expected = ids_of(whole, items)
    assert ids_of(faulty, items) == [id for id in expected if BAD not in id]
    assert any(BAD in id for id in expected)
    assert faulty["omitted"] == 1
    assert "omitted" not in whole


@pytest.mark.parametrize("error", ERRORS, ids=lambda one: one.__name__)
def test_a_search_with_links_finds_all_with_links_of_undamaged_records(
    quay: Serving, broken: Breaking, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    asked = {"query": "moor", "include": ["links"], "mode": "keyword"}
    whole = quay.ask("queryDecisions", **asked)["decisions"]
    broken("cognition_engines.store.reads.decisions:DecisionReads._links", error, 1)
    faulty = quay.ask("queryDecisions", **asked)["decisions"]
    notes = quay.indexes.set_aside.records
    monkeypatch.undo()
    quay.indexes.set_aside.clear(None, [(one.key, one.seq + 1) for one in notes])
    assert {(one.id, one.part) for one in notes} == {(f"d-{BAD}", Part.SNIPPETS)}
    assert [one["id"] for one in faulty] == [one["id"] for one in whole]
    assert [one.get("links") for one in faulty if one["id"] != f"d-{BAD}"] == [
        one["links"] for one in whole if one["id"] != f"d-{BAD}"
    ]
    assert [one["id"] for one in faulty if "links" not in one] == [f"d-{BAD}"]


def test_a_record_with_an_unmakeable_item_in_one_answer_is_in_lists_and_found_again(
    quay: Serving, broken: Breaking, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = quay.ask("listDecisions")
    asked = {"query": "moor", "mode": "keyword"}
    whole = quay.ask("queryDecisions", **asked)["decisions"]
    broken(f"{QUERIES}.decisions:summarise", ValueError)
    assert quay.ask("queryDecisions", **asked)["omitted"] == 1
    assert quay.ask("listDecisions") == listed
    monkeypatch.undo()
    notes = quay.indexes.set_aside.records
    assert [one.id for one in notes] == [f"d-{BAD}"]
    assert quay.ask("queryDecisions", **asked)["decisions"] == whole
    quay.indexes.set_aside.clear(None, [(one.key, one.seq + 1) for one in notes])


@pytest.mark.embedded_only("damages a file of SQLite")
def test_a_row_damaged_by_hand_hides_no_other(quay: Serving) -> None:
    file = quay.settings.data_dir / "records.sqlite3"

    def put(value: str) -> str:
        of_id = "key = (SELECT key FROM records WHERE id = 'art_a-x' OR id = 'e-bad' OR id LIKE '%e-bad')"
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            (old,) = connection.execute(f"SELECT actors FROM events WHERE {of_id}").fetchone()
            connection.execute(f"UPDATE events SET actors = ? WHERE {of_id}", [value])
        return str(old)

    whole = ids_of(quay.ask("recall", id="art_a-hub"), "events")
    old = put("{")
    faulty = quay.ask("recall", id="art_a-hub")
    put(old)
    notes = quay.indexes.set_aside.records
    quay.indexes.set_aside.clear(None, [(one.key, one.seq + 1) for one in notes])
    assert ids_of(faulty, "events") == [id for id in whole if BAD not in id]
    assert faulty["omitted"] == 1
    assert {one.part for one in notes} == {Part.ANSWERS}


@pytest.mark.embedded_only("damages a file of SQLite")
def test_a_decision_is_shown_without_a_damaged_review_and_a_damaged_revision(quay: Serving) -> None:
    file = quay.settings.data_dir / "records.sqlite3"
    id = quay.ask("recordDecision", decision="Dredge the quay", confidence=0.5)["id"]
    for outcome in ("partial", "success"):
        quay.ask("reviewDecision", id=id, outcome=outcome)
    whole = quay.ask("getDecision", id=id)["decision"]
    for table, damage in (("reviews", "outcome = 'partial'"), ("revisions", "number = 1")):
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            of_id = f"key = (SELECT key FROM records WHERE id = '{id}') AND {damage}"
            assert connection.execute(f"UPDATE {table} SET content = '{{' WHERE {of_id}").rowcount == 1
    shown = quay.ask("getDecision", id=id)["decision"]
    notes = quay.indexes.set_aside.records
    quay.indexes.set_aside.clear(None, [(one.key, one.seq + 1) for one in notes])
    assert [one["outcome"] for one in shown["reviews"]] == ["success"]
    assert shown["history"] == whole["history"][1:]
    assert {(one.id, one.part) for one in notes} == {(id, Part.ANSWERS)}
