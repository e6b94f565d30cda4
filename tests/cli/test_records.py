"""`cstp ingest`, `show`, `delete`, `schema`, `status` and `reindex`."""

import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cognition_engines.ingest.structured.aliases import own_names
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import open_records
from cognition_engines.store.schema import HEAD
from tests.cli.conftest import tables_of, write_repository
from tests.stored import changes_of, models
from tests.stores import ChromaProgram, Stores

Cstp = Callable[..., Any]
FULL = {
    "id": "d-1",
    "title": "Use SQLite",
    "text": "One file.\nNo server.",
    "category": "architecture",
    "confidence": 0.8,
    "stakes": "high",
    "status": "Accepted",
    "outcome": "success",
    "date": "2024-02-03T10:00:00+02:00",
    "reasons": ["pattern", {"type": "analysis", "text": "measured"}],
    "tags": ["storage"],
    "supersedes": ["d-0"],
    "supersededBy": "d-2",
    "project": "alpha",
    "sensitivity": "sensitive",
    "metadata": {"ticket": 12},
}


def write_lines(path: str, *members: dict[str, Any]) -> Path:
    Path(path).write_text("".join(json.dumps(one) + "\n" for one in members))
    return Path(path).absolute()


def summary(done: Any) -> dict[str, Any]:
    """The one JSON line of --json."""
    assert done.out.endswith("}\n")
    assert done.out.count("\n") == 1
    found: dict[str, Any] = json.loads(done.out)
    return found


@pytest.mark.usefixtures("wordless")
def test_ingest_says_what_it_did_and_doing_it_again_changes_nothing(cstp: Cstp, adr: Callable[..., Path]) -> None:
    adr("docs/a.md", "A")
    adr("docs/b.md", "B")
    done = cstp("ingest", "docs")
    assert (done.code, done.err) == (0, "")
    assert done.out == "2 read: 2 new, 0 changed, 0 unchanged, 0 deleted, 0 rejected, 0 warnings\n"
    done = cstp("ingest", "docs", "--json")
    assert done.code == 0
    assert summary(done) == {
        "read": 2,
        "new": 0,
        "changed": 0,
        "unchanged": 2,
        "deleted": 0,
        "rejected": [],
        "warnings": [],
        "pruned": [],
        "held_back": [],
        "moved": [],
        "ignored": 0,
        "limited": False,
        "kinds": {"decision": 2},
        "skipped": {},
    }


@pytest.mark.usefixtures("wordless")
def test_ingest_names_file_line_and_reason_of_what_it_rejects_keeps_the_rest_and_exits_with_1(cstp: Cstp) -> None:
    file = write_lines(
        "d.jsonl", {"id": "a", "title": "fine"}, {"id": "b", "title": 5}, {"kind": "decision", "title": "c", "x": 1}
    )
    done = cstp("ingest", "d.jsonl")
    assert done.code == 1
    assert done.out == "3 read: 1 new, 0 changed, 0 unchanged, 0 deleted, 2 rejected, 0 warnings\n"
    first, second = done.err.splitlines()
    assert first.startswith(f"rejected: {file}:2: title must be")
    assert second.startswith(f"rejected: {file}:3: 'x' is not a field")
    done = cstp("ingest", "d.jsonl", "--json")
    assert (done.code, done.err) == (1, "")
    rejected = summary(done)["rejected"]
    assert [(one["file"], one["line"], set(one)) for one in rejected] == [
        (str(file), 2, {"file", "line", "reason"}),
        (str(file), 3, {"file", "line", "reason"}),
    ]
    assert cstp("show", "a").code == 0


@pytest.mark.usefixtures("wordless")
def test_ingest_tells_warnings_and_goes_on(cstp: Cstp) -> None:
    write_lines("d.jsonl", {"stakes": "low", "id": "a", "title": "t", "owner": "Ana"})
    done = cstp("ingest", "d.jsonl", "--json")
    assert done.code == 0
    (warning,) = summary(done)["warnings"]
    assert set(warning) == {"file", "line", "reason"}
    assert json.loads(cstp("show", "a", "--json").out)["title"] == "t"


