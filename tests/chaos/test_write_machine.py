"""Family 9: every possible agent write, in any order, over two servers: a dictionary agrees with every answer."""

import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.chaos.conftest import Scale
from tests.chaos.machine.doors import Doors
from tests.chaos.machine.rules import RULES
from tests.serving import SeededEmbedder
from tests.stores import PostgreSQL

STEPS = (70, 150)  # of a run, in the short and in the long form; to open two engines takes as long as 50 steps
SHORT = {"sqlite": 2, "postgresql": 1}  # runs
LONG = {"sqlite": 100_000, "postgresql": 20_000}  # calls
EMBEDDER = SeededEmbedder("seeded-32", 32)  # enough dimensions to keep random texts apart


@pytest.fixture(params=["sqlite", "postgresql"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Doors]]:
    """Open two engines over a new store for each run."""
    numbers = count()
    databases: list[str] = []
    postgresql: PostgreSQL | None = None
    if request.param == "postgresql":
        postgresql = request.getfixturevalue("postgresql")

    def make() -> Doors:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        if postgresql is None:
            return Doors(f"sqlite:///{folder}/records.sqlite3", folder, EMBEDDER)
        name, _ = postgresql.create_store()
        databases.append(name)
        return Doors(postgresql.database_url(name), folder, EMBEDDER)

    yield make
    for name in databases:
        assert postgresql is not None
        postgresql.drop_database(name)


@pytest.mark.timeout(7200)
def test_a_dictionary_agrees_with_all_answers_of_two_servers_to_any_writes(
    opened: Callable[[], Doors],
    request: pytest.FixtureRequest,
    pytestconfig: pytest.Config,
    chaos_scale: Scale,
    chaos_report: Callable[..., None],
) -> None:
    calls = [0]
    machine = type("Writes", RULES, {"open": staticmethod(opened), "calls": calls})
    assert issubclass(machine, RuleBasedStateMachine)
    store = request.node.callspec.id
    wanted, examples = chaos_scale.pick((1, SHORT[store]), (LONG[store], 10))
    until = time.monotonic() + 60 * float(pytestconfig.getoption("--chaos-writes-minutes"))
    while calls[0] < wanted and time.monotonic() < until:
        run_state_machine_as_test(  # type: ignore[no-untyped-call]
            machine,
            settings=settings(
                max_examples=examples,
                stateful_step_count=chaos_scale.pick(*STEPS),
                derandomize=not chaos_scale.long,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                phases=(Phase.generate,),  # shrinking effects of two index threads is not worth the minutes
                database=None,
            ),
        )
    chaos_report(
        "9 writes",
        f"calls of six agents with different rights to two servers over one {store} store",
        calls[0],
        "a plain dictionary agrees with every answer, and no answer shows what its token may not see",
    )
