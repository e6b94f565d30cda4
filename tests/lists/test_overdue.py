"""Decisions overdue for review, current and superseded: listed and counted alike, as of each call."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Decision, DecisionDetails, Sensitivity
from tests.kinds import entry
from tests.serving import Serving

Serve = Callable[..., Serving]
PAST, EARLIER, FUTURE = "2024-01-01T00:00:00Z", "2023-01-01T00:00:00Z", "2999-01-01T00:00:00Z"


def record(serving: Serving, decision: str, **params: Any) -> str:
    id: str = serving.ask("recordDecision", decision=decision, confidence=0.5, **params)["id"]
    return id


def ids(serving: Serving, token: str | None = None, **params: Any) -> set[str]:
    """Return the ids of a list, asserting the total."""
    found = serving.ask("listDecisions", token, limit=500, **params)
    listed = {one["id"] for one in found["decisions"]}
    assert found["total"] == len(listed) == len(found["decisions"])
    return listed


def counts(serving: Serving, token: str | None = None, **params: Any) -> tuple[int, int, int, int]:
    found = serving.ask("getStats", token, **params)
    return found["total"], found["current"], found["superseded"], found["overdue"]


@pytest.mark.long("makes many records")
def test_overdue_decisions_are_past_review_without_outcome_and_not_superseded(serve: Serve) -> None:
    serving = serve()
    late = record(serving, "Bake bread", reviewBy=PAST)
    reviewed = record(serving, "Bake cake", reviewBy=PAST)
    replaced = record(serving, "Bake pie", reviewBy=PAST)
    replaced_by_none_in_force = record(serving, "Bake rye", reviewBy=PAST)
    in_time = record(serving, "Bake buns", reviewBy=FUTURE)
    undated = record(serving, "Bake rolls")
    successor = record(serving, "Bake tart", supersedes=[replaced])
    proposed = record(serving, "Bake flan", supersedes=[replaced_by_none_in_force])
    for id in (reviewed, successor):
        serving.ask("reviewDecision", id=id, outcome="success")

    overdue = {late, replaced_by_none_in_force}
    others = {reviewed, replaced, in_time, undated, successor, proposed}
    assert ids(serving, overdue=True) == overdue
    assert ids(serving, overdue=False) == others
    assert ids(serving) == overdue | others
    assert counts(serving) == (8, 7, 1, 2)


def test_updating_the_review_date_changes_the_overdue_decisions(serve: Serve) -> None:
    serving = serve()
    id = record(serving, "Bake bread", reviewBy=PAST)
    serving.ask("updateDecision", id=id, updates={"reviewBy": FUTURE})
    assert (ids(serving, overdue=True), counts(serving)[3]) == (set(), 0)
    serving.ask("updateDecision", id=id, updates={"reviewBy": EARLIER})
    assert (ids(serving, overdue=True), counts(serving)[3]) == ({id}, 1)
    serving.ask("updateDecision", id=id, updates={"reviewBy": None})
    assert (ids(serving, overdue=False), counts(serving)[3]) == ({id}, 0)


def test_a_list_names_each_review_date_and_a_page_counts_all_overdue_decisions(serve: Serve) -> None:
    serving = serve()
    due = [record(serving, "Bake bread", reviewBy=moment) for moment in (PAST, EARLIER, FUTURE, "2024-02-01")]
    undated = record(serving, "Bake cake")
    serving.put([entry(Kind.DECISION, "of a file", title="Bake", date=datetime(2020, 1, 1, tzinfo=UTC))])

    listed = serving.ask("listDecisions", sort="reviewBy", order="asc")["decisions"]
    assert {one["id"]: one["reviewBy"] for one in listed} == {
        due[0]: PAST,
        due[1]: EARLIER,
        due[2]: FUTURE,
        due[3]: serving.ask("getDecision", id=due[3])["decision"]["reviewBy"],
        undated: None,
        "of a file": None,
    }
    assert [one["id"] for one in listed] == [due[1], due[0], due[3], due[2], undated, "of a file"]

    page = serving.ask("listDecisions", overdue=True, sort="reviewBy", order="asc", limit=1, offset=1)
    assert ([one["id"] for one in page["decisions"]], page["total"]) == ([due[0]], 3)


@pytest.mark.long("makes many records")
def test_a_decision_becomes_overdue_as_time_passes_though_nothing_is_written(serve: Serve) -> None:
    serving = serve()
    due = datetime.now(UTC) + timedelta(milliseconds=400)
    record(serving, "Bake bread", reviewBy=due.isoformat())

    def overdue() -> list[bool]:
        listed, others = (serving.ask("listDecisions", overdue=wanted)["total"] for wanted in (True, False))
        return [listed == 1, others == 0, serving.ask("getStats")["overdue"] == 1]

    passed = False
    while not passed:
        passed = datetime.now(UTC) > due
        found = overdue()
        if datetime.now(UTC) < due:
            assert found == [False] * 3
    assert found == [True] * 3


def random_decision(random: Random, number: int) -> Any:
    moments = [None, *(datetime(year, 1, 1, tzinfo=UTC) for year in (1969, 2020, 2999))]
    members = {
        "category": random.choice(["storage", "api"]),
        "status": random.choice(["accepted", "proposed", "superseded", "deprecated", None]),
        "outcome": random.choice([None, None, "success"]),
        "date": random.choice(moments[:3]),
        "valid_to": random.choice(moments),
        "project": random.choice([None, "alpha", "beta"]),
        "sensitivity": random.choice([Sensitivity.NORMAL, Sensitivity.SENSITIVE]),
        "details": random.choice([None, DecisionDetails("Bake", review_by=random.choice(moments))]),
    }
    return entry(Kind.DECISION, f"dec_{number:03d}", title="Bake", **members)


@pytest.mark.long("makes many records")
def test_overdue_current_and_superseded_decisions_are_listed_and_counted_alike_under_every_filter(serve: Serve) -> None:
    serving, random, now = serve(), Random(7), datetime.now(UTC)
    entries = [random_decision(random, number) for number in range(300)]
    serving.put(entries)
    reader = serving.token(clearance="normal", projects=["alpha"])

    def overdue(one: Decision) -> bool:
        return one.review_by is not None and one.review_by < now and one.outcome is None and one.status != "superseded"

    def current(one: Decision) -> bool:
        return one.status not in ("superseded", "deprecated") and (one.valid_to is None or one.valid_to > now)

    for token in (None, reader):
        for asked in (
            {},
            {"project": "alpha"},
            {"dateFrom": "2000-01-01"},
            {"project": "beta", "dateTo": "2000-01-01"},
        ):
            seen = [one.record for one in entries if sees(one.record, token is None, asked)]
            expected = {one.id for one in seen if overdue(one)}
            assert ids(serving, token, overdue=True, **asked) == expected
            assert ids(serving, token, overdue=False, **asked) == {one.id for one in seen} - expected
            in_force = {one.id for one in seen if current(one)}
            assert ids(serving, token, overdue=True, current=True, **asked) == expected & in_force
            of_api = {one.id for one in seen if one.category == "api"}
            assert ids(serving, token, overdue=False, category="API", hasOutcome=False, **asked) == {
                one.id for one in seen if one.id in of_api - expected and one.outcome is None
            }
            superseded = sum(one.status == "superseded" for one in seen)
            assert counts(serving, token, **asked) == (len(seen), len(in_force), superseded, len(expected))


def sees(one: Decision, everything: bool, asked: dict[str, str]) -> bool:
    """Return whether a token sees a decision accepted by the filters of listDecisions."""
    dates = {name: datetime.fromisoformat(value).replace(tzinfo=UTC) for name, value in asked.items() if "date" in name}
    return (
        (everything or (one.project == "alpha" and one.sensitivity == Sensitivity.NORMAL))
        and asked.get("project", one.project) == one.project
        and (not dates or one.date is not None)
        and (one.date is None or dates.get("dateFrom", one.date) <= one.date <= dates.get("dateTo", one.date))
    )
