"""A record that an export or site cannot write is named on standard error, and all others are written."""

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.engine import Engine
from cognition_engines.models import EVERYTHING
from cognition_engines.writing.requests import WriteCaller
from tests.cli.conftest import Done, cstp, elsewhere, wordless
from tests.contained.conftest import ERRORS, MARK
from tests.stores import Stores
from tests.ui.sites import about, records, write_lines
from tests.writing.written import new, write

__all__ = ["cstp", "elsewhere", "wordless"]
pytestmark = pytest.mark.usefixtures("wordless")
Cstp = Callable[..., Done]
Breaking = Callable[..., list[int]]
SITE = "cstp_server.ui.site_records"


@pytest.fixture
def library(cstp: Cstp) -> list[dict[str, Any]]:
    """Store two records of each kind in a site; the second has MARK."""
    lines: list[dict[str, Any]] = [{"kind": "source", "id": "s", "title": "A book"}]
    for number, word in enumerate(("Alga", MARK), 1):
        pattern = {"name": word, "problem": "Silt", "solution": "Dredge"}
        lines += [
            {"kind": "decision", "id": f"d-{number}", "title": word, "text": "So it is.", "date": "2026-01-02"},
            {"kind": "episode", "id": number, "query": word, "reflection": "Slow.", "reward": 0.5},
            {"kind": "chunk", "id": f"c-{number}", "source_id": "s", "content": word},
            {"kind": "extraction", "id": f"e-{number}", "type": "pattern", "content": pattern},
        ]
    write_lines(Path("records.jsonl"), lines)
    assert cstp("ingest", "records.jsonl").code == 0
    return lines


@pytest.mark.parametrize("error", ERRORS, ids=lambda one: one.__name__)
def test_an_export_leaves_out_unwritable_records(
    cstp: Cstp, library: object, broken: Breaking, error: type[BaseException]
) -> None:
    assert (cstp("export", "whole.jsonl").code, cstp("export", "-").out) == (0, Path("whole.jsonl").read_text())
    raised = broken("cognition_engines.exchange.runs:line_of", error)
    done = cstp("export", "part.jsonl")
    assert done.code == 1
    assert done.err.splitlines() == [
        *(
            f"left out: {name} ({error.__name__})"
            for name in ("decision d-2", "chunk c-2", "extraction e-2", "episode 2")
        ),
        "6 records exported, 4 left out",
    ]
    assert len(raised) == 8  # each was tried again
    lines = Path("whole.jsonl").read_text().splitlines()
    assert Path("part.jsonl").read_text().splitlines() == [line for line in lines if MARK not in line]


def damage(id: str) -> None:
    """Make a decision's cell unreadable."""
    with closing(sqlite3.connect(Path("data") / "records.sqlite3", isolation_level=None)) as connection:
        of_id = "key = (SELECT key FROM records WHERE id = ?)"
        assert connection.execute(f"UPDATE decisions SET reasons = '{{' WHERE {of_id}", [id]).rowcount == 1


def test_an_export_names_a_damaged_row_and_writes_all_others(cstp: Cstp, library: object) -> None:
    whole = cstp("export", "-").out.splitlines()
    damage("d-1")
    done = cstp("export", "part.jsonl")
    assert done.code == 1
    assert done.err.splitlines() == [
        "left out: decision d-1 (records: the decision d-1 is damaged in the database (reasons))",
        "9 records exported, 1 left out",
    ]
    assert Path("part.jsonl").read_text().splitlines() == [line for line in whole if '"d-1"' not in line]


@pytest.mark.long("writes a site")
def test_a_site_names_a_damaged_row_and_has_all_others(cstp: Cstp, library: object) -> None:
    damage("d-1")
    done = cstp("site", "part", CSTP_LOG__LEVEL="error")
    left_out = [line for line in done.err.splitlines() if line.startswith("left out")]
    assert (done.code, left_out) == (1, ["left out: decision d-1 (QueryFailed)"])
    assert [one["listed"]["id"] for one in records(Path("part"), "decisions")] == ["d-2"]
    assert len(records(Path("part"), "search")) == 7


@pytest.mark.long("opens an engine, and reads it again")
@pytest.mark.parametrize("error", ERRORS, ids=lambda one: one.__name__)
def test_an_export_of_decision_files_leaves_out_unwritable_decisions(
    cstp: Cstp, broken: Breaking, stores: Stores, tmp_path: Path, error: type[BaseException]
) -> None:
    async def record(engine: Engine) -> list[str]:
        writer = WriteCaller("ann", EVERYTHING, frozenset({"write"}))
        return [(await write(engine, writer, new(f"Keep {word}"))).id for word in ("Alga", MARK, "Coral")]

    with closing(Engine.open(stores.records(tmp_path / "data"), tmp_path / "data" / "indexes", None)) as engine:
        ids = asyncio.run(record(engine))
    broken("cognition_engines.exchange.decision_files:decision_file", error)
    done = cstp("export", "--decisions", "adr")
    assert done.code == 1
    assert done.err.splitlines() == [
        "2 decisions exported, 2 files written to adr",
        f"left out: decision {ids[1]} ({error.__name__})",
    ]
    assert sorted(path.name[:9] for path in Path("adr").iterdir()) == ["keep-alga", "keep-cora"]


@pytest.mark.long("writes many sites")
@pytest.mark.parametrize("error", ERRORS, ids=lambda one: one.__name__)
@pytest.mark.parametrize(
    ("target", "place", "name", "lists"),
    [
        ("_decision_texts", 1, "decision d-2", ("decisions", "texts")),
        ("decision_entry", 0, "decision d-2", ("decisions", "texts")),
        ("_episode_texts", 0, "episode 2", ("episodes",)),
        ("_extraction_texts", 0, "extraction e-2", ("patterns",)),
        ("_passage_texts", 0, "chunk c-2", ("passages", "passageTexts")),
    ],
)
def test_a_site_leaves_out_unwritable_records(
    cstp: Cstp,
    library: object,
    broken: Breaking,
    error: type[BaseException],
    target: str,
    place: int,
    name: str,
    lists: tuple[str, ...],
) -> None:
    broken(f"{SITE}:{target}", error, place)
    done = cstp("site", "part")
    assert (done.code, done.err.splitlines()) == (1, [f"left out: {name} ({error.__name__})"])
    counted = about(Path("part"))["counts"]
    assert sum(counted[each] for each in ("decisions", "episodes", "extractions", "passages")) == 7
    for each in ("decisions", "texts", "episodes", "patterns", "passages", "passageTexts"):
        assert len(records(Path("part"), each)) == (1 if each in lists else 2), each
    assert len(records(Path("part"), "search")) == 7
    assert MARK not in "".join(json.dumps(records(Path("part"), each)) for each in lists)


@pytest.mark.long("writes a site")
def test_a_site_leaves_out_records_the_server_cannot_answer(cstp: Cstp, library: object, broken: Breaking) -> None:
    broken("cognition_engines.queries.decision_reads:_whole", ValueError)
    done = cstp("site", "part", CSTP_LOG__LEVEL="error")
    assert done.code == 1
    assert "left out: decision d-2 (InternalError)" in done.err.splitlines()
    assert [one["listed"]["id"] for one in records(Path("part"), "decisions")] == ["d-1"]
