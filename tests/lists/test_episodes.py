"""cstp.listEpisodes: pages, order, filters, bounds, isolation."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import Any

import pytest

from cognition_engines.indexes.columns.listing import Listing
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.values import Entry
from tests.kinds import entry
from tests.serving import Serving

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
Serve = Callable[..., Serving]


def episode(number: int, **members: Any) -> Entry:
    return entry(Kind.EPISODE, number, **{"query": f"task {number}", "reward": 0.5, **members})


def ids(result: Any) -> list[int]:
    return [each["id"] for each in result["episodes"]]


def day(number: int, hour: int = 0) -> str:
    return (EPOCH + timedelta(days=number, hours=hour)).isoformat()


def test_waiting_lists_block_no_other_call(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    serving = serve()
    serving.put([entry(Kind.CHUNK, "c-1", content="text"), episode(1)])
    begun, go_on = Event(), Event()
    real = Listing.follow

    def slow(*arguments: Any) -> Any:
        begun.set()
        go_on.wait(60)
        return real(*arguments)

    monkeypatch.setattr(Listing, "follow", slow)
    token = serving.token()
    asking = [Thread(target=serving.ask, args=("listEpisodes", token)) for _ in range(serving.settings.store.threads)]
    for thread in asking:
        thread.start()
    assert begun.wait(60)
    serving.ask("getChunk", token, chunkId="c-1")
    go_on.set()
    for thread in asking:
        thread.join()
    assert ids(serving.ask("listEpisodes", token)) == [1]


def test_pages_of_25_by_10_are_disjoint_and_complete_under_ties(serve: Serve) -> None:
    serving = serve()
    serving.put([episode(number, created_at=day(number // 9)) for number in range(1, 24)])
    serving.put([episode(number) for number in (24, 25)])
    pages = [serving.ask("listEpisodes", limit=10, offset=offset) for offset in (0, 10, 20, 30)]
    assert [len(page["episodes"]) for page in pages] == [10, 10, 5, 0]
    assert {page["totalCount"] for page in pages} == {25}
    # newest first, ties by number downwards, those without a time last
    expected = [*range(23, 17, -1), *range(17, 8, -1), *range(8, 0, -1), 25, 24]
    assert [id for page in pages for id in ids(page)] == expected
    past = serving.ask("listEpisodes", offset=25)
    assert (past["episodes"], past["totalCount"], past["offset"]) == ([], 25, 25)


FILTERS: list[tuple[dict[str, Any], list[int]]] = [
    ({"since": day(1)}, [4, 3, 2]),
    ({"since": "2026-01-02T00:00:00"}, [4, 3, 2]),
    ({"since": "2026-01-02T01:00:00+01:00"}, [4, 3, 2]),
    ({"since": "2026-01-02"}, [4, 3, 2]),
    ({"since": day(0), "dateFrom": day(2)}, [4, 3]),
    ({"since": day(3), "dateFrom": day(1)}, [4, 3, 2]),
    ({"dateTo": "2026-01-03"}, [3, 2, 1]),
    ({"date_to": "2026-01-03T00:00:00Z"}, [2, 1]),
    ({"dateFrom": "2026-01-02", "dateTo": "2026-01-02"}, [2]),
    ({"dateFrom": day(9)}, []),
    ({"tags": []}, [4, 3, 2, 1, 5]),
    ({"tags": None, "category": None, "since": None, "dateFrom": None, "dateTo": None}, [4, 3, 2, 1, 5]),
    ({"tags": ["rag"]}, [3, 1]),
    ({"tags": ["rag", "eval"]}, [3]),
    ({"tags": ["rag", "none"]}, []),
    ({"tags": ["ra"]}, []),
    ({"category": "coding"}, [2, 1]),
    ({"category": "Coding"}, [3]),
    ({"category": "cod"}, []),
    ({"category": "cod%"}, [4]),
    ({"category": "c_ding"}, [5]),
    ({"category": "coding", "tags": ["rag"], "since": day(0)}, [1]),
]


def test_a_filter_lets_exactly_its_matches_through(serve: Serve) -> None:
    serving = serve()
    serving.put(
        [
            episode(1, created_at=day(0), tags=["rag"], category="coding"),
            episode(2, created_at=day(1), tags=["RAG"], category="coding"),
            episode(3, created_at=day(2, hour=12), tags=["eval", "rag"], category="Coding"),
            episode(4, created_at=day(3), category="cod%"),
            episode(5, category="c_ding"),
        ]
    )
    for params, expected in FILTERS:
        result = serving.ask("listEpisodes", **params)
        assert (ids(result), result["totalCount"]) == (expected, len(expected)), params


def test_bounds_and_whole_fractions_are_taken(serve: Serve) -> None:
    serving = serve()
    serving.put([episode(number) for number in range(1, 13)])
    assert [len(serving.ask("listEpisodes", limit=limit)["episodes"]) for limit in (1, 10.0, 100)] == [1, 10, 12]
    assert serving.ask("listEpisodes", offset=2**63 - 1)["offset"] == 2**63 - 1
    assert serving.ask("listEpisodes", since=day(3), dateFrom=day(0), dateTo=day(2))["episodes"] == []


def test_any_page_takes_two_store_calls(serve: Serve) -> None:
    serving = serve()
    serving.put([episode(number, created_at=day(number % 50), tags=["rag"]) for number in range(1, 301)])
    serving.ask("listEpisodes")
    for params in ({}, {"offset": 250}, {"tags": ["rag"], "since": day(1)}, {"limit": 100}):
        before = serving.calls.count
        assert serving.ask("listEpisodes", **params)["episodes"]
        assert serving.calls.count - before == 2
