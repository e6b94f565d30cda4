"""Page-by-page reads of the store; tests/query and tests/indexes check that columns agree with the records."""

from collections.abc import Callable

import pytest

from cognition_engines.indexes.columns.builder import Columns
from cognition_engines.kinds.spec import Kind
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.records import Records
from cognition_engines.store.values import Entry

Make = Callable[..., Entry]


def test_a_page_beginning_elsewhere_is_refused(records: Records, entry: Make) -> None:
    columns = Columns(DECISIONS, 3)
    for id in "abc":
        records.put([entry(id, windows=1)], "m")
    columns.apply(records.changes.page(DECISIONS, 0, 2, "m"))
    last = columns.seq
    for after in (0, last - 1):
        with pytest.raises(ValueError, match=f"begins after {after} instead of {last}"):
            columns.apply(records.changes.page(DECISIONS, after, 10, "m"))
    columns.apply(records.changes.page(DECISIONS, last, 10, "m"))
    assert columns.publish().ids == ["a", "b", "c"]


def test_a_page_without_changes_is_empty_and_ends_at_its_beginning(records: Records, entry: Make) -> None:
    assert not records.changes.page(DECISIONS, 0, 10, "m")
    records.put([entry("a", windows=1)], "m")
    assert len(records.changes.page(DECISIONS, 0, 10, None)) == 1
    page = records.changes.page(DECISIONS, records.last_seq(), 10, "m")
    assert (len(page), page.seq) == (0, records.last_seq())


def test_pages_have_every_change_once_and_no_more_than_their_limit(records: Records, entry: Make) -> None:
    for id in "abcdef":
        records.put([entry(id, windows=1)], "m")
    records.delete(Kind.DECISION, ["b", "d"])
    records.put([entry("a", "changed", windows=1)], "m")
    records.delete(Kind.DECISION, ["c"])
    seqs: list[int] = []
    removed, after = 0, 0
    while page := records.changes.page(DECISIONS, after, 2, "m"):
        assert len(page) <= 2
        seqs, removed, after = [*seqs, *page.seqs.tolist()], removed + len(page.removed), page.seq
    stored = records.reads.by_ids(Kind.DECISION, list("aef"))
    assert (seqs, removed) == (sorted(one.seq for one in stored.values()), 3)


def test_a_page_of_less_than_one_change_is_refused(records: Records) -> None:
    with pytest.raises(ValueError, match="limit: must be at least 1"):
        records.changes.page(DECISIONS, 0, 0, None)
