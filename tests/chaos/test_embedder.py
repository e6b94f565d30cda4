"""A model that hangs, raises or returns invalid vectors: words still work, nothing of it is stored, it recovers."""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.queries.pools import GIVEN_UP_AFTER
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Entry
from tests.chaos.embedder.chaos_embedder import DIM
from tests.chaos.process import COMMAND, Served, environment, run_cstp
from tests.chaos.store import MODEL, Known, asked, decision, found_in_all_modes, store_of, use_embedder, write_jsonl
from tests.stored import Upsert, changes_of, models

WRONG = ("raise", "nan", "dimension", "zero", "infinite", "count", "nothing")
DEADLINE = 1.0
LATE = 2.0  # extra seconds for a busy machine
MORE_THREADS = 8  # more threads than before, of any kind
BASE = 60


@dataclass
class Setting:
    """A server over a store, the model's control file, and the store as seen by another process."""

    server: Served
    control: Path
    records: Records
    folder: Path

    def tell(self, behaviour: str) -> None:
        draft = self.control.with_suffix(".new")
        draft.write_text(behaviour)
        draft.replace(self.control)

    def failed_part(self, query: str, mode: str) -> str | None:
        """Return the component named by an answer; None for a result."""
        reply = self.server.call("cstp.queryDecisions", {"query": query, "mode": mode})
        if "result" in reply:
            return None
        assert reply["error"]["code"] == -32003, f"{reply}; {self.server.last_log()}"
        part: str = reply["error"]["data"]["component"]
        return part


@pytest.fixture
def setting(served: Callable[..., Served], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Setting]:
    """Yield a setting before the start."""
    use_embedder(monkeypatch, tmp_path / "behaviour")
    store_of(tmp_path / "data", BASE)
    server = served(MODEL | {"embedding.deadline_seconds": DEADLINE}, data_dir=tmp_path / "data", start=False)
    records = open_records(f"sqlite:///{tmp_path}/data/records.sqlite3")
    yield Setting(server, tmp_path / "behaviour", records, tmp_path)
    records.close()


def words_go_on(setting: Setting, number: int) -> None:
    """Check that keyword answers stay complete, without distances, and other modes name the model in time."""
    for mode in ("semantic", "hybrid"):
        began = time.monotonic()
        assert setting.failed_part(f"never asked before {mode} {number}", mode) == "embedder"
        assert time.monotonic() - began < DEADLINE + LATE
    found = asked(setting.server, f"groupbase1 {number}", "keyword", 50)
    assert {one["id"] for one in found} == {f"base-{number}" for number in range(20, 40)}
    assert {one["distance"] for one in found} == {None}


def works_again(setting: Setting, number: int) -> bool:
    return setting.failed_part(f"never asked before either {number}", "semantic") is None


def seen(records: Records) -> Known:
    known = Known(records)
    known.read_on()
    return known


def only_good_vectors(records: Records, model: str) -> bool:
    changes = changes_of(records, 0, 100_000, model)
    arrays = [change.vectors for change in changes if isinstance(change, Upsert) and change.vectors is not None]
    return all(array.shape[1] == DIM and np.isfinite(array).all() and array.any(axis=1).all() for array in arrays)


