"""Mails, alone and in an mbox."""

import mailbox
from email.message import EmailMessage
from pathlib import Path
from time import process_time

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.conversations.samples import mail, mbox, packed, written
from tests.ingest.runs import Run, counts, stored


def test_the_mails_of_two_files_are_unchanged_in_an_mbox(run: Run, tmp_path: Path) -> None:
    answer = ("In-Reply-To: <1@x.example>", "References: <1@x.example>")
    first, second = mail("1", "Berth four?"), mail("2", "Yes.", *answer, subject="Re: Berth plan")
    written(tmp_path / "in/1.eml", first)
    written(tmp_path / "in/2.eml", second)
    assert counts(run(tmp_path / "in")) == (2, 0, 0, 0)
    assert counts(run(written(tmp_path / "all.mbox", mbox(first, second)))) == (0, 0, 2, 0)


def test_an_mbox_that_the_standard_library_wrote_is_read_whole(run: Run, records: Records, tmp_path: Path) -> None:
    box = mailbox.mbox(tmp_path / "sent.mbox")
    for number in range(3):
        message = EmailMessage()
        message["From"], message["Subject"] = "Zoë <zoe@x.example>", f"Grüße {number}"
        message["Date"], message["Message-ID"] = "Mon, 1 Jan 2024 10:00:00 +0000", f"<{number}@x.example>"
        message.set_content("From here on it is calm.\nÄnderung folgt.\n")
        message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="plan.pdf")
        box.add(message)
    box.close()
    assert run(tmp_path / "sent.mbox").new == 3
    turn = stored(records, Kind.TURN)[0]
    assert (turn.speaker, turn.content) == ("Zoë", "From here on it is calm.\nÄnderung folgt.")
    assert (turn.metadata["subject"], turn.metadata["files"]) == ("Grüße 0", ["plan.pdf"])


def test_html_that_closes_nothing_takes_no_longer_than_its_length(run: Run, tmp_path: Path) -> None:
    page = "<p>High water</p>" + "<a " * 10_000
    began = process_time()
    assert run(written(tmp_path / "m.eml", mail("1", page, "Content-Type: text/html; charset=utf-8"))).new == 1
    assert process_time() - began < 5  # of the processor: it took minutes


def test_a_mail_without_an_id_is_the_same_in_a_longer_mbox(run: Run, tmp_path: Path) -> None:
    without = mail("1", "Hello").replace("Message-ID: <1@x.example>\n", "")
    run(written(tmp_path / "a.mbox", mbox(without)))
    assert counts(run(written(tmp_path / "b.mbox", mbox(mail("2", "New"), without)))) == (1, 0, 1, 0)


def test_long_headers_hide_no_text(run: Run, records: Records, tmp_path: Path) -> None:
    content = mail("1", "High water", "Content-Type: text/plain; x=" + '"' * 50_000, "Cc: " + "(" * 50_000)
    assert run(written(tmp_path / "m.eml", content)).new == 1
    assert [turn.content for turn in stored(records, Kind.TURN)] == ["High water"]


def test_mails_in_an_archive_are_read_and_other_texts_named_mbox_are_not(run: Run, tmp_path: Path) -> None:
    members = {"Takeout/Mail/All mail.mbox": mbox(mail("1", "Hello")), "Takeout/archive_browser.html": "<html>"}
    assert run(packed(tmp_path / "takeout.zip", members)).new == 1
    summary = run(written(tmp_path / "list.mbox", "From the start it was clear.\n\nAll is well.\n"))
    assert [one.reason for one in summary.rejected] == ["holds no record in a format that is known"]


def test_a_mail_with_more_headers_than_are_looked_at_is_refused_by_name(run: Run, tmp_path: Path) -> None:
    many = "".join(f"X-Filter-{number}: filler filler filler\n" for number in range(3_000)) + mail("1", "Berth four?")
    for name, content in {"1.eml": many, "inbox": mbox(many), "all.mbox": mbox(many)}.items():
        summary = run(written(tmp_path / name, content))
        assert (summary.new, ["64 KiB of headers" in one.reason for one in summary.rejected]) == (0, [True])


def test_a_boundary_that_is_too_long_refuses_its_mail_alone(run: Run, records: Records, tmp_path: Path) -> None:
    boundary = "b" * 1_200
    parts = f"--{boundary}\nContent-Type: text/plain\n\nBerth four?\n--{boundary}--\n"
    long = mail("1", parts, f'Content-Type: multipart/mixed; boundary="{boundary}"')
    summary = run(written(tmp_path / "all.mbox", mbox(long, mail("2", "Berth five?"))))
    assert ["Content-Type" in one.reason for one in summary.rejected] == [True]
    assert [turn.content for turn in stored(records, Kind.TURN)] == ["Berth five?"]
