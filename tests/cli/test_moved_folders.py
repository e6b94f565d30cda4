"""A moved folder keeps all records, automatically and by `cstp move`."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

Cstp = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("embedded", "wordless")  # they look into the folder `data`
FIELDS = "key, kind, id, revision, own_project, own_sensitivity, updated_at"


def stored(columns: str = FIELDS) -> list[Any]:
    with closing(sqlite3.connect("data/records.sqlite3")) as database:
        return sorted(database.execute(f"SELECT {columns} FROM records"))


def write_notes(folder: str) -> None:
    for name in ("a", "b", "sub/c", "sub/d"):
        path = Path(folder, f"{name}.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {name}\n\nWhat {name} says.\n")
    Path(folder, "talk.txt").write_text("Ann: Is it high water?\nBob: Not before noon.\nAnn: Then we wait.\n")
    Path(folder, "facts.yaml").write_text("kind: extraction\ntype: warning\ncontent: {title: t, description: d}\n")
    Path(folder, "0001-use-it.md").write_text("# Use it\n\n## Status\n\nAccepted\n\n## Decision\n\nWe do.\n")


def read(cstp: Cstp, *words: object) -> Any:
    done = cstp("ingest", *words, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    return found["new"], found["changed"], [(one["old"], one["new"]) for one in found["moved"]]


def test_a_moved_folder_is_reported_as_moved_and_doubles_nothing(cstp: Cstp, tmp_path: Path) -> None:
    write_notes("notes")
    read(cstp, "notes")
    before = stored()
    shutil.move("notes", "moved")
    done = cstp("ingest", "moved", "--dry-run")
    assert f"would be moved: {len(before)} records of {tmp_path / 'notes'} (deleted)" in done.out
    assert stored("DISTINCT substr(source, 1, 1)") == [("/",)]
    assert read(cstp, "moved") == (0, 0, [(str(tmp_path / "notes"), str(tmp_path / "moved"))])
    assert stored() == before
    assert read(cstp, "moved", "--prune") == (0, 0, [])
    assert stored() == before


def test_mostly_equal_edited_files_move_along_and_a_copy_of_an_existing_folder_is_new(cstp: Cstp) -> None:
    write_notes("notes")
    read(cstp, "notes")
    before = stored("id")
    shutil.copytree("notes", "copy")
    new, _, moved = read(cstp, "copy")
    assert (new, moved) == (len(before), [])
    shutil.move("notes", "moved")
    Path("moved/a.md").write_text("# Note a\n\nWhat a says now.\n")
    new, changed, moved = read(cstp, "moved")
    assert (new, changed, len(moved)) == (1, 1, 1)  # the passage of the note, and the note
    assert len(stored("id")) == 2 * len(before)


def test_a_new_folder_at_the_old_path_has_separate_records_and_the_moved_folder_gains_new_files(cstp: Cstp) -> None:
    write_notes("notes")
    read(cstp, "notes")
    shutil.move("notes", "archive")
    read(cstp, "archive")
    count = len(stored("id"))
    Path("notes").mkdir()
    Path("notes/a.md").write_text("# Another\n\nIt has a name in common.\n")
    for _ in range(2):
        done = cstp("ingest", "notes")
        assert (done.code, done.err) == (0, "")
    Path("archive/e.md").write_text("# Note e\n\nWhat e says.\n")
    assert read(cstp, "archive") == (2, 0, [])
    assert read(cstp, "notes", "archive") == (0, 0, [])
    assert len(stored("id")) == count + 4


@pytest.mark.long("starts a server")
@pytest.mark.parametrize("words", [("ingest", "moved"), ("move", "notes", "moved")], ids=lambda words: words[0])
def test_a_moved_folder_keeps_reviews_and_links(cstp: Cstp, live_server: Any, words: tuple[str, ...]) -> None:
    write_notes("notes")
    Path("notes/0002-use-two.md").write_text("# Use two\n\n## Status\n\nAccepted\n\n## Decision\n\nWe do that too.\n")
    read(cstp, "notes")
    server = live_server({"embedding.model": "none"}, data_dir=Path("data").absolute())
    headers = {"Authorization": f"Bearer {server.token(scopes=['read', 'write', 'review'])}"}

    def ask(method: str, **parameters: str) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": f"cstp.{method}", "params": parameters}
        url = f"http://127.0.0.1:{server.port}/cstp"
        return httpx.post(url, json=body, headers=headers, trust_env=False).json()["result"]

    listed = ask("listDecisions")["decisions"]
    first, second = (next(one["id"] for one in listed if one["title"] == title) for title in ("Use it", "Use two"))
    ask("reviewDecision", id=first, outcome="success", actualResult="It held")
    ask("linkDecisions", sourceId=second, targetId=first, edgeType="refines", context="one more")
    before = ask("getDecision", id=first)["decision"]
    assert [one["actualResult"] for one in before["reviews"]] == ["It held"]
    assert "one more" in json.dumps(before)
    shutil.move("notes", "moved")
    assert cstp(*words).code == 0
    assert cstp("ingest", "moved", "--prune").code == 0
    after = ask("getDecision", id=first)["decision"]
    assert {**after, "provenance": None} == {**before, "provenance": None}
    assert after["provenance"]["contentHash"] == before["provenance"]["contentHash"]
    assert {one["id"] for one in ask("listDecisions")["decisions"]} == {first, second}


def test_rights_move_with_the_folder_and_hold_for_its_new_files(cstp: Cstp) -> None:
    write_notes("notes")
    read(cstp, "notes", "--sensitivity", "sensitive", "--project", "shop")
    shutil.move("notes", "moved")
    read(cstp, "moved")
    Path("moved/e.md").write_text("# Note e\n\nWhat e says.\n")
    read(cstp, "moved")
    assert stored("DISTINCT own_sensitivity") == [(1,)]
    read(cstp, "moved", "--sensitivity", "normal")  # the current path of the option
    assert stored("DISTINCT own_sensitivity") == [(0,)]


def test_a_renamed_folder_of_a_checkout_and_the_checkout_itself_keep_their_records(cstp: Cstp) -> None:
    for remote in ("", '[remote "origin"]\n\turl = https://h.example/shop\n'):
        repo = Path(f"repo{len(remote)}")
        (repo / ".git").mkdir(parents=True)
        (repo / ".git/config").write_text(remote)
        write_notes(str(repo / "docs"))
        read(cstp, repo)
        before = stored()
        (repo / "docs").rename(repo / "pages")
        assert read(cstp, repo)[:2] == (0, 0)
        repo.rename(f"{repo}-moved")
        assert read(cstp, f"{repo}-moved", "--prune")[:2] == (0, 0)
        assert stored() == before


def test_files_named_by_their_folder_are_recognised_and_get_its_new_name(cstp: Cstp, tmp_path: Path) -> None:
    Path("notes").mkdir()
    Path("notes/README.md").write_text("Read me.\n")
    read(cstp, "notes")
    before = stored("id")
    shutil.move("notes", "moved")
    new, _, moved = read(cstp, "moved")
    assert (new, moved) == (0, [(str(tmp_path / "notes"), str(tmp_path / "moved"))])
    assert read(cstp, "moved") == (0, 0, [])
    assert stored("id") == before
    assert json.loads(cstp("show", before[1][0], "--json").out)["title"] == "moved"


def test_files_of_a_later_run_move_along_however_edited_and_pruning_the_old_folder_deletes_none(cstp: Cstp) -> None:
    write_notes("notes")
    for name in ("p", "q"):
        Path(f"notes/{name}.csv").write_text(f"{name},1\n")
    tables = ("--include", "*.csv", "--as", "document")
    read(cstp, "notes")
    read(cstp, "notes", *tables)
    before = stored("id")
    shutil.move("notes", "moved")
    read(cstp, "moved")
    Path("moved/q.csv").write_text("q,2\n")
    said = cstp("ingest", "moved", *tables).out
    assert "moved: 4 records of " in said
    assert "has no records" in cstp("ingest", "notes", "--prune", "--yes").err
    assert len(stored("id")) == len(before)


def test_records_of_a_vanished_clone_move_to_the_present_clone(cstp: Cstp, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_notes(f"{name}/docs")
        Path(name, ".git").mkdir()
        Path(name, ".git/config").write_text('[remote "origin"]\n\turl = https://h.example/shop\n')
    read(cstp, "one")
    before = stored()
    assert read(cstp, "two") == (0, 0, [])
    shutil.rmtree("one")
    assert read(cstp, "two") == (0, 0, [(str(tmp_path / "one"), str(tmp_path / "two"))])
    assert "has no records" in cstp("ingest", "one", "--prune", "--yes").err
    assert stored() == before


def test_a_moved_folder_read_as_a_repository_takes_its_records_along(cstp: Cstp, tmp_path: Path) -> None:
    write_notes("notes")
    as_shop = ("--repository", "https://h.example/shop.git")
    read(cstp, "notes", *as_shop)
    before = stored()
    shutil.move("notes", "moved")
    assert read(cstp, "moved", *as_shop) == (0, 0, [(str(tmp_path / "notes"), str(tmp_path / "moved"))])
    Path("moved/sub").rename("moved/under")
    assert read(cstp, "moved", *as_shop, "--prune")[:2] == (0, 0)
    assert "has no records" in cstp("ingest", "notes", "--prune", "--yes").err
    assert stored() == before


def test_a_folder_with_the_names_of_a_vanished_folder_is_new_with_a_hint_at_move(cstp: Cstp, tmp_path: Path) -> None:
    write_notes("my notes")
    read(cstp, "my notes")
    before = stored("id")
    shutil.move("my notes", "moved")
    for file in Path("moved").rglob("*.md"):
        file.write_text(file.read_text() + "\nEdited.\n")
    command = f"cstp move '{tmp_path / 'my notes'}' {tmp_path / 'moved'} --replace"
    for words in (("--dry-run",), ()):
        done = cstp("ingest", "moved", *words)
        assert (done.code, done.err.count("cstp move"), command in done.err) == (0, 1, True)
    assert cstp("ingest", "moved").err == ""
    assert cstp("move", "my notes", "moved", "--replace").code == 0
    assert stored("id") == before
    shutil.rmtree("moved")
    Path("other").mkdir()
    Path("other/a.md").write_text("# Another\n\nIt has a name in common.\n")
    assert cstp("ingest", "other").err == ""


def test_move_takes_edited_files_and_replaces_records_read_as_new(cstp: Cstp) -> None:
    write_notes("notes")
    read(cstp, "notes")
    before = stored("id")
    assert "notes is still there" in cstp("move", "notes", "moved").err
    shutil.move("notes", "moved")
    assert "other does not exist" in cstp("move", "notes", "other").err
    for file in Path("moved").rglob("*.md"):
        file.write_text(file.read_text() + "\nEdited.\n")
    read(cstp, "moved/sub")
    assert "--replace" in cstp("move", "notes", "moved").err
    assert cstp("move", "notes", "moved", "--replace", "--dry-run").code == 0
    done = cstp("move", "notes", "moved", "--replace")
    assert (done.code, done.out.splitlines()) == (
        0,
        [f"moved: {len(before)} records of notes to moved", "deleted: 4 records that moved had"],
    )
    assert stored("id") == before
    assert read(cstp, "moved")[2] == []
    assert "no record is from" in cstp("move", "notes", "moved").err
