"""Maps that people write: what each key does, and what is refused with its line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.errors import ConfigurationError
from cognition_engines.ingest.maps.map_files import opened_map, parsed_map, shipped_names
from cognition_engines.ingest.options import Summary, Texts
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity
from cognition_engines.store.records import Records
from tests.ingest.runs import Run, json_lines, stored

ByMap = Callable[..., Summary]


@pytest.fixture
def by_map(run: Run, tmp_path: Path) -> ByMap:
    """`by_map(text, *objects)`: reads objects by the map that a text is."""

    def once(text: str, *objects: dict[str, Any]) -> Summary:
        return run(json_lines(tmp_path / "objects.jsonl", *objects), texts=Texts(map=parsed_map(text, "m.yaml")))

    return once


NOTES = "records:\n- kind: artifact\n  fields: {id: key, content: [said, body.text]}\n"


def test_a_field_is_the_first_member_that_is_there_and_the_rest_is_metadata(by_map: ByMap, records: Records) -> None:
    objects = [
        {"key": "a", "said": " ", "body": {"text": "Inner.", "lang": "en"}, "depth": 4},
        {"key": "b", "said": "Outer.", "body": {"text": "Inner."}, "author": "", "tags": []},
    ]
    assert by_map(NOTES, *objects).rejected == ()
    one, two = stored(records, Kind.ARTIFACT)
    assert (one.id, one.content, one.metadata) == ("art_a", "Inner.", {"body": {"lang": "en"}, "depth": 4})
    assert (two.content, two.metadata) == ("Outer.", {"body": {"text": "Inner."}})


def test_a_name_with_dots_comes_before_a_path(by_map: ByMap, records: Records) -> None:
    by_map(NOTES, {"key": "a", "body.text": "Dotted.", "body": {"text": "Inner."}})
    assert stored(records, Kind.ARTIFACT)[0].content == "Dotted."


def test_constants_values_and_times_are_set(by_map: ByMap, records: Records) -> None:
    text = """
records:
- kind: artifact
  fields:
    content: c
    context: {from: [sort, labels], values: {mail: email, talk: chat}, otherwise: note}
    ts: {from: at, epoch: milliseconds}
  constants: {source_system: attic, importance: 0.9}
"""
    by_map(
        text,
        {"c": "1", "sort": "mail", "at": 1735787045000},
        {"c": "2", "sort": "fax", "labels": ["x", "talk"], "at": 1735787045000.5},
        {"c": "3"},
    )
    found = {one.content: one for one in stored(records, Kind.ARTIFACT)}
    assert {content: one.context for content, one in found.items()} == {"1": "email", "2": "chat", "3": "note"}
    assert found["1"].ts.isoformat() == "2025-01-02T03:04:05+00:00"
    assert {(one.source_system, one.importance) for one in found.values()} == {("attic", 0.9)}
    assert found["2"].metadata == {"sort": "fax", "labels": ["x", "talk"]}


def test_the_first_fitting_entry_makes_the_record_besides_also(by_map: ByMap, records: Records) -> None:
    text = """
