"""Real servers in processes of their own, filled beforehand, and a client that keeps its connection."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from socket import create_connection, create_server
from time import monotonic, perf_counter, sleep
from typing import Any, Final, Protocol

import orjson
from prometheus_client.parser import text_string_to_metric_families

from cognition_engines.models import Mode
from cognition_engines.store.records import open_records
from cognition_engines.store.values import Entry
from cstp.values.decision_searches import QueryFilters
from cstp_server.open_engine import open_engine
from cstp_server.settings import Settings
from cstp_server.tokens import create_token, revoke_token

CSTP: Final = (sys.executable, "-c", "from cstp_server.cli.entry import main; main()")  # the command of this checkout
UNLIMITED: Final = "1000000/second"  # a short window, so that the limiter has little to remember
RESIDENT: Final = "process_resident_memory_bytes"  # the server's own memory, as it reports it
_BATCH: Final = 1000
_DEADLINE: Final = 120.0  # seconds for the server to come up
_READY: Final = 600.0  # seconds until every index has followed
_ADDRESS: Final = re.compile(rb"http://([0-9.]+):([0-9]+)/cstp")


class NotServing(Exception):
    """A server did not come up, a command failed, or a call was answered with an error."""


@dataclass(frozen=True, slots=True)
class Filled:
    """The seconds that each step of filling a store took."""

    records: float
    columns_and_keywords: float
    neighbours: float


class Corpus(Protocol):
    """Anything that a store can be filled with."""

    def entries(self) -> Iterator[Entry]: ...


def fill(settings: Settings, corpus: Corpus, model: str) -> Filled:
    """Write the corpus to the store, unless an earlier run did, and bring every index up to date."""
    marker = settings.data_dir / "filled.json"  # in a store that an earlier run kept
    began = perf_counter()
    if not marker.exists():
        write_entries(settings.store_url, corpus, model)
    stored = perf_counter()
    engine = open_engine(settings)
    opened = perf_counter()
    if engine.indexes.vectors_state == "off" or not engine.indexes.wait_until_vectors_are_ready():
        raise NotServing("the vector index did not become ready")
    if not marker.exists():
        marker.write_bytes(orjson.dumps((stored - began, opened - stored, perf_counter() - stored)))
    engine.close()
    return Filled(*orjson.loads(marker.read_bytes()))


def write_entries(store_url: str, corpus: Corpus, model: str | None) -> None:
    """Write the corpus to the store, in batches."""
    records, entries = open_records(store_url), corpus.entries()
    while batch := list(islice(entries, _BATCH)):
        records.put(batch, model)
    records.close()


class Caller:
    """Calls methods over one connection to the server of a process."""

    def __init__(self, port: int, token: str, process: int = 0) -> None:
        self.port = port
        self.token = token
        self.process = process
        self._connection = HTTPConnection("127.0.0.1", port, timeout=_DEADLINE)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, query: str, filters: QueryFilters, mode: Mode, limit: int) -> bytes:
        """Return the body of the answer to a query for decisions."""
        params = {
            "query": query,
            "filters": filters.model_dump(mode="json", exclude_none=True),
            "mode": mode.value,
            "limit": limit,
        }
        return self.send("cstp.queryDecisions", params)

    def send(self, method: str, params: Mapping[str, object]) -> bytes:
        """Return the body of the answer to one call."""
        self._connection.request("POST", "/cstp", call_body(method, params), self._headers)
        return self._connection.getresponse().read()

    def get(self, path: str) -> bytes:
        """Return the body of the answer to a GET."""
        self._connection.request("GET", path)
        return self._connection.getresponse().read()

    def close(self) -> None:
        self._connection.close()


def call_body(method: str, params: Mapping[str, object]) -> bytes:
    """Return the body of one call."""
    return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def result_of(body: bytes) -> dict[str, Any]:
    """Return the result in an answer. Raises NotServing for an error."""
    reply = orjson.loads(body)
    if "result" not in reply:
        raise NotServing(f"a call was answered with {reply.get('error')}")
    result: dict[str, Any] = reply["result"]
    return result


def found_places(body: bytes) -> list[int]:
    """Return the places in the corpus of the decisions in an answer. Raises NotServing for an error."""
    return [int(decision["id"].removeprefix("dec_")) for decision in result_of(body)["decisions"]]


def clean_environment(variables: Mapping[str, str], base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return `base` without settings of a user, and with `variables`."""
    kept = {name: value for name, value in base.items() if not name.startswith(("CSTP_", "OPENBLAS_"))}
    return kept | dict(variables)


