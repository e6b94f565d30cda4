"""Short records among long ones: `cstp ingest`, `cstp serve` and a call for each question."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.quality.answering import Find, Model, answering, finder, ingest
from benchmarks.quality.short_records import LIMIT, Pair, place, read_pairs, write_among
from benchmarks.texts import read_decisions

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def dozen() -> list[Pair]:
    return [pair for pair in read_pairs() if pair.wording == "own"][::4][:12]


@pytest.fixture(scope="module")
def find(tmp_path_factory: pytest.TempPathFactory, dozen: list[Pair]) -> Iterator[Find]:
    folder = tmp_path_factory.mktemp("short")
    long = list(read_decisions(ROOT / "docs" / "decisions"))[:56]  # a later record is no reason to fail
    assert len(long) == 56
    data = ingest(folder, Model("minilm"), lambda path: write_among(dozen, long, path))
    with answering(Model("minilm"), data) as caller:
        yield finder(caller, "cstp.queryDecisions", "decisions", LIMIT)


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_a_short_answer_ranks_before_whole_records_with_its_words(find: Find, dozen: list[Pair], mode: str) -> None:
    placed = place(dozen, find, mode)
    assert (placed.ndcg, placed.first, placed.behind) == (1.0, 1.0, 0.0)


def test_an_answer_behind_a_longer_record_is_counted_but_not_behind_a_short_record() -> None:
    pairs = read_pairs()[:4]
    orders = [["short-001"], ["short-009", "short-002"], ["long-0001", "short-003"], []]
    answers = dict(zip((pair.question for pair in pairs), orders, strict=True))
    placed = place(pairs, lambda _, question: answers[question], "hybrid")
    assert (placed.first, placed.behind) == (0.25, 0.25)


def test_each_of_a_hundred_questions_has_one_short_record() -> None:
    pairs = read_pairs()
    assert Counter(pair.wording for pair in pairs) == {"own": 50, "long": 50}
    assert len({pair.question for pair in pairs}) == len({pair.title for pair in pairs}) == 100
    assert all(pair.text.count(". ") <= 2 for pair in pairs)