@pytest.mark.usefixtures("wordless")
def test_ingest_strict_dry_run_and_prune(cstp: Cstp, adr: Callable[..., Path]) -> None:
    file = adr("docs/a.md", "A")
    bad = write_lines("docs/bad.jsonl", {"kind": "decision", "id": "b", "title": 5})
    done = cstp("ingest", "docs", "--strict")
    assert (done.code, done.out) == (
        1,
        "2 read: 0 new, 0 changed, 0 unchanged, 0 deleted, 1 rejected, 0 warnings (strict: nothing was written)\n",
    )
    bad.unlink()
    done = cstp("ingest", "docs", "--dry-run")
    assert (done.code, done.out) == (
        0,
        "1 read: 1 new, 0 changed, 0 unchanged, 0 deleted, 0 rejected, 0 warnings (dry run: nothing was written)\n",
    )
    assert json.loads(cstp("status", "--json").out)["decisions"] == 0
    cstp("ingest", "docs")
    file.unlink()
    held = cstp("ingest", "docs", "--prune")
    assert (held.code, "0 deleted" in held.out, "1 of 1 records are gone" in held.err) == (1, True, True)
    assert summary(cstp("ingest", "docs", "--prune", "--yes", "--json"))["deleted"] == 1
    assert json.loads(cstp("status", "--json").out)["decisions"] == 0


@pytest.mark.usefixtures("wordless")
def test_ingest_gives_project_and_sensitivity_to_records_without_their_own(cstp: Cstp) -> None:
    write_lines("d.jsonl", {"id": "a", "title": "t"}, FULL)
    assert cstp("ingest", "d.jsonl", "--project", "beta", "--sensitivity", "highly_sensitive").code == 0
    shown = {id: json.loads(cstp("show", id, "--json").out) for id in ("a", "d-1")}
    assert [(one["project"], one["sensitivity"]) for one in shown.values()] == [
        ("beta", "highly_sensitive"),
        ("alpha", "sensitive"),
    ]


def test_ingest_embeds_with_the_model_that_ships_with_the_server(cstp: Cstp, adr: Callable[..., Path]) -> None:
    adr("docs/a.md", "A")
    assert cstp("ingest", "docs").code == 0
    assert list(json.loads(cstp("status", "--json").out)["vectors"].values()) == [1]


@pytest.mark.usefixtures("wordless")
def test_show_prints_the_whole_record(cstp: Cstp) -> None:
    file = write_lines("d.jsonl", FULL, {"id": "bare", "title": "Bare"})
    cstp("ingest", "d.jsonl")
    shown = json.loads(cstp("show", "d-1", "--json").out)
    updated = shown.pop("updatedAt")
    assert updated.endswith("Z")
    assert shown == {
        **FULL,
        "status": "superseded",  # by what it names itself
        "statusText": "Accepted",
        "date": "2024-02-03T08:00:00Z",
        "reasons": [{"type": "pattern", "text": None}, {"type": "analysis", "text": "measured"}],
        "supersededBy": ["d-2"],
        "affects": [],
        "source": str(file),
        "repository": str(file.parent),
        "repositoryPath": file.name,
        "givenId": "d-1",
    }
    text = cstp("show", "d-1").out
    assert text.startswith("id: d-1\ntitle: Use SQLite\n")
    assert text.endswith("\n\nOne file.\nNo server.\n")
    assert cstp("show", "bare").out.count("null") == 0


@pytest.mark.usefixtures("wordless")
def test_delete_removes_what_it_is_told_and_says_what_was_not_there(cstp: Cstp) -> None:
    write_lines("d.jsonl", *({"kind": "decision", "id": id, "title": id} for id in "abc"))
    cstp("ingest", "d.jsonl")
    done = cstp("delete", "a", "b", "a")
    back = f"{Path('d.jsonl').absolute()} still has the record: the next cstp ingest of the file restores it\n"
    assert (done.code, done.out, done.err) == (0, "deleted a\ndeleted b\n", back)
    Path("d.jsonl").unlink()
    done = cstp("delete", "a", "c")
    assert (done.code, done.out, done.err) == (1, "deleted c\n", "no record has the id a\n")
    done = cstp("show", "c")
    assert (done.code, done.out, done.err) == (1, "", "no record has the id c\n")


@pytest.mark.embedded_only("an SQLite file may be missing")
@pytest.mark.parametrize("words", [("show", "x"), ("delete", "x"), ("reindex",), ("export", "a.jsonl")])
def test_a_folder_without_records_is_told_and_not_made(cstp: Cstp, words: tuple[str, ...]) -> None:
    done = cstp(*words, "--data-dir", "typo")
    assert done.code == 2
    assert done.err.startswith("cstp: typo holds no records")
    assert list(Path().iterdir()) == []


