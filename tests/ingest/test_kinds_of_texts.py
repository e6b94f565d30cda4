"""What a text is: a decision, a document or a conversation; by its marks, or as the caller states."""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from cognition_engines.ingest.detect import read
from cognition_engines.ingest.items import DocumentDraft, Item, RecordDraft, RejectedRecord
from cognition_engines.ingest.options import Texts
from cognition_engines.ingest.text_kinds import TextKind
from cognition_engines.kinds.artifacts import Turn
from cognition_engines.models import Decision
from tests.ingest.ordinary import ordinary_texts
from tests.ingest.runs import Run

NOTES = "# Sync\n\nStatus: done\n\nDecision: we go on.\n"
TALK = "Ana: Shall we?\nBen: We shall.\nAna: Then let us.\nBen: Yes.\n"


def _items(path: str, text: str, texts: Texts, explicit: bool = True) -> list[Item] | None:
    items = read(path, BytesIO(text.encode()), explicit, texts)
    return None if items is None else list(items)


def _type(path: str, text: str) -> type | None:
    items = _items(path, text, Texts(), explicit=False)
    last = items[-1] if items else None
    return None if last is None else type(last.record) if isinstance(last, RecordDraft) else type(last)


def test_ordinary_texts_are_documents() -> None:
    texts = list(ordinary_texts())
    assert len(set(texts)) == len(texts) >= 150
    assert {path: _type(path, text) for path, text in texts if _type(path, text) is not DocumentDraft} == {}


