"""cstp.recall over a socket: related records, the reason of each relation, and named entities."""

from collections.abc import Callable
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from tests.kinds import entry


def event(id: str, actors: list[str], subject: str | None = None, **members: Any) -> Any:
    given = {"category": "Decision", "narrative": f"about {id}"} | members
    if subject is not None:
        given["subject"] = subject
    return entry(Kind.EVENT, id, actors=actors, **given)


def graph() -> list[Any]:
    return [
        entry(Kind.ARTIFACT, "start", content="where it starts", context="meeting", participants=["ana"]),
        event("seed", ["Ana Ruiz"], "Cache", artifact_id="start", category="Anything"),
        entry(Kind.ENTITY, "ent_ana", name="Ana Ruiz", type="person", aliases=["ana"]),
        entry(Kind.ENTITY, "ent_bo", name="Bo Chen", type="person"),
        entry(Kind.ENTITY, "ent_cy", name="Cy", type="person"),
        entry(Kind.ENTITY, "ent_di", name="Di", type="person"),
        entry(Kind.EDGE, "1", source_id="ent_ana", target_id="Bo  CHEN", type="works with", confidence=0.9),
        entry(Kind.EDGE, "2", source_id="ent_cy", target_id="ANA", type="reports to", confidence=0.5),
        entry(Kind.EDGE, "3", source_id="ent_bo", target_id="ent_di", type="works with"),
        entry(Kind.EDGE, "4", source_id="ent_ana", target_id="ent_nobody", type="works with"),
        event("actor", ["ent_ana"]),
        event("subject", [], "CACHE"),
        event("out", ["Bo Chen"]),
        event("in", ["Cy"]),
        event("two-away", ["Di"]),
        event("unrelated", ["Eve"]),
        event("category", ["Ana Ruiz"], category="Feedback"),
        event("risk", ["Ana Ruiz"], category="qualityrisk", artifact_id="told"),
        entry(Kind.ARTIFACT, "told", content="where a risk was told", context="email"),
        event("cached", [], "cache", artifact_id="about"),
        entry(Kind.ARTIFACT, "about", content="where it was told", context="note"),
        entry(Kind.TURN, "said", content="hello", conversation_id="c", turn_index=0, speaker="Ana"),
        entry(Kind.ARTIFACT, "mention", content="the cache is mentioned", context="note", mentions=["cache"]),
    ]


@pytest.fixture(scope="module")
def memory(remembering: Callable[..., Any]) -> Any:
    return remembering(graph())


