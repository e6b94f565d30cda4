"""Records deleted, kept and named by --prune."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cognition_engines.ingest.report import is_gone
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.runs import Run, counts, document, ids, json_lines, stored

Adr = Callable[..., Path]


def titles(records: Records) -> list[str]:
    return sorted(one.title for one in stored(records, Kind.DECISION))


@pytest.mark.parametrize("name", [".hidden/a.md", "node_modules/a.md", "list.records"])
def test_an_existing_named_file_is_kept(run: Run, adr: Adr, records: Records, tmp_path: Path, name: str) -> None:
    folder, file = tmp_path / "docs", tmp_path / "docs" / name
    adr(folder / "0001-b.md", "Found")
    if name.endswith(".records"):
        json_lines(file, {"kind": "decision", "title": "Named"})
    else:
        adr(file, "Named")
    run(file)
    summary = run(folder, prune=True)
    assert (summary.deleted, summary.pruned) == (0, ())
    assert titles(records) == ["Found", "Named"]
    file.unlink()
    summary = run(folder, prune=True)
    ((pruned),) = summary.pruned
    assert (summary.deleted, pruned.kind, pruned.file, pruned.part) == (1, "decision", str(file), False)
    assert titles(records) == ["Found"]


def test_deleted_records_are_named_as_in_a_dry_run(run: Run, records: Records, tmp_path: Path) -> None:
    guide = tmp_path / "docs/guide.md"
    file = json_lines(
        tmp_path / "docs/a.jsonl", {"kind": "decision", "id": "x", "title": "x"}, {"kind": "cluster", "name": "n"}
    )
    guide.write_text(document(3))
    run(tmp_path / "docs")
    everything = {(one.kind.label, one.id) for one in records.origins.read_below("/")}
    guide.unlink()
    json_lines(file, {"kind": "cluster", "name": "n"})
    first, second = run(tmp_path / "docs", prune=True, dry_run=True), run(tmp_path / "docs", prune=True)
    assert first.pruned == second.pruned
    assert {(one.kind, one.id) for one in second.pruned} == everything - {
        (one.kind.label, one.id) for one in records.origins.read_below("/")
    }
    assert [one.kind for one in second.pruned if one.part] == ["chunk"] * (second.deleted - 2)


def test_other_checkouts_are_kept(run: Run, adr: Adr, records: Records, checkout: Callable[..., Path]) -> None:
    first, second = (checkout(name, "https://h.example/shop") for name in ("a", "b"))
    for repo in (first, second):
        adr(repo / "docs/0001-a.md", "Both")
    old = adr(first / "docs/0002-b.md", "Old")
    run(first)
    assert run(second / "docs", prune=True).deleted == 0
    old.unlink()
    assert [one.file for one in run(second / "docs", prune=True).pruned] == [str(old)]
    assert titles(records) == ["Both"]


def test_pruning_a_part_keeps_the_rest(run: Run, adr: Adr, checkout: Callable[..., Path]) -> None:
    repo = checkout("a", "https://h.example/shop")
    gone = [adr(repo / name, name) for name in ("docs/0001-a.md", "docs2/0001-b.md", "docs.md")]
    run(repo)
    for file in gone:
        file.unlink()
    (repo / "docs").mkdir(exist_ok=True)
    assert [one.file for one in run(repo / "docs", prune=True).pruned] == [str(gone[0])]


def test_pruning_an_unnamed_checkout(run: Run, adr: Adr, records: Records, checkout: Callable[..., Path]) -> None:
    repo = checkout("a")
    adr(repo / "docs/0001-a.md", "A")
    run(repo)
    (repo / ".git/config").write_text('[remote "origin"]\nurl = https://h.example/shop\n')
    (warning,) = run(repo).warnings
    assert "--prune" in warning.reason
    assert counts(run(repo, prune=True)) == (0, 0, 1, 1)
    assert len(ids(records, Kind.DECISION)) == 1


def test_an_unreachable_file_is_not_gone(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").write_text("x")
    assert not is_gone(tmp_path / "loop/a.md")
    assert not is_gone(tmp_path / "loop")
    assert is_gone(tmp_path / "file/a.md")
    assert is_gone(tmp_path / "none/a.md")
