from datetime import UTC, datetime

import pytest

from cognition_engines.ingest import transcripts
from cognition_engines.ingest.items import RecordDraft, RejectedRecord, Warned
from cognition_engines.kinds.artifacts import Turn

TALK = "Ana: Shall we use UDP?\nBen: It loses packets.\nAna: We can repeat them.\nBen: Fine.\n"
THREAD = """Thread: #backend
Date: 2024-03-21

[10:15 AM] ana.silva:
The cache is in.
Update: and it is fast.

[12:02 PM] ben:
How fast?

[12:05 PM] ana.silva: Three times
as fast.

[12:10 PM] ben:
Good.
"""


def _turns(text: str, path: str = "talks/planning.txt") -> list[Turn]:
    items = transcripts.read(path, text)
    assert items is not None
    drafts = list(items)
    assert all(isinstance(draft, RecordDraft) for draft in drafts)
    return [draft.record for draft in drafts if isinstance(draft, RecordDraft) and isinstance(draft.record, Turn)]


def _is_transcript(text: str) -> bool:
    return transcripts.read("a.txt", text) is not None


def test_lines_of_speakers_are_turns_in_their_order() -> None:
    turns = _turns(TALK)
    assert [(turn.turn_index, turn.speaker, turn.content) for turn in turns] == [
        (0, "Ana", "Shall we use UDP?"),
        (1, "Ben", "It loses packets."),
        (2, "Ana", "We can repeat them."),
        (3, "Ben", "Fine."),
    ]
    assert {turn.conversation_id for turn in turns} == {"planning"}


def test_times_in_brackets_are_read_and_the_text_above_is_kept() -> None:
    turns = _turns(THREAD)
    assert [turn.speaker for turn in turns] == ["ana.silva", "ben", "ana.silva", "ben"]
    assert [turn.ts for turn in turns] == [
        datetime(2024, 3, 21, hour, minute, tzinfo=UTC) for hour, minute in [(10, 15), (12, 2), (12, 5), (12, 10)]
    ]
    assert turns[0].content == "The cache is in.\nUpdate: and it is fast."
    assert turns[2].content == "Three times\nas fast."
    assert turns[0].metadata == {"preamble": "Thread: #backend\nDate: 2024-03-21"}
    assert turns[1].metadata == {}


@pytest.mark.parametrize(
    ("text", "speakers"),
    [
        # a word with a colon inside a turn
        ("Ana: One.\n\nBen: Two\nlines, and\nReason: none.\n\nAna: Three.\n\nBen: Four\nlines,\nfull.\n", None),
        (TALK + "Note: recorded.\n", None),
        (
            "Ana Silva (PM): One.\n**Dr. van Dyk:** Two.\nAna Silva (PM): Three.\nSPEAKER_01: Four.\n",
            ["Ana Silva (PM)", "Dr. van Dyk", "Ana Silva (PM)", "SPEAKER_01"],
        ),
        ("ana: hi\nben: how is the queue\nana: it is empty again\nben: good\n", ["ana", "ben", "ana", "ben"]),
    ],
)
def test_names_before_colons_are_speakers(text: str, speakers: list[str] | None) -> None:
    assert [turn.speaker for turn in _turns(text)] == (speakers or ["Ana", "Ben", "Ana", "Ben"])


def test_a_role_and_a_whole_time_are_read() -> None:
    turns = _turns("User: Hi!\n\nAssistant: Hello.\n\nUser: Help!\n\nAssistant: With\n\nwhat?\n")
    assert [turn.role for turn in turns] == ["user", "assistant", "user", "assistant"]
    assert turns[3].content == "With\n\nwhat?"
    text = "\n".join(f"[2024-03-2{day} 10:00] {name}: yes" for day, name in enumerate("ABAB"))
    assert [turn.ts and turn.ts.day for turn in _turns(text)] == [20, 21, 22, 23]


