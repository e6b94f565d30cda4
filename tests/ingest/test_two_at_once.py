"""Two runs at once: neither overwrites records of the other, and nothing is lost."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from cognition_engines.ingest.options import Options, Summary
from cognition_engines.ingest.run import ingest
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records, open_records
from tests.ingest.conftest import CountingEmbedder, Silent
from tests.ingest.runs import counts, ids, json_lines, stored
from tests.stores import Stores

Checkout = Callable[..., Path]
WORDS = [f"word-{number}" for number in range(40)]


class Waiting(CountingEmbedder):
    """Embedder that waits before the first text until both runs have compared with the store."""

    def __init__(self, barrier: Barrier) -> None:
        super().__init__()
        self._barrier: Barrier | None = barrier

    def embed_text(self, text: str) -> Any:
        if self._barrier is not None:
            barrier, self._barrier = self._barrier, None
            barrier.wait(30)
        return super().embed_text(text)


@pytest.fixture
def both(stores: Stores, tmp_path: Path) -> Iterator[Callable[[Path, Path], tuple[Summary, Summary]]]:
    """Return `both(one, other)`: two runs that compare with the store before either writes."""
    url = stores.records(tmp_path / "store")
    opened = [open_records(url) for _ in range(2)]

    def run(*paths: Path) -> tuple[Summary, Summary]:
        barrier = Barrier(2)

        def one(path: Path, records: Records) -> Summary:
            return ingest([path], Options(), records, Waiting(barrier), Silent(), threads=1)

        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(one, paths, opened)
        return first, second

    yield run
    for records in opened:
        records.close()


def decision(title: str) -> dict[str, Any]:
    return {"kind": "decision", "id": "d", "title": title}


def test_the_same_id_in_two_repositories_is_stored_twice(both: Any, records: Records, checkout: Checkout) -> None:
    files = [json_lines(checkout(name, f"https://h.example/{name}") / "a.jsonl", decision(name)) for name in "ab"]
    for summary in both(*files):
        assert (counts(summary), summary.rejected) == ((1, 0, 0, 0), ())
    assert {one.title for one in stored(records, Kind.DECISION)} == {"a", "b"}


def test_the_second_of_two_equal_ids_is_refused(both: Any, records: Records, checkout: Checkout) -> None:
    repo = checkout("repo", "https://h.example/shop")
    files = [json_lines(repo / f"{name}.jsonl", decision(name)) for name in "ab"]
    summaries = both(*files)
    assert sorted(counts(summary)[0] for summary in summaries) == [0, 1]
    ((problem),) = [problem for summary in summaries for problem in summary.rejected]
    (winner,) = stored(records, Kind.DECISION)
    assert problem.file == str(repo / ("b.jsonl" if winner.title == "a" else "a.jsonl"))
    assert str(repo / f"{winner.title}.jsonl") in problem.reason


def test_two_runs_over_the_same_file_store_it_once(both: Any, records: Records, checkout: Checkout) -> None:
    file = json_lines(checkout("repo", "https://h.example/shop") / "a.jsonl", decision("t"))
    assert sorted(counts(summary) for summary in both(file, file)) == [(0, 0, 1, 0), (1, 0, 0, 0)]
    assert len(ids(records, Kind.DECISION)) == 1


SCRIPT = """
import sys
from pathlib import Path
from cognition_engines.ingest.options import Options
from cognition_engines.ingest.run import ingest
from cognition_engines.store.records import open_records
from tests.ingest.conftest import Silent
records = open_records(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
summary = ingest([Path(sys.argv[2])], Options(), records, None, Silent())
print(summary.new, len(summary.rejected), flush=True)
"""


@pytest.mark.long("starts two processes")
@pytest.mark.parametrize("repositories", ["one repository", "two repositories"])
def test_two_processes_lose_nothing(
    stores: Stores, records: Records, tmp_path: Path, checkout: Checkout, repositories: str
) -> None:
    url = stores.records(tmp_path / "store")
    folders = [
        checkout(name, f"https://h.example/{name if repositories.startswith('two') else 'shop'}") for name in "ab"
    ]
    for folder in folders:
        members = [{"kind": "decision", "id": word, "title": f"{folder.name} {word}"} for word in WORDS]
        (folder / f"{folder.name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in members))
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", SCRIPT, url]
    runs = [subprocess.Popen([*command, str(folder)], stdin=pipe, stdout=pipe, text=True) for folder in folders]
    for run in runs:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
    found = [run.communicate("\n", timeout=60)[0].split() for run in runs]
    new, refused = (sum(int(each[place]) for each in found) for place in (0, 1))
    count = len(stored(records, Kind.DECISION))
    assert (new, refused) == ((80, 0) if repositories.startswith("two") else (40, 40))
    assert count == new
