"""SIGKILL of `cstp ingest`, the following server, and both: nothing acknowledged is lost, all is found."""

import json
import os
import signal
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

import pytest

from cognition_engines.store.records import open_records
from tests.chaos.chaos import Chaos
from tests.chaos.process import COMMAND, Served, environment, run_cstp
from tests.chaos.store import (
    MODEL,
    Known,
    compare_with_brute_force,
    decision,
    found_in_all_modes,
    size_of,
    store_of,
    write_jsonl,
)

EACH = 8  # records in a file
VICTIMS = ("ingest", "both", "server", "both")
READY_WITHIN = 5.0


class Docs:
    """Ingested files. Every round changes each file, adds a file and removes a file."""

    def __init__(self, folder: Path, files: int) -> None:
        self.folder = folder
        self.version = 0
        self._numbers = list(range(files))

    def next_version(self) -> None:
        self.version += 1
        self._numbers.append(self._numbers[-1] + 1)
        gone = self._numbers.pop(0)
        (self.folder / f"{gone}.jsonl").unlink(missing_ok=True)
        for number in self._numbers:
            write_jsonl(self.folder / f"{number}.jsonl", (decision(id, self.words) for id in self._ids(number)))

    @property
    def words(self) -> str:
        return f"version{self.version}"

    def ids(self) -> set[str]:
        return {id for number in self._numbers for id in self._ids(number)}

    def _ids(self, number: int) -> list[str]:
        return [f"doc-{number * EACH + place}" for place in range(EACH)]


def ingesting(server: Served, docs: Docs) -> "subprocess.Popen[bytes]":
    words = ("ingest", str(docs.folder), "--prune", "--json", "--data-dir", str(server.data_dir))
    return subprocess.Popen(
        [*COMMAND, *words],
        cwd=docs.folder.parent,
        env=environment(server.overrides),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def version(known: Known, id: str) -> int:
    return int(known.texts[id].partition("version")[2].split()[0]) if "version" in known.texts[id] else 0


def lost(known: Known, now: Known, docs: Docs) -> list[str]:
    """Return committed records that are neither unchanged, nor in a later version, nor removed since."""
    return [
        id
        for id in known.texts
        if (id not in now.texts and (id.startswith("base") or id in docs.ids()))
        or (id in now.texts and version(now, id) < version(known, id))
    ]


@dataclass
class Kills:
    """A server over a store, files ingested beside it, and the observed state of both."""

    server: Served
    docs: Docs
    known: Known
    random: Random
    wait_until: Callable[..., None]
    done: Counter[str] = field(default_factory=Counter)
    ready: list[float] = field(default_factory=list)
    acknowledged: int = 0

    def one(self, victim: str) -> None:
        """Ingest the next version, kill at a random moment, and check that nothing committed is lost or hidden."""
        self.docs.next_version()
        self.known.read_on()
        ingest = ingesting(self.server, self.docs)
        written = self._watch(ingest)
        if victim != "ingest":
            os.kill(self.server.pid, signal.SIGKILL)
        if victim != "server":
            ingest.kill()
        out, _ = ingest.communicate(timeout=120)
        self.done["server" if ingest.returncode == 0 and victim != "ingest" else victim] += 1
        if victim != "ingest":
            self._start_again()
        now = Known(self.known.records)
        now.read_on()
        assert lost(self.known, now, self.docs) == []
        assert len(now.texts) == sum(now.records.counts().values())
        if ingest.returncode == 0:
            ids = self.docs.ids()
            assert json.loads(out)["read"] == len(ids)
            assert {id: version(now, id) for id in ids} == dict.fromkeys(ids, self.docs.version)
        self.known = now
        some = [*self.random.sample(written, min(4, len(written))), *self.random.sample(sorted(now.texts), 4), now.last]
        for id in some:
            if id in now.texts:
                self.wait_until(partial(found_in_all_modes, self.server, now, id))

    def _watch(self, ingest: "subprocess.Popen[bytes]") -> list[str]:
        """Read committed records until a random moment, mostly after the first commit; return their ids."""
        before = self.known.seq
        if self.random.random() < 0.9:
            self.wait_until(lambda: self.known.records.last_seq() > before or ingest.poll() is not None)
        moment = time.monotonic() + self.random.uniform(0, 0.6)
        written: list[str] = []
        while time.monotonic() < moment:
            written += self.known.read_on()
        self.acknowledged += len(written)
        return written

    def _start_again(self) -> None:
        self.server.kill()
        began = time.monotonic()
        self.server.start()
        assert "result" in self.server.call("cstp.queryDecisions", {"query": "anything", "mode": "hybrid"})
        self.ready.append(time.monotonic() - began)


@pytest.mark.timeout(7200)
def test_killed_at_random_moments_nothing_is_lost_and_everything_is_found(chaos: Chaos) -> None:
    kills, base = chaos.scale.pick((len(VICTIMS), 2_000), (200, 20_000))
    store_of(chaos.folder / "data", base)
    server = chaos.served(MODEL, data_dir=chaos.folder / "data")
    records = open_records(f"sqlite:///{chaos.folder}/data/records.sqlite3")
    run = Kills(server, Docs(chaos.folder / "docs", 60), Known(records), Random(20), chaos.wait_until)
    for number in range(kills):
        run.one(VICTIMS[number % len(VICTIMS)])
        if number % 25 == 24 or number == kills - 1:
            compare_with_brute_force(server, run.known, run.random, 10)
    if chaos.scale.long:
        assert statistics.median(run.ready) <= READY_WITHIN, "single starts wait for whatever else the machine does"
    assert server.ingest(run.docs.folder)["rejected"] == []
    growth = _growth(server, chaos.folder)
    records.close()
    assert growth <= 2
    seen = ", ".join(f"{count} of {name}" for name, count in sorted(run.done.items()))
    chaos.report(
        "1",
        f"SIGKILL at a random moment of an ingest beside a server over {base:,} records: {seen}",
        kills,
        f"{run.acknowledged:,} records seen committed before a kill, none lost; all found in all modes, by brute "
        f"force; ready again after {statistics.median(run.ready):.1f} s, at most {max(run.ready):.1f} s; "
        f"data folder {growth:.2f} times a fresh one",
    )


def _growth(server: Served, folder: Path) -> float:
    """Return the data folder's size relative to the size with freshly built indexes."""
    server.terminate()
    before = size_of(server.data_dir)
    for path in sorted((server.data_dir / "indexes").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    rebuilt = run_cstp("reindex", "--data-dir", server.data_dir, overrides=server.overrides, cwd=folder)
    assert rebuilt.returncode == 0, rebuilt.stderr
    return before / size_of(server.data_dir)
