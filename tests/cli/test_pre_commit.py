"""The hooks of `.pre-commit-hooks.yaml`, installed and run by pre-commit in a repository with decision files."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest

from tests.cli.test_check import NAMED, ROOT, record, write

INSTALLED = ("a2a", "skills", "config", "docs", "tests/wire")  # by the build of the package
FILES = (".pre-commit-hooks.yaml", "pyproject.toml", "README.md", "LICENSE")
CONFIG = """\
repos:
  - repo: {repo}
    rev: v1
    hooks:
      - id: cstp-check
        args: [--records, docs/adr]
      - id: cstp-check
        alias: folder
      - id: cstp-check
        alias: gone
        args: [--records, docs/gone]
      - id: cstp-check-acknowledged
        args: [--base, main, --records, docs/adr]
"""
pytestmark = [
    pytest.mark.long("installs the package with its requirements from the package index"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return variables of a user with a home folder without a data folder, and with the installed hooks."""
    home = tmp_path_factory.mktemp("home")
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("CSTP_", "XDG_", "PYTHON", "GIT_"))
    }
    of_git = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return kept | NAMED | of_git | {"HOME": str(home), "PRE_COMMIT_HOME": str(home / "hooks")}


@pytest.fixture(scope="module")
def repository(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository with a decision in force, on a branch that changes a governed file."""
    ours, theirs = (tmp_path_factory.mktemp(name) for name in ("ours", "theirs"))
    for folder in INSTALLED:
        copytree(ROOT / folder, ours / folder)
    for file in FILES:
        (ours / file).write_bytes((ROOT / file).read_bytes())

    def git(folder: Path, *words: str) -> None:
        subprocess.run(["git", *words], cwd=folder, env=environment, check=True, capture_output=True)

    for words in (("init", "-q"), ("add", "-f", "."), ("commit", "-qm", "Begin"), ("tag", "v1")):
        git(ours, *words)
    write(theirs / ".pre-commit-config.yaml", CONFIG.format(repo=ours))
    write(theirs / "docs" / "adr" / "0001-orders.md", record("Keep orders in PostgreSQL", "src/**"))
    for words in (
        ("init", "-q", "-b", "main"),
        ("add", "."),
        ("commit", "-qm", "Begin"),
        ("checkout", "-qb", "change"),
    ):
        git(theirs, *words)
    write(theirs / "src" / "orders.py", "one\n")
    git(theirs, "add", ".")
    git(theirs, "commit", "-qm", "Add orders")
    write(theirs / "src" / "orders.py", "two\n")
    git(theirs, "add", ".")
    return theirs


@pytest.fixture
def run_hook(environment: dict[str, str], repository: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Return `run_hook("cstp-check")`: runs a hook on the staged files, or as before a push."""

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "pre_commit", "run", "--verbose", *words]
        return subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, timeout=600)

    return run


def test_a_hook_shows_decisions_without_a_data_folder(
    run_hook: Callable[..., "subprocess.CompletedProcess[str]"],
) -> None:
    done = run_hook("cstp-check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "in force  0001 Keep orders in PostgreSQL (docs/adr/0001-orders.md)\n    src/orders.py" in done.stdout


def test_a_hook_warns_of_what_it_cannot_read(
    run_hook: Callable[..., "subprocess.CompletedProcess[str]"], repository: Path
) -> None:
    bad = repository / "docs" / "adr" / "0002-bad.md"
    write(bad, record("Bad", '"a["'))
    for alias, warning in (
        ("cstp-check", "warning: <folder>/docs/adr/0002-bad.md:3: affects"),
        ("folder", "warning: nothing was checked; --records FOLDER names decision files"),
        ("gone", "docs/gone is no folder"),
    ):
        done = run_hook(alias)
        assert (done.returncode, warning.replace("<folder>", str(repository)) in done.stdout) == (0, True), done.stdout
    bad.unlink()


def test_a_push_needs_an_acknowledgement(
    run_hook: Callable[..., "subprocess.CompletedProcess[str]"], repository: Path, environment: dict[str, str]
) -> None:
    words = ("--hook-stage", "pre-push", "cstp-check-acknowledged")
    refused = run_hook(*words)
    assert (refused.returncode, "not acknowledged: dec_" in refused.stdout) == (1, True), refused.stdout
    commit = ["git", "commit", "-qm", "Change orders\n\nDecision: 1"]
    subprocess.run(commit, cwd=repository, env=environment, check=True)
    assert run_hook(*words).returncode == 0
