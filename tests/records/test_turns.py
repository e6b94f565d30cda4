"""A turn is found by words of neighbours, but only if visible to the viewer."""

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import sqlalchemy as sa

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity, Viewer
from cognition_engines.spaces import MEMORY
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Entry
from tests.kinds import entry

LEVELS = [level.name.lower() for level in Sensitivity]


def turn(index: int, content: str | None = None, **members: Any) -> Entry:
    said = content or f"turn {index}"
    return entry(Kind.TURN, str(index), **{"conversation_id": "c", "content": said, "turn_index": index} | members)


def around(records: Records) -> dict[str, list[list[str]]]:
    """Return by turn id the texts whose words find it: the turn, texts a turn away, and so on."""
    page = records.changes.page(MEMORY, 0, 1000, None)
    ids = dict(zip(page.keys.tolist(), page.ids, strict=True))
    found = {}
    for text in records.keyword_texts.by_keys(page.keys.tolist()):
        away = [list(each) for each in text.adjacent]
        while away and not away[-1]:
            away.pop()
        found[ids[text.key]] = [[text.body], *away]
    return found


def changed(records: Records, after: int) -> set[str]:
    return set(records.changes.page(MEMORY, after, 100, None).ids)


def test_a_turn_is_found_by_the_words_of_those_beside_it(records: Records) -> None:
    records.put([turn(index) for index in (4, 0, 2)], None)
    assert around(records) == {
        "art_0": [["turn 0"], ["turn 2"], ["turn 4"]],
        "art_2": [["turn 2"], ["turn 0", "turn 4"]],
        "art_4": [["turn 4"], ["turn 2"], ["turn 0"]],
    }


def test_a_turn_is_found_by_the_words_of_three_turns_on_each_side(records: Records) -> None:
    records.put([turn(index) for index in range(9)], None)
    assert around(records)["art_4"] == [
        ["turn 4"],
        ["turn 3", "turn 5"],
        ["turn 2", "turn 6"],
        ["turn 1", "turn 7"],
    ]


@pytest.mark.parametrize("other", [{"conversation_id": "d"}, {"session": "two"}, {"project": "p"}])
def test_turns_of_other_conversations_and_projects_add_no_words(records: Records, other: dict[str, str]) -> None:
    records.put([turn(0), turn(1, **other), turn(2)], None)
    assert around(records) == {
        "art_0": [["turn 0"], ["turn 2"]],
        "art_1": [["turn 1"]],
        "art_2": [["turn 2"], ["turn 0"]],
    }


def test_turns_with_an_index_come_first_the_others_by_time_then_by_their_place(records: Records) -> None:
    def later(id: str, ordinal: int, **members: Any) -> Entry:
        one = entry(Kind.TURN, id, conversation_id="c", content=id, **members)
        return replace(one, origin=replace(one.origin, ordinal=ordinal))

    turns = [
        later("one", 1, ts="2024-05-02"),
        later("two", 0, ts="2024-05-03"),
        later("three", 1, ts="2024-05-03"),
        later("untold", 7),
        turn(5, ts="2024-05-09"),
        turn(4, ts="2024-05-10"),
        turn(6, turn_index=4, ts="2024-05-01"),
    ]
    records.put(list(reversed(turns)), None)
    order = ["art_6", "art_4", "art_5", "art_untold", "art_one", "art_two", "art_three"]
    page = records.conversations.turns("c", (), None, 50)
    assert [one.record.id for one in page.stored] == order
    assert page.indices == [4, 4, 5, 3, 4, 5, 6]
    latest = records.conversations.turns("c", (), None, 2)
    assert ([one.record.id for one in latest.stored], latest.indices) == (order[-2:], [5, 6])
    assert around(records)["art_one"] == [
        ["2024-05-02 one"],
        ["untold", "2024-05-03 two"],
        ["2024-05-09 turn 5", "2024-05-03 three"],
        ["2024-05-10 turn 4"],
    ]
    assert around(records)["art_untold"][:2] == [["untold"], ["2024-05-09 turn 5", "2024-05-02 one"]]


def test_turns_without_an_index_are_numbered_without_hidden_turns(records: Records) -> None:
    said = [
        entry(Kind.TURN, str(place), conversation_id="c", content="x", ts=f"2024-05-0{place + 1}", **rights)
        for place, rights in enumerate([{}, {"sensitivity": "sensitive"}, {}, {"project": "p"}])
    ]
    records.put(said, None)
    assert records.conversations.turns("c", (), None, 50).indices == [0, 1, 2, 3]
    assert records.conversations.turns("c", (), Viewer(), 2).indices == [1, 2]
    assert records.conversations.turns("c", (), Viewer(projects=frozenset({"p"})), 2).indices == [0]


def test_a_hidden_neighbour_lends_no_words(records: Records) -> None:
    records.put([turn(0), turn(1, sensitivity="sensitive"), turn(2), turn(3, sensitivity="highly_sensitive")], None)
    assert around(records) == {
        "art_0": [["turn 0"], ["turn 2"]],
        "art_1": [["turn 1"], ["turn 0", "turn 2"]],
        "art_2": [["turn 2"], ["turn 0"]],
        "art_3": [["turn 3"], ["turn 2"], ["turn 1"], ["turn 0"]],
    }


def test_a_turn_is_indexed_again_when_a_neighbour_comes_changes_or_goes(records: Records) -> None:
    records.put([turn(index) for index in (0, 1, 2, 3, 5, 6, 7, 8)], None)
    steps = [
        lambda: records.put([turn(4)], None),
        lambda: records.put([turn(4, "other words")], None),
        lambda: records.delete(Kind.TURN, ["4"]),
    ]
    for step in steps:
        seen = records.last_seq()
        step()
        assert changed(records, seen) - {"art_4"} == {f"art_{place}" for place in (1, 2, 3, 5, 6, 7)}


@pytest.mark.long("writes many records")
def test_every_turn_with_changed_words_is_reported_whatever_the_cause(records: Records) -> None:
    random = Random(7)
    for _ in range(60):
        before, seen = around(records), records.last_seq()
        index = random.randrange(8)
        if random.random() < 0.25:
            records.delete(Kind.TURN, [str(index)])
        else:
            place = random.choice([index, random.randrange(8)])
            guarded = random.choice(LEVELS)
            project = random.choice([None, "p"]) if random.random() < 0.2 else None
            words = f"{index} {random.random()}"
            records.put([turn(index, words, turn_index=place, sensitivity=guarded, project=project)], None)
        after = around(records)
        differing = {id for id, texts in after.items() if before.get(id) != texts}
        assert differing <= changed(records, seen)


@pytest.mark.long("writes many records")
@pytest.mark.parametrize("levels", [["normal"], ["sensitive"], ["highly_sensitive"], ["normal", *["sensitive"] * 9]])
def test_twice_the_turns_are_about_twice_the_work(tmp_path: Path, levels: list[str]) -> None:
    def work(count: int) -> int:
        records, steps = open_records(f"sqlite:///{tmp_path}/{count}.sqlite3"), 0

        def step() -> int:
            nonlocal steps
            steps += 1
            return 0

        def counted(connection: Any, *_: Any) -> None:
            connection.set_progress_handler(step, 1000)

        sa.event.listen(records.store.writer, "checkout", counted)
        for start in range(0, count, 250):
            places = range(start, start + 250)
            records.put([turn(place, sensitivity=levels[place % len(levels)]) for place in places], None)
        records.close()
        return steps

    assert work(3000) < 2.5 * work(1500)
