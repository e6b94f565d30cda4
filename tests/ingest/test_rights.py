"""Rights given by options stay until a run changes them for exactly these records."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity
from cognition_engines.store.records import Records
from tests.ingest.runs import EACH, Run, document, json_lines, stored

HIGH, MIDDLE, NORMAL = Sensitivity.HIGHLY_SENSITIVE, Sensitivity.SENSITIVE, Sensitivity.NORMAL
Adr = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path, adr: Adr) -> Path:
    adr(tmp_path / "docs/hr/0001-a.md", "Pay")
    adr(tmp_path / "docs/0001-b.md", "Open")
    return tmp_path / "docs"


def levels(records: Records, kind: Kind = Kind.DECISION) -> dict[str, Sensitivity]:
    return {one.title: one.sensitivity for one in stored(records, kind)}


def projects(records: Records) -> list[tuple[str, str | None]]:
    found = [(one.title, one.project) for one in stored(records, Kind.DECISION)]
    return sorted(found, key=lambda each: (each[0], each[1] or ""))


def test_a_run_without_the_option_lowers_no_sensitivity(run: Run, records: Records, folder: Path) -> None:
    run(folder / "hr", sensitivity=HIGH)
    summary = run(folder)
    assert levels(records) == {"Pay": HIGH, "Open": NORMAL}
    (warning,) = summary.warnings
    assert (warning.file, "highly_sensitive" in warning.reason) == (str(folder / "hr"), True)
    assert (summary.new, summary.changed, summary.unchanged) == (1, 0, 1)
    # an edit keeps it, too
    file = folder / "hr/0001-a.md"
    file.write_text(file.read_text().replace("We had", "They had"))
    assert run(folder).changed == 1
    assert levels(records)["Pay"] is HIGH


def test_new_and_renamed_records_of_guarded_folders(run: Run, records: Records, folder: Path, adr: Adr) -> None:
    run(folder / "hr", sensitivity=HIGH)
    (folder / "hr/0001-a.md").rename(folder / "hr/0002-moved.md")
    adr(folder / "hr/deep/0003-c.md", "New")
    summary = run(folder)
    assert levels(records) == {"Pay": HIGH, "New": HIGH, "Open": NORMAL}
    assert any("highly_sensitive" in warning.reason for warning in summary.warnings)
    run(folder / "hr/deep", sensitivity=NORMAL)
    adr(folder / "hr/deep/0004-d.md", "Newer")
    run(folder)
    assert levels(records) == {"Pay": HIGH, "New": NORMAL, "Newer": NORMAL, "Open": NORMAL}


def test_new_records_take_the_highest_level(run: Run, records: Records, folder: Path, adr: Adr) -> None:
    adr(folder / "hr/0009-z.md", "Last")
    run(folder / "hr", sensitivity=HIGH)
    for gone in ("0001-a.md", "0009-z.md"):  # but not pruned
        (folder / "hr" / gone).unlink()
    adr(folder / "hr/0005-m.md", "Middle")
    run(folder / "hr", sensitivity=MIDDLE)
    adr(folder / "hr/0006-n.md", "New")
    run(folder)
    assert levels(records) == {"Pay": HIGH, "Last": HIGH, "Middle": MIDDLE, "New": HIGH, "Open": NORMAL}


def test_records_moved_within_a_guarded_file_stay_guarded(run: Run, records: Records, tmp_path: Path) -> None:
    file = tmp_path / "pay.jsonl"
    file.write_text('{"kind": "decision", "title": "Salary of A"}\n{"kind": "decision", "title": "Salary of B"}\n')
    run(file, sensitivity=HIGH)
    json_lines(file, *({"kind": "decision", "title": title} for title in ("First", "Salary of A", "Salary of B")))
    run(file)
    assert levels(records) == dict.fromkeys(["First", "Salary of A", "Salary of B"], HIGH)


def test_a_guarded_folder_turned_checkout_stays_guarded(run: Run, records: Records, folder: Path) -> None:
    run(folder / "hr", sensitivity=HIGH)
    (folder / ".git").mkdir()
    (folder / ".git/config").write_text('[remote "origin"]\n\turl = https://example.org/acme/docs.git\n')
    run(folder)
    assert levels(records) == {"Pay": HIGH, "Open": NORMAL}
    assert len(stored(records, Kind.DECISION)) == 3
    assert all(one.sensitivity is HIGH for one in stored(records, Kind.DECISION) if one.title == "Pay")


@pytest.mark.parametrize("given", [HIGH, MIDDLE])
def test_an_option_lowers_exactly_its_paths(run: Run, records: Records, folder: Path, given: Sensitivity) -> None:
    run(folder / "hr", sensitivity=given)
    (warning,) = run(folder, sensitivity=NORMAL).warnings
    assert str(folder / "hr") in warning.reason
    assert levels(records) == {"Pay": given, "Open": NORMAL}
    summary = run(folder / "hr", sensitivity=NORMAL)
    assert (summary.changed, summary.warnings) == (1, ())
    assert levels(records)["Pay"] is NORMAL
    run(folder, sensitivity=HIGH)
    assert levels(records) == {"Pay": HIGH, "Open": HIGH}
    run(folder / "hr/0001-a.md", sensitivity=MIDDLE)
    assert levels(records) == {"Pay": MIDDLE, "Open": HIGH}


def test_a_file_lowers_its_own_sensitivity(run: Run, records: Records, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    for members, option, expected in (
        ({"sensitivity": "highly_sensitive"}, None, HIGH),
        ({}, None, NORMAL),
        ({}, HIGH, HIGH),
        ({"sensitivity": "normal"}, None, NORMAL),
        ({}, None, HIGH),
    ):
        json_lines(file, {"kind": "decision", "id": "d", "title": "t", **members})
        run(file, sensitivity=option)
        assert levels(records) == {"t": expected}, members


@pytest.mark.parametrize("members", EACH, ids=[str(one["kind"]) for one in EACH])
@pytest.mark.parametrize("id", [None, 7])
def test_records_of_every_kind_keep_project_and_sensitivity(
    run: Run, records: Records, tmp_path: Path, members: dict[str, Any], id: int | None
) -> None:
    given = {} if id is None else {"id": id}
    file = json_lines(tmp_path / "hr/a.jsonl", members | given)
    run(file, project="people", sensitivity=HIGH)
    assert {warning.file for warning in run(tmp_path).warnings} >= {str(file)}
    found = [known.key for known in records.origins.read_below("/")]
    rights = {(one.facets.project, one.facets.sensitivity) for one in records.reads.by_keys(found, None).values()}
    assert rights == {("people", HIGH)}


def test_a_document_and_its_parts_keep_project_and_sensitivity(run: Run, records: Records, tmp_path: Path) -> None:
    file = tmp_path / "docs/guide.md"
    file.parent.mkdir()
    file.write_text(document(3))
    run(file.parent, project="people", sensitivity=HIGH)
    file.write_text(document(4))
    run(tmp_path)
    rows = records.origins.read_below("/")
    assert len(rows) > 4
    assert {(row.project, row.origin.guarded_as) for row in rows} == {("people", HIGH)}


def test_a_run_without_a_project_keeps_it(run: Run, records: Records, folder: Path) -> None:
    run(folder / "hr", project="people", sensitivity=HIGH)
    for option in (None, "company"):
        summary = run(folder, project=option)
        assert projects(records)[-1] == ("Pay", "people")
        assert any("people" in warning.reason for warning in summary.warnings)
    assert projects(records) == [("Open", None), ("Open", "company"), ("Pay", "people")]
    run(folder / "hr", project="company")
    # a copy in another project is as guarded as the first
    assert projects(records) == [("Open", None), ("Open", "company"), ("Pay", "company"), ("Pay", "people")]
    assert levels(records)["Pay"] is HIGH


def test_a_run_naming_none_of_several_projects_is_refused(run: Run, records: Records, folder: Path) -> None:
    for name in ("people", "board"):
        run(folder / "hr", project=name)
    ((problem),) = run(folder).rejected
    assert "board, people" in problem.reason
    assert projects(records) == [("Open", None), ("Pay", "board"), ("Pay", "people")]


def test_a_project_changed_in_the_file_moves_the_record(run: Run, records: Records, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    for project in ("shop", "web", None):
        given = {} if project is None else {"project": project}
        summary = run(json_lines(file, {"kind": "decision", "id": "d", "title": "t", **given}))
        assert summary.warnings == ()
        assert [(one.id, one.project) for one in stored(records, Kind.DECISION)] == [("d", project)]


def test_moved_records_stay_guarded(run: Run, records: Records, checkout: Callable[..., Path]) -> None:
    repo = checkout("repo", "https://h.example/shop")
    file = json_lines(repo / "hr/a.jsonl", {"kind": "decision", "id": "d", "title": "t"})
    run(repo / "hr", sensitivity=HIGH, project="people")
    file.rename(repo / "a.jsonl")
    run(repo)
    (decision,) = stored(records, Kind.DECISION)
    assert (decision.project, decision.sensitivity) == ("people", HIGH)
