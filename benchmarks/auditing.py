"""`python -m benchmarks.auditing`: what the audit costs a call that reads, as processor time of the server.

Two servers over equal stores, one of which audits reads. They take turns in short blocks of equal calls, so that
whatever else the machine did met both alike; each pair of blocks gives one ratio, and the median of these counts. A
block ends when its rows are stored. There is no embedding model, so that calls are as cheap as they get and the share
of the audit as large. The control is a second server without an audit of reads.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import sleep
from typing import Final

import psutil

from benchmarks.machine import describe_machine
from benchmarks.serving import Caller, result_of, served
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Decision
from cognition_engines.store.records import open_records
from cognition_engines.store.values import Entry
from cstp_server.settings import Settings

DECISIONS: Final = 2000
CALLS: Final = 200  # of a block
_STORED: Final = 0.3  # seconds after a block, in which its last rows are stored
_WORDS: Final = ("queue", "table", "index", "cache", "order", "price", "mail", "store", "token", "graph", "shelf")
_SETTINGS: Final = {"CSTP_EMBEDDING__MODEL": "none", "CSTP_SERVER__IDLE_SECONDS": "3600"}
_QUERY: Final = {"query": "queue index", "mode": "keyword", "limit": 10}
ASKED: Final[Mapping[str, tuple[str, Mapping[str, object]]]] = {
    "getDecision": ("cstp.getDecision", {"id": "dec_7"}),
    "listDecisions, 20": ("cstp.listDecisions", {"limit": 20}),
    "queryDecisions by words, 10": ("cstp.queryDecisions", _QUERY),
}


@dataclass(frozen=True, slots=True)
class Served:
    """A server that is measured: its caller and its process."""

    caller: Caller
    process: psutil.Process

    def block(self, method: str, params: Mapping[str, object]) -> float:
        """Microseconds of processor time of one call of a block."""
        before = self._spent()
        for _ in range(CALLS):
            result_of(self.caller.send(method, params))
        sleep(_STORED)
        return (self._spent() - before) * 1e6 / CALLS

    def _spent(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)


@dataclass(frozen=True, slots=True)
class Cost:
    """One call: microseconds without the audit, and the ratios of pairs of blocks: with it, and of the control."""

    name: str
    without: float
    audited: Sequence[float]
    control: Sequence[float]


def measure(rounds: int) -> list[Cost]:
    """The cost of each call, over `rounds` turns of all servers."""
    with TemporaryDirectory(prefix="cstp-audit-") as folder, ExitStack() as stack:
        plain, audited, control = (
            _open(stack, Path(folder) / name, reads) for name, reads in (("a", False), ("b", True), ("c", False))
        )
        random = Random(0)
        for method, params in ASKED.values():
            for one in (plain, audited, control):
                one.block(method, params)  # warms up
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ASKED}
        for _ in range(rounds):
            for name, (method, params) in ASKED.items():
                order = random.sample((plain, audited, control), 3)
                spent = {id(one): one.block(method, params) for one in order}
                found[name].append((spent[id(plain)], spent[id(audited)], spent[id(control)]))
    return [
        Cost(name, median(row[0] for row in rows), [b / a for a, b, _ in rows], [c / a for a, _, c in rows])
        for name, rows in found.items()
    ]


def _open(stack: ExitStack, folder: Path, reads: bool) -> Served:
    settings = Settings(data_dir=folder)
    records = open_records(settings.store_url)
    random = Random(0)
    texts = (" ".join(random.choices(_WORDS, k=60)) for _ in range(DECISIONS))
    batch = [
        Entry(Decision(f"dec_{number}", text[:40], text), Origin("/benchmark", number, None, "benchmark"), None)
        for number, text in enumerate(texts)
    ]
    records.put(batch, None)
    records.close()
    others = set(psutil.Process().children())
    variables = {**_SETTINGS, "CSTP_AUDIT__READS": str(reads).lower()}
    caller = stack.enter_context(served(settings, variables))
    (process,) = set(psutil.Process().children()) - others
    return Served(caller, process)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auditing", description="Measure the audit of reads.")
    parser.add_argument("--rounds", type=int, default=20, help="blocks of each call and server")
    rounds = parser.parse_args().rounds
    sys.stdout.write(f"{describe_machine()}; {rounds} rounds of {CALLS} calls, {DECISIONS} decisions, no model\n\n")
    sys.stdout.write("| call | us of a processor without | with / without | control |\n|---|---|---|---|\n")
    for cost in measure(rounds):
        sys.stdout.write(f"| {cost.name} | {cost.without:.0f} | {_ratio(cost.audited)} | {_ratio(cost.control)} |\n")
    return 0


def _ratio(pairs: Sequence[float]) -> str:
    """The median of pairs, and the quartiles."""
    low, middle, high = quantiles(pairs, n=4)
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


if __name__ == "__main__":
    sys.exit(main())
