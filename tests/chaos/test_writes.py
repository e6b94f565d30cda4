"""Family 9: clients write while servers are killed, connections cut, the database restarted and the disk full.

An acknowledged write exists once, with a revision, and is found in all modes; any other write exists in full or not
at all; a retry with the same key writes once.
"""

import itertools
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from random import Random

import pytest

from cognition_engines.store.records import open_records
from tests.chaos.chaos import Chaos
from tests.chaos.cutting import cutting
from tests.chaos.process import Served
from tests.chaos.store import MODEL, asked
from tests.chaos.test_disk import no_space, small_disk
from tests.chaos.writers import Deed, Ledger, Written, writing
from tests.stores import PostgreSQL

FAMILY = "9 writes"
CLIENTS = 16
LONGEST_SECONDS = 1_500.0
FOUND_WITHIN = 20.0  # seconds, on a busy machine
LONGEST_CONNECTION = 6_000  # bytes: a few calls


def found_in_all_modes(server: Served, ledger: Ledger, deed: Deed) -> bool:
    """Return whether the write's word, if still in the text, finds it, and the text ranks it first at distance 0."""
    assert deed.answer is not None
    id, text = deed.answer["id"], ledger.texts[ledger.mark_of(deed.answer["id"])]
    if deed.mark in text.split() and [one["id"] for one in asked(server, deed.mark, "keyword")] != [id]:
        return False
    first = [asked(server, text, mode)[:1] for mode in ("semantic", "hybrid")]
    return all(found and found[0]["id"] == id and found[0]["distance"] < 1e-5 for found in first)


class Proof:
    """Clients' writes, repeatedly compared with the store."""

    def __init__(self, url: str, wait_until: Callable[..., None], seed: int = 9) -> None:
        self.records = open_records(url)
        self.ledger = Ledger(self.records)
        self.written = Written()
        self.random = Random(seed)
        self._wait_until = wait_until
        self._checked = 0
        self.breaks = 0  # followed by a check

    def check(self, servers: Sequence[Served], sample: int = 4) -> None:
        """Compare all writes with the store; check that some recent acknowledged writes are found everywhere."""
        with self.written.lock:
            deeds = [deed for deed in self.written.deeds if deed.done]
        self.ledger.read_on()
        self.ledger.compare(deeds)
        fresh = [deed for deed in deeds[self._checked :] if deed.answer is not None]
        self._checked = len(deeds)
        for deed in self.random.sample(fresh, min(sample, len(fresh))):
            for server in servers:
                self._wait_until(partial(self._found, server, deed), FOUND_WITHIN)
        self.breaks += 1

    def _found(self, server: Served, deed: Deed) -> bool:
        self.ledger.read_on()
        return found_in_all_modes(server, self.ledger, deed)

    def finish(self, servers: Sequence[Served], least: int) -> str:
        """Run the final comparison after the clients stopped; return a summary."""
        self.check(servers, 20)
        self.breaks -= 1
        self.ledger.compare(self.written.deeds)
        done = self.written.acknowledged()
        assert len(done) >= least, f"only {len(done)} writes were acknowledged"
        refused = [deed for deed in self.written.deeds if deed.refused is not None]
        assert not refused, refused[:3]
        again = sum(deed.sent > 1 for deed in done)
        open_ends = [deed for deed in self.written.deeds if deed.answer is None]
        kept = sum(len(self.ledger.times(deed)) for deed in open_ends)
        return (
            f"{len(done):,} writes acknowledged, each there once, whole, found in all modes; {again:,} of them only "
            f"after their key was sent again; of {len(open_ends):,} that were not acknowledged {kept:,} are there, "
            "whole, and none twice"
        )


@pytest.fixture
def proving(wait_until: Callable[..., None]) -> Iterator[Callable[[str], Proof]]:
    """Yield `proving(url)`: the proof of writes to the store at the URL."""
    with ExitStack() as stack:

        def prove(url: str) -> Proof:
            proof = Proof(url, wait_until)
            stack.callback(proof.records.close)
            return proof

        yield prove


def within(seconds: float, count: int) -> Iterator[int]:
    """Return the numbers below `count` that arrive in time."""
    until = time.monotonic() + seconds
    return itertools.takewhile(lambda _: time.monotonic() < until, range(count))


def kill(server: Served) -> None:
    os.kill(server.pid, signal.SIGKILL)
    server.kill()


