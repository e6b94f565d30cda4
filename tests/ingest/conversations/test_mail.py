"""Mails, alone and in an mbox."""

import mailbox
from base64 import b64encode
from email.message import EmailMessage
from pathlib import Path
from time import process_time

import pytest

from cognition_engines.ingest.options import Texts
from cognition_engines.kinds.spec import Kind
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
    found = [one.record for one in records.conversations.turns("email:1@x.example", (), None, 9).stored]
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


def test_html_that_closes_nothing_takes_no_longer_than_its_length(run: Run, tmp_path: Path) -> None:
    page = "<p>High water</p>" + "<a " * 10_000
    began = process_time()
    assert run(written(tmp_path / "m.eml", mail("1", page, "Content-Type: text/html; charset=utf-8"))).new == 1
    assert process_time() - began < 5  # of the processor: it took minutes


def test_automatic_answers_are_read_by_the_setting_for_bots(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "m.eml", mail("1", "I am away", "Auto-Submitted: auto-replied"))
    assert (run(path).new, run(path, texts=Texts(bots=True)).new) == (0, 1)


def test_a_mail_without_an_id_is_the_same_in_a_longer_mbox(run: Run, tmp_path: Path) -> None:
    without = mail("1", "Hello").replace("Message-ID: <1@x.example>\n", "")
    run(written(tmp_path / "a.mbox", mbox(without)))
    assert counts(run(written(tmp_path / "b.mbox", mbox(mail("2", "New"), without)))) == (1, 0, 1, 0)


def raw_mail(label: str, content: bytes, *, subject: bytes = b"S", way: str = "8bit") -> bytes:
    top = mail("1", "", f"Content-Type: text/plain; charset={label}", f"Content-Transfer-Encoding: {way}", subject="@")
    return top.encode().replace(b"@\n", subject + b"\n", 1)[:-1] + content


HTML = "Content-Type: text/html; charset=utf-8"
WATER = "High water"
MET = "We met.\n\nFrom noon to 14:30 in May 2024 it rained.\n\nThen we left."
LATER = "We met.\n\nFrom x Mon Jan  1 10:00:00 2024"
FAR = "Hello\n\nFrom here it is far.\n\n>From there, too."
PAGE = "<html><head><title>x</title><style>p{}</style></head><body><p>High&nbsp;water<br>at noon</p><p>Bo</p>"
BROKEN = '<p>High<![tide]> water</p><![if !x]>at<![endif]> noon <a href="x>here</a> and <b>there</b>'
LONG = '"' + "a" * 1_200 + '"'
YES = "> inside\nYes.\n\nOn Monday Ana wrote:"


def mixed(*parts: tuple[str, str], kind: str = "mixed") -> str:
    """A mail of parts, each a type and a text."""
    body = "".join(f"--x\nContent-Type: {type}\n\n{text}\n" for type, text in parts) + "--x--"
    return mail("1", body, f"Content-Type: multipart/{kind}; boundary=x")


TEXTS: dict[str, tuple[str | bytes, str]] = {
    "html alone": (mail("1", PAGE, HTML), "High water\nat noon\n\nBo"),
    "broken html": (mail("1", BROKEN, HTML), 'High water\n\nat noon <a href="x>here and there'),
    "a signature and a quoted end": (mail("1", f"{YES}\n> Berth four?\n\n-- \nBo, harbour office", *REPLY), YES),
    "quoted lines alone": (mail("1", "> only\n> quoted", *REPLY), "> only\n> quoted"),
    "blank plain text": (mixed(("text/plain", " "), ("text/html", f"<p>{WATER}"), kind="alternative"), WATER),
    "html before plain text": (mixed(("text/html", "<p>No"), ("text/plain", WATER), kind="alternative"), WATER),
    "two texts": (mixed(("text/plain", "High"), ("image/png", "x"), ("text/plain", "water")), "High\n\nwater"),
    "a text file": (mixed(("text/plain", "High"), ("text/plain; name=list.txt", "a file")), "High"),
    "a calendar": (mixed(("text/calendar", "BEGIN"), ("text/plain", "High")), "High"),
    "a long name of a file": (
        mixed(("text/plain", "High"), (f"text/plain\nContent-Disposition: attachment; filename={LONG}", "raw")),
        "High",
    ),
    "windows characters in japanese": (raw_mail("iso-2022-jp", b"\x1b$B-!%/%l!<%s\x1b(B"), "①クレーン"),
    "base64 cut": (raw_mail("utf-8", b64encode("High water ✓✓".encode()) + b"=!!x", way="base64"), "High water ✓✓"),
    "half a letter": (raw_mail("gb2312", "高水位在中午到达".encode("gb18030") + b"\xff"), "高水位在中午到达\ufffd"),
    "no boundary": (mail("1", WATER, "Content-Type: multipart/mixed; boundary=x"), WATER),
    "an unknown type": (mail("1", WATER, "Content-Type: text/enriched"), WATER),
    "long headers": (mail("1", WATER, "Content-Type: text/plain; x=" + '"' * 50_000, "Cc: " + "(" * 50_000), WATER),
    "a subject alone": (mail("1", "", subject=WATER), WATER),
    "empty lines first": ("\n\n" + mail("1", LATER), LATER),
    "a From line first": ("From ana@x.example Mon Jan  1 10:00:00 2024\n" + mail("1", LATER), LATER),
    "a short From line first": ("\ufeffFrom - Mon\r\n" + mail("1", LATER), LATER),
    "a quoted From line first": ("\n>From x\n" + mail("1", LATER), LATER),
}


