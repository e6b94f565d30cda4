"""Memories by person and project: listed, recalled and searched with equal filters."""

from collections.abc import Callable
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from tests.kinds import entry
from tests.serving import Serving

Serve = Callable[..., Serving]
CUT = "plum_cut"
HARVEST = {"title": "The harvest"}


@pytest.fixture
def serving(serve: Serve) -> Serving:
    serving = serve()
    people = {"author": "Ana  Reyes", "participants": ["Bo", "Cy"]}
    serving.put(
        [
            entry(Kind.ARTIFACT, "plums", content="Plums ripen late.", project="farm", **people),
            entry(Kind.ARTIFACT, "cut", content="Plums, whole.", title="Plums", chunked=True, author="Di"),
            entry(Kind.ARTIFACT_CHUNK, CUT, artifact_id="art_cut", content="Plums in a passage."),
            entry(Kind.EVENT, "late", artifact_id="art_plums", category="Risk", narrative="Plums may rot."),
            entry(Kind.TURN, "said", conversation_id="c-7", content="Plums?", speaker="Bo", metadata=HARVEST),
        ]
    )
    serving.caught_up()
    return serving


def found(serving: Serving, method: str, **filters: Any) -> set[str]:
    query = {} if method == "listMemories" else {"query": "plums"}
    result = serving.ask(method, **query, **filters)
    return {one["id"] for one in result.get("memories", result.get("results"))}


@pytest.mark.parametrize(
    ("filters", "listed", "others"),
    [
        ({"author": "ANA reyes"}, {"art_plums"}, {"evt_late"}),
        ({"participants": ["ana reyes", "bo"]}, {"art_plums"}, {"evt_late"}),
        ({"participants": ["bo"]}, {"art_plums", "art_said"}, {"evt_late"}),
        ({"author": "Di"}, {"art_cut"}, set()),
        ({"participants": ["Bo"], "project": "farm"}, {"art_plums"}, {"evt_late"}),
        ({"project": "Farm"}, set(), set()),
        ({"author": "Bo", "participants": ["Cy"]}, set(), set()),
    ],
    ids=lambda value: ", ".join(sorted(value)) if isinstance(value, set) else str(value),
)
def test_filters_find_memories(serving: Serving, filters: dict[str, Any], listed: set[str], others: set[str]) -> None:
    assert found(serving, "listMemories", **filters) == listed
    assert found(serving, "search", **filters) == listed | others
    recalled = found(serving, "recall", expand=False, includeEvents=False, **filters)
    assert {id.replace(CUT, "art_cut") for id in recalled} == listed


def test_a_passage_follows_the_author_of_its_artifact(serving: Serving) -> None:
    serving.put([entry(Kind.ARTIFACT, "cut", content="Plums, whole.", title="Plums", chunked=True, author="Flo")])
    serving.caught_up()
    assert found(serving, "search", author="Flo") == {"art_cut"}
    assert found(serving, "search", author="Di") == set()


def test_a_turn_is_found_with_the_name_and_the_file_of_its_conversation(serving: Serving) -> None:
    (turn,) = serving.ask("search", query="plums", kinds=["turn"])["results"]
    assert (turn["conversation"], turn["path"]) == ("The harvest", "memory.jsonl")
    (turn,) = serving.ask("recall", query="plums", context="conversation", expand=False)["results"]
    assert (turn["metadata"]["conversation"], turn["metadata"]["path"]) == ("The harvest", "memory.jsonl")


def test_results_below_a_score_are_left_out_and_nothing_is_related_to_them(serving: Serving) -> None:
    result = serving.ask("recall", query="plums", minScore=2, graphFilters=["*"])
    assert (result["results"], result["related"], result["entities"]) == ([], [], [])
    assert serving.ask("search", query="plums", minScore=2)["results"] == []
