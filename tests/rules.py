"""Selection of a run's tests, stores and permitted skips: tests with a listed reason, if it applies.

Any other skip fails the run. A run is refused if the packages belong to another checkout than the tests.
"""

import os
import platform
import re
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
SHARED: Final = ROOT.parent / "shared"
PACKAGES: Final = {
    "cstp": ROOT / "a2a",
    "cstp_server": ROOT / "a2a",
    "cognition_engines": ROOT / "skills",
}
NO_SHARED: Final = "the folder ../shared is absent"

# Rerun with --stores=servers: tests of behaviour that may differ between PostgreSQL with a Chroma server and
# SQLite with Chroma in a folder. tests/records, tests/several and tests/chaos bring their own servers.
ON_SERVERS: Final = (
    "tests/indexes/test_broken_collection.py",  # follow the records, and write their vectors into Chroma
    "tests/indexes/test_choice.py",
    "tests/indexes/test_chroma.py",
    "tests/indexes/test_following.py",
    "tests/indexes/test_listing.py",
    "tests/indexes/test_lock.py",
    "tests/indexes/test_outages.py",
    "tests/indexes/test_shared_collection.py",
    "tests/audit/test_trail.py",  # the rows of writes are in their transactions, those of reads come late
    "tests/ingest/test_interrupted_runs.py",  # an ingest writes while others write and read, and is killed
    "tests/ingest/test_pruning.py",
    "tests/ingest/test_record_runs.py",
    "tests/ingest/test_run.py",
    "tests/ingest/test_two_at_once.py",
    "tests/query/search/",  # asks Chroma under every filter
    "tests/query/test_parts_down.py",  # a store that fails and returns
    "tests/query/test_vectors_down.py",
    "tests/server/test_probes.py",
    "tests/writing/test_forgetting.py",  # deletes, and looks into every table and index
    "tests/recall/test_reference.py",  # reads all kinds, and the graph
    "tests/writing/test_memories.py",  # write content of agents
    "tests/writing/test_superseded_memories.py",  # joins links in SQL
    "tests/writing/test_knowledge.py",
    "tests/lists/",  # are pages of SQL
    "tests/following/",  # reads changes while others write
    "tests/writing/test_handover.py",  # a file takes over an agent's record
    "tests/writing/test_overviews.py",  # follows links in SQL
    "tests/isolation/",  # calls every method with every parameter
    "tests/writing/test_decisions.py",  # writes, each in a transaction
    "tests/writing/test_rules_of_time_and_rights.py",
    "tests/writing/test_at_once.py",
    "tests/engine/test_engine.py",  # opens the stores itself
    "tests/cli/test_records.py",  # writing commands, from an ingest to a new index
    "tests/cli/test_transcripts.py::test_a_session_prints_its_transcript[records: ",
)
# tests of the folder ../shared, directly or through a fixture
ON_SHARED: Final = (
    "tests/cli/test_models.py",
    "tests/docs/test_blocks.py",
    "tests/embedding/test_onnx.py",
    "tests/indexes/test_keywords.py",
    "tests/ingest/test_kinds_of_texts.py",
    "tests/ingest/test_real_records.py",
    "tests/recall/test_shared_graph.py",
    "tests/server/test_conformance.py",
)
USE_STORES: Final = {"stores", "lasting_stores"}

# The long lane: these folders, tests with these fixtures, and tests with the mark `long`.
LONG_FOLDERS: Final = ("tests/benchmarks/", "tests/chaos/", "tests/image/", "tests/several/", "tests/suite/")
LONG_FIXTURES: Final = {"browser", "chroma_server", "own_chroma", "own_postgresql", "postgresql", "redis_server"}

_WHEELS: Final = sys.platform == "linux" and platform.machine() == "x86_64"

# reason, as a regular expression -> whether a test may be skipped for it here
NAMED: Final[Mapping[str, Callable[[pytest.Config], bool]]] = {
    NO_SHARED: lambda _: not SHARED.is_dir(),
    "embedded only: .+": lambda config: config.getoption("--stores") == "servers",
    "long form only": lambda config: config.getoption("--chaos") == "short",
    "no redis-server on the PATH, and its wheel is for Python before 3.13": lambda _: sys.version_info >= (3, 13),
    "nginx comes as a wheel for Linux on x86_64 alone": lambda _: not _WHEELS,
    "Caddy comes as a wheel for Linux on x86_64 alone": lambda _: not _WHEELS,
    "on Linux alone: .+": lambda _: sys.platform != "linux",
    "only root can .+": lambda _: os.geteuid() != 0,
    # features and permissions of a machine
    "no file system can be mounted here": lambda _: True,
    "this system has no /dev/shm": lambda _: not Path("/dev/shm").is_dir(),
    "no chromium": lambda _: os.environ.get("CI") is None,  # .ci/run installs it
    "no curl": lambda _: True,
    "no bash": lambda _: True,
    "SIG(INT|HUP) is ignored here": lambda _: True,
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shared",
        choices=["with", "only"],
        default="with",
        help="only: no tests but those that use the folder ../shared",
    )
    parser.addoption(
        "--lane",
        choices=["default", "long", "all"],
        default="all",
        help="default: what is fast and starts neither a browser nor a server of others; long: all the rest",
    )
    parser.addoption(
        "--stores",
        choices=["embedded", "servers"],
        default="embedded",
        help="SQLite with embedded Chroma, or PostgreSQL with a Chroma server",
    )


