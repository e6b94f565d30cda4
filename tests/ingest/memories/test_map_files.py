"""Maps as people write them: rights, shipped maps, and mistakes refused with their line."""

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
    """Return `by_map(text, *objects)`: reads objects by the map in `text`."""

    def once(text: str, *objects: dict[str, Any]) -> Summary:
        return run(json_lines(tmp_path / "objects.jsonl", *objects), texts=Texts(map=parsed_map(text, "m.yaml")))

    return once


NOTES = "records:\n- kind: artifact\n  fields: {id: key, content: [said, body.text]}\n"


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
def test_a_mistake_in_a_map_is_refused_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parsed_map(text, "m.yaml")
    assert str(refused.value).startswith(reason)


def test_an_absent_map_is_refused_with_the_shipped_names(tmp_path: Path) -> None:
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
