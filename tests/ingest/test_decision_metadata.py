"""Members of decisions that are no fields: those that the text has a place for, and those of the metadata."""

import json
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Decision
from cognition_engines.store.records import Records
from tests.ingest.decisions import read_file
from tests.ingest.runs import Run, json_lines, stored

OF_OTHERS: dict[str, Any] = {
    "title": "Keep the queue in PostgreSQL",
    "decided_by": ["Ana", "Bo"],
    "agent": "planner-2",
    "rationale": "One system less to run.",
    "alternatives": ["Redis streams", {"option": "A broker", "why": "a second thing to back up"}],
    "embedding": [0.1, 0.2],
    "ticket": {"number": 12},
}
TEXT = """## Considered Options

* Redis streams
* A broker: a second thing to back up

## Rationale

One system less to run."""


def one(record: dict[str, Any]) -> Decision:
    (draft,) = read_file("decisions.json", json.dumps(record).encode(), explicit=True).drafts
    return draft


@pytest.mark.parametrize("form", ["{}", "[{}]", '{{"records": [{}]}}', '{{"decisions": [{}]}}'])
@pytest.mark.parametrize("path", ["decisions.json", "decisions.yaml"])
def test_unknown_members_go_to_the_text_or_to_the_metadata_with_a_warning(form: str, path: str) -> None:
    result = read_file(path, form.format(json.dumps(OF_OTHERS)).encode())
    (draft,) = result.drafts
    assert draft.text == TEXT
    assert draft.metadata == {"decided_by": ["Ana", "Bo"], "agent": "planner-2", "ticket": {"number": 12}}
    assert [problem.reason for problem in result.warnings] == [
        "members kept in the metadata of decisions: decided_by, agent, ticket",
        "members of decisions that are not read: embedding",
    ]


def test_a_decision_that_names_its_kind_may_say_who_decided_but_nothing_that_is_misspelled() -> None:
    named = {name: value for name, value in OF_OTHERS.items() if name != "ticket"}
    assert one({"kind": "decision", **named}).metadata == {"decided_by": ["Ana", "Bo"], "agent": "planner-2"}
    (problem,) = read_file("decisions.json", json.dumps({"kind": "decision", **OF_OTHERS}).encode()).rejected
    assert problem.reason == "'ticket' is not a field of a decision"


def test_the_sections_follow_the_text_in_the_order_of_a_record() -> None:
    draft = one(
        {"title": "A", "consequences": "D", "options": ["C"], "text": "First.", "context": "B", "decision": "So."}
    )
    assert draft.text == (
        "First.\n\n## Context\n\nB\n\n## Decision\n\nSo.\n\n## Considered Options\n\n* C\n\n## Consequences\n\nD"
    )


def test_a_decision_without_a_title_is_called_by_what_was_decided() -> None:
    assert one({"kind": "decision", "decision": "Use UDP", "context": "Lossy links."}).title == "Use UDP"


@pytest.mark.parametrize("value", [7, [], {"pros": []}, [{"cost": 3}]])
def test_options_without_a_text_are_kept_in_the_metadata(value: Any) -> None:
    draft = one({"title": "A", "alternatives": value})
    assert (draft.text, draft.metadata) == ("", {"alternatives": value})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"pros": ["a"]}, "* pros: \n  * a"),
        (["a", 1], "* a\n* 1"),
        ([{"option": "a", "cost": 3}], "* * option: a\n  * cost: 3"),
        ([{"why": "b"}], "* * why: b"),
    ],
)
def test_options_of_another_shape_are_part_of_the_text(value: Any, text: str) -> None:
    draft = one({"title": "A", "alternatives": value})
    assert (draft.text, draft.metadata) == (f"## Considered Options\n\n{text}", {})


@pytest.mark.parametrize("words", ["Apache Kafka", "因为更便宜", "เพราะถูกกว่า", {"a": ["cheaper, faster"]}])
def test_few_words_of_any_script_are_part_of_the_text(words: Any) -> None:
    assert one({"title": "A", "stakes": "low", "chosen": words}).text.startswith("## chosen\n\n")


def test_members_that_tell_decisions_make_an_object_one() -> None:
    members = {"title": "A", "decidedBy": "Ana", "rationale": "b", "x": 1, "y": 2, "z": 3}
    assert one(members).metadata == {"decidedBy": "Ana", "x": 1, "y": 2, "z": 3}


