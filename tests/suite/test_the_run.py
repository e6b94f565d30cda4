"""The run itself: permitted skips, and the tested code."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run_tests(
    folder: Path, sources: Mapping[str, str], *options: str, paths: tuple[Path, ...] = ()
) -> "subprocess.CompletedProcess[str]":
    """Run test files, named without `test_`, with the suite's own fixtures and hooks."""
    files = [folder / f"test_{name}.py" for name in sources]
    for file, source in zip(files, sources.values(), strict=True):
        file.write_text(f"import pytest\n\n{source}")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", *options]
    return subprocess.run(
        [*command, "--rootdir", folder, *files],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*paths, ROOT, ROOT / "a2a", ROOT / "skills"]))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


UNNAMED = {
    "called": "def test_one():\n    pytest.skip('not today')",
    "marked": "@pytest.mark.skip(reason='not today')\ndef test_one(): ...",
    "whole": "pytest.skip('not today', allow_module_level=True)",
    "imported": "pytest.importorskip('no_such_module', reason='not today')",
    "elsewhere": "def test_one():\n    pytest.skip('embedded only: is about files')",  # named, and does not hold here
}
NAMED = "def test_one():\n    pytest.skip('no curl')"


def test_each_skip_without_a_named_and_applicable_reason_fails_the_run(tmp_path: Path) -> None:
    done = run_tests(tmp_path, {**UNNAMED, "named": NAMED})
    assert done.returncode == 1, done.stdout + done.stderr
    _, _, told = done.stdout.partition("skipped for a reason that tests/rules.py does not name")
    reasons = {one: "embedded only: is about files" if one == "elsewhere" else "not today" for one in UNNAMED}
    for name, reason in reasons.items():
        assert re.search(rf"test_{name}\.py.*: {reason}$", told, re.MULTILINE), name
    assert "test_named.py" not in told
    assert " failed" not in done.stdout


def test_only_tests_of_the_shared_folder_run_when_requested(tmp_path: Path) -> None:
    source = "def test_one(shared_folder): ...\ndef test_two(): assert False"
    done = run_tests(tmp_path, {"some": source}, "--shared=only", "-v")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 1 deselected" in done.stdout


def test_a_run_testing_the_code_of_another_checkout_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(ROOT / "a2a" / "cstp", other / "cstp")
    done = run_tests(tmp_path, {"some": "def test_one(): ..."}, paths=(other,))
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


LEFT = {
    "function": (LEAKS.format(scope="function"), "leaky of the fixture leak for test_function.py::test_one"),
    "module": (LEAKS.format(scope="module"), "leaky of the fixture leak for test_module.py"),
    "alone": (LEAKS.format(scope="session").replace("(leak): ...", "(): start()"), "leaky of test_alone.py::test_one"),
    "session": (LEAKS.format(scope="session"), "leaky of the fixture leak for "),
}


def test_each_thread_outliving_its_starter_fails_the_run_and_is_named(tmp_path: Path) -> None:
    impatient = "import tests.threads\ntests.threads.PATIENCE = 0.05\n"
    done = run_tests(tmp_path, {name: impatient + source for name, (source, _) in LEFT.items()})
    assert done.returncode == 1, done.stdout + done.stderr
    for _, told in LEFT.values():
        assert re.search(rf"threads have not ended: (.*; )?{re.escape(told)}(;|$)", done.stdout, re.MULTILINE), told
    assert "8 passed, " in done.stdout
    assert "4 errors" in done.stdout


def test_a_thread_ending_with_its_starter_and_a_skip_for_a_named_reason_pass(tmp_path: Path) -> None:
    source = LEAKS.replace(
        "    start()\n", "    end = Event()\n    Thread(target=end.wait).start()\n    yield\n    end.set()\n"
    )
    ending = {scope: source.format(scope=scope) for scope in ("function", "module", "session")}
    done = run_tests(tmp_path, {**ending, "named": NAMED})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 passed, 1 skipped" in done.stdout
