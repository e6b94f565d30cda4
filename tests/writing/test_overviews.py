"""Decision counts, and the graph of their links: only a viewer's part, and only as far as requested."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from cognition_engines.engine import Engine
from cognition_engines.kinds.decisions import LinkType
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import EVERYTHING, Sensitivity, Viewer
from cognition_engines.queries.lists import MOST_NAMES, MOST_TAGS
from cstp.values.decision_links import GetGraphParams, GetGraphResult, LinkDecisionsParams
from cstp.values.decision_reads import GetStatsParams
from tests.kinds import entry
from tests.writing.test_decisions import ANN
from tests.writing.written import new, write

READER = Viewer()


def decision(id: str, **members: Any) -> Any:
    return entry(Kind.DECISION, id, title=f"Decide {id}", **members)


async def test_counts_are_those_of_the_visible_decisions(engine: Engine) -> None:
    random = Random(5)
    made: list[Any] = []
    for number in range(200):
        rights = {"sensitivity": random.choice([Sensitivity.NORMAL, Sensitivity.SENSITIVE])}
        if random.random() < 0.5:
            rights["project"] = random.choice(["alpha", "beta"])  # type: ignore[assignment]
        date = datetime(2024, 1, random.randrange(1, 20), tzinfo=UTC) if random.random() < 0.8 else None
        made.append(
            decision(
                f"dec_{number}",
                category=random.choice([None, "Storage", "storage", "search"]),
                stakes=random.choice([None, "low", "high"]),
                tags=tuple(random.sample(["a", "B", "c"], k=random.randint(0, 3))),
                date=date,
                **rights,
            )
        )
    engine.records.put(made, None)
    engine.records.delete(Kind.DECISION, ["dec_7", "dec_8"])
    kept = [one.record for one in made if one.record.id not in ("dec_7", "dec_8")]
    for viewer in (READER, EVERYTHING, Viewer(Sensitivity.SENSITIVE, frozenset({"alpha"}))):
        for first in (None, datetime(2024, 1, 10, tzinfo=UTC)):
            found = await engine.count_decisions(GetStatsParams(date_from=first), viewer)
            seen = [
                one
                for one in kept
                if one.sensitivity <= viewer.clearance
                and (viewer.projects is None or one.project in viewer.projects)
                and (first is None or (one.date is not None and one.date >= first))
            ]
            assert found.total == len(seen)
            assert found.by_category == Counter(one.category.lower() for one in seen if one.category)
            assert found.by_stakes == Counter(one.stakes for one in seen if one.stakes)
            assert {each.tag: each.count for each in found.top_tags} == Counter(
                tag.lower() for one in seen for tag in one.tags
            )
            days = Counter(one.date.date() for one in seen if one.date)
            assert [(each.date, each.count) for each in found.by_day] == sorted(days.items())


async def test_the_most_frequent_names_come_first_and_no_more_than_fit(engine: Engine) -> None:
    names = [f"c{number:03d}" for number in range(MOST_NAMES + 20) for _ in range(2 if number == 70 else 1)]
    engine.records.put([decision(f"dec_{n}", category=name, tags=(name,)) for n, name in enumerate(names)], None)
    found = await engine.count_decisions(viewer=EVERYTHING)
    assert list(found.by_category.items())[:2] == [("c070", 2), ("c000", 1)]
    assert (len(found.by_category), len(found.top_tags), found.total) == (MOST_NAMES, MOST_TAGS, len(names))


async def test_recent_decisions_are_counted_by_date_without_future_ones(engine: Engine) -> None:
    now = datetime.now(UTC)
    ages = {"hour": 1, "day": 25, "week": 24 * 8, "old": 24 * 31, "future": -24}
    engine.records.put([decision(f"dec_{n}", date=now - timedelta(hours=age)) for n, age in ages.items()], None)
    found = await engine.count_decisions()
    recent = found.recent_activity
    assert (recent.last_24h, recent.last_7d, recent.last_30d, found.total) == (1, 2, 3, 5)


async def graph(engine: Engine, id: str, viewer: Viewer = EVERYTHING, **asked: Any) -> GetGraphResult:
    return await engine.decision_graph(GetGraphParams(node_id=id, **asked), viewer)


def depths(found: GetGraphResult) -> dict[str, int]:
    return {one.id: one.depth for one in found.nodes}


async def link(engine: Engine, source: str, target: str, type: LinkType = "relates_to") -> None:
    await write(engine, ANN, LinkDecisionsParams(source_id=source, target_id=target, edge_type=type))


@pytest.mark.long("waits until records expire, or asks with every wrong value")
async def test_a_graph_has_all_records_within_the_given_links_and_all_links_between(engine: Engine) -> None:
    a, b, c, d = [(await write(engine, ANN, new(f"Decide {name}"))).id for name in "abcd"]
    await link(engine, a, b)
    await link(engine, b, c, "depends_on")
    await link(engine, c, d)
    await link(engine, d, b, "blocks")
    assert depths(await graph(engine, a, depth=1)) == {a: 0, b: 1}
    whole = await graph(engine, a, depth=2)
    assert depths(whole) == {a: 0, b: 1, c: 2, d: 2}
    assert {(edge.source_id, edge.edge_type, edge.target_id) for edge in whole.edges} == {
        (a, "relates_to", b),
        (b, "depends_on", c),
        (c, "relates_to", d),
        (d, "blocks", b),
    }
    assert depths(await graph(engine, b, direction="outgoing")) == {b: 0, c: 1, d: 2}
    assert depths(await graph(engine, b, depth=1, direction="incoming")) == {b: 0, a: 1, d: 1}
    assert depths(await graph(engine, a, depth=5, edge_types=["relates_to"])) == {a: 0, b: 1}
    first = await graph(engine, a, depth=5, limit=3)
    assert (len(first.nodes), first.truncated) == (3, True)
