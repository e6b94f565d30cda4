"""Three separate server processes over a PostgreSQL, a Chroma server, a Redis and a tokens file."""

import json
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from cognition_engines.store.records import Records, open_records
from cstp_server.tokens import create_token
from tests.chaos.process import Served, run_cstp
from tests.stores import Servers, Stores

MODES = ("semantic", "keyword", "hybrid")
SOON = 3.0  # seconds: a change shows within a second, and the machine may be busy
TAKEN_OVER = 5.0  # seconds after the writer was killed
LEASE = 10.0  # seconds before a paused writer has lost its lock
CALLS = 9


@dataclass
class Several:
    """The processes and their shared stores."""

    servers: Sequence[Served]
    shared: Servers
    database: str
    store_id: str
    folder: Path
    tokens: Path
    wait_until: Callable[..., None]
    records: Records
    limited: str = ""  # the token of an agent with a low limit

    def write(self, through: Served, *ids: str, text: str = "") -> float:
        """Ingest records with a process's settings; return the moment of completion."""
        file = self.folder / "records.jsonl"
        records = [{"kind": "decision", "id": id, "title": f"The {id} decision", "text": f"{text} {id}"} for id in ids]
        file.write_text("".join(json.dumps(record) + "\n" for record in records))
        assert through.ingest(file)["rejected"] == []
        return monotonic()

    def found(self, server: Served, query: str, mode: str) -> list[tuple[str, float]]:
        """Return ids and distances."""
        reply = server.call("cstp.queryDecisions", {"query": query, "mode": mode, "limit": 3})
        assert "result" in reply, reply
        return [(one["id"], one["distance"]) for one in reply["result"]["decisions"]]

    def everywhere(self, condition: Callable[[Served, str], bool], servers: Sequence[Served] | None = None) -> float:
        """Wait until it holds at every process in every mode; return the moment."""

        def holds(server: Served) -> None:
            for mode in MODES:
                self.wait_until(partial(condition, server, mode))

        asked = self.servers if servers is None else servers
        with ThreadPoolExecutor(len(asked)) as threads:
            list(threads.map(holds, asked))
        return monotonic()

    def shows(self, id: str) -> Callable[[Served, str], bool]:
        return lambda server, mode: [found for found, _ in self.found(server, f"the {id} decision", mode)][:1] == [id]

    def hides(self, id: str) -> Callable[[Served, str], bool]:
        return lambda server, mode: id not in [found for found, _ in self.found(server, f"the {id} decision", mode)]

    def writer(self) -> Served | None:
        """Return the process with the lock, as reported by PostgreSQL."""
        names = self.shared.postgresql.lock_holders(self.database)
        assert len(names) <= 1, names
        return next((one for one in self.servers if names and names[0].startswith(f"cstp {one.pid} ")), None)

    def covered(self, windows: int) -> bool:
        """Return whether a collection has exactly this count, up to the last change, and says so."""
        told = [one["metadata"] for one in self.shared.chroma.collections(self.store_id)]
        return told == [{"seq": self.records.last_seq()}] and self.shared.chroma.windows(self.store_id) == windows

    def token(self, agent: str) -> str:
        _, text = create_token(self.tokens, agent, lifetime=timedelta(days=1))
        return text


@pytest.fixture
def several(
    shared_servers: Servers, shared_redis: Any, tmp_path: Path, wait_until: Callable[..., None]
) -> Iterator[Several]:
    stores = Stores(shared_servers)
    tokens = tmp_path / "tokens.json"
    settings = {
        **stores.settings(tmp_path),
        "auth.tokens_file": str(tokens),
        "limits.redis_url": shared_redis.url,
        "limits.default": "100000/minute",
        "limits.agents": {"limited": f"{CALLS}/hour"},
        "embedding.model": "minilm",
    }
    servers = [Served(tmp_path / f"host-{number}" / "data", settings) for number in range(3)]
    database, store_id = stores.made[tmp_path]
    records = open_records(shared_servers.postgresql.database_url(database))
    made = Several(servers, shared_servers, database, store_id, tmp_path, tokens, wait_until, records)
    token = made.token("several")
    made.limited = made.token("limited")
    for server in servers:
        server.token = token
    with ThreadPoolExecutor(len(servers)) as threads:
        list(threads.map(Served.start, servers))
    yield made
    for server in servers:
        server.kill()
    records.close()
    stores.drop()


