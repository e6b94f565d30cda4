"""The run itself: what may be skipped, and which code is tested."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run_tests(
    folder: Path, source: str, *options: str, paths: tuple[Path, ...] = ()
) -> "subprocess.CompletedProcess[str]":
    """A run of one file of tests with the suite's own fixtures and hooks."""
    (folder / "test_some.py").write_text(f"import pytest\n\n{source}")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", *options]
    return subprocess.run(
        [*command, "--rootdir", folder, folder / "test_some.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*paths, ROOT, ROOT / "a2a", ROOT / "skills"]))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    "source",
    [
        "def test_one():\n    pytest.skip('not today')",
        "@pytest.mark.skip(reason='not today')\ndef test_one(): ...",
        "pytest.skip('not today', allow_module_level=True)",
        "pytest.importorskip('no_such_module', reason='not today')",
    ],
)
def test_a_skip_without_a_named_reason_fails_the_run(tmp_path: Path, source: str) -> None:
    done = run_tests(tmp_path, source)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "test_some.py" in done.stdout
    assert "not today" in done.stdout


def test_a_skip_for_a_named_reason_passes(tmp_path: Path) -> None:
    done = run_tests(tmp_path, "def test_one():\n    pytest.skip('no curl')")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_named_reason_that_does_not_hold_here_fails_the_run(tmp_path: Path) -> None:
    done = run_tests(tmp_path, "def test_one():\n    pytest.skip('embedded only: is about files')")
    assert done.returncode == 1
    assert "embedded only: is about files" in done.stdout


def test_only_what_uses_the_shared_folder_runs_when_that_is_asked_for(tmp_path: Path) -> None:
    source = "def test_one(shared_folder): ...\ndef test_two(): assert False"
    done = run_tests(tmp_path, source, "--shared=only", "-v")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 1 deselected" in done.stdout


def test_a_run_that_would_test_the_code_of_another_checkout_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(ROOT / "a2a" / "cstp", other / "cstp")
    done = run_tests(tmp_path, "def test_one(): ...", paths=(other,))
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert str(other / "cstp") in done.stderr
