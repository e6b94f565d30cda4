"""The real server in a process of its own, filled beforehand, and a client that keeps its connection."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Any, Final, Protocol

import orjson
from prometheus_client.parser import text_string_to_metric_families

from cognition_engines.engine import Engine
from cognition_engines.models import Filters, Mode
from cognition_engines.store.records import open_records
from cognition_engines.store.values import Entry
from cstp_server.open_engine import open_engine
from cstp_server.settings import Settings
from cstp_server.tokens import create_token, revoke_token

_BATCH: Final = 1000
_DEADLINE: Final = 120.0  # seconds for the server to come up
_READY: Final = 600.0  # seconds until every index has followed
_ADDRESS: Final = re.compile(rb"http://([0-9.]+):([0-9]+)/cstp")
_WIRE_NAMES: Final = {
    "min_confidence": "minConfidence",
    "max_confidence": "maxConfidence",
    "date_after": "dateAfter",
    "date_before": "dateBefore",
}
_UNLIMITED: Final = "1000000/second"  # a short window, so that the limiter has little to remember


class NotServing(Exception):
    """The server did not come up, or answered a call with an error."""


@dataclass(frozen=True, slots=True)
class Filled:
    """What was opened over the filled store, and how long each part took, in seconds."""

    knowledge: Engine
    records: float
    columns_and_keywords: float
    neighbours: float


class Corpus(Protocol):
    """Anything that a store can be filled with."""

    def entries(self) -> Iterator[Entry]: ...


def fill(settings: Settings, corpus: Corpus, model: str) -> Filled:
    """Writes the corpus to the store, unless an earlier run did, and brings every index up to date."""
    began = perf_counter()
    records = open_records(settings.store_url)
    told = settings.data_dir / "filled.json"  # of a store that an earlier run kept
    if not told.exists():
        entries = corpus.entries()
        while batch := list(islice(entries, _BATCH)):
            records.put(batch, model)
    records.close()
    stored = perf_counter()
    knowledge = open_engine(settings)
    opened = perf_counter()
    if knowledge.indexes.vectors_state == "off" or not knowledge.indexes.wait_until_vectors_are_ready():
        raise NotServing("the vector index did not become ready")
    if not told.exists():
        told.write_bytes(orjson.dumps((stored - began, opened - stored, perf_counter() - stored)))
    return Filled(knowledge, *orjson.loads(told.read_bytes()))


class Caller:
    """Calls methods over one connection."""

    def __init__(self, host: str, port: int, token: str) -> None:
        self.port = port
        self.token = token
        self._connection = HTTPConnection(host, port, timeout=_DEADLINE)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, query: str, filters: Filters, mode: Mode, limit: int) -> bytes:
        """The body of the answer, not yet read."""
        params = {"query": query, "filters": wire_filters(filters), "mode": mode.value, "limit": limit}
        return self.send("cstp.queryDecisions", params)

    def send(self, method: str, params: Mapping[str, object]) -> bytes:
        """The body of the answer to one call, not yet read."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._connection.request("POST", "/cstp", orjson.dumps(request), self._headers)
        return self._connection.getresponse().read()

    def get(self, path: str) -> bytes:
        """The body of the answer to a GET."""
        self._connection.request("GET", path)
        return self._connection.getresponse().read()

    def close(self) -> None:
        self._connection.close()


def result_of(body: bytes) -> dict[str, Any]:
    """The result in an answer. Raises NotServing for an error."""
    reply = orjson.loads(body)
    if "result" not in reply:
        raise NotServing(f"a call was answered with {reply.get('error')}")
    result: dict[str, Any] = reply["result"]
    return result


def found_places(body: bytes) -> list[int]:
    """The places in the corpus of the decisions in an answer. Raises NotServing for an error."""
    return [int(decision["id"].removeprefix("dec_")) for decision in result_of(body)["decisions"]]


def wire_filters(filters: Filters) -> dict[str, object]:
    """The filters as a request has them."""
    given = {_WIRE_NAMES.get(name, name): value for name, value in asdict(filters).items() if value not in (None, ())}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in given.items()}


@contextmanager
def served(settings: Settings, variables: Mapping[str, str] | None = None) -> Iterator[Caller]:
    """`cstp serve` over the folder of `settings`, with CSTP_* `variables`, its log in a file, until the block ends.

    Raises NotServing when it does not come up.
    """
    known, token = create_token(settings.tokens_path, "benchmark", lifetime=timedelta(days=1))
    log_path = settings.data_dir / "server.log"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CSTP_", "OPENBLAS_"))}
    environment |= {"CSTP_LIMITS__DEFAULT": _UNLIMITED, **(variables or {})}
    command = [sys.executable, "-c", "from cstp_server.cli.entry import main; main()", "serve"]
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            [*command, "--port", "0", "--data-dir", str(settings.data_dir)], stderr=log, env=environment
        )
    try:
        caller = Caller(*listening(process, log_path, settings.indexes_path / "chroma.clean.json"), token)
        yield caller
        caller.close()
    finally:
        process.terminate()
        process.wait()
        revoke_token(settings.tokens_path, known.id)


def listening(process: "subprocess.Popen[bytes]", log_path: Path, mark: Path) -> tuple[str, int]:
    """Where the server listens, once its indexes are open: it removes `mark`, Chroma's of a clean shutdown, then.

    Raises NotServing when it does not come up.
    """
    deadline = monotonic() + _DEADLINE
    while process.poll() is None and monotonic() < deadline:
        address = _ADDRESS.search(log_path.read_bytes())
        if address and not mark.exists():
            return address[1].decode(), int(address[2])
        sleep(0.05)
    raise NotServing(f"the server did not come up; its log: {log_path.read_text(errors='replace')}")


def fetch(port: int, path: str) -> tuple[int, str]:
    """The status and the text of the answer to a GET over a new connection."""
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def samples(port: int, name: str) -> list[tuple[Mapping[str, str], float]]:
    """The labels and the value of each sample that `/metrics` has of this name."""
    families = text_string_to_metric_families(fetch(port, "/metrics")[1])
    return [(each.labels, each.value) for family in families for each in family.samples if each.name == name]


def metric(port: int, name: str) -> float:
    """The value of the first sample of this name."""
    return samples(port, name)[0][1]


def wait_until_ready(port: int) -> None:
    """Raises NotServing when the server does not become ready."""
    deadline = monotonic() + _READY
    while fetch(port, "/readyz")[0] != 200:
        if monotonic() > deadline:
            raise NotServing("the server did not become ready")
        sleep(0.05)
