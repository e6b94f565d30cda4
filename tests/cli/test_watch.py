"""`cstp watch`: folders stay synchronized, by a process stopped like a service."""

import json
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Summaries = Iterator[dict[str, Any]]
pytestmark = pytest.mark.usefixtures("wordless")


@pytest.fixture
def watching(program: Callable[..., Any]) -> Callable[..., tuple[Any, Summaries]]:
    """Return `watching("docs")`: the running program, with summaries as they arrive."""

    def start(*words: str) -> tuple[Any, Summaries]:
        running = program("watch", *words, "--json")
        return running, map(json.loads, running.process.stdout)

    return start


def _counts(summary: dict[str, Any]) -> tuple[int, int, int, int]:
    return summary["new"], summary["changed"], summary["unchanged"], summary["deleted"]


def _write(path: Path, words: str) -> None:
    """Write as editors do, so that no half file is read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".tmp")
    draft.write_text(f"# {path.stem.title()}\n\n{words}\n")
    draft.rename(path)


@pytest.mark.long("waits for changes of files")
def test_written_files_are_read_alone_and_removed_files_stay_without_prune(watching: Any) -> None:
    docs = Path("docs").absolute()
    _write(docs / "a.md", "First.")
    _write(docs / "b.md", "Second.")
    running, summaries = watching("docs")
    assert _counts(next(summaries)) == (4, 0, 0, 0)
    _write(docs / "inner" / "c.md", "Third.")
    assert _counts(next(summaries)) == (2, 0, 0, 0)  # the other two were not read
    _write(docs / "a.md", "First, but longer.")
    assert _counts(next(summaries)) == (1, 1, 0, 0)  # the document, and its passage instead of the former passage
    (docs / "b.md").unlink()
    assert _counts(next(summaries)) == (0, 0, 0, 0)
    done = running.end(signal.SIGTERM)
    assert (done.code, done.err.count("cstp: records: ")) == (0, 1)


@pytest.mark.long("waits for changes of files")
def test_prune_deletes_records_of_deleted_files_but_not_of_absent_folders(watching: Any) -> None:
    docs = Path("docs").absolute()
    _write(docs / "a.md", "First.")
    _write(docs / "b.md", "Second.")
    _write(Path("more/d.md").absolute(), "Elsewhere.")
    running, summaries = watching("docs", "more", "--prune", "--yes")
    assert _counts(next(summaries)) == (6, 0, 0, 0)
    (docs / "b.md").unlink()
    gone = next(summaries)
    assert _counts(gone) == (0, 0, 0, 2)
    assert {one["file"] for one in gone["pruned"]} == {str(docs / "b.md")}
    shutil.move("docs", "mounted")
    assert running.line("cannot read changes, retrying: .*docs not found")
    shutil.move("mounted", "docs")
    _write(Path("more/e.md").absolute(), "Comes after.")
    new, changed, _, deleted = _counts(next(summaries))  # the files of the folder may be read again in the same pass
    assert (new, changed, deleted) == (2, 0, 0)
    assert running.end(signal.SIGINT).code == 0


def test_patterns_hold_and_removing_a_line_of_a_cstpignore_reads_its_files(watching: Any) -> None:
    docs = Path("docs").absolute()
    _write(docs / "a.md", "First.")
    _write(docs / "draft.md", "Not yet.")
    _write(docs / "secret.md", "Never.")
    (docs / ".cstpignore").write_text("draft.md\n")
    running, summaries = watching("docs", "--exclude", "secret.md")
    first = next(summaries)
    assert _counts(first) == (2, 0, 0, 0)
    assert first["ignored"] == 2
    (docs / ".cstpignore").unlink()
    assert _counts(next(summaries)) == (2, 0, 0, 0)
    running.end()


@pytest.mark.long("it waits for four passes of a program")
def test_a_named_file_is_read_whenever_an_editor_replaces_it(watching: Any) -> None:
    notes = Path("notes.md").absolute()
    _write(notes, "First.")
    running, summaries = watching("notes.md")
    assert _counts(next(summaries)) == (2, 0, 0, 0)
    for words in ("Second.", "Third.", "Fourth."):
        _write(notes, words)
        assert _counts(next(summaries))[1] == 1
    running.end()


def test_a_refusal_is_reported_and_the_file_is_read_when_it_is_right(watching: Any) -> None:
    docs = Path("docs").absolute()
    _write(docs / "a.md", "First.")
    _running, summaries = watching("docs")
    next(summaries)
    (docs / "rows.jsonl").write_text('{"kind": "entity", "id": "e-1"}\n')
    (refused,) = next(summaries)["rejected"]
    assert refused["file"] == str(docs / "rows.jsonl")
    (docs / "rows.jsonl").write_text('{"kind": "entity", "id": "e-1", "name": "Heron"}\n')
    assert _counts(next(summaries)) == (1, 0, 0, 0)


def test_without_json_the_summary_is_that_of_ingest(program: Any) -> None:
    docs = Path("docs").absolute()
    _write(docs / "a.md", "First.")
    running = program("watch", "docs")
    assert next(running.process.stdout) == "2 read: 2 new, 0 changed, 0 unchanged, 0 deleted, 0 rejected, 0 warnings\n"
    assert next(running.process.stdout) == "by kind: 1 source, 1 chunk\n"
    running.end()


@pytest.mark.long("waits for changes of files")
def test_changes_are_sent_to_a_server_elsewhere(watching: Any, serving: Any, cstp: Any) -> None:
    docs = Path("docs").absolute()
    _write(docs / "a.md", "First.")
    _server, url = serving("--data-dir", "there")
    rights = ("--scope", "admin", "--scope", "write", "--clearance", "highly_sensitive")
    token = cstp("token", "create", "--agent", "writer", *rights, "--quiet", "--data-dir", "there").out.strip()
    running, summaries = watching("docs", "--url", url, "--token", token)
    assert _counts(next(summaries)) == (2, 0, 0, 0)
    _write(docs / "b.md", "Second.")
    assert _counts(next(summaries)) == (2, 0, 0, 0)
    assert running.end().code == 0
    reader = cstp("token", "create", "--agent", "reader", "--quiet", "--data-dir", "there").out.strip()
    ingested, watched = (cstp(name, "docs", "--url", url, "--token", reader) for name in ("ingest", "watch"))
    assert watched == ingested
    assert "scope: admin" in watched.err
