"""What a token may not see does not exist for it: random records, random tokens, every mode, every kind of filter."""

from collections.abc import Callable
from random import Random
from types import ModuleType
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import SENSITIVITIES, Decision, Filters, Sensitivity, Viewer

MODES = ("hybrid", "semantic", "keyword")
SECRET = "quokka"  # a word of hidden records only
RIGHTS = [
    {"clearance": clearance, "projects": projects}
    for clearance in SENSITIVITIES
    for projects in (None, ("alpha",), ("alpha", "beta"), ("Alpha",), ("unknown",))
]


@pytest.fixture(scope="module")
def world(kit: ModuleType, asking: Callable[..., Any]) -> Any:
    """A server over 400 random records, and the same records for the reference."""
    random = Random(77)
    known = [kit.Known(kit.random_decision(random, n), kit.random_vectors(random)) for n in range(400)]
    known = [kit.Known(one.decision, kit.unit([1] * 8) if one.vectors is None else one.vectors) for one in known]
    return asking(kit.SeededEmbedder(), known), kit.Reference({one.decision.id: one for one in known})


def viewer(rights: dict[str, Any]) -> Viewer:
    projects = rights["projects"]
    return Viewer(SENSITIVITIES[rights["clearance"]], None if projects is None else frozenset(projects))


def on_the_wire(filters: Filters) -> dict[str, Any]:
    given = {
        "category": filters.category,
        "minConfidence": filters.min_confidence,
        "maxConfidence": filters.max_confidence,
        "dateAfter": filters.date_after and filters.date_after.isoformat(),
        "dateBefore": filters.date_before and filters.date_before.isoformat(),
        "stakes": filters.stakes and list(filters.stakes),
        "status": filters.status and list(filters.status),
    }
    return {name: value for name, value in given.items() if value is not None}


@pytest.mark.parametrize("rights", RIGHTS, ids=lambda rights: f"{rights['clearance']}-{rights['projects']}")
def test_no_answer_shows_or_counts_hidden(kit: ModuleType, world: tuple[Any, Any], rights: dict[str, Any]) -> None:
    server, reference = world
    token, sees = server.token(**rights), viewer(rights)
    random = Random(repr(rights))
    for round in range(12):
        filters = kit.random_filters(random) if round else Filters()
        query = " ".join(random.choices(kit.WORDS, k=random.choice([1, 3])))
        vector = kit.SeededEmbedder().embed_query(query)
        limit = random.choice([1, 10, 50])
        visible = reference.matching(filters, sees)
        for mode in MODES:
            params = {"mode": mode, "limit": limit, "filters": on_the_wire(filters), "includeReasons": True}
            result = server.ask("queryDecisions", token, query=query, **params)
            found = [one["id"] for one in result["decisions"]]
            assert result["total"] == len(found) == len(set(found))
            assert set(found) <= {one.decision.id for one in visible}
            if mode == "semantic":
                assert found == [id for id, _ in reference.semantic(filters, sees, vector, limit)]
            else:
                words = set(query.split())
                worded = [o for o in visible if words & set(f"{o.decision.title} {o.decision.text}".split())]
                full = visible if mode == "hybrid" else worded
                assert len(found) == min(limit, len(full))
                assert set(found) <= {one.decision.id for one in full}
            for one in result["decisions"]:
                assert one["distance"] == pytest.approx(reference.distance(one["id"], vector), abs=2e-6)


@pytest.mark.long("makes many records")
def test_labels_of_hidden_records_are_unknown(kit: ModuleType, asking: Callable[..., Any]) -> None:
    hidden = {"project": "alpha", "sensitivity": Sensitivity.SENSITIVE}
    secret = Decision("s", SECRET, SECRET, category=SECRET, stakes=SECRET, status="other", status_text=SECRET, **hidden)
    plain = Decision("p", "database", "database", category="team", project="alpha")
    server = asking(kit.SeededEmbedder(), [kit.Known(one, kit.unit([1] * 8)) for one in (secret, plain)])
    token = server.token(projects=["alpha"])

    def shown(reply: dict[str, Any], word: str) -> str:
        reply["result"]["queryTimeMs"] = 0
        return repr(reply).replace(word, "WORD")

    for mode in MODES:
        for params in (
            lambda word: {"query": word},
            lambda word: {"query": "database", "filters": {"category": word}},
            lambda word: {"query": "database", "filters": {"stakes": [word]}},
            lambda word: {"query": "database", "filters": {"status": [word]}},
        ):
            for one, other in ((SECRET, "wombat"),):
                replies = [server.send("queryDecisions", token, mode=mode, **params(word)) for word in (one, other)]
                for reply in replies:
                    # the vectors of two query texts differ, and with them the distances of what is visible
                    for found in reply["result"]["decisions"]:
                        found["distance"] = 0
                assert shown(replies[0], one) == shown(replies[1], other)
    assert server.ask("queryDecisions", server.token(clearance="sensitive"), query=SECRET, mode="keyword")["total"] == 1


@pytest.mark.long("makes many records")
def test_hidden_records_vanish(kit: ModuleType, asking: Callable[..., Any], wait_until: Callable[..., None]) -> None:
    vector = kit.unit([1] * 8)
    server = asking(
        kit.SeededEmbedder(), [kit.Known(Decision(id, "database", project="alpha"), vector) for id in ("a", "b", "c")]
    )
    token = server.token(projects=["alpha"])
    server.caught_up()
    assert server.ask("queryDecisions", token, query="database")["total"] == 3
    server.records.delete(Kind.DECISION, ["b"])
    kit.put(server.records, [kit.Known(Decision("a", "database", project="beta"), vector)])
    for mode in MODES:
        result = server.ask("queryDecisions", token, query="database", mode=mode)
        assert [one["id"] for one in result["decisions"]] == ["c"]
        assert result["total"] == 1
