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


LEAKS = """
from threading import Event, Thread

def start():
    Thread(target=Event().wait, name="leaky", daemon=True).start()

@pytest.fixture(scope={scope!r})
def leak():
    start()

def test_one(leak): ...
def test_two(): ...
"""


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (LEAKS.format(scope="function"), "leaky of the fixture leak for test_some.py::test_one"),
        (LEAKS.format(scope="module"), "leaky of the fixture leak for test_some.py"),
        (LEAKS.format(scope="session"), "leaky of the fixture leak for "),
        (LEAKS.format(scope="session").replace("(leak): ...", "(): start()"), "leaky of test_some.py::test_one"),
    ],
    ids=["a test's fixture", "a module's", "the session's", "a test"],
)
def test_a_thread_that_outlives_what_started_it_fails_the_run_and_is_named(
    tmp_path: Path, source: str, told: str
) -> None:
    done = run_tests(tmp_path, f"import tests.threads\ntests.threads.PATIENCE = 0.05\n{source}")
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"threads have not ended: {told}" in done.stdout
    assert "2 passed, " in done.stdout
    assert "1 error" in done.stdout


def test_a_thread_that_ends_with_what_started_it_passes(tmp_path: Path) -> None:
    source = LEAKS.replace(
        "    start()\n", "    end = Event()\n    Thread(target=end.wait).start()\n    yield\n    end.set()\n"
    )
    for scope in ("function", "module", "session"):
        done = run_tests(tmp_path, source.format(scope=scope))
        assert done.returncode == 0, done.stdout + done.stderr
