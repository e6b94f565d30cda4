"""Passages: text slices that fit their room and have the query words."""

import time
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from cognition_engines.indexes.keywords.language import make_analyzer
from cognition_engines.search.snippets import Room, passage

ANALYZE = make_analyzer().analyze
TEXT = st.text(st.sampled_from("ab .!?\n-#|。你é`"), max_size=200) | st.text(max_size=60)
PLAIN = "One thing is here. Another thing is there. The lamp is on the table. Nothing else is known. It ends."


def of(text: str, query: str, room: Room, window: tuple[int, int] | None = None) -> str:
    return passage(text, window, frozenset(ANALYZE(query)), ANALYZE, room)


@pytest.mark.long("cuts long texts")
@given(TEXT, st.integers(1, 80), st.data(), st.booleans(), st.booleans())
def test_a_passage_is_a_fitting_slice(text: str, most: int, data: st.DataObject, beyond: bool, in_bytes: bool) -> None:
    start = data.draw(st.integers(0, len(text)))
    window = data.draw(st.none() | st.just((start, data.draw(st.integers(start, len(text))))))
    measure = (lambda part: len(part.encode("utf-8", "surrogatepass"))) if in_bytes else len
    found = of(text, "a b", Room(max(most, 4), measure, beyond), window)
    assert found in text
    assert found == found.strip()
    assert measure(found) <= max(most, 4)


def test_it_begins_with_a_sentence_with_a_word_of_the_query() -> None:
    assert of(PLAIN, "which table is the lamp on", Room(50)) == "The lamp is on the table. Nothing else is known."


def test_without_any_word_it_begins_at_the_beginning_of_the_window() -> None:
    assert of(PLAIN, "xyz", Room(40), (19, 60)) == "Another thing is there."
    assert of(PLAIN, "xyz", Room(20)) == "One thing is here."


def test_words_outside_the_window_do_not_count() -> None:
    assert "lamp" not in of(PLAIN, "lamp", Room(30), (0, 40))


def test_room_left_by_the_window_is_filled_with_surrounding_text() -> None:
    assert of(PLAIN, "lamp", Room(80), (43, 60)) == "The lamp is on the table."
    assert of(PLAIN, "lamp", Room(80, beyond=True), (43, 60)) == PLAIN.partition("there. ")[2]


def test_a_heading_without_its_text_is_left_out() -> None:
    assert of("Tea is hot.\n\n## Why\n\nBecause the water boiled for a while.", "tea", Room(30)) == "Tea is hot."


def test_a_rare_word_weighs_more_than_a_common_word() -> None:
    assert of("The cat sat. The dog ran. The cat ran. A zebra came.", "the zebra", Room(14)) == "A zebra came."


@pytest.mark.long("cuts long texts")
@pytest.mark.parametrize("unit", ["word ", "x", "你", "A.\n", "\n", " ", "- a\n", "a | b\n", ". "])
def test_twice_the_text_takes_about_twice_the_time(unit: str) -> None:
    def seconds(length: int) -> float:
        text = unit * (length // len(unit)) + "end"
        began = time.process_time()
        of(text, "end", Room(600))
        return time.process_time() - began

    seconds(1000)
    times = [min(seconds(length) for _ in range(2)) for length in (25_000, 50_000, 100_000)]
    assert all(more < 6 * less + 0.02 for less, more in pairwise(times)), times