def reasons(answer: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {item["id"]: (item["reason"], item["via"]) for item in answer["related"]}


def test_every_related_item_has_a_reason(memory: Any, token: str) -> None:
    answer = memory.recall(token, id="start", graphBudget=50)
    assert reasons(answer) == {
        "evt_actor": ("same_actor", "Ana Ruiz"),
        "evt_risk": ("same_actor", "Ana Ruiz"),
        "art_said": ("same_actor", "Ana Ruiz"),
        "art_told": ("same_actor", "Ana Ruiz"),
        "evt_subject": ("same_subject", "CACHE"),
        "evt_cached": ("same_subject", "cache"),
        "art_about": ("same_subject", "Cache"),  # without its spelling
        "art_mention": ("same_subject", "cache"),
        "evt_out": ("edge", "Bo Chen"),
        "evt_in": ("edge", "Cy"),
    }
    scores = [item["score"] for item in answer["related"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    members = {"id", "type", "content", "context", "metadata", "score", "reason", "via", "origin", "recordedBy"}
    assert set(answer["related"][0]) == members


def test_categories_of_related_events_are_those_asked_for(memory: Any, token: str) -> None:
    every = reasons(memory.recall(token, id="start", graphBudget=50, graphFilters=["*"]))
    assert "evt_category" in every
    assert "evt_unrelated" not in every
    one = reasons(memory.recall(token, id="start", graphBudget=50, graphFilters=["FEEDBACK"]))
    assert [id for id in one if id.startswith("evt_")] == ["evt_category"]
    assert "art_told" not in one
    both = memory.recall(token, id="start", graphBudget=50, graphFilters=None)
    assert "evt_category" not in reasons(both)


def test_the_budget_is_kept_and_the_best_stay(memory: Any, token: str) -> None:
    whole = [item["id"] for item in memory.recall(token, query="about risk", limit=1, graphBudget=50)["related"]]
    for budget in (1, 2, 5):
        part = memory.recall(token, query="about risk", limit=1, graphBudget=budget)["related"]
        assert [item["id"] for item in part] == whole[:budget]
    assert memory.recall(token, id="start", graphBudget=0)["related"] == []


def test_without_expansion_nothing_is_related_and_entities_stay(memory: Any, token: str) -> None:
    answer = memory.recall(token, id="start", expand=False)
    assert answer["related"] == []
    assert [entity["id"] for entity in answer["entities"]] == ["ent_ana"]
    assert memory.recall(token, id="start", expand=False, includeEntities=False)["entities"] == []
    assert memory.recall(token, id="start", includeEntities=False)["related"] != []


def test_entities_are_counted_and_ordered_by_their_mentions(memory: Any, token: str) -> None:
    answer = memory.recall(token, id="start", graphBudget=50)
    found = [(entity["id"], entity["mentionCount"]) for entity in answer["entities"]]
    # start, seed, actor, category, risk, said
    assert found == [("ent_ana", 6), ("ent_bo", 1), ("ent_cy", 1)]
    assert answer["entities"][0] == {
        "id": "ent_ana", "name": "Ana Ruiz", "type": "person", "role": None, "organization": None,
        "aliases": ["ana"], "mentionCount": 6,
    }  # fmt: skip


def test_an_event_by_id_leads_to_its_artifact(memory: Any, token: str) -> None:
    assert "art_told" in reasons(memory.recall(token, id="risk", graphBudget=50, graphFilters=["*"]))


def test_every_id_in_an_answer_resolves(memory: Any, token: str) -> None:
    answer = memory.recall(token, query="about the cache", limit=20, graphBudget=50, graphFilters=["*"])
    ids = [item["id"] for item in [*answer["results"], *answer["related"]]]
    ids += [event["id"] for result in answer["results"] for event in result["events"]]
    assert len(ids) >= 12
    for id in ids:
        assert memory.recall(token, id=id)["results"][0]["id"] == id


def test_references_to_nothing_break_nothing(remembering: Callable[..., Any]) -> None:
    memory = remembering(
        [
            event("a", ["nobody"], "nothing", artifact_id="art_gone"),
            event("b", ["NOBODY"]),
            entry(Kind.EDGE, "e", source_id="nobody", target_id="gone", type="knows"),
            entry(Kind.ARTIFACT_CHUNK, "loose", artifact_id="art_gone", content="a chunk of nothing"),
            entry(Kind.CHUNK, "alone", source_id="src_gone", content="a chunk without a source"),
        ]
    )
    token = memory.token()
    answer = memory.recall(token, id="a", graphFilters=["*"])
    assert reasons(answer) == {"evt_b": ("same_actor", "NOBODY")}
    assert answer["entities"] == []
    found = memory.recall(token, query="a chunk of nothing", expandNeighbors=True)
    assert found["results"][0]["id"] == "loose"
    assert found["totalCount"] == 4


@pytest.fixture(scope="module")
def crowd(remembering: Callable[..., Any]) -> Any:
    """Store 4,000 events of a single actor; one event answers the query."""
    entries = [event(f"e{number:04}", ["Ana"], narrative=f"routine {number % 7}") for number in range(4_000)]
    entries[3_654] = event("needle", ["Ana"], narrative="the reactor was shut down")
    entries.append(entry(Kind.ARTIFACT, "start", content="Ana writes", context="note", participants=["Ana"]))
    entries.append(event("first", ["Ana"], artifact_id="start", narrative="Ana began"))
    entries += [entry(Kind.ENTITY, f"n{n}", name=f"N{n}", aliases=["Ana"]) for n in range(3)]
    return remembering(entries)


@pytest.mark.long("makes many records")
def test_related_items_are_scored_before_they_are_cut(crowd: Any) -> None:
    token = crowd.token()
    params = {"query": "reactor shut down", "context": "note", "graphBudget": 1}
    # the filter leaves the events out, so the needle can not be a result; without it, it is related
    assert crowd.recall(token, **params)["related"] == []
    answer = crowd.recall(token, id="start", graphBudget=3)
    assert len(answer["related"]) == 3
    answer = crowd.recall(token, query="Ana writes reactor", limit=1, graphBudget=2)
    assert "evt_needle" in {item["id"] for item in [*answer["results"], *answer["related"]]}


@pytest.mark.long("makes many records")
def test_two_calls_give_the_same_answer(crowd: Any) -> None:
    token = crowd.token()
    params = {"query": "routine", "limit": 20, "graphBudget": 50}
    assert crowd.recall(token, **params) == crowd.recall(token, **params)


@pytest.mark.long("makes many records")
@pytest.mark.parametrize("limit", [1, 10, 50])
@pytest.mark.parametrize("budget", [0, 1, 50])
@pytest.mark.parametrize(
    ("params", "most"),
    [
        ({"query": "routine of Ana"}, 5),
        ({"query": "Ana writes", "expandNeighbors": True}, 5),
        ({"id": "start", "expandNeighbors": True}, 4),
        ({"context": "note"}, 5),
        ({"conversationId": "c"}, 1),
    ],
)
def test_recall_makes_few_store_calls(crowd: Any, params: dict[str, Any], most: int, limit: int, budget: int) -> None:
    token = crowd.token()
    crowd.recall(token, **params, limit=limit, graphBudget=budget)  # a server's first list also reads existing records
    before = crowd.calls.count
    crowd.recall(token, **params, limit=limit, graphBudget=budget)
    assert 1 <= crowd.calls.count - before <= most
