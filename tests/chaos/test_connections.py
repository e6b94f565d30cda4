"""Family 6: slow, silent, non-reading or vanished connections harm nobody else and leave nothing behind."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from random import Random

import pytest

from cstp_server.settings import ServerSettings
from tests.chaos.chaos import Chaos
from tests.chaos.clients import Steady, call_bytes, steady, vanish
from tests.chaos.process import Served, write_records
from tests.chaos.report import ROOT
from tests.chaos.wire import request

FAMILY = "6 connections"
SOCKETS = 200
POOLED = 6  # threads still to be made by the pools
SLACK = 5.0  # extra seconds for a busy machine
CALLS = [
    call_bytes("cstp.whoami"),
    call_bytes("cstp.queryDecisions", {"query": "option17 for tests", "mode": "keyword"}),
]


@pytest.mark.usefixtures("long_form")
async def test_slow_and_silent_clients_are_disconnected_while_others_are_answered(chaos: Chaos) -> None:
    short = {"server.receive_seconds": 2, "server.idle_seconds": 2, "server.send_seconds": 2}
    server = chaos.served(chaos.scale.pick(short, {}))
    server.ingest(write_records(chaos.folder / "records.jsonl", 200))
    limits = ServerSettings() if chaos.scale.long else ServerSettings(receive_seconds=2, idle_seconds=2, send_seconds=2)
    longest = max(limits.receive_seconds, limits.idle_seconds, limits.send_seconds)
    seconds = chaos.scale.pick(3.0, 40.0)
    await calls_of_others(server, 1.0)  # threads and pools are made
    before, alone = server.files(), await calls_of_others(server, chaos.scale.pick(1.0, 20.0))

    ramp = seconds / 8
    others = asyncio.create_task(cuts_of(server, seconds + ramp, ramp))
    await asyncio.sleep(ramp)
    beside = await calls_of_others(server, seconds)
    cuts = await others

    slowest = {kind: max(took for each, took in cuts if each == kind) for kind in sorted({kind for kind, _ in cuts})}
    seen = (
        f"each cut, the last of its kind after {', '.join(f'{kind} {took:.1f} s' for kind, took in slowest.items())}; "
        f"{len(beside.took):,} calls of 8 others all answered, p50 and p99 {beside.quantile(0.5):.1f} and "
        f"{beside.quantile(0.99):.1f} ms, without them {alone.quantile(0.5):.1f} and {alone.quantile(0.99):.1f} ms; "
        "descriptors as before"
    )
    assert max(slowest.values()) < longest + SLACK, seen
    assert set(alone.codes) == set(beside.codes) == {0}
    chaos.wait_until(lambda: server.files() <= before)
    chaos.report(FAMILY, f"{SOCKETS} slow sockets of five kinds at a time, opened again when cut", len(cuts), seen)
    if chaos.scale.long:
        assert beside.quantile(0.99) < max(2 * alone.quantile(0.99), alone.quantile(0.99) + 50), seen


async def cuts_of(server: Served, seconds: float, ramp: float) -> list[tuple[str, float]]:
    """Run the slow clients in a separate process, so that they do not slow other clients' clocks."""
    words = (sys.executable, "-m", "tests.chaos.slow", server.port, server.token, SOCKETS, seconds, ramp)
    process = await asyncio.create_subprocess_exec(*map(str, words), stdout=subprocess.PIPE, cwd=ROOT)
    printed, _ = await process.communicate()
    assert process.returncode == 0
    return [(kind, took) for kind, took in json.loads(printed)]


async def calls_of_others(server: Served, seconds: float) -> Steady:
    seen = Steady()
    await asyncio.gather(*(steady(server.port, server.token, CALLS, seconds, 0.05, seen) for _ in range(8)))
    return seen


def kinds_of_requests(server: Served) -> dict[str, bytes]:
    token = server.token
    query = call_bytes("cstp.queryDecisions", {"query": "which option was chosen for storage"})
    chunks = b"".join(
        b"%x\r\n%s\r\n" % (len(query[at : at + 20]), query[at : at + 20]) for at in range(0, len(query), 20)
    )
    chunked = request(query, token).replace(b"Content-Length: %d" % len(query), b"Transfer-Encoding: chunked")
    return {
        "whoami": request(call_bytes("cstp.whoami"), token),
        "query": request(query, token),
        "notification": request(b'{"jsonrpc":"2.0","method":"cstp.whoami"}', token),
        "batch": request(b"[" + b",".join([query] * 20) + b"]", token),
        "large": request(call_bytes("cstp.whoami", {"a": "x" * 500_000}), token),
        "large answer": request(call_bytes("cstp.whoami", identifier="x" * 300_000), token),
        "too large": request(b" " * 1_100_000, token),
        "not JSON": request(b'{"jsonrpc"', token),
        "not authenticated": request(query, None),
        "chunked": chunked[: -len(query)] + chunks + b"0\r\n\r\n",
        "pipelined": request(query, token) * 5,
        "expecting": request(query, token, headers=[("Expect", "100-continue")]),
        "healthz": request(b"", None, verb="GET", path="/healthz"),
        "metrics": request(b"", token, verb="GET", path="/metrics"),
        "not HTTP": b"\x16\x03\x01\x02\x00\x01" + b"x" * 200,
    }


async def test_clients_vanishing_at_any_byte_leave_nothing_behind(chaos: Chaos) -> None:
    # few slots, so that a lost slot is noticed
    server = chaos.served({"server.max_in_flight": 4, "server.max_queue": 16}, observed=True)
    server.ingest(write_records(chaos.folder / "records.jsonl", 200))
    await calls_of_others(server, 1.0)
    chaos.wait_until(lambda: at_rest(server))
    before, files = (server.fds(), server.threads(), server.look().tasks), server.files()

    random, kinds = Random(6), kinds_of_requests(server)
    gone: Counter[str] = Counter()
    for _ in range(chaos.scale.pick(10, 67)):
        names = random.sample(sorted(kinds), len(kinds))
        await asyncio.gather(*(vanish(server.port, kinds[name], random) for name in names))
        gone.update(names)

    chaos.wait_until(lambda: at_rest(server) and server.files() <= files)
    assert server.threads() <= before[1] + POOLED
    assert server.look().tasks <= before[2]
    after = Steady()  # as many at once as an agent may have running (half of the slots) and waiting
    await asyncio.gather(*(steady(server.port, server.token, CALLS, 0.5, 0.01, after) for _ in range(2 + 16)))
    assert set(after.codes) == {0}
    what = f"disconnects at a random byte, of {len(kinds)} kinds of requests: end, reset, or half-closed"
    seen = (
        f"descriptors {before[0]} before and {server.fds()} after, threads {before[1]} and {server.threads()}, "
        f"tasks {before[2]} and {server.look().tasks}; every place free again"
    )
    chaos.report(FAMILY, what, gone.total(), seen)


def at_rest(server: Served) -> bool:
    """Return whether nothing runs or waits, in the gate and in the pools."""
    busy = ("cstp_requests_running", "cstp_requests_waiting", "cstp_pool_running", "cstp_pool_waiting")
    return not any(value for name, value in server.metrics().items() if name.startswith(busy))