def test_the_schema_is_json_schema_and_real_records_meet_it(cstp: Cstp) -> None:
    done = cstp("schema", "decision")
    assert done.code == 0
    schema = json.loads(done.out)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert set(schema["properties"]) == {"kind", "supersededBy", *own_names(Kind.DECISION)}
    for record in (FULL, {"title": "t"}, {"title": "t", "superseded_by": None, "confidence": None}):
        validator.validate(record)
    for record in ({}, {"title": ""}, {"title": "t", "confidence": 1.5}, {"title": "t", "colour": "red"}):
        assert not validator.is_valid(record)


@pytest.mark.long("embeds with the packaged model")
@pytest.mark.usefixtures("wordless")
def test_what_the_schema_accepts_is_ingested_and_what_it_refuses_is_rejected(cstp: Cstp) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(cstp("schema", "decision").out))
    records: list[dict[str, Any]] = [
        FULL,
        {"title": "t", "id": 5},
        {"title": "t", "tags": "one"},
        {"title": "t", "tags": ["a", "b"]},
        {"title": "t", "reasons": [{"text": "no type"}]},
        {"title": "t", "reasons": ["a", {"type": "b"}]},
        {"title": "t" * 1001},
        {"title": "line\nbreak"},
        {"title": "t", "confidence": "0.5"},
        {"title": "t", "confidence": 1},
        {"title": "t", "sensitivity": "secret"},
        {"title": "t", "superseded_by": "a", "supersededBy": "b"},
        {"title": "t", "supersedes": [1, "two"]},
    ]
    for number, record in enumerate(records):
        file = write_lines(f"decisions-{number}.jsonl", record)
        rejected = summary(cstp("ingest", file, "--json", "--data-dir", f"data{number}"))["rejected"]
        assert (not rejected) is validator.is_valid(record), (record, rejected)


@pytest.mark.usefixtures("wordless")
def test_status_tells_what_is_there_and_makes_nothing(cstp: Cstp, adr: Callable[..., Path]) -> None:
    done = cstp("status", "--json", "--data-dir", "nothing")
    found = json.loads(done.out)
    assert (found["decisions"], found["liveTokens"], found["indexes"]) == (0, 0, "free")
    assert not Path("nothing").exists()
    adr("docs/a.md", "A")
    cstp("ingest", "docs")
    cstp("token", "create", "--agent", "me")
    done = cstp("status")
    assert done.code == 0
    lines = dict(line.split(": ", 1) for line in done.out.splitlines())
    assert lines["dataDir"] == str(Path("data").absolute())
    assert (lines["decisions"], lines["vectors"], lines["liveTokens"], lines["indexes"]) == ("1", "none", "1", "free")


@pytest.mark.embedded_only("names its databases, of both kinds, itself")
@pytest.mark.usefixtures("wordless")
def test_status_changes_no_database_and_makes_none(cstp: Cstp, adr: Callable[..., Path], postgresql_url: str) -> None:
    adr("docs/a.md", "A")
    cstp("ingest", "docs")
    before = {path: path.read_bytes() for path in Path("data").iterdir() if path.is_file()}
    assert json.loads(cstp("status", "--json").out)["records"] == {"decision": 1}
    assert {path: path.read_bytes() for path in Path("data").iterdir() if path.is_file()} == before
    for url in ("sqlite:///typo/r.sqlite3", postgresql_url):
        found = json.loads(cstp("status", "--json", CSTP_STORE__URL=url).out)
        assert (found["decisions"], found["records"], found["vectors"]) == (0, {}, {})
    assert not Path("typo").exists()
    assert tables_of(postgresql_url) == set()
    open_records(postgresql_url).close()
    assert json.loads(cstp("status", "--json", CSTP_STORE__URL=postgresql_url).out)["records"] == {}
    done = cstp("status", CSTP_STORE__URL="postgresql://me:hunter2@127.0.0.1:1/x")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(
        "cstp: records: the database does not answer (connection refused): check that the database named above"
    )
    assert done.places.startswith("cstp: records: postgresql://***@127.0.0.1:1/x; ")


