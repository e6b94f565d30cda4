"""`cstp check` over many commits and in the action; `transcripts/check.txt` has the rest."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest
import yaml

from tests.cli.conftest import Done

ROOT = Path(__file__).parents[2]
NAMED = {f"GIT_{role}_{part}": "ann@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
ORDERS = "Keep orders in PostgreSQL"


class Repository(Protocol):
    def __call__(self, *words: str) -> str: ...


def record(title: str, affects: str, status: str = "accepted") -> str:
    context = "## Context and Problem Statement\n\nIt is so.\n"
    return f"---\nstatus: {status}\naffects: [{affects}]\n---\n# {title}\n\n{context}"


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Return `git("commit", ...)` in the working folder, a repository with two records and a file."""
    for name, value in (NAMED | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}).items():
        monkeypatch.setenv(name, value)

    def run_git(*words: str) -> str:
        return subprocess.run(["git", *words], check=True, capture_output=True, text=True, cwd=tmp_path).stdout

    write(tmp_path / "docs" / "adr" / "0001-orders.md", record(ORDERS, "src/orders/**"))
    write(tmp_path / "docs" / "adr" / "0002-colours.md", record("Paint | all ::red", "src/**/*.css", "proposed"))
    write(tmp_path / "src" / "orders" / "store.py", "one\n")
    write(tmp_path / ".gitignore", "data/\n")
    run_git("init", "-q", "-b", "main")
    commit(run_git, "Begin")
    return run_git


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def commit(git: Repository, message: str) -> None:
    git("add", "--all")
    git("commit", "-q", "-m", message)


@pytest.fixture
def checked(git: Repository, cstp: Callable[..., Done]) -> Callable[..., Done]:
    """Return `checked("--staged")`: runs the command over a data folder with the repository's records."""
    assert cstp("ingest", "docs/adr", CSTP_EMBEDDING__MODEL="none").code == 0
    return lambda *words: cstp("check", *words)


@pytest.mark.long("makes 500 commits")
def test_a_repository_of_500_commits_and_60_records_is_checked(
    git: Repository, checked: Callable[..., Done], cstp: Callable[..., Done], tmp_path: Path
) -> None:
    for number in range(3, 61):
        write(tmp_path / "docs" / "adr" / f"{number:04}-choice.md", record(f"Choice {number}", f"part{number}/**"))
        write(tmp_path / f"part{number}" / "file.py", "one\n")
    commit(git, "Add parts")
    assert cstp("ingest", "docs/adr", CSTP_EMBEDDING__MODEL="none").code == 0
    for number in range(500):
        trailer = f"\n\nDecision: {number % 58 + 3}" if number % 10 == 0 else ""
        git("commit", "-q", "--allow-empty", "-m", f"Step {number}{trailer}")
    git("checkout", "-q", "-b", "change", "HEAD~500")
    for number in range(3, 61):
        write(tmp_path / f"part{number}" / "file.py", "two\n")
    commit(git, "Change all parts\n\nDecision: 3, 0004")
    done = checked("--base", "main", "--require-acknowledgement", "--json")
    members = json.loads(done.out)
    assert (done.code, len(members["governing"]), len(members["missing"])) == (1, 58, 56)


def test_patterns_of_a_superproject_hold_for_files_of_a_submodule(
    git: Repository, checked: Callable[..., Done], cstp: Callable[..., Done], tmp_path: Path
) -> None:
    library = tmp_path / "library"
    write(library / "src" / "a.py", "one\n")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "Begin")):
        git("-C", str(library), *words)
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "vendor/library")
    write(tmp_path / "docs" / "adr" / "0003-vendor.md", record("Keep the library", "vendor/library/**"))
    assert cstp("ingest", "docs/adr", CSTP_EMBEDDING__MODEL="none").code == 0
    for path in ("vendor/library", "vendor/library/src", "vendor/library/src/a.py"):
        assert "Keep the library" in checked(path).out
    assert "Keep the library" not in checked("--stale").out


def test_the_action_and_the_hooks_run_existing_commands(cstp: Callable[..., Done]) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (run,) = [step["run"] for step in action["runs"]["steps"] if "cstp check" in step.get("run", "")]
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    offered = set(re.findall(r"--[a-z-]+", cstp("check", "--help", COLUMNS="200").out))
    for command in (run, *(hook["entry"] for hook in hooks)):
        assert "cstp check" in command
        ours = "\n".join(line for line in command.splitlines() if "git " not in line)
        assert set(re.findall(r"(?<= )--[a-z-]+", ours)) <= offered


@pytest.fixture
def run_action(git: Repository, tmp_path: Path) -> Callable[[], subprocess.CompletedProcess[str]]:
    """Return `run_action()`: runs the action's check of the branch against `main`."""
    git("checkout", "-q", "-b", "change")
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (step,) = [step for step in action["runs"]["steps"] if "cstp check" in step.get("run", "")]
    inputs = {"BASE": "main", "RECORDS": "docs/adr", "URL": "", "PROJECT": "", "REQUIRE": "true"}
    assert set(step["env"]) - {"CSTP_TOKEN"} == set(inputs)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    around = os.environ | inputs | {"PATH": path, "CSTP_EMBEDDING__MODEL": "none", "RUNNER_TEMP": str(tmp_path / "t")}
    bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]  # as in a workflow
    return lambda: subprocess.run(bash, env=around, capture_output=True, text=True, cwd=tmp_path)


@pytest.mark.long("starts programs")
def test_the_action_checks_a_pull_request(
    git: Repository, run_action: Callable[[], subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    write(tmp_path / "src" / "orders" / "store.py", "two\n")
    commit(git, "Change orders")
    done = run_action()
    assert done.returncode == 1, done.stderr
    assert re.search(
        r"^::error file=src/orders/store.py,title=Decision dec_\w+::0001 Keep orders", done.stdout, re.MULTILINE
    )


@pytest.mark.long("starts programs")
def test_the_action_checks_against_a_decision_deleted_by_the_pull_request(
    git: Repository, run_action: Callable[[], subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    write(tmp_path / "src" / "orders" / "store.py", "two\n")
    (tmp_path / "docs" / "adr" / "0001-orders.md").unlink()
    commit(git, "Change orders and drop their record")
    done = run_action()
    assert done.returncode == 0, done.stderr  # its own file is among the changed files
    assert "title=Decision dec_" in done.stdout
    assert git("status", "--porcelain", "docs") == ""


@pytest.mark.long("starts programs")
def test_the_action_reports_a_refused_record(
    git: Repository, run_action: Callable[[], subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    write(tmp_path / "docs" / "adr" / "0003-bad.md", record("Bad", '"a["'))
    commit(git, "Add a bad record")
    done = run_action()
    assert done.returncode == 2
    assert "::error title=CSTP check::a record was refused" in done.stdout
