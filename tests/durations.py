"""Duration of each test in a lane: a list in build/, and on CI a budget for each default-lane test.

Fixtures shared by a module or session are listed apart and charged to no test, since sharing makes tests cheaper.
"""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from typing import Any, Final

import pytest

SLOWEST: Final = 1.5  # seconds of a test of the default lane: setup, call and teardown
ADVICE: Final = "share its server, or mark it long"
ALONE: Final = "TESTS_RUN_ALONE"  # in the environment of a run of slow tests alone
SHARED: Final = "seconds of shared fixtures"
SHARED_SECONDS: Final = pytest.StashKey[float]()  # time in this phase spent on shared work


def charge_nobody(item: pytest.Item, seconds: float) -> None:
    """Note time first spent by a test on shared work."""
    item.stash[SHARED_SECONDS] = item.stash.get(SHARED_SECONDS, 0.0) + seconds


class SharedFixtures:
    """Plugin noting, for each test, the time of shared fixtures that it was the first to request or the last to use."""

    def __init__(self) -> None:
        self._busy = False
        self._ending: tuple[Any, float] | None = None  # a fixture, and the time of its end

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        self._item = item
        return (yield)

    def _begin(self, fixture: Any) -> None:
        self._ending = self._ending or (fixture, time.monotonic())

    def _end(self, fixture: Any) -> None:
        if self._ending is not None and self._ending[0] is fixture:
            charge_nobody(self._item, time.monotonic() - self._ending[1])
            self._ending = None

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        fixturedef.addfinalizer(partial(self._end, fixturedef))  # the last to run
        try:
            return (yield from self._set_up(request._pyfuncitem))
        finally:
            fixturedef.addfinalizer(partial(self._begin, fixturedef))

    def _set_up(self, item: pytest.Item) -> Generator[None, Any, Any]:
        if self._busy:  # nested fixtures count once
            return (yield)
        self._busy, began = True, time.monotonic()
        try:
            return (yield)
        finally:
            self._busy = False
            charge_nobody(item, time.monotonic() - began)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Iterator[None]:
        report: Any = yield
        if seconds := item.stash.get(SHARED_SECONDS, 0.0):
            report.user_properties.append((SHARED, seconds))
            del item.stash[SHARED_SECONDS]
        return report


class Durations:
    """Sum of seconds for each test in a lane, written to a file, slowest first."""

    def __init__(self, lane: str, config: pytest.Config) -> None:
        self._seconds: Counter[str] = Counter()
        self._limited = lane == "default" and "CI" in os.environ
        self._file = config.rootpath / "build" / f"durations-{lane}.txt"
        self._slow: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        shared = dict(report.user_properties).get(SHARED, 0.0)
        self._seconds[report.nodeid] += report.duration - shared  # type: ignore[assignment, operator]
        if shared > 0.1:
            self._seconds[f"{report.nodeid} (shared)"] += shared  # type: ignore[assignment, operator]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if ALONE not in os.environ:
            self._file.parent.mkdir(exist_ok=True)
            self._file.write_text("".join(f"{took:8.2f} {name}\n" for name, took in self._seconds.most_common()))
        tests = [name for name in self._seconds if not name.endswith(" (shared)")]
        slow = [name for name in tests if self._seconds[name] > SLOWEST and self._limited]
        if slow and ALONE in os.environ:
            self._slow = slow
        if self._slow or (slow and _slow_alone(slow, session.config)):  # prints their names
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._slow:
            terminalreporter.section(f"default tests of over {SLOWEST:g} s: {ADVICE}", red=True)
            for name in self._slow:
                terminalreporter.line(f"{name}: {self._seconds[name]:.1f} s")


def _slow_alone(names: Sequence[str], config: pytest.Config) -> bool:
    """Return whether one of these tests takes too long or fails again when run alone."""
    plugins = [word for name in config.option.plugins for word in ("-p", name)]
    command = [sys.executable, "-m", "pytest", *plugins, "--lane", "default", "--rootdir", config.rootpath]
    paths = [config.rootpath / name for name in names]
    around = {**os.environ, ALONE: "true"}
    done = subprocess.run([*command, *paths], cwd=config.invocation_params.dir, env=around, check=False)
    return done.returncode != pytest.ExitCode.OK


def pytest_configure(config: pytest.Config) -> None:
    lane: str = config.getoption("--lane")
    if lane != "all":
        config.pluginmanager.register(SharedFixtures())
        if not hasattr(config, "workerinput"):  # the reports of all workers come here
            config.pluginmanager.register(Durations(lane, config))
