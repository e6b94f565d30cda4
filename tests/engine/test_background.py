"""Background work continues after every error, and reports it while failing."""

import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from errno import ENOSPC
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from cognition_engines.background import Background, BackgroundThread
from cognition_engines.engine import Engine, EngineOptions
from cognition_engines.errors import ComponentFailed
from cognition_engines.ingest.options import FollowedSource, Options
from cognition_engines.store.erasure.forgetting import Forgetting
from cognition_engines.writing.erasing import LedgerFile, Retention
from tests.serving import SeededEmbedder, Serving, start
from tests.stores import Stores, wait_for


class PanicException(BaseException):
    """A panic as in Rust extensions: not an Exception, and recognized by name alone."""


ERRORS: list[BaseException] = [
    OSError(ENOSPC, "No space left on device"),
    sqlite3.OperationalError("database or disk is full"),
    sa.exc.OperationalError("SELECT 1", {}, Exception("gone")),
    ComponentFailed("records", "the disk is full"),
    ValueError("of a text"),
    MemoryError(),
    RecursionError(),
    RuntimeError("dictionary changed size during iteration"),
    KeyError("key"),
    PanicException("index out of bounds"),
]
SPACES = ("decisions", "knowledge", "memory", "episodes")
WORK = {
    *("watcher", "filler", "saver", "listings", "retention", "audit", "sources", "mask-rules"),
    *(f"{space}-{work}" for space in SPACES for work in ("follower", "vectors")),
}


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_thread_continues_after_an_error_of_any_class(error: BaseException) -> None:
    background, again, go_on = Background(), Event(), Event()
    calls: list[int] = []

    def work() -> float:
        calls.append(len(calls))
        if len(calls) == 1:
            raise error
        again.set()
        go_on.wait(60)
        return 60.0

    thread = BackgroundThread("sweeper", work, background, "nothing is swept")
    assert dict(background.failures) == {"sweeper": 0}
    thread.start()
    try:
        assert again.wait(60)
        assert background.failures["sweeper"] == 1
        assert [one.name for one in background.failing] == ["sweeper"], "until the round has succeeded"
        go_on.set()
        wait_for(lambda: background.failing == ())
        assert thread.is_alive
    finally:
        go_on.set()
        thread.close(60)
    assert not thread.is_alive


def test_every_thread_of_the_engine_has_the_continuing_loop(tmp_path: Path, stores: Stores) -> None:
    (tmp_path / "notes").mkdir()
    options = EngineOptions(sources=(FollowedSource(str(tmp_path / "notes"), Options()),))
    engine = Engine.open(stores.records(tmp_path), tmp_path / "indexes", SeededEmbedder(), options)
    try:
        assert set(engine.indexes.background.failures) == WORK
    finally:
        engine.close()


@pytest.fixture
def serving(tmp_path: Path, stores: Stores) -> Iterator[Serving]:
    made, stop = start(tmp_path / "data", stores, SeededEmbedder())
    retention = Retention(made.records, made.indexes, LedgerFile(tmp_path / "forgotten.jsonl"))
    retention.start()
    yield made
    retention.close(60)
    stop()


def get(serving: Serving, path: str) -> httpx.Response:
    serving.ask("whoami")
    fields = {"Authorization": f"Bearer {serving.tokens[0]}"}
    return httpx.get(serving.url.replace("/cstp", path), headers=fields, trust_env=False)


def remember(serving: Serving, text: str, **given: Any) -> str:
    return str(serving.ask("remember", content=text, source="wiki", **given)["id"])


@pytest.mark.long("waits for several looks of the retention")
def test_expiry_is_made_up_for_when_the_database_takes_writes_again(
    serving: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expire: Callable[..., Any] = Forgetting.expire
    failed = Event()

    def fail(*_: Any) -> None:
        failed.set()
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Forgetting, "expire", fail)
    kept = remember(serving, "The ferry is blue.")  # first, as the first write takes longest
    soon = datetime.now(UTC) + timedelta(seconds=1)
    short = remember(serving, "The ferry leaves at noon.", expiresAt=soon.isoformat())
    assert failed.wait(60)
    wait_for(lambda: get(serving, "/readyz").json()["parts"].get("retention") == "degraded")
    seen = get(serving, "/readyz").json()
    assert (seen["status"], seen["failing"][0]["work"]) == ("degraded", "retention")
    assert seen["failing"][0]["cause"] == "OperationalError"
    assert 'cstp_work_failing{work="retention"} 1.0' in get(serving, "/metrics").text
    monkeypatch.setattr(Forgetting, "expire", expire)
    wait_for(lambda: "retention" not in get(serving, "/readyz").json()["parts"])
    assert get(serving, "/readyz").json()["status"] == "ready"
    found = {one["id"] for one in serving.ask("listMemories", limit=50)["memories"]}
    assert (kept in found, short in found) == (True, False)
    wait_for(lambda: short in (tmp_path / "forgotten.jsonl").read_text())
    lines = [line for line in caplog.messages if line.startswith("expired records")]
    assert lines == [
        "expired records cannot be forgotten: raised OperationalError",
        "expired records are forgotten again",
    ]
