"""A data folder without write permission: reading commands work, and create no file in it."""

import ctypes
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.programs import run_cstp

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1  # of prctl(2) and capabilities(7)
pytestmark = pytest.mark.long("starts programs")


@pytest.fixture
def folder(cstp: Callable[..., Any], adr: Callable[..., Path], wordless: None) -> Iterator[Path]:
    """Make a data folder with a decision, whose modes forbid all writes."""
    place = Path("place")
    place.mkdir()
    adr("docs/a.md", "Keep the orders in SQLite")
    assert cstp("ingest", "docs", "--data-dir", place / "data").code == 0
    assert cstp("reindex", "--data-dir", place / "data").code == 0
    for path in (place, *place.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield place / "data"
    for path in (place, *place.rglob("*")):
        path.chmod(0o755)


def run(folder: Path, *words: object) -> "subprocess.CompletedProcess[str]":
    return run_cstp(*words, "--data-dir", folder, preexec_fn=obey_modes)


def obey_modes() -> None:
    """Let modes bind root, too, in processes started from here."""
    if os.geteuid() == 0:
        assert ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) == 0


def test_records_of_a_read_only_folder_are_shown_exported_and_backed_up(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    exported = run(folder, "export", "-")
    assert exported.returncode == 0, exported.stderr
    id = json.loads(exported.stdout.splitlines()[-1])["record"]["id"]
    assert "Keep the orders in SQLite" in run(folder, "show", id).stdout
    done = run(folder, "backup", "monday.cstp")
    assert done.returncode == 0, done.stderr
    assert "wrote 1 " in done.stdout
    checked = run(folder, "doctor").stdout
    assert "keywords  not checked: this user may not write to" in checked
    assert "rebuilds it" not in checked
    refused = run(folder, "delete", id)
    assert refused.returncode == 2
    assert "let this user write there" in refused.stderr
    assert sorted(folder.rglob("*")) == before
