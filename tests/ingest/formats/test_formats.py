"""The reading process for other formats: unreadable files, and runs without such files."""

import shutil
import sys
from pathlib import Path

import pytest

from cognition_engines.ingest.formats.reader import FormatReader
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.cases import CASES
from tests.ingest.runs import Run, ids, stored

DOCUMENTS = CASES / "formats/titles-authors-dates-and-text/in"


@pytest.mark.long("starts the process that reads documents, and limits it")
def test_missing_library_is_named(run: Run, records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    for name in ("a.pdf", "in/b.pdf", "in/c.PDF"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(DOCUMENTS / "tides.pdf", tmp_path / name)
    shutil.copy(DOCUMENTS / "tides.html", tmp_path / "d.html")
    with FormatReader() as reader:
        summary = run(tmp_path, tmp_path / "in", reader=reader)
        assert summary.skipped[".pdf"] == 3
        (problem,) = summary.warnings
        assert problem.file == str(tmp_path / "a.pdf")
        assert "this and 2 more .pdf files were not read" in problem.reason
        assert "make documents" in problem.reason
        assert len(stored(records, Kind.SOURCE)) == 1
        (refused,) = run(tmp_path / "a.pdf", reader=reader).rejected
        assert "make documents" in refused.reason


@pytest.mark.long("starts the process that reads documents, and limits it")
def test_unreadable_files_stay(run: Run, records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(DOCUMENTS / "tides.pdf", tmp_path / "a.pdf")
    shutil.copy(DOCUMENTS / "tides.html", tmp_path / "b.html")
    run(tmp_path)
    before = ids(records, Kind.CHUNK)
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    (tmp_path / "b.html").write_bytes(b"<p>\xff</p>")
    with FormatReader() as reader:
        assert run(tmp_path, reader=reader, prune=True).deleted == 0
    assert ids(records, Kind.CHUNK) == before
    (tmp_path / "a.pdf").unlink()
    (tmp_path / "b.html").unlink()
    assert run(tmp_path, prune=True, sure=True).deleted == len(before) + 2


@pytest.mark.long("starts the process that reads documents, and limits it")
def test_a_run_over_text_alone_starts_no_process(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Tides\n\nNeap.\n")
    with FormatReader() as reader:
        run(tmp_path, reader=reader)
        assert reader.process_id is None
