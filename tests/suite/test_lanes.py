"""The two lanes: their contents, the budget of the default lane, and the lanes run by CI."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rules import LONG_FOLDERS
from tests.suite.test_the_run import ROOT, run_tests

KINDS = """
@pytest.fixture
def database(postgresql): ...

def test_plain(): ...
def test_of_a_browser(browser): ...
def test_of_a_database(database): ...
def test_of_redis(shared_redis): ...
def test_of_chroma(chroma_server): ...
@pytest.mark.long("computes for a minute")
def test_marked(): ...
@pytest.mark.parametrize("size", [1, pytest.param(2, marks=pytest.mark.long("is large"))])
def test_of_sizes(size): ...
"""
BROWSER = "from tests.ui.visits import browser\n"


LISTING = """
from pathlib import Path

def pytest_deselected(items):
    Path(__file__).with_name("left").write_text("\\n".join(item.nodeid for item in items))
"""


def test_each_test_is_in_one_lane(tmp_path: Path) -> None:
    (tmp_path / "listing.py").write_text(LISTING)
    options = ("--collect-only", "-o", "addopts=--import-mode=importlib -q", "-p", "no:cacheprovider", "-p", "listing")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--lane", "long"],  # collects the files of all folders
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    long = {line for line in done.stdout.splitlines() if line.startswith("tests/")}
    left = (tmp_path / "left").read_text().splitlines()
    assert long.isdisjoint(left)
    assert len(long) > 1000
    assert len(left) == len(set(left)) > 4000
    # the default lane does not collect these folders
    assert [one for one in left if one.startswith(LONG_FOLDERS)] == []


@pytest.mark.parametrize(
    ("lane", "names"),
    [
        ("default", {"test_plain", "test_of_sizes[1]"}),
        (
            "long",
            {
                *("test_of_a_browser", "test_of_a_database", "test_of_redis", "test_of_chroma"),
                *("test_marked", "test_of_sizes[2]"),
            },
        ),
    ],
)
def test_servers_browsers_and_marks_mean_the_long_lane(tmp_path: Path, lane: str, names: set[str]) -> None:
    done = run_tests(tmp_path, {"some": BROWSER + KINDS}, "--lane", lane, "--collect-only")
    assert set(re.findall(r"<Function (\S+)>", done.stdout)) == names, done.stdout + done.stderr


def test_a_mark_without_a_reason_is_refused(tmp_path: Path) -> None:
    done = run_tests(tmp_path, {"some": "@pytest.mark.long\ndef test_one(): ..."}, "--lane", "default")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "test_some.py::test_one: long needs a reason" in done.stderr


def test_a_default_test_requesting_a_server_while_it_runs_fails(tmp_path: Path) -> None:
    source = 'def test_one(request): request.getfixturevalue("shared_redis")'
    done = run_tests(tmp_path, {"some": source}, "--lane", "default")
    assert done.returncode == 1
    assert "redis_server is for the long lane" in done.stdout


SLOW = """
from pathlib import Path
from time import sleep

@pytest.fixture
def slow(): sleep(0.3)

@pytest.fixture(scope="module")
def shared():
    sleep(0.6)
    yield
    sleep(0.6)

def test_slow(slow): sleep(0.3)
def test_fast(shared): ...
def test_slow_once(flag=Path(__file__).with_name("ran")):
    sleep(0 if flag.exists() else 0.6)
    flag.touch()
"""


def test_a_slow_default_test_fails_on_ci_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    (tmp_path / "impatient.py").write_text("import tests.durations\ntests.durations.SLOWEST = 0.5\n")
    options = ("--lane", "default", "-p", "impatient", "-n", "1")
    done = run_tests(tmp_path, {"some": SLOW}, *options, paths=(tmp_path,))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "share its server, or mark it long" in done.stdout
    assert re.findall(r"^(\S+): \d\.\d s$", done.stdout, re.MULTILINE) == ["test_some.py::test_slow"]
    kept = (tmp_path / "build" / "durations-default.txt").read_text()
    names = [line.split(maxsplit=1)[1].removeprefix("test_some.py::") for line in kept.splitlines()]
    assert set(names) == {"test_fast (shared)", "test_slow_once (shared)", "test_slow", "test_fast", "test_slow_once"}


def test_a_test_of_a_browser_leaves_no_event_loop_to_the_next_module(tmp_path: Path) -> None:
    first = f"{BROWSER}\ndef test_one(browser): assert browser.new_page().evaluate('1 + 1') == 2\n"
    files = {"first": first, "later": "async def test_two(): ..."}
    done = run_tests(tmp_path, files, "-v", "-o", "asyncio_mode=auto")
    assert done.returncode == 0, done.stdout + done.stderr
    if "1 skipped" in done.stdout:
        pytest.skip("no chromium")
    assert re.findall(r"::(test_\w+) PASSED", done.stdout) == ["test_one", "test_two"]


def test_ci_runs_the_first_commands_of_the_readme_then_all_other_lanes() -> None:
    steps = re.findall(r"^(?:step|step_alone) ([a-z-]+)", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert [step for step in steps if step.startswith("test")] == ["test", "test-long", "test-servers", "test-shared"]
    makefile = (ROOT / "Makefile").read_text()
    for target, lane in (("test", "default"), ("test-long", "long")):
        assert re.search(rf"^{target}: .*\n\t@\$\(RUN_TESTS\) .*--lane {lane} ", makefile, re.MULTILINE)
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
