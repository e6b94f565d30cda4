"""Mails, alone and in an mbox."""

from pathlib import Path
from time import process_time

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.conversations.samples import mail, mbox, written
from tests.ingest.runs import Run, stored


def test_unclosed_html_takes_time_in_proportion(run: Run, tmp_path: Path) -> None:
    page = "<p>High water</p>" + "<a " * 10_000
    began = process_time()
    assert run(written(tmp_path / "m.eml", mail("1", page, "Content-Type: text/html; charset=utf-8"))).new == 1
    assert process_time() - began < 5  # of the processor: it took minutes


def test_long_headers_hide_no_text(run: Run, records: Records, tmp_path: Path) -> None:
    content = mail("1", "High water", "Content-Type: text/plain; x=" + '"' * 50_000, "Cc: " + "(" * 50_000)
    assert run(written(tmp_path / "m.eml", content)).new == 1
    assert [turn.content for turn in stored(records, Kind.TURN)] == ["High water"]


def test_a_mail_with_more_headers_than_are_looked_at_is_refused_by_name(run: Run, tmp_path: Path) -> None:
    many = "".join(f"X-Filter-{number}: filler filler filler\n" for number in range(3_000)) + mail("1", "Berth four?")
    for name, content in {"1.eml": many, "inbox": mbox(many), "all.mbox": mbox(many)}.items():
        summary = run(written(tmp_path / name, content))
        assert (summary.new, ["64 KiB of headers" in one.reason for one in summary.rejected]) == (0, [True])
