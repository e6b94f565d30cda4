"""Backup files: their form and location, and refusal of damaged or foreign files."""

import fcntl
import os
import re
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cognition_engines.errors import BackupFailed, ConfigurationError
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.transfer.backup import opened_backup, restore_backup, write_backup
from cognition_engines.store.transfer.copy import Watcher
from cognition_engines.store.values import Entry, FloatArray

Make = Callable[..., Entry]
Floats = Callable[[int, float], FloatArray]
Rows = Callable[[str], dict[str, Any]]

# Puts batches of three forever and deletes each third batch again, each in a transaction.
ENDLESS_WRITER = """
import sys
from itertools import count
import numpy as np
from cognition_engines.kinds.registry import Kind
from cognition_engines.models import Decision
from cognition_engines.store.records import open_records
from cognition_engines.store.values import Entry, Origin

records = open_records(sys.argv[1])
for batch in count():
    ids = [f"{batch}-{number}" for number in range(3)]
    decisions = [Decision(id, id, id * 300) for id in ids]
    records.put([Entry(one, Origin("/s", 0, None, one.id), np.ones((2, 3), "f4")) for one in decisions], "m")
    if batch % 3 == 2:
        records.delete(Kind.DECISION, [f"{batch - 1}-{number}" for number in range(3)])
    print(batch, flush=True)
"""


@pytest.fixture
def filled(records: Records, entry: Make, floats: Floats) -> Records:
    fill(records, entry, floats)
    return records


@pytest.fixture
def kept(sqlite_url: str, entry: Make, floats: Floats) -> Iterator[Records]:
    """Yield a filled store on SQLite, for tests independent of the database."""
    records = open_records(sqlite_url)
    fill(records, entry, floats)
    yield records
    records.close()


def fill(records: Records, entry: Make, floats: Floats) -> None:
    records.put([entry(f"d-{number}", f"text {number}", windows=1, first=number) for number in range(20)], "m")
    records.put([entry("bare", "naïve")], None)
    records.put_vectors([(1, floats(2, 9.0))], "other")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "backups"
    folder.mkdir()
    return folder / "nightly"


def back_up(records: Records, file: Path, watcher: Watcher, *, replace: bool = False) -> None:
    write_backup(records.store, file, "1.2.3", {"tokens": "kept"}, replace=replace, watcher=watcher)


def test_a_backup_is_one_self_describing_file_for_its_owner(filled: Records, file: Path, quiet: Watcher) -> None:
    back_up(filled, file, quiet)
    assert list(file.parent.iterdir()) == [file]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with opened_backup(file, quiet) as backup:
        assert list(file.parent.iterdir()) == [file], "reading it makes nothing beside it"
        notes = backup.notes
    assert (notes.program, notes.store_id, dict(notes.attached)) == ("1.2.3", filled.store_id, {"tokens": "kept"})
    assert (notes.contents.records, dict(notes.contents.windows)) == (21, {"m": 20, "other": 2})
    assert file.read_bytes()[18:20] == b"\x01\x01", "not in WAL mode, which would want a second file"
    assert list(file.parent.iterdir()) == [file]


def test_a_backup_restores(filled: Records, url: str, file: Path, tmp_path: Path, rows: Rows, quiet: Watcher) -> None:
    back_up(filled, file, quiet)
    fresh = f"sqlite:///{tmp_path}/fresh/records.sqlite3"
    records = open_records(fresh)
    with opened_backup(file, quiet) as backup:
        done = restore_backup(backup, records.store, replace=False, watcher=quiet)
    assert (done.new, done.changed, done.unchanged, done.deleted) == (21, 0, 0, 0)
    assert rows(fresh) == rows(url)
    records.close()


def test_an_empty_store_can_be_backed_up_and_restored(records: Records, file: Path, quiet: Watcher) -> None:
    back_up(records, file, quiet)
    with opened_backup(file, quiet) as backup:
        assert restore_backup(backup, records.store, replace=False, watcher=quiet).contents.records == 0


