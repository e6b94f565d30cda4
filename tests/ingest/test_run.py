"""Whole runs: new, changed, unchanged, deleted and refused records, and the store afterwards."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from cognition_engines.errors import ComponentFailed
from cognition_engines.ingest.follow import WatchedPaths
from cognition_engines.ingest.options import Options, Silent, Summary
from cognition_engines.ingest.run import BATCH, ingest
from cognition_engines.models import Decision
from cognition_engines.store.records import Records
from tests.ingest.runs import Run, counts, json_lines
from tests.stored import changes_of, models

Adr = Callable[..., Path]
Checkout = Callable[..., Path]


def made_id(repository: Path | str, path: str, project: str | None = None, ordinal: int = 0) -> str:
    identity = sha256(json.dumps(["path", "decision", str(repository), path, ordinal]).encode()).hexdigest()[:32]
    return "dec_" + sha256(json.dumps([identity, project]).encode()).hexdigest()[:16]


def stored(records: Records) -> dict[str, Decision]:
    """Return all decisions by id."""
    return {
        change.stored.record.id: change.stored.record
        for change in changes_of(records, 0, 10_000, None)
        if hasattr(change, "stored")
    }


def titles(records: Records) -> list[str]:
    return sorted(decision.title for decision in stored(records).values())


def test_an_edited_file_is_embedded_again(run: Run, adr: Adr, records: Records, tmp_path: Path, embedder: Any) -> None:
    for name in "abc":
        adr(tmp_path / f"docs/{name}.md", f"Title {name}")
    run(tmp_path / "docs")
    before, embedder.texts[:] = records.last_seq(), []
    adr(tmp_path / "docs/b.md", "Title b", "Another reason.")
    assert counts(run(tmp_path / "docs")) == (0, 1, 2, 0)
    assert len(changes_of(records, before, 10, None)) == 1
    assert len(embedder.texts) == 1
    assert "Another reason." in embedder.texts[0]


def test_an_id_given_twice_in_one_file_is_refused_also_on_one_line(run: Run, records: Records, tmp_path: Path) -> None:
    one = '{"kind": "decision", "id": "b", "title": "first of list"}'
    (tmp_path / "list.json").write_text(f"[{one}, {one}]")
    summary = run(tmp_path / "list.json")
    assert (counts(summary), [problem.line for problem in summary.rejected]) == ((1, 0, 0, 0), [1])
    assert titles(records) == ["first of list"]


def test_an_equal_record_in_a_second_file_is_no_conflict(run: Run, records: Records, tmp_path: Path) -> None:
    files = [json_lines(tmp_path / f"{name}.jsonl", {"kind": "decision", "id": "x", "title": "same"}) for name in "ab"]
    assert counts(run(*files)) == (1, 0, 1, 0)
    assert counts(run(files[1])) == (0, 0, 1, 0)
    files[0].unlink()
    assert counts(run(files[1])) == (0, 1, 0, 0)
    assert counts(run(files[1])) == (0, 0, 1, 0)
    assert sum(records.counts().values()) == 1


def test_a_made_id_is_a_digest(run: Run, adr: Adr, records: Records, checkout: Checkout, tmp_path: Path) -> None:
    repo, shop = checkout("repo", "git@host.example:acme/shop.git"), "host.example/acme/shop"
    adr(repo / "docs/adr/0001-a.md", "In a checkout")
    (repo / "two.json").write_text('[{"kind": "decision", "title": "Zeroth"}, {"kind": "decision", "title": "First"}]')
    outside = adr(tmp_path / "outside/a.md", "Outside")
    run(repo, outside)
    run(repo, project="alpha")
    assert set(titles(records)) == {"In a checkout", "Zeroth", "First", "Outside"}
    assert set(stored(records)) == {
        made_id(shop, "docs/adr/0001-a.md"),
        made_id(shop, "two.json", ordinal=0),
        made_id(shop, "two.json", ordinal=1),
        made_id(outside.parent, "a.md"),
        made_id(shop, "docs/adr/0001-a.md", "alpha"),
        made_id(shop, "two.json", "alpha", 0),
        made_id(shop, "two.json", "alpha", 1),
    }


def test_the_id_depends_on_neither_the_checkout_nor_the_named_path(
    run: Run, adr: Adr, records: Records, checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, id = checkout("repo", "https://host.example/shop"), made_id("host.example/shop", "docs/0001-a.md")
    file = adr(repo / "docs/0001-a.md", "A")
    monkeypatch.chdir(repo / "docs")
    for path in (repo, repo / "docs", file, Path("0001-a.md"), Path(), Path("../docs")):
        run(path)
    assert set(stored(records)) == {id}
    repo.rename(repo.with_name("moved"))
    assert counts(run(repo.with_name("moved"))) == (0, 0, 1, 0)
    assert set(stored(records)) == {id}


def test_a_file_renamed_in_case_alone_stays_one_record(run: Run, adr: Adr, records: Records, tmp_path: Path) -> None:
    watched = WatchedPaths([tmp_path / "docs"], Options())

    def read(options: Options) -> Summary:
        return ingest([tmp_path / "docs"], options, records, None, Silent())

    before = adr(tmp_path / "docs/0001-queues.md", "Use queues")
    first = watched.read_changes(read)
    before.rename(tmp_path / "docs/0001-Queues.md")
    adr(tmp_path / "docs/0001-Queues.md", "Use two queues")
    renamed = watched.read_changes(read)
    assert first is not None
    assert renamed is not None
    assert (counts(first), counts(renamed), renamed.moved) == ((1, 0, 0, 0), (0, 1, 0, 0), ())
    assert counts(run(tmp_path / "docs", prune=True)) == (0, 0, 1, 0)


def test_differing_checkouts_are_refused_in_one_run(run: Run, adr: Adr, records: Records, checkout: Checkout) -> None:
    one, other = (checkout(name, "https://a.example/shop") for name in ("one", "other"))
    first, second = adr(one / "docs/0001.md", "From one"), adr(other / "docs/0001.md", "From the other")
    ((problem),) = run(one, other).rejected
    assert (problem.file, str(first) in problem.reason, "--repository" in problem.reason) == (str(second), True, True)
    assert titles(records) == ["From one"]


def test_a_moved_file_with_an_id_of_its_own_stays_one_record(run: Run, records: Records, checkout: Checkout) -> None:
    repo = checkout("repo", "https://a.example/shop")
    (repo / "docs/old").mkdir(parents=True)
    file = json_lines(repo / "docs/old/a.jsonl", {"kind": "decision", "id": "x", "title": "t"})
    run(repo / "docs")
    file.rename(repo / "docs/b.jsonl")
    assert counts(run(repo / "docs", prune=True)) == (0, 1, 0, 0)
    assert set(stored(records)) == {"x"}
    assert [row.origin.source for row in records.origins.read_below(str(repo))] == [str(repo / "docs/b.jsonl")]


def test_prune_deletes_only_within_the_named_folder(run: Run, adr: Adr, records: Records, tmp_path: Path) -> None:
    for name in ("docs/a.md", "docs/b.md", "docs/sub/c.md", "docs2/d.md"):
        adr(tmp_path / name, name)
    lines = json_lines(
        tmp_path / "docs/list.jsonl",
        {"kind": "decision", "id": "x", "title": "x"},
        {"kind": "decision", "id": "y", "title": "y"},
    )
    run(tmp_path / "docs", tmp_path / "docs2")
    (tmp_path / "docs/a.md").unlink()
    (tmp_path / "docs/sub/c.md").unlink()
    (tmp_path / "docs2/d.md").unlink()
    json_lines(lines, {"kind": "decision", "id": "y", "title": "y"})
    assert counts(run(tmp_path / "docs")) == (0, 0, 2, 0)
    assert counts(run(tmp_path / "docs", prune=True, dry_run=True)) == (0, 0, 2, 3)
    assert sum(records.counts().values()) == 6
    assert counts(run(tmp_path / "docs", prune=True)) == (0, 0, 2, 3)
    assert titles(records) == ["docs/b.md", "docs2/d.md", "y"]
    assert counts(run(tmp_path / "docs", prune=True)) == (0, 0, 2, 0)


def test_prune_deletes_only_records_of_its_project(run: Run, adr: Adr, records: Records, tmp_path: Path) -> None:
    adr(tmp_path / "docs/a.md", "a")
    run(tmp_path / "docs", project="alpha")
    assert counts(run(tmp_path / "docs", project="beta", prune=True)) == (1, 0, 0, 0)
    assert sorted(decision.project or "" for decision in stored(records).values()) == ["alpha", "beta"]
    (tmp_path / "docs/a.md").unlink()
    assert counts(run(tmp_path / "docs", project="beta", prune=True)) == (0, 0, 0, 2)


def test_strict_is_all_or_nothing(run: Run, adr: Adr, records: Records, tmp_path: Path) -> None:
    for number in range(40):
        adr(tmp_path / f"docs/{number:02}.md", f"t{number}")
    bad = json_lines(
        tmp_path / "docs/z.jsonl",
        {"kind": "decision", "id": "x", "title": "x"},
        {"kind": "decision", "id": "y", "title": 5},
    )
    summary = run(tmp_path / "docs", strict=True, prune=True)
    assert (summary.read, counts(summary), len(summary.rejected)) == (42, (0, 0, 0, 0), 1)
    assert sum(records.counts().values()) == records.last_seq() == 0
    json_lines(bad, {"kind": "decision", "id": "x", "title": "x"})
    assert counts(run(tmp_path / "docs", strict=True)) == (41, 0, 0, 0)
    assert sum(records.counts().values()) == 41
    json_lines(bad, {"kind": "decision", "id": "y", "title": 5})
    (tmp_path / "docs/00.md").unlink()
    assert run(tmp_path / "docs", strict=True, prune=True).deleted == 0
    assert sum(records.counts().values()) == 41


def test_an_unreadable_file_is_rejected_alone(run: Run, adr: Adr, records: Records, tmp_path: Path) -> None:
    adr(tmp_path / "docs/b.md", "b")
    # reading a process's memory from its start fails for everybody, root included
    (tmp_path / "docs/a.md").symlink_to("/proc/self/mem")
    summary = run(tmp_path / "docs", tmp_path / "docs/a.md")
    ((problem),) = summary.rejected
    assert problem.file == str(tmp_path / "docs/a.md")
    assert problem.reason.startswith("cannot be read")
    assert titles(records) == ["b"]


def test_nested_and_overlapping_paths_are_read_once(run: Run, adr: Adr, tmp_path: Path) -> None:
    adr(tmp_path / "docs/a.md", "a")
    inner = adr(tmp_path / "docs/sub/b.md", "b")
    docs = tmp_path / "docs"
    summary = run(docs, docs / "sub", inner, docs / "sub/../sub", docs)
    assert (summary.read, counts(summary), summary.rejected) == (2, (2, 0, 0, 0), ())


def test_a_missing_path_is_refused_first(run: Run, adr: Adr, records: Records, tmp_path: Path) -> None:
    adr(tmp_path / "docs/a.md", "a")
    with pytest.raises(FileNotFoundError):
        run(tmp_path / "docs", tmp_path / "nowhere")
    assert records.last_seq() == 0


def test_a_file_without_decisions_is_rejected_if_named_and_else_warned_of(run: Run, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/package.json").write_text('{"name": "x", "version": "1.0.0"}')
    summary = run(tmp_path / "docs")
    assert (len(summary.rejected), len(summary.warnings), summary.read) == (0, 1, 0)
    summary = run(tmp_path / "docs/package.json")
    assert (len(summary.rejected), len(summary.warnings)) == (1, 0)


def test_without_a_model_records_are_stored_without_vectors(adr: Adr, records: Records, tmp_path: Path) -> None:
    adr(tmp_path / "docs/a.md", "a")
    assert ingest([tmp_path / "docs"], Options(), records, None, Silent()).new == 1
    assert (sum(records.counts().values()), models(records)) == (1, {})


def test_a_large_file_is_committed_in_batches(records: Records, tmp_path: Path, embedder: Any, run: Run) -> None:
    lines = [json.dumps({"title": f"number {number:02}", "status": "accepted"}) for number in range(80)]
    (tmp_path / "all.jsonl").write_text("\n".join(lines))
    embedder.fails_at = "number 40"
    with pytest.raises(ComponentFailed):
        run(tmp_path / "all.jsonl")
    assert sum(records.counts().values()) == 32
    embedder.fails_at = None
    assert counts(run(tmp_path / "all.jsonl")) == (48, 0, 32, 0)


def test_refusals_are_reported_in_order_across_batches(run: Run, tmp_path: Path) -> None:
    run(json_lines(tmp_path / "stored.jsonl", {"kind": "decision", "id": "a", "title": "Berth one"}))
    others = [{"kind": "decision", "title": f"Berth {number}"} for number in range(BATCH)]
    taken = {"kind": "decision", "id": "a", "title": "Another berth"}
    path = json_lines(tmp_path / "new.jsonl", taken, *others, {"kind": "decision", "title": 1})
    assert [problem.line for problem in run(path).rejected] == [1, BATCH + 2]


@pytest.mark.embedded_only("locks an SQLite file")
def test_the_next_batch_is_embedded_during_a_write(
    adr: Adr, records: Records, tmp_path: Path, embedder: Any, run: Run, wait_until: Callable[..., None]
) -> None:
    for number in range(3 * BATCH):
        adr(tmp_path / f"docs/{number:02}.md", f"number {number:02}")
    with closing(sqlite3.connect(tmp_path / "store/records.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        running = Thread(target=run, args=(tmp_path / "docs",))
        running.start()
        wait_until(lambda: len(embedder.texts) == 2 * BATCH)
        assert sum(records.counts().values()) == 0
        other.execute("ROLLBACK")
    running.join()
    assert sum(records.counts().values()) == len(embedder.texts) == 3 * BATCH
