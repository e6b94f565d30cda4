"""Archives of exports: damaged, hostile and linked members."""

from pathlib import Path

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.conversations.samples import mail, packed, slack, slack_message, unpacked
from tests.ingest.runs import Run, stored

DAY = "general/2024-01-01"
EXPORT = slack({DAY: [slack_message(1, "Hello")]})


@pytest.mark.parametrize("name", ["../../general/2024-01-02.json", "/general/2024-01-02.json", "a\\..\\b.json"])
def test_a_member_named_outside_the_archive_is_refused_alone(run: Run, tmp_path: Path, name: str) -> None:
    summary = run(packed(tmp_path / "e.zip", EXPORT | {name: [slack_message(2, "Out")]}))
    assert (summary.new, [one.reason for one in summary.rejected]) == (1, ["its name leads out of the archive"])


def test_a_member_packed_too_well_is_refused_alone_and_gives_no_names(
    run: Run, records: Records, tmp_path: Path
) -> None:
    blanks = b"[" + b" " * (32 * 2**20) + b"]"
    summary = run(packed(tmp_path / "e.zip", EXPORT | {"general/2024-01-02.json": blanks, "users.json": blanks}))
    assert [one.reason for one in summary.rejected] == ["is packed more than 200 to one"] * 2
    assert [turn.speaker for turn in stored(records, Kind.TURN)] == ["U1"]


def test_a_linked_list_of_users_gives_no_names(run: Run, records: Records, tmp_path: Path) -> None:
    folder = unpacked(tmp_path / "export", EXPORT)
    (folder / "users.json").rename(tmp_path / "users.json")
    (folder / "users.json").symlink_to(tmp_path / "users.json")
    run(folder)
    assert [turn.speaker for turn in stored(records, Kind.TURN)] == ["U1"]


def test_an_archive_lacking_bytes_is_refused_member_by_member(run: Run, tmp_path: Path) -> None:
    path = packed(tmp_path / "e.zip", {"1.eml": mail("1", "Hello"), "2.eml": mail("2", "Hello")})
    path.write_bytes(path.read_bytes()[20:])
    summary = run(path)
    assert (summary.new, len(summary.rejected)) == (1, 1)
    assert "is damaged in the archive" in summary.rejected[0].reason
