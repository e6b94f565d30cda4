"""Family 6: a greedy agent delays no other agent."""

import asyncio
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from time import monotonic

import pytest

from tests.chaos.chaos import Chaos
from tests.chaos.greedy import CONNECTIONS, GREEDY, MODEST, Asked
from tests.chaos.process import Served, write_records
from tests.chaos.wire import Pipe

FAMILY = "6 connections"
ROOT = Path(__file__).parents[2]
RATIO = 3.0  # ratio of a p99 beside a greedy agent to a p99 alone
SAMPLE = (ROOT / "docs" / "sample", ROOT / "docs" / "decisions")


@contextmanager
def greedy(server: Served, token: str, name: str) -> Iterator[list[int]]:
    """Run the greedy agent on all connections; answer statuses are available after the end."""
    words = (sys.executable, "-m", "tests.chaos.greedy", str(server.port), token, name)
    statuses: list[int] = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(CONNECTIONS)]
        yield statuses
        process.kill()
        lines += [line for line in process.stdout if line.endswith("\n")]
    statuses += [int(line) for line in lines if line != "asked\n"]


@dataclass
class Modest:
    """An agent with sequential requests, and the seconds of each."""

    port: int
    token: str
    ids: Mapping[str, str | int]  # placeholder for an id in MODEST
    numbers: Iterator[int] = field(default_factory=count)

    async def ask(self, seen: dict[str, list[float]], seconds: float, rounds: int = 1) -> None:
        """Send everything at least `rounds` times, for at least `seconds`; a failure fails the test."""
        pipe, began = await Pipe.open(self.port), monotonic()
        while rounds > 0 or monotonic() < began + seconds:
            for asked in MODEST:
                params = {name: self.ids.get(value, value) for name, value in asked.params.items()}
                sent = monotonic()
                (answer,) = await pipe.exchange([Asked(asked.method, params).request(self.token, next(self.numbers))])
                seen[str(asked)].append(monotonic() - sent)
                reply = json.loads(answer.body)
                assert answer.status == 200, f"{asked}: {answer}"
                assert "result" in reply, f"{asked}: {reply}"
                assert not (asked.tool and reply["result"].get("isError")), f"{asked}: {reply}"
                await asyncio.sleep(0.002)
            rounds -= 1
        await pipe.close()


def p99(took: list[float]) -> float:
    """Return the p99 in milliseconds."""
    return sorted(took)[int(len(took) * 0.99)] * 1000


@pytest.mark.timeout(7200)
@pytest.mark.usefixtures("long_form")
async def test_a_greedy_agent_makes_no_other_call_fail_or_wait_for_long(chaos: Chaos) -> None:
    server = chaos.served({"embedding.model": "minilm"}, start=False)
    for path in (*SAMPLE, write_records(chaos.folder / "records.jsonl", chaos.scale.pick(50, 2000))):
        server.ingest(path)
    server.start()
    modest = Modest(server.port, server.new_token("modest"), await some_ids(server))
    token = server.new_token("greedy")
    await modest.ask(defaultdict(list), 0, rounds=2)  # warm
    ratios: dict[str, float] = {}
    for worst in chaos.scale.pick(("batches_of_a_hundred", "everything"), [each.__name__ for each in GREEDY]):
        alone: dict[str, list[float]] = defaultdict(list)
        beside: dict[str, list[float]] = defaultdict(list)
        answered: list[int] = []
        for _ in range(chaos.scale.pick(1, 6)):  # in turn: a busy machine affects both
            await modest.ask(alone, chaos.scale.pick(0, 3))
            with greedy(server, token, worst) as statuses:
                await modest.ask(beside, chaos.scale.pick(0, 6))
            answered += statuses
        assert set(answered) <= {0, 200, 503}
        ratios[worst], seen = compared(alone, beside)
        what = f"{CONNECTIONS} connections of a greedy agent: {worst.replace('_', ' ')}"
        chaos.report(FAMILY, what, sum(map(len, beside.values())), seen)
    if chaos.scale.long:
        assert max(ratios.values()) < RATIO, ratios


async def some_ids(server: Served) -> Mapping[str, str | int]:
    """Return ids of a chunk, a decision and an episode."""
    pipe = await Pipe.open(server.port)
    chunks, decisions = Asked("cstp.searchKnowledge", {"query": "?"}), Asked("cstp.listDecisions", {"limit": 1})
    (answer,) = await pipe.exchange([chunks.request(server.token, 0)])
    (listed,) = await pipe.exchange([decisions.request(server.token, 1)])
    (episodes,) = await pipe.exchange([Asked("cstp.listEpisodes", {"limit": 1}).request(server.token, 2)])
    await pipe.close()
    found = json.loads(answer.body)["result"]["results"]
    return {
        "CHUNK": str(next(one["chunkId"] for one in found if one["chunkId"])),
        "DECISION": str(json.loads(listed.body)["result"]["decisions"][0]["id"]),
        "EPISODE": int(json.loads(episodes.body)["result"]["episodes"][0]["id"]),
    }


def compared(alone: Mapping[str, list[float]], beside: Mapping[str, list[float]]) -> tuple[float, str]:
    """Return the ratio of the agent's p99 next to another agent to the p99 alone, over all methods; and a description.

    The description names the method with the largest ratio: in a call of half a millisecond that is a scheduler time
    slice.
    """
    ratios = {name: p99(beside[name]) / p99(alone[name]) for name in alone}
    worst = max(ratios, key=lambda name: ratios[name])
    one, other = (p99([took for each in seen.values() for took in each]) for seen in (alone, beside))
    return other / one, (
        f"no call of the other agent failed; its p99 {other:.0f} ms, alone {one:.0f} ms ({other / one:.1f} times; at "
        f"most {ratios[worst]:.1f} times, {p99(beside[worst]):.0f} ms, in {worst})"
    )