def test_a_model_with_wrong_answers_fails_alone_and_stores_nothing(
    setting: Setting, wait_until: Callable[..., None], chaos_scale: Any, chaos_report: Callable[..., None]
) -> None:
    server, records = setting.server.start(), setting.records
    (model,) = models(records)
    wrong = chaos_scale.pick(WRONG[:4], WRONG * 10)
    recovery: list[float] = []
    pending = 0
    for behaviour in wrong:
        setting.tell(behaviour)
        pending += 1
        one = decision(f"late-{pending}")
        records.put([Entry(one, Origin("/made/up.md", 0, None, one.title), None)], None)
        words_go_on(setting, pending)
        write_jsonl(setting.folder / "new.jsonl", [decision(f"new-{pending}")])
        words = ("ingest", setting.folder / "new.jsonl", "--json", "--data-dir", server.data_dir)
        refused = run_cstp(*words, overrides=server.overrides, cwd=setting.folder)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert refused.stderr.splitlines()[-1].startswith("cstp: embedder: ")
        assert refused.stderr.count("\n") == 2  # the first names the store
        assert f"new-{pending}" not in records.reads.by_ids(Kind.DECISION, [f"new-{pending}"])
        setting.tell("")
        restored = time.monotonic()
        wait_until(partial(works_again, setting, pending))
        wait_until(partial(found_in_all_modes, server, seen(records), f"late-{pending}"))
        recovery.append(time.monotonic() - restored)
    assert only_good_vectors(records, model)
    assert models(records) == {model: BASE + pending}
    log = server.log_path.read_text()
    assert "canary" not in log
    assert max(map(len, log.splitlines())) <= 4096
    assert log.count("cannot be embedded") <= 2 * pending
    chaos_report(
        "5",
        f"a model that answers: {', '.join(WRONG)}",
        len(wrong),
        "semantic and hybrid -32003 embedder, keyword complete without distances; ingest ends with 1 and stores "
        f"nothing; all found in all modes at most {max(recovery):.1f} s after it answers well",
    )


def test_a_hanging_model_is_given_up_at_the_deadline_and_reused_without_restart(
    setting: Setting, wait_until: Callable[..., None], chaos_scale: Any, chaos_report: Callable[..., None]
) -> None:
    server = setting.server.start()
    assert setting.failed_part("warm", "hybrid") is None
    rounds, calls = chaos_scale.pick((1, 20), (20, 200))
    before = server.threads()
    longest, most = 0.0, 0
    for number in range(rounds):
        setting.tell("hang")

        def one(place: int, number: int = number) -> float:
            began = time.monotonic()
            assert setting.failed_part(f"hanging {number} {place}", ("semantic", "hybrid")[place % 2]) == "embedder"
            return time.monotonic() - began

        with ThreadPoolExecutor(10) as pool:
            longest = max(longest, *pool.map(one, range(calls)))
        words_go_on(setting, number)
        most = max(most, server.threads())
        setting.tell("")
        wait_until(partial(works_again, setting, number))
    if chaos_scale.long:
        setting.tell("never")
        words_go_on(setting, rounds)
        setting.tell("")
        wait_until(partial(works_again, setting, rounds), GIVEN_UP_AFTER * DEADLINE + 10)
    assert longest < DEADLINE + LATE
    assert most - before <= MORE_THREADS
    chaos_report(
        "5",
        "a model that hangs",
        rounds * calls,
        f"-32003 embedder after at most {longest:.1f} s (deadline {DEADLINE:g} s); {most - before} more threads",
    )


@pytest.mark.parametrize("behaviour", ["hang", "dimension"])
def test_a_server_starts_without_its_model(setting: Setting, wait_until: Callable[..., None], behaviour: str) -> None:
    setting.tell(behaviour)
    setting.server.start()
    words_go_on(setting, 1)
    setting.tell("")
    wait_until(partial(works_again, setting, 1))
    assert found_in_all_modes(setting.server, seen(setting.records), "base-7")
    assert setting.server.terminate() == 0


def test_an_ingest_with_a_hanging_model_ends_at_ctrl_c(setting: Setting, wait_until: Callable[..., None]) -> None:
    setting.tell("hang")
    write_jsonl(setting.folder / "new.jsonl", [decision("new-1")])
    words = ("ingest", str(setting.folder / "new.jsonl"), "--data-dir", str(setting.server.data_dir))
    process = subprocess.Popen(
        [*COMMAND, *words],
        cwd=setting.folder,
        env=environment(setting.server.overrides),
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(setting.control.with_suffix(".hanging").exists)

    def ended() -> bool:
        process.send_signal(signal.SIGINT)  # Python may miss a signal just before a thread waits
        try:
            return process.wait(4) is not None
        except subprocess.TimeoutExpired:
            return False

    try:
        wait_until(ended)
    finally:
        process.kill()
        _, err = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in err