def test_a_turn_after_midnight_is_of_the_next_day() -> None:
    text = "Date: 2024-03-21\n\n[11:58 PM] Ana: a\n[11:59 PM] Ben: b\n[12:01 AM] Ana: c\n[12:02 AM] Ben: d\n"
    assert [turn.ts and turn.ts.isoformat() for turn in _turns(text)][1:3] == [
        "2024-03-21T23:59:00+00:00",
        "2024-03-22T00:01:00+00:00",
    ]


@pytest.mark.parametrize("clock", ["[{}]", "({})", "{}", "[{}] -"])
def test_times_without_a_day_are_kept_as_they_stand(clock: str) -> None:
    times = ["09:15", "09:16", "09:20", "10:01"]
    text = "\n".join(f"{clock.format(time)} {name}: yes" for time, name in zip(times, "ABAB", strict=True))
    turns = _turns(text)
    assert [(turn.ts, turn.metadata) for turn in turns] == [(None, {"time": time}) for time in times]


def test_times_that_count_from_the_start_of_a_recording_are_no_times_of_day() -> None:
    text = "Date: 2024-03-21\n\n[00:00:05] A: a\n\n[00:01:10] B: b\n\n[00:02:00] A: c\n\n[01:00:00] B: d\n"
    turns = _turns(text)
    assert {turn.ts for turn in turns} == {datetime(2024, 3, 21, tzinfo=UTC)}
    assert turns[3].metadata == {"time": "01:00:00"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"From: ana@x.org\nTo: ben@x.org\nDate: 2024-03-21\n\n{TALK}",
        f"Subject: Planning\nAttendees: Ana, Ben\nDate: 2024-03-21\n\n{TALK}",
        "Ana: a\n\nAna: b\n\nAna: c\n\nAna: d\n",
        "A long story.\n\nIt goes on.\n\nAnd on.\n\n" + TALK,
        "Name: x\nPlace: y\nSize: z\nColour: red\n",
        "Ana: a\nBen: b\nAna: c\n",
        "Host: a\nUser: b\nHost: c\nUser: d\n",
        "Host: web1\nIdentityFile: one\nHost: web2\nIdentityFile: two\n",
        "Name: Ana Silva\nCity: Porto, near the sea.\n\nName: Ben Okoro\nCity: Lagos, by the lagoon.\n",
        "Question: What is a queue?\nAnswer: A list.\nQuestion: How long is it?\nAnswer: It depends.\n",
        "[10:15] server: started\n[10:16] client: connected\n[10:17] server: stopped\n[10:18] client: gone\n",
        "Red: 10\nGreen: 20\nRed: 30\nGreen: 40\n",
        # minutes
        "Note: the gate is late.\nAgenda: gates and ships.\nNote: Bo is away.\nTODO: call the yard.\n",
        "Action: Ana calls the yard.\nDecision: rent another.\nAction item: Bo pays it.\nDecision 2: sell it.\n",
        "10:00 Agenda: gates\n10:05 Note: late\n10:10 Agenda: ships\n10:15 TODO (Ana): call\n",
        "Open question: who pays?\nNext steps: ask Bo.\nOpen question: who knows?\nNext steps: ask Ana.\n",
        "Beschluss: Das Tor wird gebaut.\nAufgabe: Ana ruft an.\nBeschluss: Bo zahlt es.\nAufgabe: Bo fragt nach.\n",
        "https://a.example: one two three.\nhttps://b.example: four.\nhttps://a.example: five.\n",
        # tags
        "<name> the name\n<file> what to read\n<name> again, once more\n<dir> the folder.\n",
        "<b> one two three </b>\n<i> four five six </i>\n<b> seven eight </b>\n<i> ten. </i>\n",
    ],
)
def test_mails_fields_minutes_and_texts_of_one_speaker_are_no_conversation(text: str) -> None:
    assert not _is_transcript(text)


