"""A Chroma server killed, frozen, or without the collection under a running server."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from cognition_engines.store.records import open_records
from tests.chaos.asking import Answer, callers
from tests.chaos.chaos import Chaos, frozen, killed
from tests.chaos.process import Served
from tests.chaos.questions import Questions
from tests.chaos.store import MODEL, decision, fill
from tests.chaos.test_index_files import ASKED, SETTINGS, windows_of
from tests.stores import ChromaProgram

DEADLINE = 5.0  # of a request to Chroma
LATE = 5.0  # extra seconds for a busy machine

BUILT_WITHIN = 120.0


@contextmanager
def deleted(chroma: ChromaProgram) -> Iterator[None]:
    chroma.forget("")
    yield


@contextmanager
def of_another_dimension(chroma: ChromaProgram) -> Iterator[None]:
    (found,) = chroma.collections()
    chroma.forget("")
    chroma.create(found["name"], found["metadata"], [0.5] * 3)
    yield


@pytest.mark.timeout(7200)
def test_a_server_survives_a_dead_or_frozen_chroma_server(chaos: Chaos, own_chroma: ChromaProgram) -> None:
    (count, windows), rounds = chaos.scale.pick(((200, 8), 1), (ASKED, 5))
    records = open_records(f"sqlite:///{chaos.folder}/data/records.sqlite3")
    fill(records, (decision(f"base-{number}") for number in range(count)), partial(windows_of, count=windows), SETTINGS)
    records.close()
    settings = {"vectors.url": own_chroma.url, "vectors.deadline_seconds": 2, "embedding.settings": SETTINGS}
    server = chaos.served(MODEL | settings, data_dir=chaos.folder / "data")
    questions = Questions(count, every=count // 8)
    chaos.wait_until(partial(built, server, own_chroma, count * windows), BUILT_WITHIN)
    back: list[float] = []
    whole = refused = 0
    for _ in range(rounds):
        for fault in (killed, frozen, deleted, of_another_dimension):
            with callers(server, 3, questions, pause=0.02) as noted:
                with fault(own_chroma):
                    more = len(noted.answers) + chaos.scale.pick(30, 600)
                    chaos.wait_until(lambda noted=noted, more=more: len(noted.answers) > more)
                restored = time.monotonic()
                chaos.wait_until(partial(built, server, own_chroma, count * windows), BUILT_WITHIN)
                back.append(time.monotonic() - restored)
                more = len(noted.answers) + 30
                chaos.wait_until(lambda noted=noted, more=more: len(noted.answers) > more)
            one, other = questions.check(noted.answers, DEADLINE + LATE, "vectors")
            whole, refused = whole + one, refused + other
            assert all(answer.result for answer in noted.answers if mode(answer) == "keyword")
            if fault in (deleted, of_another_dimension):
                assert other == 0, "what the collection lacks is ranked exactly"
    chaos.report(
        "3",
        "a Chroma server killed, frozen, its collection deleted, replaced by one of another dimension",
        len(back),
        f"{whole:,} answers whole, {refused} times -32003 vectors and only while it was down; keyword answers go on; "
        f"all {count * windows:,} vectors there again after {max(back):.1f} s at most",
    )


def mode(answer: Answer) -> str:
    params: Any = answer.request["params"]
    found: str = params["mode"]
    return found


def built(server: Served, chroma: ChromaProgram, windows: int) -> bool:
    """Return whether the collection has every vector and the server uses it."""
    parts = json.loads(server.request("GET", "/readyz")[1])["parts"]
    return parts["vectors"] == "ready" and chroma.windows() == windows
