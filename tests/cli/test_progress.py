"""How far a run is, where there is no terminal for a bar."""

from cstp_server.cli.progress import EACH_SECONDS, ByteLines


def test_a_long_run_without_a_terminal_writes_a_line_every_ten_seconds() -> None:
    lines: list[str] = []
    now = 0.0
    shown = ByteLines(lines.append, lambda: now)
    shown.start(8_000_000)
    for _ in range(40):
        now += 1.0
        shown.advance(200_000)
    assert EACH_SECONDS == 10.0
    assert lines == [
        "reading: 25%, 2.0 of 8.0 MB",
        "reading: 50%, 4.0 of 8.0 MB",
        "reading: 75%, 6.0 of 8.0 MB",
        "reading: 100%, 8.0 of 8.0 MB",
    ]


def test_a_short_run_writes_none() -> None:
    lines: list[str] = []
    shown = ByteLines(lines.append)
    shown.start(0)
    shown.advance(0)
    assert lines == []
