"""cstp.queryDecisions over a socket: parameters, filters, result members, errors."""

from collections.abc import Callable
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import pytest

from cognition_engines.models import Decision
from cstp.values.decisions import Reason

MODES = ("hybrid", "semantic", "keyword")
SUMMARY = {"id", "title", "category", "confidence", "stakes", "status", "outcome", "date", "distance", "origin"}
SUMMARY |= {"recordedBy", "dateSource"}
QUERY = "which database"


@pytest.fixture(scope="module")
def crowd(kit: ModuleType, asking: Callable[..., Any]) -> Any:
    """Store 200 records near the query in category near, 7 opposite to it in category far, with varying fields."""
    embedder = kit.SeededEmbedder()
    vector = embedder.embed_query(QUERY)
    known = [
        kit.Known(Decision(f"near-{n:03}", "database", "database", category="near", confidence=0.9), vector[None])
        for n in range(200)
    ]
    known += [
        kit.Known(
            Decision(
                f"far-{n}",
                "notes",
                "one database among " + "a great many other words that have nothing to do with it " * 4,
                category="far",
                confidence=n / 10,
                stakes="High" if n % 2 else "low",
                status="accepted" if n < 4 else "other",
                status_text="Accepted" if n < 4 else "Approved by all",
                outcome="success",
                date=datetime(2024, 3, n + 1, 12, 30, tzinfo=UTC),
                reasons=(Reason("pattern", "seen before"), Reason("analysis")),
            ),
            -vector[None],
        )
        for n in range(7)
    ]
    known.append(kit.Known(Decision("bare", "database", category="bare"), vector[None]))
    return asking(embedder, known)


@pytest.fixture(scope="module")
def token(crowd: Any) -> str:
    text: str = crowd.token()
    return text


@pytest.fixture(scope="module")
def ids(crowd: Any, token: str) -> Callable[..., list[str]]:
    """Return `ids(mode, category="far")`: ids found with these filters, asserting that all modes agree."""

    def found(mode: str, limit: int = 50, **filters: Any) -> list[str]:
        result = crowd.ask("queryDecisions", token, query=QUERY, mode=mode, limit=limit, filters=filters)
        assert result["total"] == len(result["decisions"]) <= limit
        return [one["id"] for one in result["decisions"]]

    return found