def run_cstp(words: Sequence[str], environment: Mapping[str, str], command: Sequence[str] = CSTP) -> str:
    """Return the output of a command of `cstp`. Raises NotServing if it fails; a rejected record is no failure."""
    done = subprocess.run([*command, *words], stdout=subprocess.PIPE, env=environment, text=True, check=False)
    if done.returncode > 1:
        raise NotServing(f"cstp {' '.join(words)} ended with {done.returncode}")
    return done.stdout


@contextmanager
def served(settings: Settings, variables: Mapping[str, str] | None = None) -> Iterator[Caller]:
    """Run `cstp serve` over the folder of `settings` with CSTP_* `variables`, its log in a file, until the block ends.

    Raises NotServing when it does not come up.
    """
    known, token = create_token(settings.tokens_path, "benchmark", lifetime=timedelta(days=1))
    environment = clean_environment({"CSTP_LIMITS__DEFAULT": UNLIMITED, **(variables or {})})
    try:
        with serving(settings.data_dir, token, environment) as caller:
            yield caller
    finally:
        revoke_token(settings.tokens_path, known.id)


@contextmanager
def serving(
    folder: Path, token: str, environment: Mapping[str, str], command: Sequence[str] = CSTP
) -> Iterator[Caller]:
    """Run `serve` of a command over a data folder, until the block ends. Raises NotServing when it does not come up."""
    log_path = folder / "server.log"
    words = [*command, "serve", "--port", "0", "--data-dir", str(folder)]
    with log_path.open("wb") as log:
        process = subprocess.Popen(words, stderr=log, env=environment)
    try:
        caller = Caller(_listening(process, log_path, folder / "indexes" / "chroma.clean.json"), token, process.pid)
        yield caller
        caller.close()
    finally:
        process.terminate()
        process.wait()


def _listening(process: "subprocess.Popen[bytes]", log_path: Path, mark: Path) -> int:
    """Return the server's port once its indexes are open: it removes `mark`, Chroma's of a clean shutdown, then.

    Raises NotServing when it does not come up.
    """
    deadline = monotonic() + _DEADLINE
    while process.poll() is None and monotonic() < deadline:
        address = _ADDRESS.search(log_path.read_bytes())
        if address and not mark.exists():
            return int(address[2])
        sleep(0.05)
    raise NotServing(f"the server did not come up; its log: {log_path.read_text(errors='replace')}")


@contextmanager
def other_server(*command: str) -> Iterator[int]:
    """Run another server by `command`, with a free port in the place of `PORT`, until the block ends.

    Raises NotServing when it does not come up.
    """
    with create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [word.replace("PORT", str(port)) for word in command]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = monotonic() + _DEADLINE
        while not _accepts(port):
            if process.poll() is not None or monotonic() > until:
                raise NotServing(f"{' '.join(words)} did not come up")
            sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait()


def _accepts(port: int) -> bool:
    try:
        create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def fetch(port: int, path: str) -> tuple[int, str]:
    """Return the status and the text of the answer to a GET over a new connection."""
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def samples(port: int, name: str) -> list[tuple[Mapping[str, str], float]]:
    """Return the labels and the value of each sample of this name in `/metrics`."""
    families = text_string_to_metric_families(fetch(port, "/metrics")[1])
    return [(each.labels, each.value) for family in families for each in family.samples if each.name == name]


def metric(port: int, name: str) -> float:
    """Return the value of the first sample of this name."""
    return samples(port, name)[0][1]


def wait_until_ready(port: int) -> None:
    """Return when the server is ready. Raises NotServing when it does not become ready."""
    deadline = monotonic() + _READY
    while fetch(port, "/readyz")[0] != 200:
        if monotonic() > deadline:
            raise NotServing("the server did not become ready")
        sleep(0.01)
