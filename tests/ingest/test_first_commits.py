"""Dates of decisions from the first commit of their file."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cognition_engines.exchange.runs import export_lines, import_file
from cognition_engines.kinds.spec import Kind
from cognition_engines.queries.decision_values import date_source
from cognition_engines.set_aside import SetAside
from cognition_engines.store.records import Records
from tests.ingest.runs import Run, counts, stored
from tests.stored import Quiet

Git = Callable[..., bytes]
NAMES = {f"GIT_{role}_{part}": "ann@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
VARIABLES = {**os.environ, **NAMES, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
FIRST = "2020-01-02T03:04:05+02:00"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return a checkout without a remote whose decision states no date."""
    folder = tmp_path / "shop"
    write(folder / "docs/adr/0001-queues.md")
    git(folder, "init", "-q", "-b", "main")
    return folder


def git(folder: Path, *words: str | Path, date: str = "2021-01-01T00:00:00Z", given: bytes = b"") -> bytes:
    variables = {**VARIABLES, "GIT_AUTHOR_DATE": date}
    command = ["git", *map(str, words)]
    return subprocess.run(command, cwd=folder, env=variables, input=given, check=True, capture_output=True).stdout


def commit(folder: Path, date: str = FIRST) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "-qm", "Change", date=date)


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    words = "Orders wait in a queue until a worker takes them.\n" * 5
    path.write_text("\n".join([f"# Use {path.stem}", *lines, "\n## Status\n\nAccepted\n\n## Context\n\n", words]))


def dates(records: Records) -> dict[str, tuple[str, str | None]]:
    found = stored(records, Kind.DECISION)
    return {one.title: (f"{one.date:%Y-%m-%dT%H:%M:%S}" if one.date else "", date_source(one)) for one in found}


def test_a_decision_without_a_date_has_that_of_the_first_commit_of_its_file(
    shop: Path, run: Run, records: Records
) -> None:
    write(shop / "docs/adr/0002-cache.md", "Date: 2019-05-06")
    commit(shop)
    git(shop, "mv", "docs/adr", "docs/decisions")
    with (shop / "docs/decisions/0001-queues.md").open("a") as file:
        file.write("One more line.\n")
    commit(shop, "2022-01-01T00:00:00Z")
    write(shop / "docs/decisions/0003-new é.md")
    assert (run(shop).warnings, run(shop).unchanged) == ((), 3)
    assert dates(records) == {
        "Use 0001-queues": ("2020-01-02T01:04:05", "git"),
        "Use 0002-cache": ("2019-05-06T00:00:00", "file"),
        "Use 0003-new é": ("", None),
    }


def test_a_file_that_a_merge_adds_has_the_date_of_the_merge_or_of_its_name_before(
    shop: Path, run: Run, records: Records
) -> None:
    commit(shop)
    git(shop, "switch", "-qc", "side")
    write(shop / "docs/adr/0002-cache.md")
    commit(shop, "2021-01-01T00:00:00Z")
    git(shop, "rm", "-q", "docs/adr/0001-queues.md")
    commit(shop)
    git(shop, "switch", "-q", "main")
    git(shop, "commit", "-q", "--allow-empty", "-m", "Change")
    git(shop, "merge", "-q", "--no-commit", "side")
    git(shop, "checkout", "-q", "HEAD", "docs/adr/0001-queues.md")  # the merge keeps a file that one side deleted
    git(shop, "mv", "docs/adr/0002-cache.md", "docs/adr/0003-cache.md")
    write(shop / "docs/adr/0004-merged.md", "Words of the merge alone. " * 50)
    commit(shop, "2022-01-01T00:00:00Z")
    assert run(shop).warnings == ()
    assert dates(records) == {
        "Use 0001-queues": ("2020-01-02T01:04:05", "git"),
        "Use 0002-cache": ("2021-01-01T00:00:00", "git"),
        "Use 0004-merged": ("2022-01-01T00:00:00", "git"),
    }


def test_a_name_that_is_used_again_has_a_new_date(shop: Path, run: Run, records: Records) -> None:
    write(shop / "docs/adr/0002-cache.md", "Words of the second record alone. " * 50)
    commit(shop)
    git(shop, "rm", "-q", "docs/adr/0001-queues.md")
    git(shop, "mv", "docs/adr/0002-cache.md", "docs/adr/0003-cache.md")
    commit(shop, "2021-01-01T00:00:00Z")
    for name in ("0001-queues", "0002-cache"):
        write(shop / f"docs/adr/{name}.md", f"Words of the new {name} alone. " * 50)
    commit(shop, "2022-01-01T00:00:00Z")
    run(shop)
    assert sorted(f"{one.date:%Y}" for one in stored(records, Kind.DECISION)) == ["2020", "2022", "2022"]