class Skips:
    """Plugin that collects unnamed skips, and fails the session for them."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.unnamed: list[str] = []

    def _named(self, reason: str) -> bool:
        return any(re.fullmatch(pattern, reason) and holds(self._config) for pattern, holds in NAMED.items())

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            reason = reason.removeprefix("Skipped: ")
            if not self._named(reason):
                self.unnamed.append(f"{report.nodeid}: {reason}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.unnamed and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.unnamed:
            terminalreporter.section("skipped for a reason that tests/rules.py does not name", red=True)
            for line in self.unnamed:
                terminalreporter.line(line)


def in_long_lane(item: pytest.Item) -> bool:
    """Return whether a test belongs to the long lane."""
    if item.get_closest_marker("long") or item.nodeid.startswith(LONG_FOLDERS):
        return True
    return bool(LONG_FIXTURES & set(getattr(item, "fixturenames", ())))


def pytest_fixture_setup(fixturedef: Any, request: pytest.FixtureRequest) -> None:
    """Refuse, in the default lane, a long-lane fixture requested only while a test runs."""
    if fixturedef.argname in LONG_FIXTURES and request.config.getoption("--lane") == "default":
        pytest.fail(f"{fixturedef.argname} is for the long lane: mark this test or parameter long", pytrace=False)


def pytest_configure(config: pytest.Config) -> None:
    for package, folder in PACKAGES.items():
        found = find_spec(package)
        if found is None or found.origin is None or Path(found.origin).resolve().parent != folder / package:
            raise pytest.UsageError(f"{package} would be tested from {found and found.origin}, not from {folder}")
    config.addinivalue_line("markers", "embedded_only(reason): is about SQLite files and Chroma folders")
    config.addinivalue_line(
        "markers", "long(reason): belongs to the long lane, though nothing that it asks for says so"
    )
    config.pluginmanager.register(Skips(config))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip importing files without a test for this run: collecting all of them takes a quarter of a minute."""
    if not collection_path.is_relative_to(ROOT) or not collection_path.match("test_*.py"):
        return None
    name = collection_path.relative_to(ROOT).as_posix()
    wanted = config.getoption("--shared") != "only" or name in ON_SHARED
    wanted &= config.getoption("--stores") != "servers" or name.startswith(ON_SERVERS)
    wanted &= config.getoption("--lane") != "default" or not name.startswith(LONG_FOLDERS)
    return None if wanted else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep this run's tests: tests of `../shared`, tests that depend on servers, or a lane."""
    _require_reasons(items)
    unnamed = {
        item.path for item in items if isinstance(item, pytest.Function) and "shared_folder" in item.fixturenames
    }
    unnamed -= {ROOT / name for name in ON_SHARED}
    if unnamed := {path for path in unnamed if path.is_relative_to(ROOT)}:
        raise pytest.UsageError(f"ON_SHARED in tests/rules.py lacks {', '.join(map(str, unnamed))}")
    if config.getoption("--shared") == "only":
        _keep(config, items, lambda item: "shared_folder" in item.fixturenames)
    if config.getoption("--stores") == "servers":
        _keep(
            config, items, lambda item: bool(USE_STORES & set(item.fixturenames)) and item.nodeid.startswith(ON_SERVERS)
        )
        for item in items:
            if marker := item.get_closest_marker("embedded_only"):
                item.add_marker(pytest.mark.skip(reason=f"embedded only: {marker.args[0]}"))

    if (lane := config.getoption("--lane")) != "all":
        _keep(config, items, lambda item: in_long_lane(item) == (lane == "long"))


def _require_reasons(items: list[pytest.Item]) -> None:
    for item in items:
        marker = item.get_closest_marker("long")
        if marker and not (len(marker.args) == 1 and isinstance(marker.args[0], str) and marker.args[0].strip()):
            raise pytest.UsageError(f'{item.nodeid}: long needs a reason, as in @pytest.mark.long("starts a demo")')


def _keep(config: pytest.Config, items: list[pytest.Item], concerned: Callable[[pytest.Function], bool]) -> None:
    kept = [item for item in items if isinstance(item, pytest.Function) and concerned(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


@pytest.fixture(scope="session")
def shared_folder() -> Callable[[str], Path]:
    """Return `shared_folder("data/memory")`: that part of ../shared. Skips without ../shared."""

    def part(name: str) -> Path:
        if not SHARED.is_dir():
            pytest.skip(NO_SHARED)
        path = SHARED / name
        assert path.exists(), f"{path} is absent from the shared folder"
        return path

    return part
