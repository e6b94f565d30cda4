"""Creating and refusing databases, and surviving a kill."""

import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
import sqlalchemy as sa

from cognition_engines.errors import ComponentFailed, ConfigurationError
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.opening import open_store
from cognition_engines.store.read_only import read_only_store
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.schema import BEFORE, HEAD, metadata
from cognition_engines.store.values import Entry
from tests.stores import PostgreSQL

Make = Callable[..., Entry]

OPENER = """
import sys
from cognition_engines.store.records import open_records

print("ready", flush=True)
sys.stdin.readline()
records = open_records(sys.argv[1])
print(records.store_id, sum(records.counts().values()), flush=True)
records.close()
"""


def file_of(sqlite_url: str) -> Path:
    return Path(sqlite_url.removeprefix("sqlite:///"))


@pytest.mark.long("starts processes, and kills one")
def test_processes_opening_a_new_store_concurrently_all_succeed(new_url: str) -> None:
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", OPENER, new_url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for opener in openers:
        assert opener.stdout is not None
        assert opener.stdout.readline() == "ready\n"
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("\n")
        opener.stdin.flush()
    answers = {opener.communicate()[0] for opener in openers}
    assert [opener.returncode for opener in openers] == [0, 0, 0, 0]
    (answer,) = answers
    assert answer.endswith(" 0\n")


def test_the_store_id_is_made_once(new_url: str, entry: Make) -> None:
    first = open_records(new_url)
    first.put([entry("a")], None)
    second = open_records(new_url)
    assert len(first.store_id) == 32
    assert int(first.store_id, 16) >= 0
    assert second.store_id == first.store_id
    assert (sum(second.counts().values()), second.last_seq()) == (1, first.last_seq())
    first.close()
    second.close()


def test_two_new_stores_have_different_ids(tmp_path: Path) -> None:
    stores = [open_records(f"sqlite:///{tmp_path}/{name}.sqlite3") for name in "ab"]
    assert stores[0].store_id != stores[1].store_id
    for store in stores:
        store.close()


def test_a_new_store_has_the_tables_of_the_program(new_url: str) -> None:
    open_records(new_url).close()
    engine = sa.create_engine(new_url)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalars().all() == [HEAD]
        assert set(sa.inspect(connection).get_table_names()) == {*metadata.tables, "alembic_version"}
    engine.dispose()


def test_a_store_of_the_schema_before_is_migrated_and_keeps_its_records(url: str, entry: Make) -> None:
    records = open_records(url)
    records.put([entry("a")], None)
    records.close()
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE decisions DROP COLUMN date_source"))
        connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{BEFORE}'"))
    with pytest.raises(ConfigurationError, match="cstp serve migrates it"), read_only_store(url):
        pass
    records = open_records(url)
    records.put([entry("b")], None)
    assert set(records.reads.by_ids(Kind.DECISION, ["a", "b"])) == {"a", "b"}
    records.close()
    engine.dispose()


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("9999", r"newer version .* 9999.*: upgrade the program"),
        ("0001", r"earlier version .* 0001.*: export its records"),
    ],
)
def test_a_store_of_another_version_is_refused_and_left_alone(url: str, entry: Make, schema: str, reason: str) -> None:
    records = open_records(url)
    records.put([entry("a")], None)
    records.close()
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{schema}'"))
    with pytest.raises(ConfigurationError, match=reason):
        open_records(url)
    with engine.begin() as connection:
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one() == schema
        connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{HEAD}'"))
    engine.dispose()
    records = open_records(url)
    assert sum(records.counts().values()) == 1
    records.close()


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_usual_spelling_of_a_postgresql_url_is_taken(postgresql_url: str, scheme: str) -> None:
    records = open_records(postgresql_url.replace("postgresql+psycopg", scheme, 1))
    assert sum(records.counts().values()) == 0
    records.close()


def test_a_postgresql_database_of_another_encoding_is_refused(postgresql: PostgreSQL) -> None:
    name = f"ascii_{uuid4().hex}"
    with postgresql.connect() as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
        )
        with pytest.raises(ConfigurationError, match="must have the encoding UTF8"):
            open_records(postgresql.database_url(name))
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


BAD_URLS = [
    "",
    "records.sqlite3",
    "sqlite://",
    "sqlite:///:memory:",
    "sqlite:////tmp/x.sqlite3?mode=ro",
    "mysql://user:secret@host/db",
    "postgresql+asyncpg://user:secret@host/db",
    "postgresql://user:secret@host:port/db",
    "postgresql://user:secret@db..internal/db",
]


