"""Runs over documents: chunks, and their changes when a document changes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.errors import ComponentFailed
from cognition_engines.exchange.runs import export_lines, import_file
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity
from cognition_engines.queries.knowledge import author
from cognition_engines.set_aside import SetAside
from cognition_engines.store.records import Records
from tests.ingest.runs import EACH, Run, counts, document, ids, json_lines, stored
from tests.stored import Quiet, changes_of


def test_a_shorter_source_loses_its_old_chunks(run: Run, records: Records, tmp_path: Path) -> None:
    book = {"kind": "source", "id": "s", "title": "t", "authors": ["Ana"], "tags": ["sea"], "sensitivity": "sensitive"}
    other = {"kind": "chunk", "id": "own", "source_id": "s", "content": "mine"}
    file = json_lines(tmp_path / "a.jsonl", book | {"content": document(6)}, other)
    summary = run(file)
    chunks = [one for one in stored(records, Kind.CHUNK) if one.id != "own"]
    assert summary.new == len(chunks) + 2 >= 5
    assert sorted(one.chunk_index for one in chunks) == list(range(len(chunks)))
    for chunk in chunks:
        assert chunk.content == document(6)[chunk.start_char : chunk.end_char]
        assert (chunk.total_chunks, chunk.title, chunk.author, chunk.tags) == (len(chunks), "t", "Ana", ("sea",))
        assert (chunk.place.section.partition(" ")[0], chunk.sensitivity) == ("Part", Sensitivity.SENSITIVE)
    assert counts(run(file)) == (0, 0, len(chunks) + 2, 0)
    json_lines(file, other, book | {"content": document(2)})
    assert run(file).rejected == ()
    left = [one for one in stored(records, Kind.CHUNK) if one.id != "own"]
    assert {one.total_chunks for one in left} == {len(left)}
    assert len(left) < len(chunks)
    assert ids(records, Kind.CHUNK) > {"own"}
    json_lines(file, book)
    assert counts(run(file)) == (0, 1, 0, 0)
    assert ids(records, Kind.CHUNK) == {"own"}


@pytest.mark.parametrize("place", ["checkout", "id of its own"])
def test_a_moved_document_has_new_chunks(run: Run, records: Records, checkout: Callable[..., Path], place: str) -> None:
    """Move it to another checkout of the repository, or to another name with the id from the front matter."""
    front, names = ("", ("guide.md", "guide.md")) if place == "checkout" else ("---\nid: g\n---\n", ("a.md", "b.md"))
    remote = "https://a.example/shop"
    old, new = (checkout(folder, remote) / name for folder, name in zip(("one", "two"), names, strict=True))
    old.write_text(front + document(3))
    run(old.parent)
    old.unlink()
    new.write_text(front + document(3).replace("pilot", "helmsman"))
    assert run(new.parent).rejected == ()
    chunks = stored(records, Kind.CHUNK)
    assert sorted(one.chunk_index for one in chunks) == list(range(chunks[0].total_chunks))
    assert not any("pilot" in one.content for one in chunks)
    (source,) = ids(records, Kind.SOURCE)
    records.delete(Kind.SOURCE, [source], with_parts=True)
    assert sum(records.counts().values()) == 0


def test_long_authors_are_kept_with_the_source_alone(run: Run, records: Records, tmp_path: Path) -> None:
    authors = ["A" * 100, "B" * 98]
    book = {"kind": "source", "title": "t", "content": "Words."}
    run(json_lines(tmp_path / "a.jsonl", book | {"id": "s", "authors": authors}))
    run(json_lines(tmp_path / "b.jsonl", book | {"id": "t", "authors": [*authors, "C"]}))
    found = {one.source_id: one for one in stored(records, Kind.CHUNK)}
    assert (found["s"].author, found["t"].author) == (", ".join(authors), None)
    chunk = records.knowledge.chunk(found["t"].id, None, None)
    assert chunk is not None
    assert author(chunk.chunk, chunk.source) == ", ".join([*authors, "C"])


def test_a_long_artifact_is_cut_and_stays_whole(run: Run, records: Records, tmp_path: Path, embedder: Any) -> None:
    artifact = {"kind": "artifact", "id": "a", "content": document(5), "title": "t"}
    file = json_lines(tmp_path / "a.jsonl", artifact)
    run(file)
    (found,) = stored(records, Kind.ARTIFACT)
    assert (found.content, found.chunked) == (document(5), True)
    parts = stored(records, Kind.ARTIFACT_CHUNK)
    assert [one.chunk_index for one in parts] == list(range(len(parts)))
    assert all(one.artifact_id == "art_a" and one.id.startswith("art_a::chunk::") for one in parts)
    assert not any(document(5) in text for text in embedder.texts)
    json_lines(file, artifact | {"content": "short"})
    assert counts(run(file)) == (0, 1, 0, 0)
    assert records.counts() == {Kind.ARTIFACT: 1}
    assert stored(records, Kind.ARTIFACT)[0].chunked is False


def test_documents_moved_within_a_file_are_unchanged(run: Run, records: Records, tmp_path: Path) -> None:
    books = [{"kind": "source", "title": f"t{n}", "content": document(3, f"word{n}")} for n in range(3)]
    file = json_lines(tmp_path / "a.jsonl", *books)
    total = run(file).new
    seq = records.last_seq()
    json_lines(file, *reversed(books))
    assert counts(run(file)) == (0, 0, total, 0)
    json_lines(file, {"kind": "source", "title": "first", "content": "x"}, *books)
    assert counts(run(file)) == (2, 0, total, 0)
    assert len(changes_of(records, seq, 10, None)) == 2


def test_another_text_under_the_title_of_a_document_is_refused(run: Run, records: Records, tmp_path: Path) -> None:
    first = json_lines(tmp_path / "a.jsonl", {"kind": "source", "title": "t", "content": "one"})
    second = json_lines(tmp_path / "b.jsonl", {"kind": "source", "title": "t", "content": "two"})
    for paths in ([first, second], [second]):
        (problem,) = run(*paths).rejected
        assert (problem.file, "give one of them another id" in problem.reason) == (str(second), True)
    assert [one.content for one in stored(records, Kind.CHUNK)] == ["one"]


def test_a_failed_document_is_not_half_stored(run: Run, records: Records, tmp_path: Path, embedder: Any) -> None:
    text = document(12) + "\n\n## Last\n\nunspeakable"
    file = json_lines(tmp_path / "a.jsonl", EACH[10], {"kind": "source", "title": "t", "content": text})
    embedder.fails_at = "unspeakable"
    with pytest.raises(ComponentFailed):
        run(file)
    assert records.counts().get(Kind.CHUNK, 0) == records.counts().get(Kind.SOURCE, 0) == 0
    embedder.fails_at = None
    assert run(file).rejected == ()
    assert records.counts().get(Kind.SOURCE, 0) == 1


def test_an_import_keeps_unchanged_vectors(run: Run, records: Records, embedder: Any, tmp_path: Path) -> None:
    given = ({"kind": "chunk", "id": id, "content": f"About {id}."} for id in ("chk_a", "chk_b"))
    json_lines(tmp_path / "docs/a.jsonl", *given)
    run(tmp_path / "docs")
    before = records.reads.vectors_of([row.key for row in records.origins.read_below(str(tmp_path))], embedder.model)
    lines = b"".join(export_lines(records, list(Kind), Quiet(), SetAside()))
    file = tmp_path / "lines"
    file.write_bytes(lines.replace(b"a.jsonl", b"b.jsonl").replace(b"About chk_b.", b"More about chk_b."))
    embedder.texts.clear()
    assert import_file(file, records, embedder, 1, Quiet()).changed == 2
    assert len(embedder.texts) == 1
    assert "More about chk_b." in embedder.texts[0]
    after = records.reads.vectors_of(list(before), embedder.model)
    assert sum(bool((before[key] == after[key]).all()) for key in before) == 1
