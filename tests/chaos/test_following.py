"""A reader of changes is killed repeatedly while others write: it misses nothing and repeats nothing."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Any

import pytest

from cognition_engines.store.records import open_records
from tests.following.readers import VIEWERS, names, seen, write
from tests.serving import Serving, start
from tests.stores import Stores

IDS = 40
# Resumes after the last complete line of the file, and writes a line for each change as it arrives.
READER = """
import json, os, sys
from cstp import Client
url, token, file = sys.argv[1:]
kept = open(file, "rb").read() if os.path.exists(file) else b""
whole = kept[: kept.rfind(b"\\n") + 1]
with open(file, "wb" if not whole else "r+b") as lines:
    lines.truncate(len(whole))
    lines.seek(len(whole))
    cursor = json.loads(whole.splitlines()[-1])[0] if whole else 0
    print("reads", flush=True)
    for change in Client(url, token).changes(cursor, page_size=17, wait_seconds=1.0, timeout=60):
        lines.write(json.dumps([change.seq, change.op, change.kind, change.id]).encode() + b"\\n")
        lines.flush()
"""


@pytest.fixture
def serving(tmp_path: Path, stores: Stores) -> Iterator[Serving]:
    opened, stop = start(tmp_path, stores, None, None)
    yield opened
    stop()


def test_a_reader_killed_under_load_misses_and_repeats_nothing(
    serving: Serving, tmp_path: Path, stores: Stores, chaos_scale: Any, chaos_report: Callable[..., None]
) -> None:
    kills, random = chaos_scale.pick(6, 1000), Random(11)
    viewer = VIEWERS[1]
    token = serving.token(clearance="sensitive", projects=["p"])
    file, ending = tmp_path / "changes.jsonl", Event()

    def load(number: int) -> None:
        own, draws = open_records(stores.records(tmp_path)), Random(number)
        while not ending.wait(0.02):
            write(own, draws, IDS)
        own.close()

    writers = [Thread(target=load, args=(number,)) for number in range(2)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(kills):
            reader = begun(serving.url, token, file)
            ending.wait(random.random() * 0.5)
            reader.kill()
            reader.communicate()
    finally:
        ending.set()
        for writer in writers:
            writer.join()
    reader = begun(serving.url, token, file)
    expected = {(kind.label, id): seq for (kind, id), seq in seen(serving.records, viewer, names(IDS)).items()}
    for _ in range(600):
        if known(file) == expected:
            break
        Event().wait(0.1)
    reader.kill()
    reader.communicate()
    assert known(file) == expected
    seqs = [line[0] for line in lines(file)]
    assert seqs == sorted(set(seqs)), "nothing twice, and in order"
    chaos_report("following", "a reader of changes killed under writers", kills, f"{len(seqs):,} changes, each once")


def begun(url: str, token: str, file: Path) -> "subprocess.Popen[str]":
    """Start a reader with an open file."""
    reader = subprocess.Popen([sys.executable, "-c", READER, url, token, str(file)], stdout=subprocess.PIPE, text=True)
    assert reader.stdout is not None
    assert reader.stdout.readline() == "reads\n"
    return reader


def lines(file: Path) -> list[Any]:
    content = file.read_bytes()
    return [json.loads(line) for line in content[: content.rfind(b"\n") + 1].splitlines()]


def known(file: Path) -> dict[tuple[str, str], int]:
    """Return the state described by the lines."""
    found: dict[tuple[str, str], int] = {}
    for seq, op, kind, id in lines(file):
        if op == "put":
            found[kind, id] = seq
        else:
            found.pop((kind, id), None)
    return found
