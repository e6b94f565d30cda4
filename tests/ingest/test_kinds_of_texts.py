"""Kinds of texts: decisions and documents are told apart by their marks."""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from cognition_engines.ingest.detect import read
from cognition_engines.ingest.items import DocumentDraft, RecordDraft, RejectedRecord
from cognition_engines.ingest.options import Texts
from cognition_engines.ingest.text_kinds import TextKind
from cognition_engines.models import Decision
from tests.ingest.ordinary import ordinary_texts


def _type(path: str, text: str) -> type:
    *_, last = read(path, BytesIO(text.encode()), explicit=False) or (None,)
    return type(last.record) if isinstance(last, RecordDraft) else type(last)


def test_ordinary_texts_are_documents() -> None:
    texts = list(ordinary_texts())
    assert len(set(texts)) == len(texts) >= 150
    assert {path: _type(path, text) for path, text in texts if _type(path, text) is not DocumentDraft} == {}


def test_a_readme_without_a_title_is_a_decision_only_in_a_named_folder() -> None:
    text = "## Status\n\nAccepted\n\n## Decision\n\nWe use UDP.\n"
    assert _type("docs/use-udp/README.md", text) is Decision
    assert _type("README.md", text) is not Decision


def test_words_without_a_title_or_a_file_name_are_no_decision() -> None:
    (refused,) = read("-", BytesIO(b"Only words.\n"), explicit=True, texts=Texts(TextKind.DECISION)) or ()
    assert isinstance(refused, RejectedRecord)
    assert "title" in refused.problem.reason


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
