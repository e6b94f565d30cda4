"""Processes that follow a store into a shared collection, killed at random while records are written."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest

from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Decision
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Entry, FloatArray
from tests.stored import Upsert, changes_of
from tests.stores import Servers, Stores

KILLS = 4
MODEL = "seeded-8"
# Arguments: URL of the records, URL of the Chroma server, folder.
FOLLOWER = """
import sys
from dataclasses import dataclass
from pathlib import Path
from cognition_engines.indexes.indexes import open_indexes
from cognition_engines.indexes.vectors.choice import VectorChoice

from cognition_engines.spaces import DECISIONS
from cognition_engines.store.records import open_records

@dataclass(frozen=True)
class Embedder:
    model: str = "seeded-8"
    dim: int = 8

records_url, vectors_url, folder = sys.argv[1:]
indexes = open_indexes(Path(folder), open_records(records_url), Embedder(), VectorChoice("chroma", vectors_url))
indexes[DECISIONS].vectors.start()
print("follows", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def follower(tmp_path: Path, shared_servers: Servers) -> Iterator[Callable[[str], "subprocess.Popen[str]"]]:
    """Yield `follower(url)`: an additional process that follows the records at `url`."""
    started: list[subprocess.Popen[str]] = []

    def start(url: str) -> "subprocess.Popen[str]":
        words = [sys.executable, "-c", FOLLOWER, url, shared_servers.chroma.url, str(tmp_path / str(len(started)))]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def change_something(records: Records, random: Random) -> None:
    """Put new records, change some and delete some, out of a hundred, with one to five windows each."""
    chosen = random.sample(range(100), 8)
    text = str(random.random())
    entries = [Entry(Decision(f"d-{n}", f"d-{n}", text), Origin("/x", 0, None, text), vectors(random)) for n in chosen]
    records.put(entries[:6], MODEL)
    records.delete(Kind.DECISION, [entry.record.id for entry in entries[4:]])


def vectors(random: Random) -> FloatArray:
    rows = np.random.default_rng(random.randrange(2**32)).normal(size=(random.randint(1, 5), 8))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_after_any_kills_of_writers_the_collection_equals_the_records_without_a_rebuild(
    follower: Callable[[str], "subprocess.Popen[str]"],
    shared_servers: Servers,
    tmp_path: Path,
    wait_until: Callable[..., None],
) -> None:
    stores, random = Stores(shared_servers), Random(3)
    url = stores.records(tmp_path)
    ((database, store_id),) = stores.made.values()
    records = open_records(url)
    running = {process.pid: process for process in (follower(url), follower(url))}
    change_something(records, random)
    wait_until(lambda: shared_servers.chroma.collections(store_id) != [])
    (before,) = shared_servers.chroma.collections(store_id)
    for _ in range(KILLS):
        wait_until(lambda: holder(shared_servers, database) in running)
        for _ in range(random.randint(1, 12)):
            change_something(records, random)
        writer = running.pop(holder(shared_servers, database))
        writer.kill()
        fresh = follower(url)
        running[fresh.pid] = fresh
    change_something(records, random)

    expected = {
        f"{change.stored.key}:{change.seq}:{window}"
        for change in changes_of(records, 0, 1000, MODEL)
        if isinstance(change, Upsert) and change.vectors is not None
        for window in range(len(change.vectors))
    }
    (collection,) = shared_servers.chroma.collections(store_id)
    wait_until(lambda: shared_servers.chroma.ids(collection["id"]) == expected)
    assert collection["id"] == before["id"]
    records.close()
    stores.drop()


def holder(servers: Servers, database: str) -> int:
    """Return the writing process; 0 for none."""
    # an ending session, or a session opening the store, may briefly hold a lock without a name
    names = [name for name in servers.postgresql.lock_holders(database) if name.startswith("cstp ")]
    return int(names[0].split()[1]) if names else 0
