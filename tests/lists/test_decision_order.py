"""Orders of listDecisions: exact under ties, missing values last, page by page as in a single page."""

from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import DecisionDetails
from tests.kinds import entry
from tests.serving import Serving

STAKES = ("low", "medium", "high", "critical", "enormous")
NAMES = {"reviewBy": "review_by"}
SORTS = ("date", "recordedAt", "confidence", "category", "stakes", "status", "reviewBy")


def made(random: Random) -> list[Any]:
    """Return decisions in stored order; many have equal sort values."""
    found = []
    for number in random.sample(range(1000), 80):
        members = {
            "confidence": random.choice([None, 0.0, 0.5, 1.0]),
            "category": random.choice([None, "Storage", "storage", "api", "Zoo"]),
            "stakes": random.choice([None, *STAKES]),
            "status": random.choice([None, "accepted", "proposed"]),
            "date": random.choice([None, *(datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 3))]),
        }
        due = random.choice([None, *(datetime(year, 1, 1, tzinfo=UTC) for year in (1969, 2024, 2999))])
        members["details"] = random.choice([None, DecisionDetails("Bake", review_by=due)])
        found.append(entry(Kind.DECISION, f"dec_{number:03d}", title="Bake", **members))
    return found


def expected(entries: list[Any], sort: str, ascending: bool) -> list[str]:
    def value(place: int) -> Any:
        record = entries[place].record
        stated = place if sort == "recordedAt" else getattr(record, NAMES.get(sort, sort))
        if stated is None or sort in ("recordedAt", "confidence"):
            return stated
        if sort in ("date", "reviewBy"):
            return stated.timestamp()
        return (STAKES.index(stated), "") if sort == "stakes" else (0, stated.lower())

    def newest(place: int) -> Any:
        record = entries[place].record
        return (record.date is None, -record.date.timestamp() if record.date else 0, record.id)

    places = sorted(range(len(entries)), key=newest)
    known = [place for place in places if value(place) is not None]
    ordered = sorted(known, key=value, reverse=not ascending)
    return [entries[place].record.id for place in [*ordered, *(one for one in places if value(one) is None)]]


@pytest.mark.long("makes many records")
@pytest.mark.parametrize("sort", SORTS)
def test_a_list_is_in_the_requested_order(serve: Callable[..., Serving], sort: str) -> None:
    serving = serve()
    entries = made(Random(sort))
    for one in entries:
        serving.records.put([one], None)
    for order in ("asc", "desc"):
        wanted = expected(entries, sort, order == "asc")
        whole = serving.ask("listDecisions", sort=sort, order=order, limit=500)
        assert [one["id"] for one in whole["decisions"]] == wanted
        pages = [serving.ask("listDecisions", sort=sort, order=order, limit=7, offset=at) for at in range(0, 84, 7)]
        assert [one["id"] for page in pages for one in page["decisions"]] == wanted
        assert {page["total"] for page in pages} == {80}
    assert serving.ask("listDecisions", sort=sort, limit=500)["decisions"] == whole["decisions"]


def test_an_unknown_order_is_refused(serve: Callable[..., Serving]) -> None:
    assert serve().refused("listDecisions", sort="title", order="up") == ["sort", "order"]
