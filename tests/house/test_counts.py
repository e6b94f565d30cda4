"""Counting rules for the size table: a place, a name, a file and a shape of each sort, and the present state."""

import pytest

from tests.house.__main__ import Row, counted
from tests.house.counts import MEMBERS, member_places, participles, patched_files
from tests.house.walk import DECISION, shape_of, whole_shapes

LISTS = '''
"""Decisions."""
NAMES = ("status_text", "statusText", "category", "confidence", "stakes", "outcome", "supersedes", "superseded_by")

def read(given):
    def write(category, confidence, stakes, outcome):
        return {"supersedes": 1, "supersededBy": 2, "validFrom": 3, **dict(valid_to=4)}
    return given.category, given.confidence, given.title, given.tags, given.date, write

class Fields:
    category: str; confidence: float; stakes: str; outcome: str
    pr: int; feature: str; valid_from: str; valid_to: str
    def title(self): return self.review_by
'''
PATCH = """
--- a/a2a/cstp/methods/registry.py
+++ b/a2a/cstp/methods/registry.py
--- a/a2a/cstp/calls.py
+++ b/a2a/cstp/calls.py
--- /dev/null
+++ b/skills/cognition_engines/queries/new.py
--- a/tests/test_new.py
+++ b/tests/test_new.py
"""


def test_a_place_lists_eight_members_within_one_definition() -> None:
    assert member_places({"some.py": LISTS}) == ["some.py:10", "some.py:6"]


def test_a_participle_counts_only_if_it_is_the_whole_name() -> None:
    text = "".join(f"def {name}(): ...\n" for name in ("_opened", "again", "opened_store", "string", "read", "made"))
    assert participles({"some.py": text}) == (["_opened", "again", "made"], 6)


def test_generated_files_and_tests_are_no_files_by_hand() -> None:
    assert patched_files(PATCH) == ["a2a/cstp/methods/registry.py", "skills/cognition_engines/queries/new.py"]


def test_a_shape_holds_eight_members_and_is_not_part_of_another_shape() -> None:
    sent = shape_of(DECISION)
    some, all_ = shape_of(dict.fromkeys(sorted(MEMBERS)[:8])), shape_of(dict.fromkeys(MEMBERS))
    assert sent
    assert some
    assert all_
    assert shape_of(dict.fromkeys(sorted(MEMBERS)[:7])) is None
    assert whole_shapes([some, sent, all_]) == [sent, all_]


@pytest.mark.long("counts all of the source")
def test_every_figure_is_counted_and_marked_if_it_is_over_its_target() -> None:
    rows = list(counted())
    assert all(row.count > 0 for row in rows)
    assert [str(Row("lines", count, 60_000)).endswith("over") for count in (60_000, 60_001)] == [False, True]
