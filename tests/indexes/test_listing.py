"""Lists: complete, in order, immediately exact, and independent of hidden records."""

from collections.abc import Callable, Sequence
from random import Random
from threading import Thread
from typing import Any

import pytest

from cognition_engines.indexes.columns import listing as listing_module
from cognition_engines.indexes.columns.listing import Listing
from cognition_engines.indexes.columns.matching import accepts
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Conditions, HasAll, Sensitivity, Viewer
from cognition_engines.spaces import EPISODES, EXTRACTIONS, Space
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord
from tests.indexes.made import TOPICS, Maker, entry, may_see

ALL = Viewer(Sensitivity.HIGHLY_SENSITIVE)


def expected(stored: Sequence[StoredRecord], space: Space, conditions: Conditions, viewer: Viewer) -> list[str]:
    """Return a list's ids, computed record by record."""
    found = [
        one
        for one in stored
        if one.kind in space.kinds
        and accepts(conditions, one)
        and may_see(viewer, one.facets.project, int(one.facets.sensitivity))
    ]

    def place(one: StoredRecord) -> Any:
        at = one.facets.at
        number = one.record.id
        tie = -number if isinstance(number, int) else number
        return (at is None, 0.0 if at is None else -at.timestamp(), tie)

    return [str(one.record.id) for one in sorted(found, key=place)]


def whole(listing: Listing, conditions: Conditions, viewer: Viewer, size: int) -> list[str]:
    """Return all pages in order; each has the same total."""
    found: list[str] = []
    totals = set()
    while True:
        page = listing.page(conditions, viewer, len(found), size)
        totals.add(page.total)
        if not page.stored:
            assert totals == {len(found)}
            return found
        found += [str(one.record.id) for one in page.stored]


def everything(records: Records, space: Space) -> list[StoredRecord]:
    page = records.changes.page(space, 0, 100_000)
    return list(records.reads.by_keys(page.keys.tolist(), ALL).values())


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_a_list_is_exact_the_moment_after_a_write(records: Records) -> None:
    maker = Maker(3)
    listing = Listing(records, EPISODES)
    random = Random(4)
    for step in range(120):
        if step % 3 == 2 and maker.number > 3:
            number = random.randrange(1, maker.number + 1)
            if step % 2:
                records.delete(Kind.EPISODE, [str(number)])
            else:
                records.put([entry(maker.record(Kind.EPISODE, number))], None)
        else:
            records.put([entry(maker.record(Kind.EPISODE)) for _ in range(random.choice([1, 5]))], None)
        tagged: Conditions = (HasAll("tags", (random.choice(TOPICS),)),)
        for conditions in ((), tagged):
            assert whole(listing, conditions, ALL, 1000) == expected(
                everything(records, EPISODES), EPISODES, conditions, ALL
            )


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_a_list_stays_whole_when_most_of_it_changed_and_dead_rows_were_dropped(records: Records) -> None:
    maker = Maker(6)
    records.put([entry(maker.record(Kind.EXTRACTION)) for _ in range(1600)], None)
    listing = Listing(records, EXTRACTIONS)
    assert listing.page((), ALL, 0, 1).total == 1600
    for _ in range(2):
        records.put([entry(maker.record(Kind.EXTRACTION, number)) for number in range(1, 1300)], None)
        records.put([entry(maker.record(Kind.EXTRACTION))], None)
        assert whole(listing, (), ALL, 500) == expected(everything(records, EXTRACTIONS), EXTRACTIONS, (), ALL)


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_lists_are_complete_while_others_write(records: Records, wait_until: Callable[..., None]) -> None:
    maker = Maker(11)
    listing = Listing(records, EPISODES)
    failures: list[Any] = []

    def write() -> None:
        for _ in range(60):
            records.put([entry(maker.record(Kind.EPISODE)) for _ in range(5)], None)

    def read() -> None:
        seen = 0
        while writer.is_alive():
            page = listing.page((), ALL, 0, 1000)
            ids = [one.record.id for one in page.stored]
            if len(ids) != len(set(ids)) or len(ids) != page.total or len(ids) < seen:
                failures.append((page.total, len(ids), seen))
            seen = len(ids)

    writer = Thread(target=write)
    readers = [Thread(target=read) for _ in range(3)]
    for thread in (writer, *readers):
        thread.start()
    for thread in (writer, *readers):
        thread.join(60)
    assert failures == []
    assert listing.page((), ALL, 0, 1).total == 300


def test_many_changes_are_read_in_several_steps(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    maker = Maker(12)
    records.put([entry(maker.record(Kind.EPISODE)) for _ in range(90)], None)
    monkeypatch.setattr(listing_module, "CHANGES", 7)
    assert whole(Listing(records, EPISODES), (), ALL, 100) == expected(everything(records, EPISODES), EPISODES, (), ALL)