@pytest.mark.long("makes backups while another process writes")
def test_a_backup_beside_a_writer_holds_whole_transactions_of_one_moment(url: str, file: Path, quiet: Watcher) -> None:
    records = open_records(url)
    writer = subprocess.Popen([sys.executable, "-c", ENDLESS_WRITER, url], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    seen = set()
    try:
        for _ in range(12):
            for _ in range(3):
                told = int(writer.stdout.readline())
            back_up(records, file, quiet, replace=True)
            with opened_backup(file, quiet) as backup, backup.store.reader.begin() as connection:
                ids = connection.exec_driver_sql("SELECT id FROM records").scalars().all()
                assert connection.exec_driver_sql("SELECT count(*) FROM vectors").scalar_one() == 2 * len(ids)
            batches = sorted({int(id.partition("-")[0]) for id in ids})
            assert len(ids) == 3 * len(batches)
            last = batches[-1]
            assert last >= told
            # the last batch may exist without the following deletion
            undeleted = {last - 1} if last % 3 == 2 else set()
            gone = {batch for batch in range(last) if batch % 3 == 1 and batch < last}
            assert set(range(last + 1)) - set(batches) in (gone, gone - undeleted)
            seen.add(last)
    finally:
        writer.kill()
        writer.communicate()
        records.close()
    assert len(seen) > 3


def test_an_existing_file_is_kept_by_default(kept: Records, file: Path, quiet: Watcher) -> None:
    back_up(kept, file, quiet)
    before = file.read_bytes()
    kept.delete(Kind.DECISION, ["d-1"])
    with pytest.raises(ConfigurationError, match=r"nightly exists already; .* --force"):
        back_up(kept, file, quiet)
    assert file.read_bytes() == before
    back_up(kept, file, quiet, replace=True)
    with opened_backup(file, quiet) as backup:
        assert backup.notes.contents.records == 20
    assert list(file.parent.iterdir()) == [file]


def test_a_file_appearing_meanwhile_is_kept(kept: Records, file: Path) -> None:
    class Appearing:
        def start(self, step: str, records: int) -> None:
            file.write_text("mine")

        def advance(self, records: int) -> None: ...

    with pytest.raises(ConfigurationError, match="exists already"):
        back_up(kept, file, Appearing())
    assert file.read_text() == "mine"
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("kind", ["text", "empty", "store", "folder", "dangling link"])
def test_only_a_backup_is_ever_replaced(kept: Records, file: Path, quiet: Watcher, kind: str) -> None:
    if kind == "folder":
        file.mkdir()
    elif kind == "dangling link":
        file.symlink_to("nowhere")
    elif kind == "store":
        open_records(f"sqlite:///{file}").close()
    else:
        file.write_text("letter to my mother" * (kind == "text"))
    with pytest.raises(ConfigurationError, match="nightly is no backup, so it is not replaced"):
        back_up(kept, file, quiet, replace=True)
    assert os.path.lexists(file)
    assert not list(file.parent.glob("*.partial-*"))


def test_a_missing_folder_is_reported_and_not_made(kept: Records, tmp_path: Path, quiet: Watcher) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere is no folder"):
        back_up(kept, tmp_path / "nowhere" / "file", quiet)
    assert not (tmp_path / "nowhere").exists()


def test_leftovers_of_killed_runs_are_removed(kept: Records, file: Path, quiet: Watcher) -> None:
    left, written, unrelated = (file.with_name(f"{name}.partial-0a1b") for name in ("nightly", "nightly", "weekly"))
    written = file.with_name("nightly.partial-ffff")
    for path in (left, written, unrelated):
        path.write_text("half")
    with written.open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        back_up(kept, file, quiet)
    assert {path.name for path in file.parent.iterdir()} == {file.name, written.name, unrelated.name}


def test_of_two_backups_to_one_name_the_first_to_finish_wins(kept: Records, file: Path, quiet: Watcher) -> None:
    class Overtaken:
        def start(self, step: str, records: int) -> None:
            if step == "copying":
                back_up(kept, file, quiet)
                assert list(file.parent.glob("*.partial-*")), "the slower one goes on"

        def advance(self, records: int) -> None: ...

    with pytest.raises(ConfigurationError, match="exists already"):
        back_up(kept, file, Overtaken())
    assert list(file.parent.iterdir()) == [file]


def test_reading_a_backup_ignores_neighbouring_files(kept: Records, file: Path, quiet: Watcher) -> None:
    back_up(kept, file, quiet)
    journal = file.with_name("nightly-journal")
    journal.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\0" * 504)  # SQLite would roll it back
    before = file.read_bytes()
    with opened_backup(file, quiet) as backup:
        assert backup.notes.contents.records == 21
    assert journal.exists()
    assert file.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"short", b"SQLite format 3\0", os.urandom(100_000)], ids=len)
def test_a_foreign_file_is_refused(file: Path, content: bytes, quiet: Watcher) -> None:
    file.write_bytes(content)
    with pytest.raises(ConfigurationError, match="is no backup of this program"), opened_backup(file, quiet):
        pytest.fail("opened")


