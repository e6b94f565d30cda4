"""Pairs of an old and a new record, labeled by hand, and how many conflicts the answers to the new ones report.

`python -m tests.writing.conflict_pairs FILE` prints recall and precision for a file like conflicts.jsonl: first with
each pair in a separate project, then with all old records in one.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cognition_engines.engine import Engine
from cognition_engines.models import EVERYTHING
from cognition_engines.writing.requests import WriteCaller
from cstp.values.decision_writes import RecordDecisionParams, RecordDecisionResult
from cstp.values.decisions import Alternative
from cstp.values.memories import RememberParams, RememberResult
from tests.writing.written import memory, new, write

ANN: Final = WriteCaller("ann", EVERYTHING, frozenset({"read", "write", "review", "ratify", "admin"}))


@dataclass(frozen=True)
class Counts:
    """The reports, those of conflicts, and the conflicts in the file."""

    reported: int
    right: int
    conflicts: int

    def __str__(self) -> str:
        recall, precision = self.right / max(self.conflicts, 1), self.right / max(self.reported, 1)
        return f"recall {recall:.2f}, precision {precision:.2f} ({self.right} of {self.reported} reports are conflicts)"


def read_pairs(path: Path, name: str | None = None) -> list[dict[str, Any]]:
    """Return the pairs of a file; with a name, those of this set only."""
    pairs = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [pair for pair in pairs if name is None or pair.get("set") == name]


def _request(kind: str, members: dict[str, Any], project: str | None) -> RecordDecisionParams | RememberParams:
    given = members | ({} if project is None else {"project": project})
    if kind == "memory":
        return memory(**given)
    rejected = tuple(Alternative(one["option"], one.get("why")) for one in given.pop("alternatives", ()))
    return new(given.pop("decision"), alternatives=rejected, **given)


async def count_reports(engine: Engine, pairs: Sequence[dict[str, Any]], *, apart: bool) -> Counts:
    """Write the old records, and only check the new ones; with `apart`, each pair in a separate project."""
    projects = [f"pair-{place}" if apart else None for place in range(len(pairs))]
    ids = [
        (await write(engine, ANN, _request(pair["kind"], pair["old"], project))).id
        for pair, project in zip(pairs, projects, strict=True)
    ]
    reported = right = 0
    for id, pair, project in zip(ids, pairs, projects, strict=True):
        done = await write(engine, ANN, _request(pair["kind"], pair["new"], project), dry_run=True)
        assert isinstance(done, RecordDecisionResult | RememberResult)
        reported += len(done.possible_conflicts)
        right += pair["conflict"] and id in [one.id for one in done.possible_conflicts]
    return Counts(reported, right, sum(pair["conflict"] for pair in pairs))


def _print_counts(path: Path) -> None:
    pairs = read_pairs(path)
    for apart, name in ((True, "pair by pair"), (False, "all together")):
        with tempfile.TemporaryDirectory() as folder:
            engine = Engine.open(f"sqlite:///{folder}/records.db", Path(folder) / "indexes")
            try:
                counts = asyncio.run(count_reports(engine, pairs, apart=apart))
                sys.stdout.write(f"{name}: {counts}\n")
            finally:
                engine.close()


if __name__ == "__main__":
    _print_counts(Path(sys.argv[1]))
