"""What front matter says about rights counts, however it is written; what cannot be read refuses the file."""

from pathlib import Path

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity
from cognition_engines.store.records import Records
from tests.ingest.decisions import read_file
from tests.ingest.runs import Run, stored

TEXTS = {
    "document": "# Salaries\n\nWhat each of us earns.\n",
    "decision": "# Pay more\n\n## Status\n\nAccepted\n\n## Decision\n\nWe do.\n",
}


@pytest.fixture(params=TEXTS)
def body(request: pytest.FixtureRequest) -> str:
    return TEXTS[request.param]


@pytest.mark.parametrize(
    "front",
    [
        '---\n"sensitivity": highly_sensitive\n---\n',
        "---\ntitle: Pay\n'sensitivity': highly_sensitive\n---\n",
        "---\ntitle: Pay\nSensitivity : 'highly_sensitive'  # until May\n---\n",
        "---\n  title: Pay\n  sensitivity: highly_sensitive\n---\n",
        "---\n\n# ours\ntitle: >\n  Pay\n\n  more\nsensitivity:\n  highly_sensitive\n...\n",
        "---\ntitle: Pay\ngröße: 5\nsensitivity: highly_sensitive\n---\n",
        "---\ntags:\n- pay\n- people\nsensitivity: highly_sensitive\n---\n",
        "---\npermalink: pay\n---\n\n---\ntitle: Pay\nsensitivity: highly_sensitive\n---\n",
        "---\ntitle: Pay\n---\n---\ntags: [a]\n...\n<!-- ours -->\n\n---\nsensitivity: highly_sensitive\n---\n",
        "---\nsensitivity: highly_sensitive\n---\n---\ntitle: Pay\n---\n",
        "---\n---\n---\nsensitivity: highly_sensitive\n---\n",
    ],
)
def test_a_sensitivity_counts_however_yaml_writes_it(
    front: str, body: str, tmp_path: Path, run: Run, records: Records
) -> None:
    (tmp_path / "pay.md").write_text(front + body, encoding="utf-8")
    summary = run(tmp_path)
    assert summary.rejected == ()
    found = [record for kind in Kind for record in stored(records, kind)]
    assert {record.sensitivity for record in found} == {Sensitivity.HIGHLY_SENSITIVE}


@pytest.mark.parametrize(
    ("front", "line", "reason"),
    [
        ("---\nsensitivity:highly_sensitive\n---\n", 2, "`name: value`"),
        ("---\ntitle: Pay\nsensitivity:highly_sensitive\n---\n", 3, "`name: value`"),
        ("---\ntitle: Pay\nsensitivity\uff1ahighly_sensitive\n---\n", 3, "`name: value`"),
        ("---\ntitle: Pay\nsensitivity:\u00a0highly_sensitive\n---\n", 3, "`name: value`"),
        ("---\ntitle: Pay\n? sensitivity\n: highly_sensitive\n---\n", 3, "`name: value`"),
        ("---\n  title: Pay\nsensitivity: highly_sensitive\n---\n", 3, "`name: value`"),
        ("---\n\tsensitivity: highly_sensitive\n---\n", 2, "`name: value`"),
        ("---\n{title: Pay, sensitivity: highly_sensitive}\n---\n", 2, "`name: value`"),
        ("---\ntitle: Pay\n  sensitivity: highly_sensitive\n---\n", 2, "'title' is no plain value"),
        ("---\ntitle:\n  sensitivity: highly_sensitive\n---\n", 2, "'title' is no plain value"),
        ("---\nsensitivity: highly_sensitive\n\n", 1, "not closed"),
        ("---\ntitle: Pay\n\n", 1, "not closed"),
        ('+++\nsensitivity = "highly_sensitive"\n+++\n', 1, "must be YAML"),
        ("+++\ntitle = 'Pay'\n+++\n", 1, "must be YAML"),
        ('{\n"sensitivity": "highly_sensitive"\n}\n', 1, "must be YAML"),
        ("--- # ours\nsensitivity: highly_sensitive\n---\n", 1, "must be YAML"),
        ("---\nsensitivity: normal\ntitle: Pay\nSensitivity: highly_sensitive\n---\n", 4, "is given twice"),
        ("---\nsensitivity: ''\n---\n", 2, "sensitivity must be one of"),
        ("---\nsensitivity: []\n---\n", 2, "sensitivity must be one of"),
        ("---\ntitle: Pay\n---\n\n---\nsensitivity:highly_sensitive\n---\n", 6, "`name: value`"),
        ("---\ntitle: Pay\n---\n---\nsensitivity: highly_sensitive\n\n", 4, "not closed"),
        ("---\ntitle: Pay\n---\n+++\nproject = 'hr'\n+++\n", 4, "must be YAML"),
        ('---\ntitle: Pay\n---\n\n{"tags": ["pay"]}\n', 5, "must be YAML"),
        ("---\nsensitivity: normal\n---\n---\nsensitivity: highly_sensitive\n---\n", 5, "is given twice"),
    ],
)
def test_front_matter_that_cannot_be_read_refuses_the_file_and_names_the_line(
    front: str, line: int, reason: str, body: str, tmp_path: Path, run: Run, records: Records
) -> None:
    (tmp_path / "pay.md").write_text(front + body, encoding="utf-8")
    (problem,) = run(tmp_path).rejected
    assert (problem.line, reason in problem.reason) == (line, True), problem
    assert sum(records.counts().values()) == 0