@pytest.mark.timeout(7200)
def test_a_killed_server_keeps_each_acknowledged_write_once(chaos: Chaos, proving: Callable[[str], Proof]) -> None:
    data = chaos.folder / "data"
    server = chaos.served(MODEL, data_dir=data)
    proof = proving(f"sqlite:///{data}/records.sqlite3")
    kills = chaos.scale.pick(2, 200)
    with writing(CLIENTS, lambda _: server.port, server.token, proof.written):
        for _ in within(LONGEST_SECONDS, kills):
            count = len(proof.written.deeds)
            chaos.wait_until(lambda count=count: len(proof.written.deeds) > count + CLIENTS)
            time.sleep(proof.random.uniform(0, 0.3))
            kill(server)
            server.start()
            proof.check([server])
    seen = proof.finish([server], 10 * proof.breaks)
    chaos.report(FAMILY, f"SIGKILL of a server under {CLIENTS} writing clients", proof.breaks, seen)


@pytest.mark.timeout(7200)
def test_connections_cut_at_random_bytes_lose_and_double_nothing(chaos: Chaos, proving: Callable[[str], Proof]) -> None:
    data = chaos.folder / "data"
    server = chaos.served(MODEL, data_dir=data)
    proof = proving(f"sqlite:///{data}/records.sqlite3")
    cuts = chaos.scale.pick(40, 3_000)
    with cutting(lambda: server.port, LONGEST_CONNECTION) as proxy:
        with writing(CLIENTS, lambda _: proxy.port, server.token, proof.written):
            until = time.monotonic() + LONGEST_SECONDS
            chaos.wait_until(lambda: proxy.cuts >= cuts or time.monotonic() > until, LONGEST_SECONDS + 5)
        seen = proof.finish([server], CLIENTS)
        done = proxy.cuts
    chaos.report(FAMILY, f"connections of {CLIENTS} writing clients cut at a random byte", done, seen)


@pytest.mark.timeout(7200)
def test_writes_survive_kills_of_servers(
    chaos: Chaos, own_postgresql: PostgreSQL, proving: Callable[[str], Proof]
) -> None:
    url = own_postgresql.database_url(own_postgresql.create_store()[0])
    shared = MODEL | {"store.url": url, "auth.tokens_file": str(chaos.folder / "0" / "tokens.json")}
    servers = [chaos.served(shared, data_dir=chaos.folder / str(number), start=False) for number in range(3)]
    for server in servers:
        server.token = servers[0].token  # of the file read by all
    with ThreadPoolExecutor(len(servers)) as threads:
        list(threads.map(Served.start, servers))
    proof = proving(url)
    kills = chaos.scale.pick(2, 60)
    with writing(CLIENTS, lambda _: proof.random.choice(servers).port, servers[0].token, proof.written):
        for number in within(LONGEST_SECONDS, kills):
            count = len(proof.written.deeds)
            chaos.wait_until(lambda count=count: len(proof.written.deeds) > count + CLIENTS)
            if number % 2:
                own_postgresql.stop()
                own_postgresql.start()
            else:
                victim = proof.random.choice(servers)
                kill(victim)
                victim.start()
            proof.check(servers)
    seen = proof.finish(servers, proof.breaks)
    what = f"SIGKILL of one of three servers over one PostgreSQL, and restarts of that, under {CLIENTS} writing clients"
    for server in servers:
        server.kill()
    chaos.report(FAMILY, what, proof.breaks, seen)


@pytest.mark.timeout(7200)
def test_writes_are_refused_while_the_disk_is_full(chaos: Chaos, proving: Callable[[str], Proof]) -> None:
    rounds = chaos.scale.pick(1, 20)
    with small_disk(chaos.folder / "data", 64) as data:
        server = chaos.served(MODEL, data_dir=data)
        proof = proving(f"sqlite:///{data}/records.sqlite3")
        with writing(CLIENTS, lambda _: server.port, server.token, proof.written):
            for _ in within(LONGEST_SECONDS, rounds):
                count = len(proof.written.acknowledged())
                chaos.wait_until(lambda count=count: len(proof.written.acknowledged()) > count + CLIENTS)
                with no_space(data, 50_000 * proof.random.randrange(4)):
                    chaos.wait_until(partial(stands_still, proof.written))
                proof.check([server])
        seen = proof.finish([server], CLIENTS * proof.breaks)
        server.kill()
    chaos.report(FAMILY, f"the disk full under {CLIENTS} writing clients", proof.breaks, seen)


def stands_still(written: Written) -> bool:
    """Return whether nothing was acknowledged for half a second."""
    count = len(written.acknowledged())
    time.sleep(0.5)
    return len(written.acknowledged()) == count
