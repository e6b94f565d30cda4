"""Cost of a call and call parts, measured on a real server and written in tables."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.call_costs import (
    BASE,
    BOUNDS,
    LONG_WORDS,
    MOST,
    CallCost,
    Effort,
    VersionCosts,
    current_version,
    measure_call_costs,
    render_costs,
    version_of,
)
from benchmarks.profile_call import render_samples
from benchmarks.texts import DECISION, Text

COSTS = VersionCosts(
    name="now",
    calls={name: CallCost(name, 0.5 * ratio, ratio) for name, ratio in ((BASE, 1.0), *MOST.items())},
    figures={name: bound.value for name, bound in BOUNDS.items()},
    decisions=3,
)


def page(*costs: VersionCosts) -> list[str]:
    return "\n".join(render_costs(costs)).splitlines()


def test_a_figure_within_its_bound_is_kept() -> None:
    rows = [line for line in page(COSTS) if line.endswith(("| yes |", "| **no** |"))]
    assert len(rows) == len(MOST) + 6
    assert all(row.endswith("| yes |") for row in rows)
    assert "| hybrid | 3.00 | 6.0 | 6 | yes |" in rows


def test_a_figure_beyond_its_bound_is_not_kept_whatever_it_was_before() -> None:
    calls = COSTS.calls | {"hybrid": CallCost("hybrid", 3.1, 6.2)}
    beyond = {name: value + 1 for name, value in COSTS.figures.items()}
    now = replace(COSTS, calls=calls, figures=beyond)
    rows = page(replace(COSTS, name="before"), now)
    missed = [row.split(" | ")[0] for row in rows if row.endswith("| **no** |")]
    lower = [f"| {name}" for name, bound in BOUNDS.items() if not bound.least]
    assert len(lower) == 4
    assert missed == ["| hybrid", *lower]
    assert "| hybrid | 3.00 | 6.0 | 3.10 | 6.2 | 6 | **no** |" in rows


def test_every_call_is_measured_on_a_real_server_over_ingested_records(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for kind, members in (("decisions", {"title": "Cache in Redis"}), ("episodes", {"task": "Evict", "reward": 1})):
        (data / kind).mkdir(parents=True)
        lines = [json.dumps({"kind": kind[:-1], "id": number + 1, **members}) for number in range(3)]
        (data / kind / f"{kind}.jsonl").write_text("\n".join(lines))
    texts = [Text("Cache", " ".join(f"word{number}" for number in range(3 * LONG_WORDS)), DECISION)]
    queries = [f"cache number {number} in redis" for number in range(60)]
    effort = Effort(rounds=1, calls=2, new=2, load_seconds=0.2)
    (costs,) = measure_call_costs([current_version()], data, tmp_path / "stores", texts, queries, effort)
    assert (costs.name, costs.decisions) == ("now", 3)
    assert costs.calls.keys() == {BASE, *MOST}
    assert costs.figures.keys() == BOUNDS.keys()
    assert 0 < costs.figures["whoami next to an echo"] < 2


def test_a_checkout_without_its_environment_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="make env"):
        version_of(tmp_path)


def test_library_time_counts_for_the_calling_project_code() -> None:
    stacks = {
        'thread (1): "vectors-pool";leg (cognition_engines/legs.py:7);dot (numpy/core.py:1)': 6,
        'thread (1): "vectors-pool";leg (cognition_engines/legs.py:9)': 2,
        "thread (2): MainThread;run (uvicorn/server.py:3)": 2,
    }
    table = render_samples(stacks, 5, "semantic")
    for row in (
        "5 calls, 10 samples of threads at work",
        "| 80.0% | vectors-pool |",
        "| 80.0% | cognition_engines/legs.py |",
        "| 80.0% | cognition_engines/legs.py leg |",
        "| 20.0% | libraries in MainThread |",
    ):
        assert row in table
