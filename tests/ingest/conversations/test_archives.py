"""Archives: what is read of them, and what hostile ones cannot do."""

import json
import zipfile
from pathlib import Path

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.conversations.samples import mail, packed, slack, slack_message, written
from tests.ingest.runs import Run, counts, stored

DAY = "general/2024-01-01"
EXPORT = slack({DAY: [slack_message(1, "Hello")]})


def test_an_archive_that_is_no_export_is_counted_as_other_files_are(run: Run, tmp_path: Path) -> None:
    packed(tmp_path / "in/photos.zip", {"a.jpg": b"x", "list.json": [1, 2]})
    written(tmp_path / "in/broken.zip", "PK\x03\x04 but not for long")
    summary = run(tmp_path / "in")
    assert (summary.skipped, summary.warnings, summary.rejected) == ({".zip": 2}, (), ())
    assert [one.reason for one in run(tmp_path / "in/photos.zip", tmp_path / "in/broken.zip").rejected] == [
        "holds no record in a format that is known",
        "is no zip that can be read",
    ]


def test_other_members_of_an_export_are_counted_in_one_warning(run: Run, tmp_path: Path) -> None:
    (warning,) = run(
        packed(tmp_path / "e.zip", EXPORT | {"files/a.png": b"x", "files/b.png": b"x", "n.json": {}})
    ).warnings
    assert warning.reason == "3 members hold no conversation: 2 .png, 1 .json"


def test_an_export_below_a_folder_of_its_archive_keeps_its_names(run: Run, records: Records, tmp_path: Path) -> None:
    inner = {f"export/{name}": content for name, content in EXPORT.items()}
    run(packed(tmp_path / "e.zip", inner | {"__MACOSX/export/._users.json": b"\0"}))
    assert [(turn.speaker, turn.conversation_id) for turn in stored(records, Kind.TURN)] == [
        ("Ana", "slack:general-C04GENERAL")
    ]


@pytest.mark.parametrize("name", ["../../general/2024-01-02.json", "/general/2024-01-02.json", "a\\..\\b.json"])
def test_a_member_whose_name_leads_out_of_the_archive_is_refused_alone(run: Run, tmp_path: Path, name: str) -> None:
    summary = run(packed(tmp_path / "e.zip", EXPORT | {name: [slack_message(2, "Out")]}))
    assert (summary.new, [one.reason for one in summary.rejected]) == (1, ["its name leads out of the archive"])


def test_a_member_that_is_packed_too_well_is_refused_alone(run: Run, tmp_path: Path) -> None:
    blanks = b"[" + b" " * (32 * 2**20) + b"]"
    summary = run(packed(tmp_path / "e.zip", EXPORT | {"general/2024-01-02.json": blanks}))
    assert (summary.new, [one.reason for one in summary.rejected]) == (1, ["is packed more than 200 to one"])


def test_a_list_of_users_that_is_packed_too_well_gives_no_names(run: Run, records: Records, tmp_path: Path) -> None:
    summary = run(packed(tmp_path / "e.zip", EXPORT | {"users.json": b"[" + b" " * (32 * 2**20) + b"]"}))
    assert [one.reason for one in summary.rejected] == ["is packed more than 200 to one"]
    assert [turn.speaker for turn in stored(records, Kind.TURN)] == ["U1"]


def test_a_damaged_member_is_refused_and_the_others_are_read(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "e.zip"
    days = {f"general/2024-01-0{day}.json": json.dumps([slack_message(day, "Hello " * 500)]) for day in (1, 2)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in days.items():
            archive.writestr(name, content)
        info = archive.getinfo("general/2024-01-02.json")
    damaged = bytearray(path.read_bytes())
    damaged[info.header_offset + 800] ^= 1
    path.write_bytes(damaged)
    summary = run(path)
    assert (summary.new, len(summary.rejected)) == (1, 1)
    assert "is damaged in the archive" in summary.rejected[0].reason


def test_an_archive_that_lacks_bytes_is_refused_member_by_member(run: Run, tmp_path: Path) -> None:
    path = packed(tmp_path / "e.zip", {"1.eml": mail("1", "Hello"), "2.eml": mail("2", "Hello")})
    path.write_bytes(path.read_bytes()[20:])
    summary = run(path)
    assert (summary.new, len(summary.rejected)) == (1, 1)
    assert "is damaged in the archive" in summary.rejected[0].reason


def test_an_encrypted_member_is_refused(run: Run, tmp_path: Path) -> None:
    path = packed(tmp_path / "e.zip", {"1.eml": mail("1", "Hello"), "2.eml": mail("2", "Hello")})
    content = path.read_bytes()
    at = content.index(b"PK\x01\x02") + 8
    path.write_bytes(content[:at] + b"\x01" + content[at + 1 :])
    summary = run(path)
    assert (summary.new, [one.reason for one in summary.rejected]) == (1, ["is encrypted"])


def test_an_export_without_messages_is_read_as_one(run: Run, tmp_path: Path) -> None:
    summary = run(packed(tmp_path / "e.zip", slack({})))
    assert (counts(summary), summary.rejected) == ((0, 0, 0, 0), ())