def test_writes_of_one_show_in_all_within_a_second(several: Several, tmp_path: Path) -> None:
    first, second, third = several.servers
    done = several.write(first, "otter", "falcon", "gecko")
    assert several.everywhere(several.shows("gecko")) - done < SOON
    done = several.write(second, "heron")
    assert several.everywhere(several.shows("heron")) - done < SOON

    def distance(server: Served, mode: str) -> float:
        return dict(several.found(server, "otter", mode))["otter"]

    (before,) = {distance(server, mode) for server in several.servers for mode in MODES}
    done = several.write(third, "otter", text="swims in cold water")
    assert several.everywhere(lambda server, mode: distance(server, mode) != before) - done < SOON
    words = ("delete", "falcon", "--data-dir", third.data_dir)
    assert run_cstp(*words, overrides=third.overrides, cwd=tmp_path).returncode == 0
    done = monotonic()
    assert several.everywhere(several.hides("falcon")) - done < SOON
    several.wait_until(lambda: several.covered(3))


def test_tokens_and_limits_are_shared(several: Several) -> None:
    answers = [status(server, several.limited) for _ in range(CALLS) for server in several.servers]
    assert answers == [200] * CALLS + [429] * (len(answers) - CALLS)
    late = several.token("late")
    several.wait_until(lambda: all(status(server, late) == 200 for server in several.servers))


def status(server: Served, token: str) -> int:
    body = json.dumps({"jsonrpc": "2.0", "method": "cstp.whoami", "id": 1}).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    return server.request("POST", "/cstp", body, headers)[0]


def test_the_collection_gets_a_new_writer_when_its_writer_is_killed(several: Several) -> None:
    several.write(several.servers[0], "otter", "falcon")
    several.wait_until(lambda: several.covered(2))
    (collection,) = several.shared.chroma.collections(several.store_id)
    writer = several.writer()
    assert writer is not None
    others = [server for server in several.servers if server is not writer]
    writer.kill()
    several.wait_until(lambda: several.writer() in others, TAKEN_OVER)
    done = several.write(others[0], "gecko")
    assert several.everywhere(several.shows("gecko"), others) - done < SOON
    several.wait_until(lambda: several.covered(3))

    successor = several.writer()
    writer.start()
    several.write(writer, "heron", "otter", text="again")
    several.everywhere(several.shows("heron"))
    several.wait_until(lambda: several.covered(4))
    assert several.writer() is successor, "a process that starts takes the lock from nobody"
    assert several.shared.chroma.collections(several.store_id)[0]["id"] == collection["id"], "nothing was built anew"


def test_a_paused_writer_is_replaced_and_does_no_harm_when_resumed(several: Several) -> None:
    several.write(several.servers[0], "otter", "falcon")
    several.wait_until(lambda: several.covered(2))
    (collection,) = several.shared.chroma.collections(several.store_id)
    writer = several.writer()
    assert writer is not None
    others = [server for server in several.servers if server is not writer]
    assert writer.process is not None
    writer.process.send_signal(signal.SIGSTOP)
    done = several.write(others[0], "gecko")
    assert several.everywhere(several.shows("gecko"), others) - done < SOON, "readers do not wait for a writer"
    several.wait_until(lambda: several.writer() in others, LEASE + TAKEN_OVER)
    several.write(others[0], "otter", text="changed meanwhile")
    several.wait_until(lambda: several.covered(3))

    successor = several.writer()
    writer.process.send_signal(signal.SIGCONT)
    several.write(writer, "heron")
    several.everywhere(several.shows("heron"))
    several.wait_until(lambda: several.covered(4))
    assert several.writer() is successor
    assert several.shared.chroma.collections(several.store_id)[0]["id"] == collection["id"], "nothing was built anew"
