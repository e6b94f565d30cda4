"""Patterns found by an anchor are exactly the matching ones, quickly."""

from dataclasses import replace
from random import Random
from time import process_time

import numpy as np
import pytest

from cognition_engines.indexes.columns.builder import Columns
from cognition_engines.indexes.columns.path_index import PathIndex
from cognition_engines.indexes.columns.snapshot import MaskCache
from cognition_engines.models import Governs, Viewer
from cognition_engines.path_patterns import compile_list
from cognition_engines.path_sets import includes
from cognition_engines.spaces import DECISIONS
from tests.indexes.made import page_of

NAMES = ("src", "api", "lib", "a.py", "b.md", "test_a.py", "x")
PIECES = (*NAMES, "*", "**", "*.py", "test_*", "[ab].py", "a?py", r"\x", "*i", "*p*", "*est_*p*", "*[ab]*p*")


def some_pattern(random: Random) -> str:
    negated, root = random.choice(["", "", "", "!"]), random.choice(["", "", "/"])
    return negated + root + "/".join(random.choices(PIECES, k=random.randint(1, 3))) + random.choice(["", "", "/"])


def test_an_anchor_hides_no_matching_pattern() -> None:
    random = Random(3)
    lists = ["\n".join(some_pattern(random) for _ in range(random.choice([1, 1, 3]))) for _ in range(800)]
    index = PathIndex()
    index.learn([f"path:{one}" for one in dict.fromkeys(lists)])
    some = 0
    for _ in range(60):
        path = "/".join(random.choices(NAMES, k=random.randint(1, 4)))
        expected = {f"path:{one}" for one in lists if includes(compile_list(one), path)}
        assert set(index.matching([path])) == expected, path
        some += bool(expected)
    assert some > 40


@pytest.mark.long("makes columns of many records")
@pytest.mark.parametrize(
    ("pattern", "name", "most"), [("src/part_{}/**", "part_{}", 0.020), ("*x{}y*", "ax{}yz", 0.100)]
)
def test_fifty_paths_are_compared_with_five_thousand_patterns_in_a_few_milliseconds(
    pattern: str, name: str, most: float
) -> None:
    count = 100_000
    keys = np.arange(1, count + 1)
    patterns = [[f"path:{pattern.format(key // 20)}"] if key % 20 == 0 else [] for key in keys.tolist()]
    columns = Columns(DECISIONS, 1)
    sets = {each.name: [()] * count for each in DECISIONS.sets} | {"governs": patterns}
    columns.apply(page_of(DECISIONS, keys, sets=sets))
    snapshot = columns.publish()
    names = [name.format(100 * place) for place in range(1, 51)]
    condition = Governs("governs", tuple(f"src/{each}/deep/er/file.py" for each in names))
    first, again = [], []
    for _ in range(10):
        fresh = replace(snapshot, masks=MaskCache(count))
        for times in (first, again):
            began = process_time()
            mask = fresh.mask((condition,), Viewer())
            times.append(process_time() - began)
        assert np.count_nonzero(mask) == 50
    assert min(first) < most
    assert min(again) < 0.001
