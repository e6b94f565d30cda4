"""cstp.recall over a socket: meaning of filters, applied before the limit."""

from collections.abc import Callable
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from tests.kinds import entry

QUERY = "harvest report"


@pytest.fixture(scope="module")
def memory(remembering: Callable[..., Any]) -> Any:
    """Store 200 records equal to the query, five of another system with little relation to it, and odd records."""
    entries = [entry(Kind.ARTIFACT, f"near{number}", content=QUERY, context="meeting") for number in range(200)]
    entries += [
        entry(Kind.ARTIFACT, f"far{number}", content=f"{QUERY} among a great many other words that are no such thing",
              source_system="Slack", context="document", ts=f"2024-01-0{number + 1}T12:30:00Z", importance=number / 10)
        for number in range(5)
    ]  # fmt: skip
    entries.append(entry(Kind.EVENT, "sure", category="Decision", narrative="sure", confidence=0.99))
    entries.append(entry(Kind.DECISION, "unsure", title="unsure", confidence=0.0))
    return remembering(entries)


@pytest.fixture(scope="module")
def found(memory: Any) -> Callable[..., set[str]]:
    token = memory.token()

    def ids(**params: Any) -> set[str]:
        answer = memory.recall(token, query=QUERY, limit=50, **params)
        assert answer["totalCount"] >= len(answer["results"])
        return {result["id"] for result in answer["results"]}

    return ids


FAR = [f"art_far{number}" for number in range(5)]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"source": "SLACK"}, FAR),
        ({"source": "slac"}, []),
        ({"context": "document"}, FAR),
        ({"context": "Document", "minImportance": 0.2}, FAR[2:]),
        ({"source": "slack", "minImportance": 0.0}, FAR),
        ({"source": "slack", "sensitivity": "normal"}, FAR),
        ({"source": "slack", "sensitivity": "sensitive"}, []),
        ({"dateFrom": "2024-01-01"}, FAR),
        ({"dateFrom": "2024-01-02T12:30:00Z"}, FAR[1:]),
        ({"dateFrom": "2024-01-02T12:31:00Z"}, FAR[2:]),
        ({"dateFrom": "2024-01-02T14:30:00+02:00"}, FAR[1:]),
        ({"dateFrom": "2024-01-02T12:30:00"}, FAR[1:]),
        ({"dateTo": "2024-01-02"}, FAR[:2]),
        ({"dateTo": "2024-01-02T12:29:59Z"}, FAR[:1]),
        ({"dateFrom": "2024-01-03", "dateTo": "2024-01-03"}, FAR[2:3]),
    ],
)
def test_rare_matches_fill_a_page(found: Callable[..., set[str]], params: dict[str, Any], expected: list[str]) -> None:
    assert found(**params) == set(expected)


def test_importance_is_not_confidence(memory: Any) -> None:
    token = memory.token()
    answer = memory.recall(token, query="sure", minImportance=0.1, limit=50)
    assert not {"evt_sure", "unsure"} & {result["id"] for result in answer["results"]}
    assert memory.recall(token, id="unsure", minImportance=0.0)["totalCount"] == 1
    assert memory.recall(token, id="sure", minImportance=0.1)["totalCount"] == 0
