"""Patterns choose the files of a reference matcher, for as long as a caller waits."""

from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cognition_engines.errors import NotWanted
from cognition_engines.indexes.columns.listing import Listing
from cognition_engines.kinds.spec import Kind
from cognition_engines.path_patterns import parse_patterns
from cognition_engines.path_sets import PathSet, includes
from cognition_engines.queries.answers.filter_conditions import query_conditions
from cognition_engines.queries.governing import ContextRequest, read_context
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.records import Records
from cstp.values.decision_searches import QueryFilters
from cstp.values.decisions import AffectedPart
from tests.indexes.reference_patterns import reference_includes
from tests.kinds import entry

LETTERS = "aab.é"
PIECES = ("a", "b", "ab", "a.b", "é", "*", "?", "[ab]", "[!a]", "[^é]", "[a-c]", "[]b]", r"\*", r"\a")
NAMES = st.text(LETTERS + "*]", min_size=1, max_size=8)
PATTERN_NAMES = st.one_of(st.just("**"), st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join))
PATHS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)
LINES = st.builds(
    lambda negated, root, names, folder: negated + root + "/".join(names) + folder,
    st.sampled_from(["", "", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(PATTERN_NAMES, min_size=1, max_size=4),
    st.sampled_from(["", "", "", "/"]),
)


@given(lines=st.lists(LINES, min_size=1, max_size=3), paths=st.lists(PATHS, min_size=1, max_size=6))
def test_patterns_choose_the_files_of_their_definition(lines: list[str], paths: list[str]) -> None:
    expected = [path for path in paths if reference_includes(lines, path)]
    assert list(PathSet(paths).choose(parse_patterns(lines))) == expected
    assert [path for path in paths if includes(parse_patterns(lines), path)] == expected


def long_paths(random: Random, letters: str) -> list[str]:
    """Return paths, long enough together for all search methods of a text."""
    return ["".join(random.choices(letters, k=random.randint(1, 400))).strip("/") or "a" for _ in range(60)]


@pytest.mark.parametrize("letters", ["a", "ab", "aaab/", "abcdefghij/", "aé", "".join(map(chr, range(0x4E00, 0x4F00)))])
def test_many_long_paths_together_are_chosen_like_each_alone(letters: str) -> None:
    random = Random(7)
    paths = [path for path in long_paths(random, letters) if "//" not in path]
    together = PathSet(paths)
    some = 0
    for _ in range(80):
        path, (begin, middle, end) = random.choice(paths), sorted(random.choices(range(401), k=3))
        if random.random() < 0.5:  # parts of a few characters
            middle, end = begin + random.randint(2, 14), begin + random.randint(15, 24)
        wild = random.choice(["*", "?", "*?", "[!/]", "[ab]*", f"[{letters[0]}-{letters[-1]}]"])
        first, last = path[begin:middle].strip("/"), path[middle + 1 : end]
        begins, ends = random.choice(["*", "**/*", ""]), random.choice(["*", "/", ""])
        patterns = parse_patterns([begins + first + wild + last + ends])
        expected = [path for path in paths if includes(patterns, path)]
        assert list(together.choose(patterns)) == expected
        some += bool(expected)
    assert some > 3


class Waiting:
    """A caller that waits for a number of checks."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self) -> bool:
        self.left -= 1
        return self.left >= 0


@pytest.fixture
def listing(records: Records) -> Listing:
    """Return decisions with forty patterns."""
    parts = [AffectedPart("path", f"*a{number}*") for number in range(40)]
    entries = [entry(Kind.DECISION, f"d-{place}", title="A", affects=(part,)) for place, part in enumerate(parts)]
    records.put(entries, None)
    return Listing(records, DECISIONS)


def ids(found: Sequence[Any]) -> set[str]:
    return {str(one.decision.id) for one in found}


def test_matching_stops_between_patterns_and_costs_other_callers_nothing(records: Records, listing: Listing) -> None:
    request = ContextRequest(tuple(f"src/a{number}.py" for number in range(40)))
    for asked in (0, 20, 39, 60):
        waiting = Waiting(asked)
        with pytest.raises(NotWanted):
            read_context(listing, records, request, datetime.now(UTC), waiting)
        assert waiting.left == -1  # it was not asked again: the work ended there
    found = read_context(listing, records, request, datetime.now(UTC))
    assert ids(found.governing) == {f"d-{number}" for number in range(40)}
    answered = Waiting(1_000_000)
    assert read_context(listing, records, request, datetime.now(UTC), answered) == found
    again = Waiting(1_000_000)
    listing.page(query_conditions(QueryFilters(paths=list(request.files))), request.viewer, 0, 1, None, again)
    assert 1_000_000 - again.left == 1  # for the record of the page: matching patterns are known