records:
- {kind: skip, when: {deleted: true}}
- {kind: artifact, when: {tags: meeting}, fields: {content: c}, constants: {context: meeting}, drop: [tags]}
- {kind: event, also: true, has: [day, hour], fields: {narrative: c, category: n, event_time: day}}
- {kind: artifact, fields: {content: c}}
"""
    summary = by_map(
        text,
        {"c": "gone", "deleted": True},
        {"c": "met", "tags": ["meeting"], "n": "Meeting", "day": "2025-01-02"},
        {"c": "noted"},
    )
    assert (summary.kinds, summary.rejected) == ({"artifact": 2, "event": 1}, ())
    assert [warning.reason for warning in summary.warnings] == ["1 object of which the map m.yaml makes no record"]
    assert {one.content: one.context for one in stored(records, Kind.ARTIFACT)} == {"met": "meeting", "noted": "note"}


def test_sections_come_below_the_text(by_map: ByMap, records: Records) -> None:
    text = "records:\n- kind: decision\n  fields: {title: t}\n  sections: {Why: why, Then: then}\n"
    by_map(text, {"t": "Go", "why": "High water.", "then": None})
    (decision,) = stored(records, Kind.DECISION)
    assert (decision.title, decision.text) == ("Go", "## Why\n\nHigh water.")


def test_objects_are_found_under_a_path(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"data": {"items": [{"key": "a", "said": "One."}, {"key": "b"}]}, "version": 2}))
    summary = run(path, texts=Texts(map=parsed_map(f"objects: data.items\n{NOTES}", "m.yaml")))
    assert (summary.new, [problem.reason for problem in summary.rejected]) == (1, ["content is required"])


def test_a_map_reads_yaml_too(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "notes.yaml"
    path.write_text("- {key: a, said: One.}\n- {key: b, said: Two.}\n")
    assert run(path, texts=Texts(map=parsed_map(NOTES, "m.yaml"))).new == 2


def test_a_map_may_name_the_system_whose_values_are_read(by_map: ByMap, records: Records) -> None:
    text = "system: mongodb\nrecords:\n- {kind: artifact, fields: {id: _id, content: said, ts: at}}\n"
    by_map(text, {"_id": {"$oid": "65a1b2c3d4e5f60718293a4b"}, "said": "s", "at": {"$date": "2025-01-02T00:00:00Z"}})
    (artifact,) = stored(records, Kind.ARTIFACT)
    assert (artifact.id, artifact.ts.year) == ("art_65a1b2c3d4e5f60718293a4b", 2025)


def test_rights_are_kept_whatever_a_map_says_of_them(by_map: ByMap, records: Records) -> None:
    objects = [
        {"key": "a", "said": "s", "project": "alpha", "sensitivity": "sensitive"},
        {"key": "b", "said": "s", "PROJECT": "alpha"},
        {"key": "c", "said": "s", "metadata": {"Sensitivity": "sensitive"}},
    ]
    summary = by_map(NOTES, *objects)
    assert [problem.reason for problem in summary.rejected] == [
        "PROJECT must be written project",
        "Sensitivity must be written sensitivity",
    ]
    (artifact,) = stored(records, Kind.ARTIFACT)
    assert (artifact.project, artifact.sensitivity) == ("alpha", Sensitivity.SENSITIVE)


def test_a_right_that_the_map_takes_from_elsewhere_must_not_be_given_twice(by_map: ByMap) -> None:
    text = "records:\n- {kind: artifact, fields: {content: c, project: team}}\n"
    summary = by_map(text, {"c": "s", "team": "a", "project": "b"}, {"c": "t", "team": "a"})
    assert [problem.reason for problem in summary.rejected] == [
        "project is given, and the map takes it from another member"
    ]
    assert summary.new == 1


@pytest.mark.parametrize(
    ("line", "object", "reason"),
    [
        ("drop: [metadata]", {"metadata": {"sensitivity": "sensitive"}}, None),
        ("fields: {content: c, title: sensitivity}", {"sensitivity": "sensitive"}, None),
        ("fields: {content: c, sensitivity: Level}", {"Level": "sensitive"}, None),
        ("fields: {content: c, sensitivity: Sensitivity}", {"Sensitivity": "sensitive"}, None),
        ("fields: {content: c, sensitivity: {from: l, values: {1: sensitive}}}", {"l": 1}, None),
        ("fields: {content: c, sensitivity: {from: l, values: {a: sensitive}}}", {"l": "b"}, "the map has no value"),
        ("fields: {content: c, sensitivity: {from: sensitivity, values: {a: sensitive}}}", {"sensitivity": "a"}, None),
        ("constants: {sensitivity: normal}", {"sensitivity": "sensitive"}, "the map takes it from another member"),
        ("constants: {sensitivity: sensitive}", {}, None),
        ("fields: {content: c}", {"sensitivity": ""}, "sensitivity must be one of"),
        ("fields: {content: c}", {"sensitivity": "sensitive", "metadata": {"sensitivity": "normal"}}, "the two differ"),
        ("fields: {content: c}", {"x": 1, "metadata": {"sensitivity": "sensitive", "x": 2}}, None),
    ],
)
def test_no_map_loses_a_sensitivity(
    by_map: ByMap, records: Records, line: str, object: dict[str, Any], reason: str | None
) -> None:
    fields = "" if "fields" in line else "  fields: {content: c}\n"
    text = f"records:\n- kind: artifact\n{fields}  {line}\n"
    summary = by_map(text, {"c": "s", **object})
    if reason is not None:
        assert reason in summary.rejected[0].reason
    else:
        assert [one.sensitivity for one in stored(records, Kind.ARTIFACT)] == [Sensitivity.SENSITIVE]


def test_the_server_map_puts_reviews_into_text(run: Run, records: Records, tmp_path: Path) -> None:
    path = tmp_path / "d.yaml"
    path.write_text(
        "id: 0a1b2c3d\nsummary: Keep SQLite\ndecision: Keep SQLite\nstatus: reviewed\noutcome: success\n"
        "context: We had to choose.\nactual_result: Nothing was lost.\nlessons: Measure first.\n"
    )
    assert run(path, texts=Texts(map=opened_map("published_cstp"))).rejected == ()
    (decision,) = stored(records, Kind.DECISION)
    assert decision.text == (
        "## Context\n\nWe had to choose.\n\n## Result\n\nNothing was lost.\n\n## Lessons\n\nMeasure first."
    )
    assert (decision.id, decision.outcome) == ("0a1b2c3d", "success")


@pytest.mark.parametrize("name", shipped_names())
def test_every_shipped_map_is_a_map(name: str) -> None:
    assert opened_map(name).records


WRONG = [
    ("", "m.yaml: the map is empty"),
    ("records: [", "m.yaml, line 1: not valid YAML from here on"),
    ("- a", "m.yaml, line 1: a map must be a list of names with values"),
    ("system: neo4j", "m.yaml, line 1: records is required: a list of what becomes a record"),
    ("records: []", "m.yaml, line 1: records must have an entry"),
    ("records: {}", "m.yaml, line 1: records must be a list"),
    ("records:\n- {kind: note}", "m.yaml, line 2: kind must be one of"),
    ("records:\n- {fields: {}}", "m.yaml, line 2: kind is required"),
    ("system: oracle\nrecords: []", "m.yaml, line 1: system must be one of qdrant"),
    ("records:\n- kind: artifact\nrecord: 1", "m.yaml, line 3: 'record' is no key of a map"),
    ("records:\n- kind: artifact\n  field: {}", "m.yaml, line 3: 'field' is no key of an entry of records"),
    ("records:\n- kind: artifact\n  fields:\n    contents: a", "m.yaml, line 4: 'contents' is not a field of the kind"),
    ("records:\n- kind: artifact\n  fields: {metadata: a}", "m.yaml, line 3: 'metadata' is not a field of the kind"),
    ("records:\n- kind: artifact\n  constants: {tone: a}", "m.yaml, line 3: 'tone' is not a field of the kind"),
    ("records:\n- kind: artifact\n  fields: {ts: {path: a}}", "m.yaml, line 3: 'path' is no key of a field"),
    ("records:\n- kind: artifact\n  fields: {ts: {epoch: seconds}}", "m.yaml, line 3: from is required"),
    ("records:\n- kind: artifact\n  fields: {ts: {from: a, epoch: days}}", "m.yaml, line 3: epoch must be one of"),
    ("records:\n- kind: artifact\n  fields: {ts: []}", "m.yaml, line 3: a field must name a member"),
    ("records:\n- kind: artifact\n  fields: {ts: a}\n  constants: {ts: b}", "m.yaml, line 4: ts is among the fields"),
    ("records:\n- kind: artifact\n  also: 1", "m.yaml, line 3: also must be true or false"),
    ("records:\n- kind: artifact\n  drop: [sensitivity]", "m.yaml, line 3: sensitivity says who may see a record"),
    ("records:\n- kind: entity\n  sections: {A: b}", "m.yaml, line 3: the kind entity has no text for sections"),
    ("records:\n- kind: artifact\n  when: {a: !!binary AA==}\n  has: {}", "m.yaml, line 4: has must be a text"),
    ("records:\n- kind: artifact\n  when: {a: !x b}", "m.yaml, line 3: the value is not one of JSON"),
    ("records:\n- kind: artifact\n  fields: {ts: a, ts: b}", "m.yaml, line 3: 'ts' is given twice"),
]


@pytest.mark.parametrize(("text", "reason"), WRONG)
def test_what_a_map_may_not_say_is_refused_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parsed_map(text, "m.yaml")
    assert str(refused.value).startswith(reason)


def test_a_map_that_is_not_there_is_refused_with_the_names_of_the_shipped(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no map can be read there .*; shipped are .*mem0, mongodb"):
        opened_map(str(tmp_path / "none.yaml"))


def test_a_map_of_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(NOTES)
    assert opened_map(str(path)).records[0].kind == "artifact"


def test_a_map_with_aliases_is_refused_before_they_are_written_out() -> None:
    nested = "\n".join(f"    v{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))
    text = f"records:\n- kind: artifact\n  when:\n    v0: &a0 [x]\n{nested}\n"
    with pytest.raises(ConfigurationError, match=r"m\.yaml, line 5: aliases are not read: write the value out"):
        parsed_map(text, "m.yaml")
