"""The test harness: a server process can be started, measured, called, stopped and restarted."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.chaos.process import Served, write_records
from tests.chaos.report import BEGIN, END, read_rows, written


def test_a_server_process_starts_answers_and_restarts(served: Callable[..., Served], tmp_path: Path) -> None:
    server = served()
    server.ingest(write_records(tmp_path / "records.jsonl", 20))
    assert server.call("cstp.whoami")["result"]["agent"] == "chaos"
    assert server.rss() > 10_000_000
    assert server.fds() > 3
    assert server.threads() >= 1
    server.kill()
    assert not server.alive()
    server.start()
    found = server.call("cstp.queryDecisions", {"query": "option17"})
    assert [each["title"] for each in found["result"]["decisions"]] == ["Choose option17 for tests"]
    assert server.terminate() == 0


def test_the_last_row_of_a_deed_goes_between_the_markers(tmp_path: Path) -> None:
    row = {"family": "6", "what": "a|b", "times": 1000, "seen": "old", "date": "2026-01-31"}
    row |= {"machine": "2 cores, 4 GB", "version": "1.0"}
    file = tmp_path / "results.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in (row, row | {"seen": "new", "date": "2026-02-01"})))
    page = written(f"before\n{BEGIN}\nstale\n{END}\nafter\n", read_rows(file))
    assert page.startswith(f"before\n{BEGIN}\n\nRun of 2026-02-01, 2 cores, 4 GB, version 1.0.\n")
    assert "| 6 | a\\|b | 1,000 | new |" in page
    assert "stale" not in page
    assert page.endswith(f"{END}\nafter\n")
