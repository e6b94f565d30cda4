"""`cstp ingest` killed, run twice at once and run beside a server: everything there once, and found in every mode."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import open_records
from tests.stores import Stores

Start = Callable[..., "subprocess.Popen[bytes]"]
RECORDS = 256
KILLS = 8
MODES = ("hybrid", "semantic", "keyword")
ANIMALS = ("otter", "falcon", "gecko", "heron", "lynx", "marten", "newt", "osprey", "puffin", "raven")
COLOURS = ("amber", "blue", "crimson", "dun", "ecru", "fawn", "green", "hazel", "ivory", "jade", "khaki", "lilac")


def title(number: int) -> str:
    return f"{COLOURS[number % 12].title()} {ANIMALS[number // 12 % 10]} uses plan {number}"


@pytest.fixture
def start(stores: Stores) -> Start:
    """Return `start(data, "ingest", "docs")`: a command in a separate process."""

    def started(data: Path, *words: str) -> "subprocess.Popen[bytes]":
        program = "from cstp_server.cli.entry import main; main()"
        command = [sys.executable, "-c", program, "--data-dir", str(data), *words]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CSTP_")}
        environment |= stores.environment(data) | {"CSTP_LIMITS__DEFAULT": "100000/minute"}
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment, cwd=data.parent)

    return started


def finish(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    """Return the summary of a successful run with --json."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err.decode()
    summary: dict[str, Any] = json.loads(out)
    return summary


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(RECORDS):
        (folder / f"{number:04}-a.md").write_text(
            f"# {title(number)}\n\n## Status\n\nAccepted\n\n## Decision\n\nYes.\n"
        )
    return folder


@pytest.mark.long("kills runs")
def test_a_run_killed_at_any_moment_and_repeated_stores_everything_once(
    docs: Path,
    tmp_path: Path,
    start: Start,
    stores: Stores,
    live_server: Callable[..., Any],
    wait_until: Callable[..., None],
) -> None:
    data, random = tmp_path / "data", Random(6)
    records = open_records(stores.records(data))
    killed = 0
    for _ in range(KILLS):
        before = sum(records.counts().values())
        process = start(data, "ingest", str(docs), "--json")
        # after the first commit, to end each run at another stage of the work
        wait_until(
            lambda process=process, before=before: sum(records.counts().values()) > before or process.poll() is not None
        )
        try:
            process.wait(random.uniform(0, 0.1))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.communicate()
    records.close()
    assert killed >= 3
    summary = finish(start(data, "ingest", str(docs), "--json"))
    assert (summary["read"], summary["changed"], summary["rejected"]) == (RECORDS, 0, [])
    assert summary["new"] + summary["unchanged"] == RECORDS

    live = live_server({"embedding.model": "minilm"}, data_dir=data)
    token = live.token()
    for mode in MODES:
        for number in range(0, RECORDS, 16):
            found = decisions(live, token, title(number), mode)
            assert [one["title"] for one in found].count(title(number)) == 1
            assert found[0]["title"] == title(number)
            assert found[0]["distance"] < 0.5
    assert finish(start(data, "ingest", str(docs), "--json"))["unchanged"] == RECORDS


def decisions(live: Any, token: str, query: str, mode: str) -> list[Any]:
    reply = live.call("cstp.queryDecisions", token, {"query": query, "mode": mode}).json
    found: list[Any] = reply["result"]["decisions"]
    return found


@pytest.mark.long("kills runs")
def test_killed_runs_resume(tmp_path: Path, start: Start, stores: Stores, wait_until: Callable[..., None]) -> None:
    text = "The pilot waits for high water before he takes a ship over the bar. " * 40
    lines = [json.dumps({"kind": "entity", "name": f"n{number}"}) for number in range(100)]
    for number in range(8):
        content = "\n\n".join(f"## Part {part}\n\n{text}" for part in range(4))
        lines.insert(12 * number, json.dumps({"kind": "source", "title": f"t{number}", "content": content}))
    file = tmp_path / "all.jsonl"
    file.write_text("\n".join(lines))
    (tmp_path / "wordless.yaml").write_text("embedding: {model: none}\n")
    words = ("ingest", str(file), "--json", "--config", "wordless.yaml")
    data = tmp_path / "data"
    records = open_records(stores.records(data))
    for _ in range(3):
        before = sum(records.counts().values())
        process = start(data, *words)
        wait_until(
            lambda process=process, before=before: sum(records.counts().values()) > before or process.poll() is not None
        )
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert records.counts().get(Kind.CHUNK, 0) == 4 * records.counts().get(Kind.SOURCE, 0)
    summary = finish(start(data, *words))
    assert (summary["new"] + summary["unchanged"], summary["rejected"]) == (140, [])
    assert records.counts() == {Kind.SOURCE: 8, Kind.CHUNK: 32, Kind.ENTITY: 100}
    records.close()


@pytest.mark.long("kills runs")
def test_a_running_server_answers_from_records_of_a_parallel_ingest(
    tmp_path: Path, start: Start, live_server: Callable[..., Any], wait_until: Callable[..., None]
) -> None:
    data, folder = tmp_path / "data", tmp_path / "few"
    folder.mkdir()
    live = live_server({"embedding.model": "minilm"}, data_dir=data)
    token = live.token()

    def shows(words: str, mode: str) -> bool:
        return any(words in one["title"] for one in decisions(live, token, words, mode))

    file = folder / "a.md"
    for words in ("Quokkas count the votes", "Wombats count the votes"):
        file.write_text(f"# {words}\n\n## Status\n\nAccepted\n\n## Decision\n\nYes.\n")
        finish(start(data, "ingest", str(folder), "--json"))
        for mode in MODES:
            wait_until(lambda words=words, mode=mode: shows(words, mode))
    assert not any(shows("Quokkas", mode) for mode in MODES)
    file.unlink()
    assert finish(start(data, "ingest", str(folder), "--prune", "--yes", "--json"))["deleted"] == 1
    for mode in MODES:
        wait_until(lambda mode=mode: decisions(live, token, "votes", mode) == [])
