"""Runs over conversations: equal turns, the order of turns, and deleted turns."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.runs import EACH, Run, counts, ids, json_lines, stored


def test_equal_turns_are_kept_in_their_order(run: Run, records: Records, tmp_path: Path) -> None:
    turn = {"kind": "turn", "conversation_id": "v", "content": "Yes."}
    summary = run(json_lines(tmp_path / "a.jsonl", turn, turn | {"conversation_id": "w"}, turn))
    assert (summary.new, summary.rejected) == (3, ())
    found = stored(records, Kind.TURN)
    assert sorted(one.conversation_id for one in found) == ["v", "v", "w"]
    assert counts(run(tmp_path / "a.jsonl")) == (0, 0, 3, 0)


@pytest.mark.parametrize("turns", [[EACH[8] | {"turn_index": 1}, EACH[8]], [EACH[8], EACH[8] | {"turn_index": 0}]])
def test_a_stated_index_is_no_place(run: Run, records: Records, tmp_path: Path, turns: list[dict[str, Any]]) -> None:
    file = json_lines(tmp_path / "a.jsonl", *turns, EACH[8] | {"content": "d"})
    assert counts(run(file)) == (3, 0, 0, 0)
    assert sorted(one.content for one in stored(records, Kind.TURN)) == ["c", "c", "d"]
    assert counts(run(file)) == (0, 0, 3, 0)


def test_the_id_of_a_single_turn_never_changes(run: Run, records: Records, tmp_path: Path) -> None:
    files = json_lines(tmp_path / "a.jsonl", EACH[8]), json_lines(tmp_path / "b.jsonl", EACH[8] | {"turn_index": 1})
    run(*files, repository="talks")
    assert ids(records, Kind.TURN) == {"art_38b6c9c37719dec6", "art_c89f4bc3a513678b"}


def test_equal_turns_of_two_files_are_kept_once(run: Run, tmp_path: Path) -> None:
    first = json_lines(tmp_path / "a.jsonl", *(EACH[8] | {"content": word} for word in ("hello", "hi", "ok")))
    second = json_lines(tmp_path / "b.jsonl", *(EACH[8] | {"content": word} for word in ("hello", "what now", "ok")))
    told = f"2 turns say the same as those of {first}, which are kept as they are there"
    for paths, found in (([first, second], (4, 0, 2, 0)), ([first, second], (0, 0, 6, 0)), ([second], (0, 0, 3, 0))):
        summary = run(*paths)
        assert (counts(summary), [(one.file, one.reason) for one in summary.warnings]) == (found, [(str(second), told)])
    timed = [EACH[8] | {"content": "hello", "ts": "2024-05-01T10:00:00Z"}]
    summary = run(json_lines(tmp_path / "c.jsonl", *timed), json_lines(tmp_path / "d.jsonl", *timed))
    assert (counts(summary), summary.warnings) == ((1, 0, 1, 0), ())


def said(records: Records, conversation: str, limit: int = 50) -> list[str]:
    return [one.record.content for one in records.conversations.turns(conversation, (), None, limit).stored]


def test_turns_of_several_files_are_in_the_order_of_their_times(run: Run, records: Records, tmp_path: Path) -> None:
    for day in (2, 1):
        json_lines(tmp_path / f"day{day}.jsonl", *[
            {"kind": "turn", "conversation_id": "v", "content": f"{day}.{hour}", "ts": f"2024-05-0{day}T0{hour}:00:00Z"}
            for hour in (1, 2)
        ])  # fmt: skip
        run(tmp_path / f"day{day}.jsonl")
    assert said(records, "v") == ["1.1", "1.2", "2.1", "2.2"]
    assert said(records, "v", 2) == ["2.1", "2.2"]


def test_turns_follow_the_present_order_of_their_file(run: Run, records: Records, tmp_path: Path) -> None:
    turns = [{"kind": "turn", "conversation_id": "v", "content": word, "id": word} for word in ("a", "b", "c")]
    run(json_lines(tmp_path / "a.jsonl", *turns))
    assert said(records, "v") == ["a", "b", "c"]
    json_lines(tmp_path / "a.jsonl", turns[2], {"kind": "entity", "name": "n"}, turns[0], turns[1])
    assert run(tmp_path / "a.jsonl").changed == 3
    assert said(records, "v") == ["c", "a", "b"]


TALK = "Ana: Shall we use UDP?\nBen: It loses packets.\nAna: We can repeat them.\nBen: Fine.\n"


def test_vanished_turns_are_reported_until_pruned(run: Run, records: Records, tmp_path: Path) -> None:
    file = tmp_path / "talk.txt"
    file.write_text(TALK)
    assert counts(run(file)) == (4, 0, 0, 0)
    file.write_text(TALK.replace("Fine.", "No."))
    summary = run(file)
    assert counts(summary) == (1, 0, 3, 0)
    (warning,) = summary.warnings
    assert (warning.file, "1 record is kept" in warning.reason, "--prune" in warning.reason) == (str(file), True, True)
    assert counts(run(file, dry_run=True, prune=True)) == (0, 0, 4, 1)
    summary = run(file, prune=True)
    assert (counts(summary), summary.warnings) == ((0, 0, 4, 1), ())
    (conversation,) = {turn.conversation_id for turn in stored(records, Kind.TURN)}
    assert said(records, conversation)[-2:] == ["We can repeat them.", "No."]
    file.write_text(f"{TALK}Ana: \0\n")
    assert (run(file, prune=True).deleted, records.counts().get(Kind.TURN, 0)) == (0, 5)


def test_equal_names_are_two_conversations(run: Run, records: Records, checkout: Callable[..., Path]) -> None:
    mine, yours = (checkout(name, "https://a.example/talks") for name in ("mine", "yours"))
    for file in (place / folder / "talk.txt" for place in (mine, yours) for folder in ("monday", "tuesday")):
        file.parent.mkdir()
        file.write_text(TALK.replace("UDP", file.parent.name))
    assert run(mine).new == 8
    found = {turn.conversation_id for turn in stored(records, Kind.TURN)}
    assert [len(said(records, conversation)) for conversation in found] == [4, 4]
    assert all(re.fullmatch("talk-[0-9a-f]{16}", conversation) for conversation in found)
    # the path within the checkout counts
    assert counts(run(yours)) == (0, 0, 8, 0)
    assert run(yours, project="theirs").new == 8