@pytest.mark.parametrize("case", TEXTS)
def test_the_text_of_a_mail_is_what_a_person_reads(run: Run, records: Records, tmp_path: Path, case: str) -> None:
    content, words = TEXTS[case]
    (tmp_path / "m.eml").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert run(tmp_path / "m.eml").new == 1
    assert [turn.content for turn in stored(records, Kind.TURN)] == [words]


def test_sentences_that_begin_with_from_end_no_mail(run: Run, records: Records, tmp_path: Path) -> None:
    run(written(tmp_path / "a.mbox", mbox(mail("1", MET), mail("2", FAR))))
    assert sorted(turn.content for turn in stored(records, Kind.TURN)) == [FAR.replace(">", ""), MET]
    assert run(written(tmp_path / "n.eml", "From the quay we saw\nnothing.\n")).new == 0


@pytest.mark.parametrize(
    ("label", "text", "encoding"),
    [
        ("x-sjis", "クレーン", "cp932"),
        ("euc-jp", "①クレーン", "euc_jis_2004"),
        ("windows-874", "ปั้นจั่น", "cp874"),
        ("ks_c_5601-1987", "크레인 똠", "cp949"),
        ("gb2312", "镕基", "gb18030"),
        ("iso-8859-8-i", "מנוף", "iso8859-8"),
        ("x-mac-cyrillic", "Кран", "mac_cyrillic"),
        ("iso-8859-1", "“Kran” 5 €", "cp1252"),
        ("utf-16", "Größe", "utf-16"),
        ("utf-16", "no zero byte in it", "ascii"),
        ("us-ascii", "Größe", "utf-8"),
        ("utf-8", "Größe", "latin-1"),
        ("unknown", "Größe", "latin-1"),
        ("x-no-such-1", "Größe", "utf-8"),
        ("punycode", "of-Kran", "ascii"),
        ("rot13", "Kran", "ascii"),
        ('"utf-8;"', "Größe", "utf-8"),
    ],
)
def test_charsets_are_decoded(run: Run, records: Records, tmp_path: Path, label: str, text: str, encoding: str) -> None:
    content = text.encode(encoding)
    word = b"=?%s?B?%s?=" % (label.strip('"').encode(), b64encode(content))
    (tmp_path / "m.eml").write_bytes(raw_mail(label, content, subject=word))
    assert run(tmp_path / "m.eml").rejected == ()
    (turn,) = stored(records, Kind.TURN)
    assert (turn.content, turn.metadata["subject"]) == (text, text)


@pytest.mark.parametrize(
    "date",
    [
        "soon",
        "",
        "Tue, 99 Jun 2025 10:00",
        "Tue, 03 Jun 2025 10:00:00 +9999",
        "Tue, 03 Jun 9025 10:00:00",
        "\0",
        "Mon, 1 Jan 0001 00:00:00 +0000",
        "1-Jan-0099 00:00:00 +0000",
    ],
)
def test_a_mail_whose_date_cannot_be_read_has_no_time(run: Run, records: Records, tmp_path: Path, date: str) -> None:
    run(written(tmp_path / "m.eml", mail("1", "High water").replace("Mon, 1 Jan 2024 10:00:00 +0100", date)))
    assert [(turn.content, turn.ts) for turn in stored(records, Kind.TURN)] == [("High water", None)]


def test_what_no_store_holds_is_replaced_in_texts_and_headers(run: Run, records: Records, tmp_path: Path) -> None:
    shown = '"=?utf-8?Q?Ana=0AR=00eyes?= \0" <a\0@x.example>'
    run(written(tmp_path / "m.eml", mail("1", "High\0 water", subject="A\0 B", sender=shown)))
    (turn,) = stored(records, Kind.TURN)
    assert (turn.content, turn.speaker) == ("High\ufffd water", "Ana R eyes \ufffd")
    assert (turn.metadata["subject"], turn.metadata["from"]) == ("A\ufffd B", "a\ufffd@x.example")


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
