"""The speed of writes, beside a bare SQLite insert, the model alone, searches meanwhile, and another server."""

import json
import sqlite3
import statistics
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import perf_counter, sleep
from typing import Final

import numpy as np

from benchmarks.page import RIGHT, table
from benchmarks.serving import Caller, NotServing, call_body, result_of, served
from benchmarks.texts import Text
from benchmarks.throughput import LoadClient, Target
from cognition_engines.embedding.base import Embedder
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import open_records
from cstp_server.settings import Settings, VectorSettings
from cstp_server.tokens import create_token

MODEL_SHARE: Final = 0.8  # of the model's own rate, at least
QUERY_BOUND: Final = 2.0  # times a search's p99 alone, at most
FOUND_BOUND: Final = 100.0  # milliseconds until another server finds a write, at the median
WRITERS: Final = 16
_CONNECTIONS: Final = (1, WRITERS)
_SLICES: Final = 6
_SECONDS: Final = 4.0
_BODIES: Final = 400  # that a slice may send before one is sent twice
_WORDS: Final = 120  # fewer than fill a window of the model
_TRIES: Final = 40
# a machine that others use as well must not end a call
_UNLIMITED: Final = {
    "CSTP_LIMITS__DEFAULT": "1000000/second",
    "CSTP_LIMITS__WRITES": "1000000/second",
    "CSTP_SERVER__HANDLER_SECONDS": "60",
    "CSTP_STORE__DEADLINE_SECONDS": "30",
    "CSTP_EMBEDDING__DEADLINE_SECONDS": "30",
}


_READING: Final = f"""\
Reading the tables:

- A write is `cstp.recordDecision` over HTTP on loopback with a text of one window: embedded, durable and found by this
  server's searches when it is answered. A server in a separate process, the bare inserts and the model took turns.
- *Bare insert*: the same text and as many bytes as a vector has, one SQLite transaction each, `synchronous=FULL`.
- *Model alone*: the same texts embedded in a process that does nothing else, with one thread for each connection, at
  most two. *Share* is the rate of writes over that; it is to be at least {MODEL_SHARE}.
- *Search*: hybrid, one connection, texts that the server has never seen; its p99 while {WRITERS} clients write is to
  be at most {QUERY_BOUND:g} times that alone. The server, both clients and what they wait for share the machine.
- *Found elsewhere*: from the answer until a second server over the same records finds the write by a word; at the
  median at most {FOUND_BOUND:g} ms."""


def measure_writes(texts: Sequence[Text], embedder: Embedder) -> list[str]:
    """Return the parts of the page: everything about writes, over one server, and two of one store."""
    with TemporaryDirectory(prefix="cstp-benchmark-") as name, ExitStack() as stack:
        folder = Path(name)
        settings = Settings(data_dir=folder / "data", vectors=VectorSettings(index="chroma"))
        caller = stack.enter_context(served(settings, _UNLIMITED))
        client = stack.enter_context(closing(LoadClient()))
        bodies = _bodies(texts)
        token = _token(settings)
        writer = Target(caller.port, token, ())
        rates = [_rate(folder, writer, client, bodies, embedder, many) for many in _CONNECTIONS]
        _check_count(settings, sum(sent for _, sent in rates))
        alone, meanwhile = _searches(caller, writer, client, bodies, [text.title for text in texts])
        found = _found_elsewhere(folder, settings, caller.port, token, stack)
    heads = ["connections", "writes a second", "p50, ms", "p99, ms", "bare inserts a second", "model alone a second"]
    search = ["p99 of a search, ms", f"{alone:.0f}", f"{meanwhile:.0f}", f"{meanwhile / alone:.1f}"]
    p50, p95 = np.percentile(found, (50, 95))
    return [
        _READING,
        table([*heads, "share"], [cells for cells, _ in rates], RIGHT),
        table(["what", "alone", "meanwhile", "ratio"], [search], RIGHT),
        f"Found elsewhere after {p50:.0f} ms at the median, {p95:.0f} ms at p95.",
    ]


def _token(settings: Settings) -> str:
    _, token = create_token(settings.tokens_path, "writer", scopes=("read", "write"), lifetime=timedelta(days=1))
    return token


def _bodies(texts: Sequence[Text]) -> Iterator[list[str]]:
    """Yield calls of recordDecision for one slice after the other; no two have the same text."""
    number = 0
    while True:
        calls = []
        for _ in range(_BODIES):
            text = texts[number % len(texts)]
            words = " ".join(text.body.split()[:_WORDS])
            params = {"decision": f"{text.title[:200]} ({number})", "context": words or "none", "confidence": 0.5}
            calls.append(call_body("cstp.recordDecision", params).decode())
            number += 1
        yield calls


