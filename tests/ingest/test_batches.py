"""Runs of many records: what is committed when one fails, and what goes on at the same time."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from cognition_engines.errors import ComponentFailed
from cognition_engines.ingest.options import Summary
from cognition_engines.ingest.run import BATCH
from cognition_engines.store.records import Records
from tests.ingest.runs import Run

Adr = Callable[..., Path]


def new_and_unchanged(summary: Summary) -> tuple[int, int]:
    return summary.new, summary.unchanged


def test_a_large_file_is_committed_in_batches(records: Records, tmp_path: Path, embedder: Any, run: Run) -> None:
    lines = [json.dumps({"title": f"number {number:02}", "status": "accepted"}) for number in range(80)]
    (tmp_path / "all.jsonl").write_text("\n".join(lines))
    embedder.fails_at = "number 40"
    with pytest.raises(ComponentFailed):
        run(tmp_path / "all.jsonl")
    assert sum(records.counts().values()) == 32
    embedder.fails_at = None
    assert new_and_unchanged(run(tmp_path / "all.jsonl")) == (48, 32)


@pytest.mark.embedded_only("locks an SQLite file")
def test_the_next_batch_is_embedded_while_one_is_being_written(
    adr: Adr, records: Records, tmp_path: Path, embedder: Any, run: Run, wait_until: Callable[..., None]
) -> None:
    for number in range(3 * BATCH):
        adr(tmp_path / f"docs/{number:02}.md", f"number {number:02}")
    with closing(sqlite3.connect(tmp_path / "store/records.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        running = Thread(target=run, args=(tmp_path / "docs",))
        running.start()
        wait_until(lambda: len(embedder.texts) == 2 * BATCH)
        assert sum(records.counts().values()) == 0
        other.execute("ROLLBACK")
    running.join()
    assert sum(records.counts().values()) == len(embedder.texts) == 3 * BATCH
