"""Exports of Slack, packed and unpacked."""

from pathlib import Path

import pytest

from cognition_engines.ingest.options import Texts
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity
from cognition_engines.store.records import Records
from tests.ingest.conversations.samples import JANUARY, packed, slack, slack_message, unpacked
from tests.ingest.runs import Run, counts, stored

DAY = "general/2024-01-01"


def test_messages_have_speakers_times_threads_and_names(run: Run, records: Records, tmp_path: Path) -> None:
    root = f"{JANUARY + 1}.000001"
    first = slack_message(1, "Ask <@U2> &amp; <#C04GENERAL>: <https://tides.example|the tables>", thread_ts=root)
    answer = slack_message(2, "Done", "U2", thread_ts=root, edited={"user": "U2", "ts": f"{JANUARY + 9}.000000"})
    liked = slack_message(3, "", reactions=[{"name": "anchor", "users": ["U2"], "count": 1}], files=[{"name": "a.png"}])
    assert run(packed(tmp_path / "e.zip", slack({DAY: [first, answer, liked]}))).new == 3
    asked, done, image = sorted(stored(records, Kind.TURN), key=lambda turn: turn.ts)
    assert asked.content == "Ask @Bo & #general: the tables (https://tides.example)"
    assert (asked.speaker, asked.mentions, asked.session, asked.source_system) == ("Ana", ("Bo",), root, "slack")
    assert asked.ts.isoformat() == "2024-01-01T00:00:01.000001+00:00"
    assert (done.session, done.metadata["edited"]) == (root, "2024-01-01T00:00:09+00:00")
    assert (image.content, image.session) == ("[a.png]", None)
    assert (image.metadata["reactions"], image.metadata["files"]) == ({"anchor": 1}, ["a.png"])
    assert {turn.conversation_id for turn in (asked, done, image)} == {"slack:general-C04GENERAL"}


def test_a_folder_and_its_archive_are_the_same_messages(run: Run, tmp_path: Path) -> None:
    export = slack({DAY: [slack_message(1, "Hello")], "D05PAIR/2024-01-01": [slack_message(2, "Between us")]})
    folder = unpacked(tmp_path / "export", export)
    summary = run(folder)
    assert (counts(summary), summary.warnings, summary.rejected) == ((2, 0, 0, 0), (), ())
    assert counts(run(packed(tmp_path / "e.zip", export))) == (0, 0, 2, 0)
    assert counts(run(folder, prune=True)) == (0, 0, 2, 0)
    (folder / f"{DAY}.json").unlink()
    assert run(folder, prune=True).deleted == 1


def test_messages_of_bots_are_counted_or_read_by_a_setting(run: Run, records: Records, tmp_path: Path) -> None:
    bots = [slack_message(1, "Built", "U3"), slack_message(2, "Built", bot_id="B1", subtype="bot_message")]
    system = [slack_message(3, "<@U2> has joined the channel", "U2", subtype="channel_join")]
    export = slack({DAY: [*bots, *system], "general/2024-01-02": [slack_message(4, "Built", bot_id="B1")]})
    path = packed(tmp_path / "e.zip", export)
    summary = run(path)
    assert (summary.new, [warning.reason for warning in summary.warnings]) == (0, [
        "3 messages of bots are left out; --bots reads them",
        "1 message of the system or of a tool is left out; --system-messages reads it",
    ])  # fmt: skip
    assert run(path, texts=Texts(bots=True)).new == 3
    assert run(path, texts=Texts(bots=True, system_messages=True)).new == 1
    assert [turn.content for turn in stored(records, Kind.TURN) if turn.role == "system"] == [
        "@Bo has joined the channel"
    ]


def test_direct_messages_are_sensitive_by_default(run: Run, records: Records, tmp_path: Path) -> None:
    export = slack({DAY: [slack_message(1, "Hello")], "D05PAIR/2024-01-01": [slack_message(2, "Between us")]})
    run(packed(tmp_path / "e.zip", export))
    levels = {turn.content: turn.sensitivity for turn in stored(records, Kind.TURN)}
    assert levels == {"Hello": Sensitivity.NORMAL, "Between us": Sensitivity.SENSITIVE}
    run(tmp_path / "e.zip", sensitivity=Sensitivity.NORMAL)
    assert {turn.sensitivity for turn in stored(records, Kind.TURN)} == {Sensitivity.NORMAL}


@pytest.mark.parametrize("missing", [(), ("dms.json",), ("dms.json", "channels.json"), ("dms.json", "users.json")])
def test_direct_messages_need_no_lists(run: Run, records: Records, tmp_path: Path, missing: tuple[str, ...]) -> None:
    private = ["D05PAIR", "G0GROUP1", "D1", "mpdm-ana--bo-1"]
    days = {f"{folder}/2024-01-01": [slack_message(at, folder)] for at, folder in enumerate(private)}
    export = slack({DAY: [slack_message(9, "general")], **days})
    run(packed(tmp_path / "e.zip", {name: content for name, content in export.items() if name not in missing}))
    levels = {turn.content: turn.sensitivity for turn in stored(records, Kind.TURN)}
    assert levels == dict.fromkeys(private, Sensitivity.SENSITIVE) | {"general": Sensitivity.NORMAL}