@pytest.mark.parametrize("path", ["note.md", "note.txt"])
@pytest.mark.parametrize(
    "text",
    [
        "---\nJust words.\n---\nMore.\n",
        "---\n\n# Words\n\nMore.\n",
        "----\nWords.\n",
        "---\ntitle: Pay\n---\n\n---\nNote: this page moved.\nSee the other one.\n\n---\nMore.\n",
        "---\n---\n\nMore.\n",
    ],
)
def test_a_rule_at_the_top(path: str, text: str, tmp_path: Path, run: Run) -> None:
    (tmp_path / path).write_text(text, encoding="utf-8")
    assert run(tmp_path).rejected == ()


@pytest.mark.parametrize(
    "text",
    [
        "---\ntheme: harbour\n---\n\n---\n\nNote: barnacles.\n\n---\n\n# Slide two\n",
        "---\ntheme: harbour\n---\n---\n\nNote: barnacles.\n---\n",
        "---\ntheme: harbour\n---\n\n---\nNote: barnacles.\n---\n\nMore.\n",
        "---\ntheme: harbour\n---\n---\nlayout: wide\n---\n\n---\nNote: barnacles.\n---\n",
        "---\n\nNote: barnacles.\n\n---\n\nMore.\n",
        "---\n\nNote: barnacles.\n\nMore.\n",
    ],
)
def test_text_between_two_rules(text: str, tmp_path: Path, run: Run, records: Records) -> None:
    (tmp_path / "slides.md").write_text(text, encoding="utf-8")
    assert run(tmp_path).rejected == ()
    assert any("Note: barnacles." in chunk.content for chunk in stored(records, Kind.CHUNK))
    (source,) = stored(records, Kind.SOURCE)
    assert "Note" not in source.metadata


@pytest.mark.parametrize("right", ["sensitivity: highly_sensitive", "project: hr", "tags: [pay]"])
def test_rights_between_two_rules_refuse(right: str, body: str, tmp_path: Path, run: Run) -> None:
    front = f"---\ntitle: Pay\n---\n\n---\n\nThis slide has words.\n{right}\n\n---\n"
    (tmp_path / "pay.md").write_text(front + body, encoding="utf-8")
    assert [problem.line for problem in run(tmp_path).rejected] == [7]


def test_tags_of_a_second_block_and_of_a_list_indented_by_tabs_are_kept() -> None:
    front = "---\npermalink: pay\n---\n\n---\nstatus: rejected\ntags:\n\t- pay\n\t- people\nproject: hr\n---\n"
    (draft,) = read_file("0001-pay.md", f"{front}{TEXTS['decision']}".encode()).drafts
    assert (draft.status, draft.tags, draft.project) == ("rejected", ("pay", "people"), "hr")


def test_a_decision_record_with_broken_front_matter_is_refused_with_its_line() -> None:
    (problem,) = read_file("0001-pay.md", f"---\nstatus: accepted\nwords\n---\n{TEXTS['decision']}".encode()).rejected
    assert problem.line == 3


TALK = "\nAna: Who earns most?\nBen: I do not say.\nAna: Say it.\nBen: Ana does.\n"


def test_transcript_front_matter_is_for_all(tmp_path: Path, run: Run, records: Records) -> None:
    front = "---\ntitle: Pay\ndate: 2025-03-14\nsensitivity: highly_sensitive\nproject: hr\n---\n"
    (tmp_path / "pay.txt").write_text(front + TALK)
    assert run(tmp_path).rejected == ()
    turns = sorted(stored(records, Kind.TURN), key=lambda turn: turn.turn_index)
    assert [turn.speaker for turn in turns] == ["Ana", "Ben", "Ana", "Ben"]
    assert {(turn.project, turn.sensitivity, turn.ts.date().isoformat()) for turn in turns} == {
        ("hr", Sensitivity.HIGHLY_SENSITIVE, "2025-03-14")
    }
    assert turns[0].metadata["preamble"].startswith("title: Pay")


@pytest.mark.parametrize(
    ("front", "line"),
    [
        ("---\nsensitivity: secret\n---\n", 2),
        ("---\nsensitivity:highly_sensitive\n---\n", 2),
        ("---\nsensitivity: highly_sensitive\n", 1),
        ("+++\nsensitivity = 'highly_sensitive'\n+++\n", 1),
    ],
)
def test_front_matter_of_a_transcript_that_cannot_be_read_refuses_it(
    front: str, line: int, tmp_path: Path, run: Run, records: Records
) -> None:
    (tmp_path / "pay.txt").write_text(front + TALK)
    assert [problem.line for problem in run(tmp_path).rejected] == [line]
    assert sum(records.counts().values()) == 0


def test_turns_between_two_rules_are_turns(tmp_path: Path, run: Run, records: Records) -> None:
    (tmp_path / "talk.txt").write_text("---\n" + TALK.replace("\n", "\n\n") + "---\n")
    assert run(tmp_path).rejected == ()
    assert len(stored(records, Kind.TURN)) == 4
