"""Chats that WhatsApp wrote, on both kinds of phones."""

from pathlib import Path

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.conversations.samples import packed, written
from tests.ingest.runs import Run, counts, stored

MARK = "\u200e"
ANDROID = (
    "12/31/23, 9:58\u202fPM - Messages and calls are end-to-end encrypted.\n"
    "12/31/23, 10:00\u202fPM - Ana: Are you coming?\nBring a torch.\n"
    "12/31/23, 10:00\u202fPM - Bo: Yes\n"
    "12/31/23, 10:00\u202fPM - Bo: Yes\n"
    "1/1/24, 12:05\u202fAM - Bo: <Media omitted>\n"
)
IPHONE = (
    f"[31/12/2023, 21:58:00] Night watch: {MARK}Messages and calls are end-to-end encrypted.\r\n"
    "[31/12/2023, 22:00:01] Ana: Are you coming?\r\n"
    f"{MARK}[31/12/2023, 22:00:30] Bo: {MARK}<attached: 00000012-PHOTO-2023-12-31.jpg>\r\n"
    f"[31/12/2023, 22:01:00] Night watch: {MARK}Ana added Cy\r\n"
)


def test_a_chat_of_an_iphone(run: Run, records: Records, tmp_path: Path) -> None:
    summary = run(packed(tmp_path / "WhatsApp Chat - Night watch.zip", {"_chat.txt": IPHONE, "1.jpg": b"x"}))
    assert (summary.new, summary.warnings[0].reason) == (2,
        "2 messages of the system or of tools are left out; --system-messages reads them")  # fmt: skip
    assert counts(run(written(tmp_path / "_chat.txt", IPHONE))) == (0, 0, 2, 0)
    turns = {turn.speaker: turn for turn in stored(records, Kind.TURN)}
    assert {turn.conversation_id for turn in turns.values()} == {"whatsapp:Night watch"}
    assert turns["Bo"].metadata["files"] == ["00000012-PHOTO-2023-12-31.jpg"]


def test_a_longer_export_under_another_name_adds_what_is_new(run: Run, tmp_path: Path) -> None:
    run(written(tmp_path / "a/WhatsApp Chat with Bo.txt", ANDROID))
    longer = ANDROID + "1/2/24, 9:00\u202fAM - Ana: And now?\n"
    assert counts(run(written(tmp_path / "b/WhatsApp Chat with Bo (1).txt", longer))) == (1, 0, 4, 0)
    run(written(tmp_path / "c/one.txt", ANDROID))
    assert counts(run(written(tmp_path / "d/two.txt", longer))) == (1, 0, 4, 0)
