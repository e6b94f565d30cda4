"""Chats that WhatsApp wrote, on both kinds of phones."""

from pathlib import Path

import pytest

from cognition_engines.ingest.options import Texts
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


def test_a_chat_of_android(run: Run, records: Records, tmp_path: Path) -> None:
    path = written(tmp_path / "WhatsApp Chat with Night watch.txt", ANDROID)
    assert run(path).new == 4
    found = [one.record for one in records.conversations.turns("whatsapp:Night watch", (), None, 9).stored]
    assert [(turn.speaker, turn.content) for turn in found] == [
        ("Ana", "Are you coming?\nBring a torch."), ("Bo", "Yes"), ("Bo", "Yes"), ("Bo", "<Media omitted>")
    ]  # fmt: skip
    assert [turn.ts.isoformat() for turn in found[2:]] == ["2023-12-31T22:00:00+00:00", "2024-01-01T00:05:00+00:00"]
    assert (found[3].metadata["media"], len({turn.id for turn in found})) == (True, 4)
    assert run(path, texts=Texts(system_messages=True)).new == 1


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


@pytest.mark.parametrize(
    ("evening", "morning"),
    [
        ("2024/2/13 下午6:30 - ", "2024/2/14 上午8:31 - "),
        ("[2024/2/13 下午6:30:00] ", "[2024/2/14 凌晨8:31:00] "),
        ("13/2/2024 下午6:30 - ", "14/2/2024 上午8:31 - "),
        ("2024/02/13 18:30 - ", "2024/02/14 8:31 - "),
        ("2024年2月13日 午後6:30 - ", "2024年2月14日 午前8:31 - "),
        ("2024. 2. 13. 오후 6:30 - ", "2024. 2. 14. 오전 8:31 - "),
        ("24. 2. 13. 18:30 - ", "24. 2. 14. 8:31 - "),
        ("[2024. 2. 13. 오후 6:30:00] ", "[2024. 2. 14. 오전 8:31:00] "),
        ("13.02.2024 ÖS 6:30 - ", "14.02.2024 ÖÖ 8:31 - "),
        ("\u200f13\u200f/2\u200f/2024، 6:30 م - ", "\u200f14\u200f/2\u200f/2024، 8:31 ص - "),
        ("[\u200f١٣\u200f/٢\u200f/٢٠٢٤، ٦:٣٠:٠٠ م] ", "[\u200f١٤\u200f/٢\u200f/٢٠٢٤، ٨:٣١:٠٠ ص] "),
        ("13/02/24 18.30 - ", "14/02/24 08.31 - "),
        ("13.2.2024 klo 18.30 - ", "14.2.2024 klo 8.31 - "),
        ("[13.02.2024 18.30.00] ", "[14.02.2024 08.31.00] "),
        ("13/2/24, 6:30 p.\u00a0m. - ", "14/2/24, 8:31 a.\u00a0m. - "),
        ("13/2/24, 6:30 μ.μ. - ", "14/2/24, 8:31 π.μ. - "),
        ("13/2/24, 6:30 अपराह्न - ", "14/2/24, 8:31 पूर्वाह्न - "),
        ("18:30, 13/02/2024 - ", "08:31, 14/02/2024 - "),
        ("13. 2. 2024 18:30 - ", "14. 2. 2024 8:31 - "),
        ("13.02.24 г., 18:30 ч. - ", "14.02.24 г., 8:31 ч. - "),
        ("2024-02-13 18 h 30 - ", "2024-02-14 08 h 31 - "),
        ("2024-02-13 18:30 - ", "2024-02-14 08:31 - "),
        ("13/2/2567 18:30 น. - ", "14/2/2567 8:31 น. - "),
        ("13/2/67 18:30 - ", "14/2/67 8:31 - "),
        ("[13/2/2567 BE, 18:30:00] ", "[14/2/2567 BE, 8:31:00] "),
        ("13/02/24, 오후 6:30 - ", "14/02/24, 오전 8:31 - "),
        ("24/02/13, 오후 6:30 - ", "24/02/14, 오전 8:31 - "),
        ("13/02/24, பிற்பகல் 6:30 - ", "14/02/24, முற்பகல் 8:31 - "),
    ],
)
def test_dates_of_other_regions(run: Run, records: Records, tmp_path: Path, evening: str, morning: str) -> None:
    run(written(tmp_path / "WhatsApp Chat with Bo.txt", f"{evening}Ana: 안녕\n{morning}\u202aBo\u202c: 你好\n"))
    found = [one.record for one in records.conversations.turns("whatsapp:Bo", (), None, 9).stored]
    assert [(turn.speaker, turn.content, turn.ts.isoformat()) for turn in found] == [
        ("Ana", "안녕", "2024-02-13T18:30:00+00:00"), ("Bo", "你好", "2024-02-14T08:31:00+00:00")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "chat"),
    [
        ("Chat de WhatsApp con Bo.txt", "Bo"),
        ("Discussion WhatsApp avec Bo.txt", "Bo"),
        ("Чат WhatsApp с Bo.txt", "Bo"),
        ("Bo ile WhatsApp Sohbeti.txt", "Bo"),
        ("与Bo的WhatsApp聊天.txt", "Bo"),
        ("محادثة واتساب مع Bo.txt", "Bo"),
    ],
)
def test_a_chat_is_named_as_its_file(run: Run, records: Records, tmp_path: Path, name: str, chat: str) -> None:
    run(written(tmp_path / name, "13.02.2024, 18:30 - Ana: Hi\n"))
    assert {turn.conversation_id for turn in stored(records, Kind.TURN)} == {f"whatsapp:{chat}"}


