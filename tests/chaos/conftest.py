"""What all fault tests share: the form of the run, the rows of its report, and servers in processes of their own."""

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


@pytest.fixture(scope="session")
def chaos_scale(request: pytest.FixtureRequest) -> Scale:
    return Scale(long=request.config.getoption("--chaos") == "long")


@pytest.fixture
def long_form(chaos_scale: Scale) -> None:
    """For a fault whose short form would test what other tests do."""
    if not chaos_scale.long:
        pytest.skip("long form only")


@pytest.fixture(scope="session")
def chaos_report(chaos_scale: Scale) -> Callable[[str, str, int, str], None]:
    """`chaos_report(family, what, times, seen)`: a row for the table of docs/reliability.md; long form only."""

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
    """`served({"embedding.model": "minilm"})`: a running server process; gone at the end of the test.

    `data_dir` names a folder to serve, a new one unless given; `start=False` leaves the start to the test; `observed`
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
    """`fuzzed("none")`: a server with that embedding model and some records, shared by all tests of the fuzz."""
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
    """A server that does not embed: a long text that is written would take it seconds, and fail beside other work."""
    return fuzzed("none")
