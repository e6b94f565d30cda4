"""Conversations of Discord, as DiscordChatExporter and as Discord itself give them."""

from pathlib import Path

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.conversations.samples import packed, unpacked
from tests.ingest.runs import Run, counts, stored


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