@pytest.mark.embedded_only("changes an SQLite file")
@pytest.mark.usefixtures("wordless")
def test_status_says_of_another_schema_what_it_is_and_leaves_it_as_it_is(cstp: Cstp, adr: Callable[..., Path]) -> None:
    adr("docs/a.md", "A")
    cstp("ingest", "docs")
    with closing(sqlite3.connect("data/records.sqlite3", isolation_level=None)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    before = Path("data/records.sqlite3").read_bytes()
    done = cstp("status", "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert found["records"] == f"the schema is 9999, newer than this program's ({HEAD}); upgrade the program"
    assert (found["decisions"], found["vectors"]) == (None, None)
    lines = dict(line.split(": ", 1) for line in cstp("status").out.splitlines())
    assert (lines["records"], lines["decisions"]) == (found["records"], "unknown")
    assert Path("data/records.sqlite3").read_bytes() == before


@pytest.mark.long("embeds with the packaged model")
def test_reindex_builds_the_indexes_anew_and_leaves_vectors_of_the_configured_model_only(
    cstp: Cstp, adr: Callable[..., Path], stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    adr("docs/a.md", "A")
    adr("docs/b.md", "B")
    monkeypatch.setenv("CSTP_EMBEDDING__MODEL", "none")
    cstp("ingest", "docs")
    done = cstp("reindex")
    assert (done.code, done.out) == (0, "2 decisions indexed, 0 re-embedded, 0 vectors of other models removed\n")
    monkeypatch.delenv("CSTP_EMBEDDING__MODEL")
    done = cstp("reindex")
    assert (done.code, done.out) == (0, "2 decisions indexed, 2 re-embedded, 0 vectors of other models removed\n")
    records = open_records(stores.records(Path("data")))
    (vectors,) = (c.vectors for c in changes_of(records, 0, 1, next(iter(models(records)))))  # type: ignore[union-attr]
    key = next(iter(changes_of(records, 0, 1, None))).stored.key  # type: ignore[union-attr]
    assert vectors is not None
    records.put_vectors([(key, vectors[:, :4].copy())], "another-model")
    assert models(records)["another-model"] == 1
    assert cstp("reindex", "--keep-vectors").out.endswith(" 0 vectors of other models removed\n")
    assert "another-model" in models(records)
    assert cstp("reindex").out.endswith(" 1 vectors of other models removed\n")
    assert list(models(records).values()) == [2]
    records.close()


@pytest.mark.embedded_only("names its Chroma server itself")
def test_reindex_leaves_the_collections_of_another_model_on_a_chroma_server(
    cstp: Cstp, adr: Callable[..., Path], chroma_server: ChromaProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    adr("docs/a.md", "A")
    monkeypatch.setenv("CSTP_VECTORS__URL", chroma_server.url)
    assert cstp("ingest", "docs").code == 0
    records = open_records(f"sqlite:///{Path('data/records.sqlite3').absolute()}")
    (model,), store = models(records), records.store_id[:12]
    records.close()
    chroma_server.create(f"decisions-former-{store}", {"seq": 1}, [1.0, 2.0])
    assert cstp("reindex").code == 0
    assert {one["name"] for one in chroma_server.collections(store)} == {
        f"decisions-former-{store}",
        f"decisions-{model}-{store}",
    }
    chroma_server.forget(store)


@pytest.mark.embedded_only("names its databases, of both kinds, itself")
@pytest.mark.usefixtures("wordless")
def test_a_dry_run_makes_nothing_where_nothing_is(cstp: Cstp, adr: Callable[..., Path], postgresql_url: str) -> None:
    adr("docs/a.md", "A")
    for url in ("sqlite:///typo/r.sqlite3", postgresql_url):
        assert cstp("ingest", "docs", "--dry-run", CSTP_STORE__URL=url).out.startswith("1 read: 1 new")
    assert [path.name for path in Path().iterdir()] == ["docs"]
    assert tables_of(postgresql_url) == set()


@pytest.mark.embedded_only("damages an SQLite file")
def test_a_damaged_database_is_told_with_what_to_do(cstp: Cstp, tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    (folder / "records.sqlite3").write_bytes(b"noise" * 1000)
    done = cstp("status", "--data-dir", folder)
    assert done.code == 1
    assert str(folder / "records.sqlite3") in done.places
    assert "cstp doctor" in done.err


@pytest.mark.long("embeds with the packaged model")
@pytest.mark.usefixtures("wordless")
def test_show_and_delete_take_a_short_id_where_it_is_the_only_one_and_name_the_full_ones_otherwise(cstp: Cstp) -> None:
    for name in ("one", "two"):
        done = cstp("ingest", str(write_repository(name, {"kind": "decision", "id": "d", "title": name})))
        assert (done.code, done.out.startswith("1 read: 1 new")) == (0, True)
        if name == "one":
            shown = json.loads(cstp("show", "d", "--json").out)
            assert (shown["title"], shown["repository"], shown["givenId"]) == ("one", "h.example/one", "d")
            assert "secret" not in str(shown)
    for command in ("show", "delete"):
        done = cstp(command, "d")
        full = re.findall(r"d~[0-9a-f]{12}", done.err)
        assert (done.code, len(set(full)), "a.jsonl" in done.err) == (2, 2, True)
    titles = {id: json.loads(cstp("show", id, "--json").out)["title"] for id in full}
    assert sorted(titles.values()) == ["one", "two"]
    gone, left = full
    assert cstp("delete", gone).out == f"deleted {gone}\n"
    assert json.loads(cstp("show", "d", "--json").out)["title"] == titles[left]


@pytest.mark.usefixtures("wordless")
def test_an_archive_is_read_as_its_repository_with_an_option(cstp: Cstp) -> None:
    cstp("ingest", str(write_repository("shop", {"kind": "decision", "id": "d", "title": "t"})))
    Path("archive").mkdir()
    Path("archive/a.jsonl").write_bytes(Path("shop/a.jsonl").read_bytes())
    done = cstp("ingest", "archive", "--repository", "h.example/shop")
    assert done.out.startswith("1 read: 0 new, 0 changed, 1 unchanged")


@pytest.mark.usefixtures("wordless")
def test_sensitivity_stays_until_the_option_names_exactly_these(cstp: Cstp) -> None:
    Path("docs/hr").mkdir(parents=True)
    Path("docs/hr/a.jsonl").write_text('{"kind": "decision", "id": "d", "title": "t"}\n')
    cstp("ingest", "docs/hr", "--sensitivity", "highly_sensitive")
    done = cstp("ingest", "docs")
    hr = Path("docs/hr").absolute()
    assert done.err == (
        f"warning: {hr}: 1 record keeps the sensitivity highly_sensitive of an earlier run; "
        f"cstp ingest {hr} --sensitivity LEVEL changes it\n"
    )
    assert json.loads(cstp("show", "d", "--json").out)["sensitivity"] == "highly_sensitive"
    assert cstp("ingest", "docs/hr", "--sensitivity", "normal").out.startswith("1 read: 0 new, 1 changed")
    assert json.loads(cstp("show", "d", "--json").out)["sensitivity"] == "normal"


@pytest.mark.usefixtures("wordless")
def test_pruning_above_a_third_of_a_source_needs_yes(cstp: Cstp, adr: Callable[..., Path]) -> None:
    for name in ("notes/a.md", "notes/b.md", "notes/c.md", "notes/sub/d.md", "other/e.md"):
        adr(name, name)
    cstp("ingest", "notes", "other")
    Path("notes/a.md").unlink()
    assert "1 deleted" in cstp("ingest", "notes", "--prune").out
    shutil.rmtree("notes")
    folder = Path("notes").absolute()
    tried = cstp("ingest", "notes", "--prune", "--dry-run")
    assert (tried.code, f"would not be deleted: 3 of 3 records are gone from {folder}, " in tried.err) == (1, True)
    assert "--prune --yes deletes them" in tried.err
    held = cstp("ingest", "notes", "--prune")
    assert (held.code, f"not deleted: 3 of 3 records are gone from {folder}, " in held.err) == (1, True)
    assert cstp("ingest", "notes").code == 2  # without --prune it is a mistake
    assert "3 deleted" in cstp("ingest", "notes", "--prune", "--yes").out
    done = cstp("ingest", "notes", "--prune", "--yes")
    assert (done.code, "and has no records" in done.err) == (2, True)
    assert json.loads(cstp("status", "--json").out)["decisions"] == 1


@pytest.mark.usefixtures("wordless")
def test_prune_names_what_it_deletes_in_the_summary_for_people_and_for_machines(cstp: Cstp) -> None:
    Path("docs").mkdir()
    file = write_lines(
        "docs/a.jsonl", {"kind": "decision", "id": "x", "title": "x"}, {"kind": "decision", "id": "y", "title": "y"}
    )
    cstp("ingest", "docs")
    write_lines("docs/a.jsonl", {"kind": "decision", "id": "y", "title": "y"})
    done = cstp("ingest", "docs", "--prune", "--yes", "--dry-run")
    assert done.err == f"would be deleted: {file}: decision x\n"
    done = cstp("ingest", "docs", "--prune", "--yes", "--json")
    assert json.loads(done.out)["pruned"] == [{"kind": "decision", "id": "x", "file": str(file), "part": False}]