def test_the_store_itself_is_no_backup(sqlite_url: str, quiet: Watcher) -> None:
    open_records(sqlite_url).close()
    with (
        pytest.raises(ConfigurationError, match="is no backup"),
        opened_backup(Path(sqlite_url.removeprefix("sqlite:///")), quiet),
    ):
        pytest.fail("opened")


@pytest.mark.long("makes backups while another process writes")
def test_a_damaged_backup_is_refused_or_whole(sqlite_url: str, file: Path, entry: Make, quiet: Watcher) -> None:
    records = open_records(sqlite_url)
    records.put([entry(f"d-{number}", f"text {number}" * 20, windows=2, first=number) for number in range(100)], "m")
    back_up(records, file, quiet)
    records.close()
    with opened_backup(file, quiet) as backup:
        before = backup.notes
    whole = file.read_bytes()
    for seed in range(40):
        file.write_bytes(damaged(whole, Random(seed), cut=seed % 4 == 0))
        refused = None
        try:
            with opened_backup(file, quiet) as backup:
                assert backup.notes == before, seed  # damaged bytes that hold nothing
        except (BackupFailed, ConfigurationError) as error:
            refused = str(error)
        assert refused is None or re.search(rf"{file} (is damaged|was written by a newer)", refused), seed


def damaged(whole: bytes, random: Random, *, cut: bool) -> bytes:
    """Return a part of a file, or the file with different bytes in some place."""
    content = bytearray(whole)
    at = random.randrange(100, len(content))
    if cut:
        return bytes(content[:at])
    for place in range(at, min(len(content), at + random.choice((1, 16, 5000)))):
        content[place] ^= random.randrange(1, 256)
    return bytes(content)


@contextmanager
def edited(file: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(file, isolation_level=None)
    yield connection
    connection.close()


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE decisions SET title = 'other' WHERE key = 3",
        "UPDATE records SET digest = 'other' WHERE id = 'd-3'",
        "DELETE FROM records WHERE id = 'd-3'",
        "DELETE FROM decisions WHERE key = 3",
        "UPDATE vectors SET model = 'x' WHERE key = 3",
        "DELETE FROM backup WHERE name = 'contents'",
        "UPDATE backup SET value = '{' WHERE name = 'contents'",
        "UPDATE backup SET value = replace(value, 'kept', 'lost') WHERE name = 'attached'",
        "UPDATE decisions SET text = x'ff' WHERE key = 3",
        "DROP TABLE vectors",
        "DROP TABLE backup",
    ],
)
def test_an_edited_backup_is_refused(kept: Records, file: Path, edit: str, quiet: Watcher) -> None:
    back_up(kept, file, quiet)
    with edited(file) as connection:
        connection.execute(edit)
    with pytest.raises(BackupFailed, match="nightly is damaged"), opened_backup(file, quiet):
        pytest.fail("opened")


@pytest.mark.parametrize(
    ("edits", "named"),
    [
        (("ALTER TABLE receipts RENAME TO r", "CREATE VIEW receipts AS SELECT * FROM r"), "view 'receipts'"),
        (("CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM records; END",), "trigger 't'"),
        (("CREATE VIRTUAL TABLE v USING fts5(word)",), "table 'v'"),
        (("ALTER TABLE meta ADD COLUMN c AS (hex(zeroblob(9)))",), "generated column 'c'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_schemas_must_be_inert(kept: Records, file: Path, quiet: Watcher, edits: Sequence[str], named: str) -> None:
    back_up(kept, file, quiet)
    with closing(sqlite3.connect(file)) as connection:
        for edit in edits:
            connection.execute(edit)
        connection.commit()
    with pytest.raises(BackupFailed, match=f"has the {named}, which no backup has"), opened_backup(file, quiet):
        pass


def test_a_backup_is_read_with_an_untrusted_schema(kept: Records, file: Path, quiet: Watcher) -> None:
    back_up(kept, file, quiet)
    with opened_backup(file, quiet) as backup, backup.store.reader.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA trusted_schema").scalar() == 0


@pytest.mark.parametrize("edit", ["PRAGMA user_version = 2", "UPDATE alembic_version SET version_num = '9999'"])
def test_a_backup_of_a_newer_program_is_refused_as_such(kept: Records, file: Path, edit: str, quiet: Watcher) -> None:
    back_up(kept, file, quiet)
    with edited(file) as connection:
        connection.execute(edit)
    with pytest.raises(ConfigurationError, match=r"newer version .*: upgrade the program"), opened_backup(file, quiet):
        pytest.fail("opened")