def test_a_channel_is_public_only_if_its_list_says_so(run: Run, records: Records, tmp_path: Path) -> None:
    flags = ["is_private", "is_group", "is_im", "is_mpim"]
    days = {f"{name}/2024-01-01": [slack_message(at, name)] for at, name in enumerate([*flags, "bare", "unlisted"])}
    export = slack(days)
    channels = [{"id": f"C{at}", "name": flag, "members": [], flag: True} for at, flag in enumerate(flags)]
    export["channels.json"] = [*channels, {"id": "C9", "name": "bare"}]
    run(packed(tmp_path / "e.zip", export))
    levels = {turn.content: turn.sensitivity for turn in stored(records, Kind.TURN)}
    assert levels == dict.fromkeys([*flags, "unlisted"], Sensitivity.SENSITIVE) | {"bare": Sensitivity.NORMAL}


@pytest.mark.parametrize("broken", ["", "[", "{}", "[1]", "[]", "null", "<html>"])
@pytest.mark.parametrize("archive", [True, False])
def test_broken_lists_guard_channels(run: Run, records: Records, tmp_path: Path, broken: str, archive: bool) -> None:
    export = slack({DAY: [slack_message(1, "Hello")]})
    export["channels.json"] = broken
    del export["dms.json"]
    summary = run(packed(tmp_path / "e.zip", export) if archive else unpacked(tmp_path / "export", export))
    (turn,) = stored(records, Kind.TURN)
    assert (turn.speaker, turn.sensitivity) == ("Ana", Sensitivity.SENSITIVE)
    assert any("channels.json of the export is empty or broken" in one.reason for one in summary.warnings)


def test_a_list_of_users_that_is_broken_is_named(run: Run, records: Records, tmp_path: Path) -> None:
    summary = run(packed(tmp_path / "e.zip", slack({DAY: [slack_message(1, "Hello")]}) | {"users.json": "[{"}))
    assert [turn.speaker for turn in stored(records, Kind.TURN)] == ["U1"]
    assert ["users.json of the export is empty or broken" in one.reason for one in summary.warnings] == [True]


def test_lists_elsewhere_and_linked_lists_are_not_read(run: Run, records: Records, tmp_path: Path) -> None:
    folder = unpacked(tmp_path / "export", slack({DAY: [slack_message(1, "Hello")]}))
    assert run(folder / "general").new == 1
    (turn,) = stored(records, Kind.TURN)
    assert (turn.speaker, turn.conversation_id) == ("U1", "slack:general")
    (folder / "users.json").rename(tmp_path / "users.json")
    (folder / "users.json").symlink_to(tmp_path / "users.json")
    run(folder)
    assert {turn.speaker for turn in stored(records, Kind.TURN)} == {"U1"}


def test_an_unlisted_user_is_named_by_message_or_id(run: Run, records: Records, tmp_path: Path) -> None:
    guest = slack_message(1, "Hi", "U8", user_profile={"display_name": "Guest", "real_name": "A Guest"})
    run(packed(tmp_path / "e.zip", slack({DAY: [guest, slack_message(2, "Ask <@U9>", "U9")]})))
    assert {(turn.speaker, turn.content) for turn in stored(records, Kind.TURN)} == {("Guest", "Hi"), ("U9", "Ask @U9")}


def test_a_message_of_wrong_types_is_refused_alone(run: Run, tmp_path: Path) -> None:
    wrong = [slack_message(1, "ok"), slack_message(2, "x", ts=5), slack_message(3, "x") | {"text": ["a"]}, "words",
             slack_message(4, "x", ts="999999999999.000000"), slack_message(5, "fine")]  # fmt: skip
    summary = run(packed(tmp_path / "e.zip", slack({DAY: wrong})))  # type: ignore[dict-item]
    assert summary.new == 2
    assert [(one.file, one.reason) for one in summary.rejected] == [
        (f"{tmp_path}/e.zip/{DAY}.json", reason)
        for reason in (
            "item 2: ts must be seconds with six digits behind the point",
            "item 3: text must be text",
            "item 4: a message must be an object",
            "item 5: ts must be seconds with six digits behind the point",
        )
    ]


def test_a_day_that_is_cut_off_keeps_what_comes_before(run: Run, tmp_path: Path) -> None:
    export = slack({DAY: [slack_message(1, "Whole")]})
    export[f"{DAY}.json"] = '[{"type": "message", "ts": "1704067201.000001", "user": "U1", "text": "Whole"}, {"type"'
    summary = run(packed(tmp_path / "e.zip", export))
    assert (summary.new, [one.reason for one in summary.rejected]) == (1, [
        "after item 1: not valid JSON; what follows is not read"
    ])  # fmt: skip


def test_lists_of_users_elsewhere_and_records_of_ours_are_read_as_before(run: Run, tmp_path: Path) -> None:
    entity = {"kind": "entity", "id": "ana", "name": "Ana", "type": "person"}
    ours = {"users.json": [entity], "lists.json": [entity | {"id": "bo", "name": "Bo"}]}
    unpacked(tmp_path / "ours", {**ours, "2024-01-01.json": [{"kind": "cluster", "name": "c"}]})
    assert run(tmp_path / "ours").kinds == {"entity": 2, "cluster": 1}