def test_a_text_that_somebody_calls_a_transcript_needs_one_turn() -> None:
    items = list(transcripts.read("a.txt", "From: Ana\n\nBen: a\n", is_transcript=True) or ())
    assert [item.record.speaker for item in items if isinstance(item, RecordDraft) and isinstance(item.record, Turn)]
    (refused,) = transcripts.read("a.txt", "Once upon a time.\n", is_transcript=True) or ()
    assert isinstance(refused, RejectedRecord)
    assert "`Name:`" in refused.problem.reason


def test_a_turn_without_words_is_named_and_one_with_a_nul_refused() -> None:
    items = list(transcripts.read("a.txt", TALK + "Ana:\n") or ())
    assert [item.problem.line for item in items if isinstance(item, Warned)] == [5]
    refused = [item for item in transcripts.read("a.txt", TALK + "Ana: \0\n") or () if isinstance(item, RejectedRecord)]
    assert [(item.problem.line, item.problem.reason) for item in refused] == [
        (5, "content: there must be no NUL and no lone surrogate")
    ]


@pytest.mark.parametrize(
    "log",
    [
        "[10:15] <ana> Is the gate up?\n[10:16] <@bo> Yes: it is\n",
        "--- Log opened Tue Mar 12 10:00:00 2024\n10:14 -!- bo [~b@h] has joined #gate\n10:15 <@ana> Is the gate up?\n"
        "10:16 < bo> Yes: it is\n10:17 -!- bo [~b@h] has quit [bye]\n",
        "Date: 2024-03-12\n\n[10:15:01] <ana> Is the gate up?\n[10:15:02] *** Joins: cy (c@h)\n"
        "[10:16:00] <bo> Yes: it is\n",
        "**** BEGIN LOGGING AT Tue Mar 12 10:00:00 2024\n\nMar 12 10:15:01 <ana>\tIs the gate up?\n"
        "Mar 12 10:15:03 *\tcy (~c@h) has joined\nMar 12 10:16:01 <bo>\tYes: it is\n",
        "2024-03-12T10:15:01 <ana> Is the gate up?\n2024-03-12T10:16:01 <bo> Yes: it is\n",
    ],
)
def test_a_log_of_irc_has_its_nicks_as_speakers(log: str) -> None:
    items = list(transcripts.read("gate.txt", log) or ())
    turns = [item.record for item in items if isinstance(item, RecordDraft) and isinstance(item.record, Turn)]
    assert [(turn.speaker, turn.content) for turn in turns] == [("ana", "Is the gate up?"), ("bo", "Yes: it is")]
    days = {turn.ts.date().isoformat() for turn in turns if turn.ts is not None}
    assert days == ({"2024-03-12"} if "2024" in log else set())
    warned = [item.problem.reason for item in items if isinstance(item, Warned)]
    assert all("lines of the program in a log" in reason for reason in warned)
    assert bool(warned) == any(word in log for word in ("join", "BEGIN", "Joins"))


def test_what_a_nick_does_is_a_turn_and_other_lines_stay_with_the_one_above() -> None:
    log = "[10:15] <ana> Look:\n* a list\n* of two\n[10:16] * ana waves\n[10:16] <bo> hi\n"
    items = transcripts.read("a.txt", log + "[10:17] * bo is now known as b\n") or ()
    turns = [item.record for item in items if isinstance(item, RecordDraft) and isinstance(item.record, Turn)]
    assert [turn.content for turn in turns] == ["Look:\n* a list\n* of two", "* ana waves", "hi"]


def test_nicks_without_times_need_a_conversation() -> None:
    bare = TALK.replace("Ana:", "<ana>").replace("Ben:", "<@ben>")
    assert [turn.speaker for turn in _turns(bare)] == ["ana", "ben", "ana", "ben"]


def test_a_long_file_of_colons_takes_no_time() -> None:
    for line in ("a " * 50 + ":", "[10:15] " * 20, "a: " * 20, "A (b): x"):
        _is_transcript(f"{line}\n" * 20_000)