def test_at_most_one_in_a_hundred_real_documents_is_taken_for_a_decision(shared_folder: Callable[[str], Path]) -> None:
    lines = (shared_folder("data/knowledge") / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    pages = [json.loads(line) for line in lines]
    taken = [page["path"] for page in pages if _type(page["path"], page["markdown"]) is Decision]
    assert len(pages) > 200
    assert len(taken) * 100 <= len(pages), taken


def test_at_least_99_of_a_hundred_real_decision_records_are_decisions(shared_folder: Callable[[str], Path]) -> None:
    files = [path for path in shared_folder("data/decisions").rglob("*.md") if path.parent.name != "LICENCES"]
    found = [_type(str(path), path.read_text(encoding="utf-8-sig")) is Decision for path in files]
    assert len(files) > 500
    assert sum(found) >= 0.99 * len(files)


@pytest.mark.parametrize(
    "path",
    [
        "notes/weekly.md",
        "notes/2024-01-02.md",
        "adr/2024-notes.md",
        "adr/2024-05-notes.md",
        "adr/2024-01-02-weekly.md",
        "adr/2024/README.md",
        "weekly",
    ],
)
@pytest.mark.parametrize("status", ["done", "Draft", "in progress", "open"])
def test_notes_of_a_week_that_name_a_decision_are_a_document(path: str, status: str) -> None:
    text = f"# Weekly 2024-01-02\n\nStatus: {status}\n\n## Decision\nwe agreed to go on.\n"
    assert _type(path, text) is DocumentDraft
    assert _type(path, "# Notes of 2024\n\nWords.\n") is DocumentDraft


@pytest.mark.parametrize("path", ["notes.md", "notes.txt", "notes", "-"])
def test_a_text_is_of_the_kind_that_the_caller_states(path: str) -> None:
    (decision,) = _items(path, NOTES, Texts(TextKind.DECISION)) or ()
    assert isinstance(decision, RecordDraft)
    assert isinstance(decision.record, Decision)
    assert (decision.record.title, decision.record.status) == ("Sync", "accepted")
    (document,) = _items(path, '{"title": "x", "category": "y"}\n', Texts(TextKind.DOCUMENT)) or ()
    assert isinstance(document, DocumentDraft)
    turns = _items(path, "Ana: Alone.\n", Texts(TextKind.TRANSCRIPT)) or ()
    assert [type(turn.record) for turn in turns if isinstance(turn, RecordDraft)] == [Turn]


def test_a_decision_may_be_called_a_document_and_a_talk_too() -> None:
    for path, text in [("adr/0001-x.md", "# X\n\nStatus: accepted\n\n## Decision\n\nYes.\n"), ("talk.txt", TALK)]:
        (item,) = _items(path, text, Texts(TextKind.DOCUMENT)) or ()
        assert isinstance(item, DocumentDraft)


def test_files_of_records_are_read_alike_whatever_kind_texts_are() -> None:
    for path, text in [("a.json", '[{"title": "A"}]'), ("a.yaml", "title: A\n"), ("a.jsonl", '{"title": "A"}\n')]:
        for kind in TextKind:
            assert _items(path, text, Texts(kind)) == _items(path, text, Texts())


def test_a_text_that_cannot_be_of_the_kind_stated_is_refused() -> None:
    for path, text, kind, word in [
        ("-", "Only words.\n", TextKind.DECISION, "title"),
        ("tale.txt", "Once upon a time.\n", TextKind.TRANSCRIPT, "turns"),
    ]:
        (refused,) = _items(path, text, Texts(kind)) or ()
        assert isinstance(refused, RejectedRecord)
        assert word in refused.problem.reason


def test_in_a_folder_of_decisions_indexes_and_empty_forms_are_passed_over() -> None:
    links = "# All\n\n- [1. Use UDP](0001-use-udp.md)\n- [2. Use TCP](0002-use-tcp.md)\n"
    for path, text in [("README.md", links), ("template.md", "# Title\n\n## Decision\n"), ("empty.md", "\n")]:
        assert _items(path, text, Texts(TextKind.DECISION), explicit=False) is None


CONFLICT = "<<<<<<< HEAD\n- id: a\n=======\n- id: b\n>>>>>>> feature\n"


@pytest.mark.parametrize("path", ["a.md", "a.txt", "a.yaml", "a.yml", "a.json", "a.jsonl", "adr/0001-a.md"])
@pytest.mark.parametrize(
    "conflict",
    [
        CONFLICT,
        CONFLICT.replace("\n", "\r\n"),
        CONFLICT.replace("=======", "||||||| base\n- id: c\n======="),
        CONFLICT.replace("- id: a", "```\na\n```").replace("- id: b", "```"),
        "<<<<<<<\na\n=======\n>>>>>>>",
    ],
)
def test_a_file_with_conflict_markers_is_refused_by_its_lines(path: str, conflict: str) -> None:
    (item,) = _items(path, f'{{"id": "x", "title": "y"}}\n{conflict}', Texts(), explicit=False) or []
    assert isinstance(item, RejectedRecord)
    assert (item.problem.line, "from this line to line" in item.problem.reason) == (2, True)


@pytest.mark.parametrize(
    "text",
    [
        f"# Merging\n\n```\n{CONFLICT}```\n\nSolve it.\n",
        f"# Merging\n\n~~~~ text\n```\n{CONFLICT}~~~~\n",
        "# Merging\n\n" + "".join(f"    {line}\n" for line in CONFLICT.splitlines()),
        "Merging\n=======\n\nOf `<<<<<<< HEAD` and of `>>>>>>> other`.\n",
        "# Marks\n\n>>>>>>> one\n=======\n<<<<<<< two\n",
    ],
)
def test_examples_of_conflict_markers_are_read(text: str) -> None:
    assert [type(item) for item in _items("a.md", text, Texts()) or []] == [DocumentDraft]


def test_other_folders_may_be_those_of_decisions(run: Run, tmp_path: Path) -> None:
    for folder in ("Rulings", "adr"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "0001-x.md").write_text("# X\n\nWords.\n")
    summary = run(tmp_path, texts=Texts(decision_folders=frozenset({"rulings"})))
    assert summary.kinds == {"decision": 1, "source": 1, "chunk": 1}