def test_a_commit_adds_a_date_and_a_stated_date_replaces_it(shop: Path, run: Run, records: Records) -> None:
    assert counts(run(shop)) == (1, 0, 0, 0)
    commit(shop)
    assert counts(run(shop)) == (0, 1, 0, 0)
    assert dates(records) == {"Use 0001-queues": ("2020-01-02T01:04:05", "git")}
    (shop / ".git/refs/heads/main").unlink()  # an unchanged file keeps a date that git no longer gives
    assert counts(run(shop)) == (0, 0, 1, 0)
    write(shop / "docs/adr/0001-queues.md", "Date: 2020-01-02T01:04:05Z")
    assert counts(run(shop)) == (0, 1, 0, 0)
    assert dates(records) == {"Use 0001-queues": ("2020-01-02T01:04:05", "file")}


def test_the_last_commit_of_a_shallow_clone_is_no_first_commit(
    shop: Path, tmp_path: Path, run: Run, records: Records
) -> None:
    commit(shop)
    write(shop / "docs/adr/0002-cache.md")
    commit(shop)
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{shop}", "clone")
    write(tmp_path / "clone/docs/adr/0003-new.md")
    commit(tmp_path / "clone")
    assert run(tmp_path / "clone").warnings == ()
    assert {title for title, found in dates(records).items() if found == ("", None)} == {
        "Use 0001-queues",
        "Use 0002-cache",
    }
    assert dates(records)["Use 0003-new"] == ("2020-01-02T01:04:05", "git")


def test_git_runs_nothing_that_the_repository_names(shop: Path, tmp_path: Path, run: Run, records: Records) -> None:
    commit(shop)
    head, _, message = git(shop, "cat-file", "commit", "HEAD").partition(b"\n\n")
    signed = head + b"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\n" + message
    made = git(shop, "hash-object", "-t", "commit", "-w", "--stdin", given=signed).decode().strip()
    git(shop, "update-ref", "refs/heads/main", made)
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $0 >> {tmp_path}/ran\n")
    program.chmod(0o755)
    for name in ("gpg.program", "core.pager", "pager.log", "core.fsmonitor", "diff.external", "core.sshCommand"):
        git(shop, "config", name, program)
    git(shop, "config", "log.showSignature", "true")
    assert run(shop).warnings == ()
    assert (dates(records), (tmp_path / "ran").exists()) == (
        {"Use 0001-queues": ("2020-01-02T01:04:05", "git")},
        False,
    )


@pytest.mark.parametrize("broken", ["version", "HEAD", "absent"])
def test_a_failing_git_is_one_warning_and_an_absent_one_none(
    broken: str, shop: Path, tmp_path: Path, run: Run, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(shop / "docs/adr/0002-cache.md")
    commit(shop)
    if broken == "version":
        git(shop, "config", "core.repositoryFormatVersion", "99")
    elif broken == "HEAD":
        (shop / ".git/HEAD").write_text("no branch")
    else:
        monkeypatch.setenv("PATH", str(tmp_path))
    found = [(Path(one.file).name, one.reason.partition(":")[0]) for one in run(shop).warnings]
    assert found == ([("shop", "no dates of first commits are known")] if broken != "absent" else [])
    assert set(dates(records).values()) == {("", None)}


def test_git_does_not_start_if_all_decisions_state_a_date(
    shop: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(shop / "docs/adr/0001-queues.md", "Date: 2020-01-02")
    (tmp_path / "git").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(shop).warnings == ()
    write(shop / "docs/adr/0002-cache.md")
    assert len(run(shop).warnings) == 1


def test_an_import_keeps_the_source_of_a_date(shop: Path, tmp_path: Path, run: Run, records: Records) -> None:
    commit(shop)
    run(shop)
    lines = tmp_path / "lines.jsonl"
    lines.write_bytes(b"".join(export_lines(records, [Kind.DECISION], Quiet(), SetAside())))
    records.delete(Kind.DECISION, records.ids(Kind.DECISION))
    assert import_file(lines, records, None, 1, Quiet()).new == 1
    assert dates(records) == {"Use 0001-queues": ("2020-01-02T01:04:05", "git")}
    assert counts(run(shop)) == (0, 0, 1, 0)


@pytest.mark.parametrize("order", ["main first", "worktree first"])
def test_worktrees_without_a_remote_have_the_same_records(order: str, shop: Path, tmp_path: Path, run: Run) -> None:
    commit(shop)
    for name in ("one", "two"):
        git(shop, "worktree", "add", "-q", tmp_path / name)
    folders = [shop, tmp_path / "one", tmp_path / "two"][:: 1 if order == "main first" else -1]
    write(folders[1] / "docs/adr/0002-cache.md", "Date: 2020-01-02")
    assert [counts(run(folder)) for folder in (*folders, *folders)] == [
        *((1, 0, 0, 0), (1, 0, 1, 0), (0, 0, 1, 0)),
        *((0, 0, 1, 0), (0, 0, 2, 0), (0, 0, 1, 0)),
    ]
