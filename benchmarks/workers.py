"""Calls a second with one worker and with two, in turn, and what an answer costs the processors.

The client takes a share of the same cores, so the ratio of the rates is a lower bound; the processor time of an answer
shows what is left where the client has cores elsewhere.
"""

import asyncio
import json
import statistics
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.load import Load
from benchmarks.page import RIGHT, Run, page, table
from benchmarks.serving import Caller, metric, served
from benchmarks.throughput import CONNECTIONS, Client
from cognition_engines.engine import Engine
from cognition_engines.ingest.options import Options
from cstp_server.open_engine import open_engine
from cstp_server.settings import Settings

WORKERS: Final = (1, 2)
SLICES: Final = 8
_SECONDS: Final = 2.0
_READING: Final = f"""\
`cstp serve` with one worker and with two, over records of this project's decisions, in turn for {SLICES} slices of
{_SECONDS:g} s each over {CONNECTIONS} connections; the figures are medians. The control is one worker. The client
runs on the same cores, so a ratio is what it leaves of them; the processor time shows whether an answer costs two
workers more."""
_CPU: Final = "process_cpu_seconds_total"


@dataclass(frozen=True, slots=True)
class WorkersRow:
    """One kind of call with one number of workers: medians over the slices."""

    call: str
    workers: int
    calls_per_second: float
    ratio: float  # to one worker
    cpu_ms: float  # of all workers, for an answer
    p50: float
    p99: float


def render_workers(run: Run[Sequence[WorkersRow]]) -> str:
    """The whole page, in Markdown."""
    heads = ["call", "workers", "calls a second", "to one worker", "processor time of an answer, ms"]
    rows = [
        [
            *(row.call, f"{row.workers}", f"{row.calls_per_second:.0f}", f"{row.ratio:.2f}", f"{row.cpu_ms:.2f}"),
            *(f"{row.p50:.1f}", f"{row.p99:.1f}"),
        ]
        for row in run.found
    ]
    rates = table([*heads, "p50, ms", "p99, ms"], rows, RIGHT)
    return page("Speed of several workers", "python -m benchmarks --workers", run, _READING, rates)


@dataclass(frozen=True, slots=True)
class _Slice:
    load: Load
    cpu_seconds: float

    @property
    def rate(self) -> float:
        return self.load.answers / self.load.seconds


def measure_workers(texts: Path) -> list[WorkersRow]:
    """`cstp.whoami`, and hybrid searches of the records in `texts`, over 16 connections."""
    with ExitStack() as stack:
        client = Client()
        stack.callback(client.close)
        callers: dict[int, Caller] = {}
        for count in WORKERS:
            folder = stack.enter_context(TemporaryDirectory(prefix="cstp-benchmark-"))
            settings = Settings.model_validate({"data_dir": folder})
            _fill(open_engine(settings), texts)
            callers[count] = stack.enter_context(served(settings, {"CSTP_SERVER__WORKERS": str(count)}))
        return [row for name, bodies in _calls().items() for row in _measure(name, bodies, client, callers)]


def _calls() -> dict[str, list[str]]:
    call = {"jsonrpc": "2.0", "id": 1}
    searches = [
        call | {"method": "cstp.queryDecisions", "params": {"query": f"why did we choose {number}", "limit": 10}}
        for number in range(50)
    ]
    return {
        "cstp.whoami": [json.dumps(call | {"method": "cstp.whoami"})],
        "hybrid search, known text": [json.dumps(one) for one in searches],
    }


def _fill(engine: Engine, texts: Path) -> None:
    asyncio.run(engine.ingest([texts], Options(repository="benchmark")))
    engine.close()


def _measure(name: str, bodies: Sequence[str], client: Client, callers: Mapping[int, Caller]) -> list[WorkersRow]:
    slices: dict[int, list[_Slice]] = {count: [] for count in callers}
    for number in range(-1, SLICES):  # the first round warms up
        for count, caller in callers.items():
            before = metric(caller.port, _CPU)
            load = client.run(caller.port, caller.token, bodies, CONNECTIONS, _SECONDS)
            if number >= 0:
                slices[count].append(_Slice(load, metric(caller.port, _CPU) - before))
    alone = [each.rate for each in slices[WORKERS[0]]]
    return [
        WorkersRow(
            call=name,
            workers=count,
            calls_per_second=statistics.median(each.rate for each in found),
            ratio=statistics.median(each.rate / one for each, one in zip(found, alone, strict=True)),
            cpu_ms=statistics.median(1000 * each.cpu_seconds / each.load.answers for each in found),
            p50=statistics.median(each.load.p50 for each in found),
            p99=statistics.median(each.load.p99 for each in found),
        )
        for count, found in slices.items()
    ]
