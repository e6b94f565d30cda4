"""From the tables of earlier schemas to those of now, with data in them."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from cognition_engines.kinds.kind import Kind
from cognition_engines.models import Decision, Reason, Sensitivity
from cognition_engines.records.spaces import DECISIONS
from cognition_engines.records.store import Records, open_records
from cognition_engines.records.values import Removal, Upsert
from tests.records.earlier import earlier_schema, first_schema

MANY = 500
DECISION = {
    "title": "Titel — “x”",
    "category": "storage",
    "confidence": 0.5,
    "stakes": "high",
    "status": "accepted",
    "status_text": "Accepted",
    "outcome": "fine",
    "date": -1,
    "reasons": '[["pattern",null],["analysis","mesuré"]]',
    "tags": '["a","b"]',
    "supersedes": '["1"]',
    "superseded_by": "[]",
    "project": "alpha",
    "sensitivity": 2,
    "source": "/notes/ü.md",
    "ordinal": 3,
    "ingested_as": None,
    "digest": "digest",
    "updated_at": 1_700_000_000_000_000,
    "text": "Text",
}


def fill(connection: sa.Connection) -> None:
    """Decisions whose keys and `seq` differ, each with two windows of two models, and two that were deleted."""
    rows = [DECISION | {"key": key, "seq": 2 * MANY - key, "id": f"d-{key}"} for key in range(1, MANY + 1)]
    names = ", ".join(rows[0])
    values = ", ".join(f":{name}" for name in rows[0])
    connection.execute(sa.text(f"INSERT INTO decisions ({names}) VALUES ({values})"), rows)
    windows = [
        {"key": key, "model": model, "place": place, "vector": bytes([key % 256, place, 0, 0] * 3)}
        for key in range(1, MANY + 1)
        for model in ("m", "n")
        for place in range(2)
    ]
    statement = 'INSERT INTO vectors (key, model, "window", vector) VALUES (:key, :model, :place, :vector)'
    connection.execute(sa.text(statement), windows)
    connection.execute(sa.text("INSERT INTO tombstones (seq, key, id) VALUES (2001, 900, 'gone'), (2002, 901, 'lost')"))
    connection.execute(sa.text("UPDATE counter SET seq = 2002"))


def vectors(connection: sa.Connection) -> list[Any]:
    statement = 'SELECT key, model, "window", vector FROM vectors ORDER BY key, model, "window"'
    return [tuple(row) for row in connection.execute(sa.text(statement))]


def test_decisions_of_a_0001_store_keep_their_keys_seqs_and_vectors(url: str) -> None:
    with first_schema(url) as connection:
        fill(connection)
        before = vectors(connection)
        store_id = connection.execute(sa.text("SELECT value FROM meta WHERE name = 'store_id'")).scalar_one()
    records = open_records(url)
    assert (records.count(), records.last_seq(), records.store_id) == (MANY, 2002, store_id)
    (stored,) = records.find([(Kind.DECISION, "d-7")], None)
    assert (stored.key, stored.seq, stored.kind) == (7, 2 * MANY - 7, Kind.DECISION)
    record = stored.record
    assert isinstance(record, Decision)
    assert record.reasons == (Reason("pattern"), Reason("analysis", "mesuré"))
    assert (record.tags, record.project, record.sensitivity) == (("a", "b"), "alpha", Sensitivity.HIGHLY_SENSITIVE)
    assert (stored.facets.at, stored.facets.context) == (record.date, "decision")
    assert (stored.origin.source, stored.origin.ordinal) == ("/notes/ü.md", 3)
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        assert vectors(connection) == before
    assert records.delete(Kind.DECISION, ["d-7"]) == ("d-7",)
    with engine.connect() as connection:  # the new keys cascade
        assert vectors(connection) == [row for row in before if row[0] != 7]
        for table in ("records", "decisions"):
            assert connection.execute(sa.text(f"SELECT count(*) FROM {table}")).scalar_one() == MANY - 1
    engine.dispose()
    records.close()


def test_a_follower_sees_no_change_after_the_migration(url: str) -> None:
    with first_schema(url) as connection:
        fill(connection)
    records = open_records(url)
    assert len(records.page(DECISIONS, 2002, 10, "m")) == 0
    changes = records.changes(2 * MANY - 3, 10, "m")
    assert [change.stored.key for change in changes if isinstance(change, Upsert)] == [2, 1]
    assert [change for change in changes if isinstance(change, Removal)] == [
        Removal(2001, 900, Kind.DECISION, "gone"),
        Removal(2002, 901, Kind.DECISION, "lost"),
    ]
    records.close()


KILLED = """
import os, sys
import sqlalchemy as sa
from cognition_engines.records.store import open_records

def kill(conn, cursor, statement, *_):
    if "DROP TABLE decisions" in statement:
        os._exit(9)

sa.event.listen(sa.Engine, "after_cursor_execute", kill)
open_records(sys.argv[1])
"""


@pytest.mark.embedded_only("is about SQLite files")
def test_a_migration_that_is_killed_leaves_the_first_tables(sqlite_url: str) -> None:
    with first_schema(sqlite_url) as connection:
        fill(connection)
    assert subprocess.run([sys.executable, "-c", KILLED, sqlite_url], check=False).returncode == 9
    engine = sa.create_engine(sqlite_url)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one() == "0001"
        assert len(vectors(connection)) == 4 * MANY
    engine.dispose()
    records = open_records(sqlite_url)
    assert (records.count(), records.models()) == (MANY, {"m": MANY, "n": MANY})
    records.close()


def test_an_empty_store_is_migrated_too(url: str, entry: Callable[..., Any]) -> None:
    with first_schema(url):
        pass
    records: Records = open_records(url)
    records.put([entry("a")], None)
    assert (records.count(), records.last_seq()) == (1, 1)
    records.close()


TURN: dict[str, Any] = {"conversation_id": "c", "source_system": "manual", "importance": 0.5, "mentions": "[]"}
SPINE: dict[str, Any] = {"sensitivity": 0, "source": "/a", "source_key": "k", "digest": "d", "updated_at": 0}


def insert(connection: sa.Connection, table: str, **cells: Any) -> None:
    values = ", ".join(f":{name}" for name in cells)
    connection.execute(sa.text(f"INSERT INTO {table} ({', '.join(cells)}) VALUES ({values})"), cells)


def insert_spine(connection: sa.Connection, key: int, kind: Kind, id: str, **cells: Any) -> None:
    insert(connection, "records", key=key, seq=key, kind=int(kind), id=id, ordinal=key, **{**SPINE, **cells})


def test_turns_of_a_0002_store_keep_their_order(url: str) -> None:
    with earlier_schema(url, "0002") as connection:
        for key, index, ts in ((1, 2, None), (2, 0, 5), (3, 1, 9), (4, 1, 7)):
            insert_spine(connection, key, Kind.TURN, f"art_{key}", at=ts)
            turn = TURN | {"metadata": "{}", "content": "x"}
            insert(connection, "turns", key=key, turn_index=index, ts=ts, **turn)
        connection.execute(sa.text("UPDATE counter SET seq = 4"))
    records = open_records(url)
    page = records.turns("c", (), None, 50)
    assert ([one.key for one in page.stored], page.indices) == ([2, 4, 3, 1], [0, 1, 1, 2])
    records.close()
