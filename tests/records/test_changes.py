"""Following the store: every change, once, in order, while others write."""

import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Entry, Outcome
from tests.stored import Change, Removal, Upsert, changes_of

Make = Callable[..., Entry]

# Arguments: URL, name of the writer, number of batches, kind. A batch puts five; "mixed" also changes and deletes.
WRITER = """
import sys
import numpy as np
from cognition_engines.kinds.registry import Kind
from cognition_engines.models import Decision
from cognition_engines.store.records import open_records
from cognition_engines.store.values import Entry, Origin

def entry(id, text):
    return Entry(Decision(id, id, text), Origin("/s", 0, None, text), np.full((2, 3), len(text), np.float32))

url, name, batches, mixed = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "mixed"
records = open_records(url)
print("ready", flush=True)
sys.stdin.readline()
for batch in range(batches):
    ids = [f"{name}-{batch}-{number}" for number in range(5)]
    records.put([entry(id, "old") for id in ids], "m")
    if mixed:
        records.put([entry(id, "newer") for id in ids[:2]] + [entry("shared", f"{name}-{batch}")], "m")
        records.delete(Kind.DECISION, [ids[4], "shared"] if batch % 3 == 0 else [ids[4]])
records.close()
"""


def start_writers(url: str, batches: int, kind: str) -> list[subprocess.Popen[str]]:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, url, name, str(batches), kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("x", "y")
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    return writers


def follow(records: Records, writers: list[subprocess.Popen[str]], limit: int) -> list[Change]:
    """All changes until the writers are done and nothing is left."""
    seen: list[Change] = []
    while True:
        running = any(writer.poll() is None for writer in writers)
        page = changes_of(records, seen[-1].seq if seen else 0, limit, "m")
        assert len(page) <= limit
        seen += page
        if not page and not running:
            break
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    return seen


@pytest.mark.long("writes from several processes")
def test_a_reader_that_follows_two_writing_processes_misses_nothing(url: str) -> None:
    records = open_records(url)
    seen = follow(records, start_writers(url, 60, "inserts"), limit=7)
    seqs = [change.seq for change in seen]
    assert seqs == sorted(set(seqs))
    assert len(seqs) == 600
    ids = [change.stored.record.id for change in seen if isinstance(change, Upsert)]
    assert len(set(ids)) == 600
    records.close()


@pytest.mark.long("writes from several processes")
def test_a_copy_kept_by_following_ends_as_the_store_does(url: str) -> None:
    records = open_records(url)
    copy: dict[int, Upsert] = {}
    last = 0
    for change in follow(records, start_writers(url, 40, "mixed"), limit=7):
        assert change.seq > last
        last = change.seq
        if isinstance(change, Removal):
            copy.pop(change.key, None)
        else:
            assert change.vectors is not None
            assert (change.vectors == len(change.stored.record.text)).all()
            copy[change.stored.key] = change
    held = {upsert.stored.record.id: upsert.stored for upsert in copy.values()}
    assert len(held) == len(copy) == sum(records.counts().values())
    assert held == records.reads.by_ids(Kind.DECISION, list(held))
    assert last <= records.last_seq()
    records.close()


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["put", "delete", "vectors"]), st.sampled_from("abcd"), st.sampled_from(["s", "t"])),
    max_size=20,
)


@pytest.mark.long("writes from several processes")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=OPERATIONS, limit=st.integers(1, 5))
def test_pages_are_complete(records: Records, entry: Make, operations: list[tuple[str, str, str]], limit: int) -> None:
    start = records.last_seq()
    expected: dict[int, tuple[int, str]] = {}
    for step, (operation, id, text) in enumerate(operations):
        held = records.reads.by_ids(Kind.DECISION, [id]).get(id)
        if operation == "put":
            if records.put([entry(id, text, windows=2)], "m") != (Outcome.UNCHANGED,):
                expected[records.reads.by_ids(Kind.DECISION, [id])[id].key] = (step, "upsert")
        elif held is not None and operation == "delete":
            records.delete(Kind.DECISION, [id])
            expected[held.key] = (step, "removal")
        elif held is not None:
            vectors = entry(id, text, windows=3).vectors
            assert vectors is not None
            records.put_vectors([(held.key, vectors)], "n")
            expected[held.key] = (step, "upsert")
    seen: list[tuple[int, str]] = []
    while page := changes_of(records, start, limit, None):
        assert len(page) <= limit
        start = page[-1].seq
        seen += [
            (change.key, "removal") if isinstance(change, Removal) else (change.stored.key, "upsert") for change in page
        ]
    assert seen == [(key, operation) for key, (_, operation) in sorted(expected.items(), key=lambda one: one[1])]