@pytest.mark.parametrize("bad", BAD_URLS)
def test_another_kind_of_url_is_refused_without_its_password(bad: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^store\.url: ") as caught:
        open_records(bad)
    assert "secret" not in str(caught.value)


def test_a_new_folder_and_file_are_for_the_owner_only(tmp_path: Path, entry: Make) -> None:
    file = tmp_path / "new" / "records.sqlite3"
    records = open_records(f"sqlite:///{file}")
    records.put([entry("a")], None)
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in file.parent.iterdir()} == {0o600}
    records.close()


def test_an_existing_folder_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    open_records(f"sqlite:///{tmp_path}/records.sqlite3").close()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_place_unfit_for_a_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match=r"cannot use .*file/records\.sqlite3"):
        open_records(f"sqlite:///{tmp_path}/file/records.sqlite3")


def test_a_relative_path_is_resolved_at_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: Make) -> None:
    monkeypatch.chdir(tmp_path)
    records = open_records("sqlite:///here.sqlite3")
    monkeypatch.chdir("/")
    records.put([entry("a")], None)
    records.close()
    assert (tmp_path / "here.sqlite3").exists()


def test_a_file_without_a_database_fails_as_the_component(tmp_path: Path) -> None:
    (tmp_path / "records.sqlite3").write_bytes(b"not a database " * 1000)
    with pytest.raises(ComponentFailed, match=r"^records: the database is damaged$") as caught:
        open_records(f"sqlite:///{tmp_path}/records.sqlite3")
    assert caught.value.component == "records"


def test_an_unanswering_server_fails_as_the_component() -> None:
    with pytest.raises(ComponentFailed, match=r"^records: the database does not answer \(connection refused\)$"):
        open_records("postgresql://user:secret@127.0.0.1:1/db")


def test_a_failing_statement_reveals_neither_sql_nor_content(records: Records, url: str, entry: Make) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE tombstones"))
    engine.dispose()
    records.put([entry("private-id")], None)
    with pytest.raises(ComponentFailed, match=r"^records: (OperationalError|ProgrammingError)$") as caught:
        records.delete(Kind.DECISION, ["private-id"])
    assert isinstance(caught.value.__cause__, sa.exc.SQLAlchemyError)
    assert "private-id" not in str(caught.value.__cause__)
    assert records.reads.find([(Kind.DECISION, "private-id")], None)


def test_every_sqlite_connection_has_its_pragmas(sqlite_url: str) -> None:
    store = open_store(sqlite_url)
    expected = {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 30_000,
        "secure_delete": 1,
        "temp_store": 2,
        "journal_size_limit": 67_108_864,
    }
    with store.reader.connect() as first, store.writer.connect() as second:
        for connection in (first, second):
            found = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in expected}
            assert found == expected
    store.reader.dispose()


def test_deleted_text_is_removed_from_the_file(sqlite_url: str, entry: Make) -> None:
    records = open_records(sqlite_url)
    records.put([entry("a", "the quick brown fox " * 500)], None)
    records.close()
    assert b"quick brown fox" in file_of(sqlite_url).read_bytes()
    records = open_records(sqlite_url)
    records.delete(Kind.DECISION, ["a"])
    records.close()
    assert b"quick brown fox" not in file_of(sqlite_url).read_bytes()


def test_a_read_only_postgresql_names_the_remedy(postgresql_url: str) -> None:
    read_only = sa.make_url(postgresql_url).update_query_dict({"options": "-c default_transaction_read_only=on"})
    with pytest.raises(ComponentFailed, match="read-only; give the URL of the one that takes writes"):
        open_records(read_only.render_as_string(hide_password=False))
    engine = sa.create_engine(postgresql_url)
    role = f"reader_{uuid4().hex}"
    with engine.begin() as connection:
        connection.execute(sa.text(f"CREATE ROLE {role}"))
        connection.execute(sa.text("REVOKE CREATE ON SCHEMA public FROM PUBLIC"))
    denied = sa.make_url(postgresql_url).update_query_dict({"options": f"-c role={role}"})
    try:
        with pytest.raises(ComponentFailed, match="grant what is missing, such as CREATE"):
            open_records(denied.render_as_string(hide_password=False))
    finally:
        with engine.begin() as connection:
            connection.execute(sa.text(f"DROP ROLE {role}"))
        engine.dispose()
