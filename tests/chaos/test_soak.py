"""Family 8: after minutes of everything at once the server is as large as it was."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from statistics import median
from time import monotonic

import pytest

from tests.chaos.chaos import Chaos
from tests.chaos.clients import call_bytes, vanish
from tests.chaos.process import TOPICS, Served, write_records
from tests.chaos.wire import Pipe, check_answer, expected, request

FAMILY = "8 soak"
CLIENTS = 6
POOLED = 6  # threads that the pools may still have had to make
ERRORS = (
    call_bytes("cstp.nothing"),
    call_bytes("cstp.queryDecisions", {"limit": 0, "filters": {"stakes": [], "more": 1}}),
    call_bytes("cstp.whoami", [1]),
    b'{"jsonrpc": "2.0", "method":',
    b"[]",
    b"[1, 2, 3]",
    b'{"jsonrpc": "1.0", "method": "cstp.whoami", "id": "a"}',
)


@dataclass
class Mixture:
    """Everything that clients do, for as long as it lasts; what came back, by error code."""

    server: Served
    modes: Sequence[str]
    random: Random
    codes: Counter[str] = field(default_factory=Counter)
    texts: "count[int]" = field(default_factory=count)

    def query(self) -> bytes:
        """A search for a text that was not asked before, or was a while ago."""
        number = next(self.texts) if self.random.random() < 0.7 else self.random.randrange(500)
        filters: dict[str, object] = {"stakes": ["low", "high"]} if self.random.random() < 0.3 else {}
        text = f"which option{number} for {TOPICS[number % len(TOPICS)]}"
        params = {"query": text, "filters": filters, "limit": self.random.choice((1, 10, 50))}
        return call_bytes("cstp.queryDecisions", params | {"mode": self.random.choice(self.modes)})

    def body(self) -> bytes:
        return self.random.choices(
            (
                self.query,
                lambda: call_bytes("cstp.whoami"),
                lambda: b"[" + b",".join(self.query() for _ in range(8)) + b"]",
                lambda: self.random.choice(ERRORS),
                lambda: b'{"jsonrpc":"2.0","method":"cstp.whoami"}',
            ),
            (45, 20, 10, 15, 10),
        )[0]()

    async def client(self, until: float) -> None:
        """One connection after the other, each for a while; now and then one that vanishes."""
        while monotonic() < until:
            pipe = await Pipe.open(self.server.port)
            for _ in range(self.random.randrange(1, 60)):
                body = self.body()
                (answer,) = await pipe.exchange([request(body, self.server.token)])
                codes = check_answer(answer, body, expected(body))
                self.codes.update("result" if code == 0 else str(code) for code in codes)
                self.codes["notification"] += not codes
                await asyncio.sleep(self.random.random() / 100)
            await pipe.close()
            await vanish(self.server.port, request(self.body(), self.server.token), self.random)
            self.codes["disconnect"] += 1

    async def ingests(self, until: float, records: Path, size: int, every: float) -> None:
        """Changes some of the records, so that their number stays."""
        while monotonic() + every / 2 < until:
            await asyncio.sleep(every / 2)
            first, changed = self.random.randrange(size * 9 // 10), size // 10
            write_records(records, changed, first=first, remark=f"Seen again as number{next(self.texts)}.")
            await asyncio.to_thread(self.server.ingest, records)
            self.codes["ingest"] += 1
            await asyncio.sleep(max(0.0, min(every / 2, until - monotonic())))


@dataclass(frozen=True)
class Rest:
    """What a server takes when nobody asks anything."""

    memory: float  # MiB
    files: Counter[str]
    descriptors: int
    threads: int
    tasks: int


async def at_rest(server: Served) -> Rest:
    await asyncio.sleep(1)  # the last connections end
    tasks = server.look().tasks
    memory = []
    for _ in range(5):
        await asyncio.sleep(0.2)
        memory.append(server.rss() / 2**20)
    return Rest(median(memory), server.files(), server.fds(), server.threads(), tasks)


@pytest.mark.usefixtures("long_form")
async def test_memory_is_constant_over_minutes_of_all_calls(chaos: Chaos, pytestconfig: pytest.Config) -> None:
    minutes = float(pytestconfig.getoption("--chaos-soak-minutes"))
    warm, soaked = chaos.scale.pick((4.0, 6.0), (min(120.0, minutes * 12), minutes * 60))
    size, every = chaos.scale.pick((200, 5.0), (2000, 30.0))
    server = chaos.served({"embedding.model": chaos.scale.pick("none", "minilm")}, observed=True)
    server.ingest(write_records(chaos.folder / "records.jsonl", size))
    modes = chaos.scale.pick(["keyword"], ["keyword", "semantic", "hybrid"])
    mixture = Mixture(server, modes, Random(8))

    async def run(seconds: float) -> None:
        until = monotonic() + seconds
        clients = [mixture.client(until) for _ in range(CLIENTS)]
        await asyncio.gather(*clients, mixture.ingests(until, chaos.folder / "records.jsonl", size, every))

    await run(warm)
    before = await at_rest(server)
    await run(soaked)
    after = await at_rest(server)

    growth = after.memory / before.memory - 1
    by_code = ", ".join(f"{code} {times:,}" for code, times in mixture.codes.most_common())
    seen = (
        f"memory at rest {before.memory:.0f} MiB after {warm:.0f} s of warm-up and {after.memory:.0f} MiB at the end "
        f"({growth:+.1%}), descriptors {before.descriptors} and {after.descriptors}, threads {before.threads} and "
        f"{after.threads}, tasks {before.tasks} and {after.tasks}; {by_code}"
    )
    calls = sum(times for code, times in mixture.codes.items() if code not in ("disconnect", "ingest"))
    chaos.report(
        FAMILY, f"{soaked / 60:.0f} minutes of {CLIENTS} clients, and an ingest every {every:.0f} s", calls, seen
    )
    assert server.alive()
    assert after.threads <= before.threads + POOLED, seen
    assert after.files <= before.files, seen
    assert after.tasks <= before.tasks, seen
    assert growth < chaos.scale.pick(0.25, 0.10), seen
