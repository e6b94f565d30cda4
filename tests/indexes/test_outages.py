"""A long outage of a Chroma server: followers keep retrying."""

import socket
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from cognition_engines.indexes.indexes import open_indexes
from cognition_engines.indexes.vectors import live as neighbours
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.kinds.registry import embedding_text
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.indexes.made import Maker, entry

MANY = 1100  # more than a float can be doubled


@pytest.mark.long("makes many records, or rebuilds indexes")
@pytest.mark.embedded_only("its Chroma server is a socket of its own")
def test_after_a_thousand_failures_in_a_row_the_server_is_still_asked(
    records: Records,
    seeded: Callable[..., Any],
    tmp_path: Path,
    wait_until: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(neighbours, "RETRY_SECONDS", 0.0)
    chunk, embedder = Maker(3).record(Kind.CHUNK), seeded()
    text = embedding_text(chunk)
    assert text is not None
    records.put([entry(chunk, embedder.embed_text(text))], embedder.model)
    asked = 0

    def refuse(server: socket.socket) -> None:
        nonlocal asked
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            asked += 1
            client.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=refuse, args=(server,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        indexes = open_indexes(tmp_path / "indexes", records, embedder, VectorChoice("chroma", url))
        indexes.start()
        wait_until(lambda: asked > MANY)
        assert indexes.vectors_state == "down"
        indexes.close()
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)
