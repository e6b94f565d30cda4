"""Mails, alone and in an mbox."""

import mailbox
from email.message import EmailMessage
from pathlib import Path
from time import monotonic

from cognition_engines.ingest.options import Texts
from cognition_engines.kinds.kind import Kind
from cognition_engines.store.records import Records
from tests.ingest.conversations.samples import mail, mbox, packed, written
from tests.ingest.runs import Run, counts, stored

REPLY = ("In-Reply-To: <1@x.example>", "References: <1@x.example>")


def test_a_thread_is_a_conversation_whatever_files_its_mails_are_in(run: Run, records: Records, tmp_path: Path) -> None:
    first, second = (
        mail("1", "Berth four?"),
        mail("2", "Yes.", *REPLY, subject="Re: Berth plan", sender="Bo <b@x.example>"),
    )
    written(tmp_path / "in/1.eml", first)
    written(tmp_path / "in/2.eml", second)
    assert counts(run(tmp_path / "in")) == (2, 0, 0, 0)
    found = [one.record for one in records.turns("email:1@x.example", (), None, 9).stored]
    assert [(turn.speaker, turn.content) for turn in found] == [("Ana", "Berth four?"), ("Bo", "Yes.")]
    assert found[0].ts.isoformat() == "2024-01-01T09:00:00+00:00"
    assert found[1].metadata == {
        "subject": "Re: Berth plan", "from": "b@x.example", "to": ["bo@x.example"], "reply_to": "1@x.example"
    }  # fmt: skip
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


def test_a_sentence_that_begins_as_a_mail_of_an_mbox_does_not_end_one(
    run: Run, records: Records, tmp_path: Path
) -> None:
    words = "We met.\n\nFrom noon to 14:30 in May 2024 it rained.\n\nThen we left."
    run(written(tmp_path / "a.mbox", mbox(mail("1", words), mail("2", "Hello"))))
    assert sorted(turn.content for turn in stored(records, Kind.TURN)) == ["Hello", words]


def test_html_alone_is_read_as_text(run: Run, records: Records, tmp_path: Path) -> None:
    page = "<html><head><title>x</title><style>p{}</style></head><body><p>High&nbsp;water<br>at noon</p><p>Bo</p>"
    run(written(tmp_path / "m.eml", mail("1", page, "Content-Type: text/html; charset=utf-8")))
    assert [turn.content for turn in stored(records, Kind.TURN)] == ["High water\nat noon\n\nBo"]


def test_broken_html_is_read_as_text(run: Run, records: Records, tmp_path: Path) -> None:
    page = '<p>High<![tide]> water</p><![if !x]>at<![endif]> noon <a href="x>here</a> and <b>there</b>'
    run(written(tmp_path / "m.eml", mail("1", page, "Content-Type: text/html; charset=utf-8")))
    words = 'High water\n\nat noon <a href="x>here and there'
    assert [turn.content for turn in stored(records, Kind.TURN)] == [words]


def test_html_that_closes_nothing_takes_no_longer_than_its_length(run: Run, tmp_path: Path) -> None:
    page = "<p>High water</p>" + "<a " * 10_000
    began = monotonic()
    assert run(written(tmp_path / "m.eml", mail("1", page, "Content-Type: text/html; charset=utf-8"))).new == 1
    assert monotonic() - began < 5


def test_a_signature_and_the_quoted_end_of_a_reply_are_left_out(run: Run, records: Records, tmp_path: Path) -> None:
    text = "> inside\nYes.\n\nOn Monday Ana wrote:\n> Berth four?\n> Ana\n\n-- \nBo, harbour office"
    run(written(tmp_path / "2.eml", mail("2", text, *REPLY)))
    run(written(tmp_path / "3.eml", mail("3", "> only\n> quoted", *REPLY)))
    assert [turn.content for turn in stored(records, Kind.TURN)] == [
        "> inside\nYes.\n\nOn Monday Ana wrote:",
        "> only\n> quoted",
    ]


def test_automatic_answers_are_read_by_the_setting_for_bots(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "m.eml", mail("1", "I am away", "Auto-Submitted: auto-replied"))
    assert (run(path).new, run(path, texts=Texts(bots=True)).new) == (0, 1)


def test_a_mail_without_an_id_is_the_same_in_a_longer_mbox(run: Run, tmp_path: Path) -> None:
    without = mail("1", "Hello").replace("Message-ID: <1@x.example>\n", "")
    run(written(tmp_path / "a.mbox", mbox(without)))
    assert counts(run(written(tmp_path / "b.mbox", mbox(mail("2", "New"), without)))) == (1, 0, 1, 0)


def test_what_is_no_mail_by_its_rules_is_refused_alone(run: Run, tmp_path: Path) -> None:
    dated = mail("1", "x").replace("Mon, 1 Jan 2024 10:00:00 +0100", "soon")
    encoded = mail("2", "x", "Content-Type: text/plain; charset=no-such")
    summary = run(written(tmp_path / "a.mbox", mbox(dated, encoded, mail("3", "ok"))))
    assert (summary.new, [(one.line, one.reason) for one in summary.rejected]) == (1, [
        (1, "the Date of the mail cannot be read"),
        (10, "the text of the mail is in an encoding that is not known"),
    ])  # fmt: skip


def test_a_line_that_begins_like_a_mail_is_part_of_its_text(run: Run, records: Records, tmp_path: Path) -> None:
    run(written(tmp_path / "a.mbox", mbox(mail("1", "Hello\n\nFrom here it is far.\n\n>From there, too."))))
    assert [turn.content for turn in stored(records, Kind.TURN)] == [
        "Hello\n\nFrom here it is far.\n\nFrom there, too."
    ]


def test_mails_in_an_archive_are_read_and_other_texts_named_mbox_are_not(run: Run, tmp_path: Path) -> None:
    members = {"Takeout/Mail/All mail.mbox": mbox(mail("1", "Hello")), "Takeout/archive_browser.html": "<html>"}
    assert run(packed(tmp_path / "takeout.zip", members)).new == 1
    summary = run(written(tmp_path / "list.mbox", "From the start it was clear.\n\nAll is well.\n"))
    assert [one.reason for one in summary.rejected] == ["holds no record in a format that is known"]