@pytest.mark.parametrize("name", ["WhatsApp Chat with Bo.txt", "_chat.txt", "Chat WhatsApp con Bo.txt"])
def test_a_file_that_is_called_as_a_chat_and_is_none_is_refused(run: Run, tmp_path: Path, name: str) -> None:
    written(tmp_path / "in" / name, "13.02.2024 zzz 6:30 - Ana: Hi\n")
    (problem,) = run(tmp_path / "in").rejected
    assert "does not begin with a message whose date can be read" in problem.reason


@pytest.mark.parametrize("line", ["[2024-02-13 18:30] ana: hi there, all", "2024-02-13 18:30:05 - web: it has started"])
def test_other_programs_logs_are_no_chats(run: Run, records: Records, tmp_path: Path, line: str) -> None:
    run(written(tmp_path / "a.txt", f"{line}\n" * 4))
    assert "whatsapp" not in {getattr(turn, "source_system", None) for turn in stored(records, Kind.TURN)}


@pytest.mark.parametrize("between", ["/12/2023, ", "/12/2023 ", "-12-2023 ", "/12/2023 à "])
def test_chats_of_other_languages_are_read(run: Run, records: Records, tmp_path: Path, between: str) -> None:
    chat = f"30{between}22:00 - Léa: salut\n31{between}22:01 - Jan: hoi\n"
    run(written(tmp_path / "a.txt", chat))
    assert [turn.speaker for turn in stored(records, Kind.TURN)] in (["Léa", "Jan"], ["Jan", "Léa"])


@pytest.mark.parametrize(
    ("days", "first"),
    [
        (("3/4/24", "13/4/24"), "2024-04-03"),
        (("3/4/24", "3/13/24"), "2024-03-04"),
        (("1/3/24", "2/3/24", "1/4/24"), "2024-03-01"),
        (("2024-03-04", "2024-03-05"), "2024-03-04"),
        (("3.4.24", "4.4.24"), "2024-04-03"),
        (("5/5/24",), "2024-05-05"),
        (("24/3/20", "24/3/21", "24/3/22"), "2024-03-20"),
    ],
)
def test_day_or_month_first(run: Run, records: Records, tmp_path: Path, days: tuple[str, ...], first: str) -> None:
    run(written(tmp_path / "a.txt", "".join(f"{day}, 10:00 - Ana: {number}\n" for number, day in enumerate(days))))
    assert min(turn.ts.date().isoformat() for turn in stored(records, Kind.TURN)) == first


def test_an_ambiguous_order_is_refused_without_an_option(run: Run, records: Records, tmp_path: Path) -> None:
    path = written(tmp_path / "a.txt", "3/4/24, 10:00 - Ana: one\n5/6/24, 10:00 - Ana: two\n")
    (refused,) = run(path).rejected
    assert "--day-first" in refused.reason
    run(path, texts=Texts(day_first=False))
    assert {turn.ts.date().isoformat() for turn in stored(records, Kind.TURN)} == {"2024-03-04", "2024-05-06"}
    contradictory = written(tmp_path / "b.txt", "13/4/24, 10:00 - Ana: one\n5/16/24, 10:00 - Ana: two\n")
    assert "no order fits all" in run(contradictory).rejected[0].reason
    persian = written(tmp_path / "c.txt", "۱۴۰۳/۱/۱، ۱۴:۰۵ - Ana: one\n")
    assert "its years are of a calendar that is not read: 1403" in run(persian).rejected[0].reason


def test_other_texts_with_times_are_read_as_before(run: Run, tmp_path: Path) -> None:
    talk = "[10:15 AM] ana:\nShall we?\n\n[10:16 AM] bo:\nWe shall.\n\n[10:17 AM] ana:\nNow?\n\n[10:18 AM] bo:\nYes.\n"
    assert run(written(tmp_path / "talk.txt", talk)).kinds == {"turn": 4}
    log = "[12/31/2023, 22:00:01] ERROR: disk is full\n[12/31/2023, 22:00:02] INFO: disk is fine\n"
    assert run(written(tmp_path / "log.txt", log)).kinds == {"source": 1, "chunk": 1}