def test_prose_that_no_field_takes_is_part_of_the_text_and_not_of_the_metadata() -> None:
    record = {
        "title": "Paint the buoys",
        "stakes": "low",
        "ticket": "Q-12",
        "why not": "Green fades in a summer.",
        "log": [{"by": "ana", "said": "red is seen from afar"}, 7],
        "memo": "浮标要涂成红色才看得见",
        "body": "Green.",
    }
    draft = one(record)
    assert draft.text == (
        "## why not\n\nGreen fades in a summer.\n\n"
        "## log\n\n* * by: ana\n  * said: red is seen from afar\n* 7\n\n"
        "## memo\n\n浮标要涂成红色才看得见\n\n"
        "## body\n\nGreen."
    )
    assert draft.metadata == {"ticket": "Q-12"}


def test_what_stands_in_metadata_and_beside_it_is_refused() -> None:
    record = {"title": "A", "agent": "b", "metadata": {"agent": 1}}
    (problem,) = read_file("decisions.json", json.dumps(record).encode()).rejected
    assert problem.reason == "'agent' is given in metadata and outside it"


@pytest.mark.parametrize("value", ["a\ud800", 2**70, {"a": "b\0"}, 10**400])
def test_what_no_store_holds_refuses_the_record_and_names_the_member(value: Any) -> None:
    (problem,) = read_file("decisions.json", json.dumps({"title": "A", "ticket": value}).encode()).rejected
    assert problem.reason.startswith("ticket: ")


def test_front_matter_that_is_no_field_is_in_the_metadata_too_with_a_warning() -> None:
    text = (
        "---\nstatus: accepted\ndecision-makers: [Ana, Bo]\ndecided_by: Ana\nticket: 12\nrationale: cheap\n"
        "metadata:\n  area: billing\n---\n# Use UDP\n\n## Decision\n\nYes.\n"
    )
    result = read_file("0001-use-udp.md", text.encode())
    (draft,) = result.drafts
    assert draft.metadata == {
        "area": "billing",
        "decision-makers": ["Ana", "Bo"],
        "decided_by": "Ana",
        "ticket": 12,
    }
    assert draft.text.endswith("Yes.\n\ndecision-makers: Ana, Bo\ndecided_by: Ana\nticket: 12\nrationale: cheap")
    (problem,) = result.warnings
    assert problem.reason == "members kept in the metadata of decisions: decided_by, ticket"


def test_an_edit_of_metadata_is_a_change(tmp_path: Path, run: Run, records: Records) -> None:
    file = json_lines(tmp_path / "decisions.jsonl", {"id": "a", "title": "A", "metadata": {"ticket": 1}, "agent": "b"})
    run(file)
    (found,) = stored(records, Kind.DECISION)
    assert isinstance(found, Decision)
    assert found.metadata == {"ticket": 1, "agent": "b"}
    json_lines(tmp_path / "decisions.jsonl", {"id": "a", "title": "A", "metadata": {"ticket": 2}, "agent": "b"})
    assert run(file).changed == 1


def test_all_bad_fields_of_a_decision_are_named_at_once() -> None:
    record = {
        **{"kind": "decision", "text": 5, "confidence": 3, "date": "soon", "tags": {"a": 1}},
        **{"Project": "b", "colour": 1, "sensitivity": "x"},
    }
    (problem,) = read_file("decisions.json", json.dumps(record).encode()).rejected
    assert [reason.split(" ", 1)[0] for reason in problem.reason.split("; ")] == [
        "Project", "'colour'", "text", "confidence", "date", "tags", "sensitivity", "title",
    ]  # fmt: skip


def test_all_bad_fields_of_a_record_of_another_kind_are_named_at_once() -> None:
    record = {"kind": "turn", "turn_index": -1, "role": "king", "ts": "soon", "colour": 1, "importance": 2**70}
    (problem,) = read_file("decisions.json", json.dumps(record).encode()).rejected
    reasons = problem.reason.split("; ")
    names = ["importance", "colour", "conversation_id", "content", "turn_index", "role", "ts"]
    assert len(reasons) == len(names)
    assert all(any(name in reason for reason in reasons) for name in names), reasons


def test_a_refusal_of_very_many_reasons_is_short() -> None:
    record = {"kind": "source", "title": "t"} | {f"x{number}": 1 for number in range(500)}
    (problem,) = read_file("decisions.json", json.dumps(record).encode()).rejected
    assert problem.reason.endswith("; and 480 more")
