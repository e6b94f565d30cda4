"""Progress of a run without a terminal for a bar."""

from cognition_engines.ingest.options import Amount
from cstp_server.cli.progress import EACH_SECONDS, ReadingLines


def test_a_long_run_without_a_terminal_writes_files_records_rate_and_the_time_left_every_ten_seconds() -> None:
    lines: list[str] = []
    now = 0.0

    def clock() -> float:
        return now

    shown = ReadingLines(lines.append, clock)
    shown.start(Amount(16_000_000, 80))
    for _ in range(80):
        now += 1.0
        shown.advance(Amount(200_000, 1, 20))
    assert EACH_SECONDS == 10.0
    assert lines[0] == "reading: 12%, 10 of 80 files, 200 records, 20.0 records/s, 1 min 10 s left"
    assert lines[-2:] == [
        "reading: 88%, 70 of 80 files, 1,400 records, 20.0 records/s, 10 s left",
        "reading: 100%, 80 of 80 files, 1,600 records, 20.0 records/s",
    ]
    assert len(lines) == 8


def test_a_run_over_collections_alone_names_no_files() -> None:
    lines: list[str] = []
    moments = iter([0.0, 0.0, 10.0])
    shown = ReadingLines(lines.append, lambda: next(moments))
    shown.start(Amount(0))
    shown.advance(Amount(0, 0, 50))
    assert lines == ["reading: 50 records, 5.0 records/s"]


def test_a_short_run_writes_none() -> None:
    lines: list[str] = []
    shown = ReadingLines(lines.append)
    shown.start(Amount(0))
    shown.advance(Amount(0))
    assert lines == []