def _rate(
    folder: Path,
    writer: Target,
    client: LoadClient,
    bodies: Iterator[list[str]],
    embedder: Embedder,
    connections: int,
) -> tuple[list[str], int]:
    """Return a row of the table, of the server, the bare inserts and the model in turn, and the number of answers."""
    rows: list[tuple[float, ...]] = []
    sent = 0
    for number in range(-1, _SLICES):  # the first round warms up
        calls = next(bodies)
        load = client.run(replace(writer, bodies=calls), connections, _SECONDS if number >= 0 else 1.0)
        sent += load.answers
        texts, rate = [_text_of(call) for call in calls], load.answers / load.seconds
        bare = _bare_inserts(folder / "bare.sqlite3", texts)
        model = _model_alone(embedder, texts, min(connections, 2))
        if number >= 0:
            rows.append((rate, load.p50, load.p99, bare, model, rate / model))
    rate, p50, p99, bare, model, share = map(statistics.median, zip(*rows, strict=True))
    figures = [f"{rate:.1f}", f"{p50:.0f}", f"{p99:.0f}", f"{bare:.0f}", f"{model:.1f}", f"{share:.2f}"]
    return [f"{connections}", *figures], sent


def _text_of(call: str) -> str:
    params = json.loads(call)["params"]
    return f"{params['decision']}\n## Context and Problem Statement\n\n{params['context']}"


def _bare_inserts(path: Path, texts: Sequence[str], seconds: float = 1.0) -> float:
    """Return inserts a second of the same texts, each with a vector's bytes and in its own transaction."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS t (key INTEGER PRIMARY KEY, text TEXT, vector BLOB)")
        count, began = 0, perf_counter()
        while perf_counter() - began < seconds:
            row = (texts[count % len(texts)], bytes(1536))
            connection.execute("INSERT INTO t (text, vector) VALUES (?, ?)", row)
            count += 1
        return count / (perf_counter() - began)


def _model_alone(embedder: Embedder, texts: Sequence[str], threads: int, seconds: float = 2.0) -> float:
    """Return the texts a second that the model embeds in this process with nothing else to do."""
    numbers = iter(range(len(texts) * 1000))
    began = perf_counter()

    def work(_: int) -> int:
        count = 0
        while perf_counter() - began < seconds:
            embedder.embed_text(texts[next(numbers) % len(texts)])
            count += 1
        return count

    with ThreadPoolExecutor(threads) as pool:
        done = sum(pool.map(work, range(threads)))
        return done / (perf_counter() - began)


def _check_count(settings: Settings, sent: int) -> None:
    """Raise NotServing unless each answer was a decision that is stored."""
    records = open_records(settings.store_url)
    stored = records.counts()[Kind.DECISION]
    records.close()
    if stored != sent:
        raise NotServing(f"{sent} writes were answered, and {stored} decisions are stored")


def _searches(
    caller: Caller, writer: Target, client: LoadClient, bodies: Iterator[list[str]], titles: Sequence[str]
) -> tuple[float, float]:
    """Return the p99 of hybrid searches over one connection, alone and while WRITERS write, in turns; medians, ms."""
    alone: list[float] = []
    meanwhile: list[float] = []
    for number in range(-1, _SLICES):
        quiet = _p99(caller, titles, Event(), _SECONDS)
        stop = Event()
        order = (replace(writer, bodies=next(bodies)), WRITERS, _SECONDS)
        writing = Thread(target=lambda order=order, stop=stop: (client.run(*order), stop.set()))
        writing.start()
        busy = _p99(caller, titles, stop, _SECONDS * 2)
        writing.join()
        if number >= 0:
            alone.append(quiet)
            meanwhile.append(busy)
    return statistics.median(alone), statistics.median(meanwhile)


def _p99(caller: Caller, titles: Sequence[str], stop: Event, seconds: float) -> float:
    took: list[float] = []
    fresh = Caller(caller.port, caller.token)  # the server has ended one that was idle for long
    until = perf_counter() + seconds
    while perf_counter() < until and not stop.is_set():
        query = f"{titles[len(took) % len(titles)][:200]} {len(took)}"
        began = perf_counter()
        result_of(fresh.send("cstp.queryDecisions", {"query": query, "mode": "hybrid"}))
        took.append((perf_counter() - began) * 1000)
    fresh.close()
    return float(np.percentile(took, 99))


def _found_elsewhere(folder: Path, settings: Settings, port: int, token: str, stack: ExitStack) -> list[float]:
    """Return milliseconds from a write's answer until a second server over the same records finds it by a word."""
    other = Settings(data_dir=folder / "other", vectors=VectorSettings(index="chroma"))
    (folder / "other").mkdir()
    reader = stack.enter_context(served(other, {**_UNLIMITED, "CSTP_STORE__URL": settings.store_url}))
    writer = Caller(port, token)
    found = []
    for number in range(_TRIES):
        word = f"elsewhere{number}x"
        sleep(0.2 + 0.007 * (number % 13))  # at another moment between two looks each time
        result_of(writer.send("cstp.recordDecision", {"decision": f"Put it {word}", "confidence": 0.5}))
        began = perf_counter()
        while not result_of(reader.send("cstp.queryDecisions", {"query": word, "mode": "keyword"}))["decisions"]:
            sleep(0.002)
        found.append((perf_counter() - began) * 1000)
    writer.close()
    return found
