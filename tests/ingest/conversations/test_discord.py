"""Conversations of Discord, as DiscordChatExporter and as Discord itself give them."""

from pathlib import Path

from cognition_engines.ingest.options import Texts
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity
from cognition_engines.store.records import Records
from tests.ingest.conversations.samples import discord, discord_message, packed, unpacked, written
from tests.ingest.runs import Run, counts, stored


def test_a_channel_keeps_speakers_replies_and_attachments(run: Run, records: Records, tmp_path: Path) -> None:
    reply = discord_message(1002, "Berth four", type="Reply", timestampEdited="2024-01-01T11:00:00+00:00",
                            reference={"messageId": "1001", "channelId": "200", "guildId": "100"},
                            reactions=[{"emoji": {"id": "", "name": "x"}, "count": 2}])  # fmt: skip
    image = discord_message(1003, "", attachments=[{"id": "9", "url": "https://x.example/a", "fileName": "plan.png"}])
    first = discord_message(1001, "Which one?", mentions=[{"id": "32", "name": "bo", "nickname": "Bo"}])
    run(written(tmp_path / "Harbour - berths [200].json", discord([first, reply, image])))
    asked, answer, plan = sorted(stored(records, Kind.TURN), key=lambda turn: turn.id)
    assert (asked.id, asked.conversation_id) == ("art_discord-200-1001", "discord:berths-200")
    assert (asked.speaker, asked.mentions, asked.ts.microsecond) == ("ana", ("Bo",), 123_000)
    assert (answer.metadata["reply_to"], answer.metadata["reactions"]) == ("1001", {"x": 2})
    assert (answer.metadata["server"], answer.metadata["category"]) == ("Harbour", "Work")
    assert (plan.content, plan.metadata["files"]) == ("[plan.png]", ["plan.png"])


def test_bots_and_what_happened_in_a_channel_are_left_out(run: Run, tmp_path: Path) -> None:
    author = {"id": "40", "name": "builder", "isBot": True}
    messages = [discord_message(1, "Built", author=author), discord_message(2, "Joined", type="GuildMemberJoin")]
    path = written(tmp_path / "d.json", discord(messages))
    assert (run(path).new, len(run(path).warnings)) == (0, 2)
    assert run(path, texts=Texts(bots=True, system_messages=True)).new == 2


def test_messages_between_two_people_are_sensitive(run: Run, records: Records, tmp_path: Path) -> None:
    run(written(tmp_path / "d.json", discord([discord_message(1, "Hello")], "DirectTextChat")))
    assert [turn.sensitivity for turn in stored(records, Kind.TURN)] == [Sensitivity.SENSITIVE]


def package(messages: object, suffix: str = "json") -> dict[str, object]:
    about = {"id": "200", "type": "GUILD_TEXT", "name": "berths", "guild": {"id": "100", "name": "Harbour"}}
    return {
        "Account/user.json": {"id": "31", "username": "ana", "global_name": "Ana"},
        "Messages/index.json": {"200": "berths in Harbour"},
        "Messages/c200/channel.json": about,
        f"Messages/c200/messages.{suffix}": messages,
        "README.txt": "Welcome to your Discord Data Package!",
    }


OWN = [
    {"ID": 1191300000000000002, "Timestamp": "2024-01-01 10:00:05", "Contents": "Second", "Attachments": ""},
    {"ID": 1191300000000000001, "Timestamp": "2024-01-01 10:00:01", "Contents": "", "Attachments": "https://x.example/a/plan.png?ex=1"},
]  # fmt: skip


def test_a_data_package_has_the_messages_of_the_account(run: Run, records: Records, tmp_path: Path) -> None:
    summary = run(unpacked(tmp_path / "package", package(OWN)))
    assert (summary.kinds["turn"], summary.rejected) == (2, ())
    assert {(turn.content, turn.speaker) for turn in stored(records, Kind.TURN)} == {
        ("Second", "Ana"),
        ("[plan.png]", "Ana"),
    }
    rows = "\n".join(f"{each['ID']},{each['Timestamp']},{each['Contents']},{each['Attachments']}" for each in OWN)
    older = package(f"ID,Timestamp,Contents,Attachments\n{rows}\n", "csv")
    assert counts(run(packed(tmp_path / "package.zip", older)))[:3] == (0, 0, 2)


def test_the_account_is_not_read_above_the_named_folder(run: Run, records: Records, tmp_path: Path) -> None:
    folder = unpacked(tmp_path / "package", package(OWN))
    (inner,) = folder.glob("[Mm]essages")
    run(inner)
    assert {turn.speaker for turn in stored(records, Kind.TURN)} == {None}


def test_a_table_that_is_cut_off_keeps_what_comes_before(run: Run, tmp_path: Path) -> None:
    table = 'ID,Timestamp,Contents,Attachments\n1,2024-01-01 10:00:05,Fine,\n2,2024-01-01 10:00:05,"cut'
    summary = run(packed(tmp_path / "package.zip", package(table, "csv")))
    assert (summary.new, len(summary.rejected)) == (1, 1)
    assert "not valid CSV" in summary.rejected[0].reason


def test_a_message_of_white_space_in_a_data_package_has_the_names_of_its_files(
    run: Run, records: Records, tmp_path: Path
) -> None:
    run(unpacked(tmp_path / "package", package([OWN[1] | {"Contents": " \n"}])))
    assert [turn.content for turn in stored(records, Kind.TURN)] == ["[plan.png]"]


def test_a_message_of_a_bot_without_an_id_is_refused(run: Run, tmp_path: Path) -> None:
    author = {"id": "40", "name": "builder", "isBot": True}
    message = discord_message(1, "Built", author=author) | {"id": None}
    summary = run(written(tmp_path / "d.json", discord([message])))
    assert [problem.reason for problem in summary.rejected] == ["item 1: id must be text"]