FAR = [f"far-{n}" for n in range(7)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"category": "far"}, FAR),
        ({"category": "FAR"}, FAR),
        ({"category": "fa"}, []),
        ({"category": "far "}, []),
        ({"minConfidence": 0.4, "maxConfidence": 0.6}, FAR[4:]),
        ({"maxConfidence": 0.0}, FAR[:1]),
        ({"minConfidence": 0.0, "maxConfidence": 0.1}, FAR[:2]),
        ({"category": "bare", "minConfidence": 0.0}, []),
        ({"category": "bare", "maxConfidence": 1.0}, []),
        ({"category": "bare", "dateAfter": "0001-01-01"}, []),
        ({"category": "bare", "dateBefore": "9999-12-31"}, []),
        ({"dateAfter": "2024-03-06T12:30:00Z"}, FAR[5:]),
        ({"dateAfter": "2024-03-06T12:30:00.000001Z"}, FAR[6:]),
        ({"dateBefore": "2024-03-02T12:30:00Z"}, FAR[:2]),
        ({"dateBefore": "2024-03-02T12:29:59.999999Z"}, FAR[:1]),
        ({"dateAfter": "2024-03-06T12:30:00"}, FAR[5:]),
        ({"dateAfter": "2024-03-06T14:30:00+02:00"}, FAR[5:]),
        ({"dateAfter": "2024-03-06T12:31:00+00:00"}, FAR[6:]),
        ({"dateAfter": "2024-03-06", "dateBefore": "2024-03-06"}, FAR[5:6]),
        ({"dateAfter": "2024-03-07"}, FAR[6:]),
        ({"dateBefore": "2024-03-01"}, FAR[:1]),
        ({"stakes": ["HIGH"]}, FAR[1::2]),
        ({"stakes": ["high", "LOW"]}, FAR),
        ({"stakes": ["hi"]}, []),
        ({"status": ["ACCEPTED"]}, FAR[:4]),
        ({"status": ["approved by all"]}, FAR[4:]),
        ({"status": ["other", "accepted"]}, FAR),
        ({"status": ["approved"]}, []),
        (
            {
                "category": "far",
                "minConfidence": 0.1,
                "maxConfidence": 0.5,
                "dateAfter": "2024-03-03",
                "dateBefore": "2024-03-05T12:30:00Z",
                "stakes": ["low"],
                "status": ["accepted", "other"],
            },
            [FAR[2], FAR[4]],
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_filter_leaves_exactly_its_matches(
    ids: Callable[..., list[str]], mode: str, filters: dict[str, Any], expected: list[str]
) -> None:
    assert ids(mode, **filters) == expected


@pytest.mark.parametrize("mode", MODES)
def test_filters_apply_before_the_limit(ids: Callable[..., list[str]], mode: str) -> None:
    assert ids(mode, 3, category="far") == FAR[:3]
    assert ids(mode, 7, stakes=["low", "high"]) == FAR
    assert not set(ids(mode, 50)) & set(FAR)


@pytest.mark.parametrize("mode", MODES)
def test_a_distance_is_the_same_in_every_mode(crowd: Any, token: str, mode: str) -> None:
    for category, distance in (("far", 2.0), ("near", 0.0)):
        result = crowd.ask("queryDecisions", token, query=QUERY, mode=mode, filters={"category": category})
        assert {one["distance"] for one in result["decisions"]} == {distance}


@pytest.mark.parametrize("mode", MODES)
def test_ties_are_ordered_by_id(ids: Callable[..., list[str]], mode: str) -> None:
    assert ids(mode, 9, category="near") == [f"near-{n:03}" for n in range(9)]


@pytest.mark.parametrize("mode", MODES)
def test_missing_members_of_a_record_are_null_and_present(crowd: Any, token: str, mode: str) -> None:
    (one,) = crowd.ask("queryDecisions", token, query=QUERY, mode=mode, filters={"category": "bare"})["decisions"]
    assert set(one) == SUMMARY
    unknown = {name for name, value in one.items() if value is None}
    assert unknown == SUMMARY - {"id", "title", "category", "distance", "origin"}


@pytest.mark.parametrize("mode", MODES)
def test_reasons_are_included_exactly_on_request(crowd: Any, token: str, mode: str) -> None:
    for category, reasons in (("far", ["pattern", "analysis"]), ("bare", [])):
        asked = {"query": QUERY, "mode": mode, "filters": {"category": category}}
        found = crowd.ask("queryDecisions", token, includeReasons=True, **asked)["decisions"]
        assert all(set(one) == SUMMARY | {"reasons"} and one["reasons"] == reasons for one in found)
        assert found
        for params in ({}, {"includeReasons": False}):
            found = crowd.ask("queryDecisions", token, query=QUERY, **params)["decisions"]
            assert all(set(one) == SUMMARY for one in found)


def test_no_filters_and_a_filter_of_null_leave_everything(crowd: Any, token: str) -> None:
    nulls = dict.fromkeys(("category", "minConfidence", "maxConfidence", "dateAfter", "dateBefore", "stakes", "status"))
    everything = crowd.ask("queryDecisions", token, query=QUERY)
    for params in ({"filters": None}, {"filters": {}}, {"filters": nulls}, {"limit": 10}, {"limit": 10.0}):
        again = crowd.ask("queryDecisions", token, query=QUERY, **params)
        assert again["decisions"] == everything["decisions"]
    assert everything["total"] == 10


def test_hybrid_is_the_default_mode(crowd: Any, token: str) -> None:
    assert (
        crowd.ask("queryDecisions", token, query="notes")["decisions"]
        == crowd.ask("queryDecisions", token, query="notes", mode="hybrid")["decisions"]
    )
    assert crowd.ask("queryDecisions", token, query="notes", mode="keyword")["total"] == 7


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "query", ["AND OR NOT", 'title:"x" +a -b ~2 ^3 (', "*", "日本語 écoles", "x" * 8192, "\x00"], ids=range(6)
)
def test_any_text_is_a_query(crowd: Any, token: str, mode: str, query: str) -> None:
    assert crowd.ask("queryDecisions", token, query=query, mode=mode)["query"] == query


def test_semantic_needs_a_model(kit: ModuleType, asking: Callable[..., Any]) -> None:
    plain = asking(None, [kit.Known(Decision("a", "one database"), None), kit.Known(Decision("b", "else"), None)])
    token = plain.token()
    for params in ({}, {"mode": "keyword"}):
        result = plain.ask("queryDecisions", token, query="database", **params)
        assert [(one["id"], one["distance"]) for one in result["decisions"]] == [("a", None)]
    for mode in ("semantic", "hybrid"):
        error = plain.send("queryDecisions", token, **{"query": "database", "mode": mode})["error"]
        assert error["code"] == -32602
        assert [one["field"] for one in error["data"]["violations"]] == ["mode"]
