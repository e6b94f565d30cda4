"""Fixtures of all fault tests: run length, report rows, and servers in separate processes."""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.chaos.chaos import Chaos, Scale
from tests.chaos.fuzzing import Target
from tests.chaos.process import Served, write_records
from tests.chaos.report import RESULTS, machine, version
from tests.chaos.store import use_embedder
from tests.stores import Stores


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start processes as users do in the long form, which measures starts and memory."""
    for item in items if config.getoption("--chaos") == "long" else ():
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.true_start)


@pytest.fixture(scope="session")
def chaos_scale(request: pytest.FixtureRequest) -> Scale:
    return Scale(long=request.config.getoption("--chaos") == "long")


@pytest.fixture
def long_form(chaos_scale: Scale) -> None:
    """Skip a fault in the short form if other tests already cover it."""
    if not chaos_scale.long:
        pytest.skip("long form only")


@pytest.fixture(scope="session")
def chaos_report(chaos_scale: Scale) -> Callable[[str, str, int, str], None]:
    """Return `chaos_report(family, what, times, seen)`: adds a row to docs/reliability.md; long form only."""

    def add(family: str, what: str, times: int, seen: str) -> None:
        if not chaos_scale.long:
            return
        row = {
            "family": family,
            "what": what,
            "times": times,
            "seen": seen,
            "date": datetime.now(UTC).date().isoformat(),
            "machine": machine(),
            "version": version(),
        }
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    return add


@pytest.fixture
def served(tmp_path_factory: pytest.TempPathFactory, stores: Stores) -> Iterator[Callable[..., Served]]:
    """Yield `served({"embedding.model": "minilm"})`: starts a server process that ends with the test.

    `data_dir` names a folder to serve, a new folder by default; `start=False` leaves the start to the test; `observed`
    is for `look`.
    """
    made: list[Served] = []

    def make(
        overrides: Mapping[str, object] | None = None,
        *,
        data_dir: Path | None = None,
        start: bool = True,
        observed: bool = False,
    ) -> Served:
        folder = data_dir or tmp_path_factory.mktemp("chaos") / "data"
        server = Served(folder, {**stores.settings(folder), **(overrides or {})}, observed=observed)
        made.append(server)
        return server.start() if start else server

    yield make
    for server in made:
        server.kill()


@pytest.fixture
def chaos(
    served: Callable[..., Served],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    wait_until: Callable[..., None],
    chaos_scale: Scale,
    chaos_report: Callable[[str, str, int, str], None],
) -> Chaos:
    use_embedder(monkeypatch)
    return Chaos(served, tmp_path, wait_until, chaos_scale, chaos_report)


@pytest.fixture(scope="session")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Target]]:
    """Yield `fuzzed("none")`: a server with this embedding model and some records, shared by all fuzz tests."""
    made: dict[str, Target] = {}

    def target(model: str) -> Target:
        if model not in made:
            folder = tmp_path_factory.mktemp(f"fuzz-{model}")
            overrides = {"embedding.model": model, "log.level": "debug", "limits.auth_failures": "1000000/second"}
            server = Served(folder / "data", overrides)
            server.ingest(write_records(folder / "records.jsonl", 100))
            made[model] = Target(server.start())
        return made[model]

    yield target
    for each in made.values():
        each.close()
        each.server.kill()


@pytest.fixture
def target(fuzzed: Callable[[str], Target]) -> Target:
    """Start a server without embedding: embedding a long text would take seconds and fail on a busy machine."""
    return fuzzed("none")
