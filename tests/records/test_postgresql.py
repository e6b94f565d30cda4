"""PostgreSQL that is slow, gone, hung or back again."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from io import StringIO
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from cognition_engines.errors import ComponentFailed
from cognition_engines.kinds.spec import Kind
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.opening import open_store
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Entry
from tests.stores import PostgreSQL, free_port

Make = Callable[..., Entry]
DEADLINE = 0.2  # and PostgreSQL has a second more


@pytest.fixture
def hurried(postgresql_url: str) -> Iterator[Records]:
    records = open_records(postgresql_url, DEADLINE)
    yield records
    records.close()


@pytest.fixture
def session(postgresql_url: str) -> Iterator["psycopg.Connection[Any]"]:
    """Yield a connection that holds locks until rolled back."""
    with psycopg.connect(postgresql_url.replace("+psycopg", "")) as connection:
        yield connection


def test_reads_end_a_second_after_deadline(hurried: Records, entry: Make, session: "psycopg.Connection[Any]") -> None:
    hurried.put([entry("a")], None)
    session.execute("LOCK TABLE decisions")
    began = monotonic()
    with pytest.raises(ComponentFailed, match="records: the database took too long"):
        hurried.reads.find([(Kind.DECISION, "a")], None)
    assert monotonic() - began < 10
    session.rollback()
    assert hurried.reads.find([(Kind.DECISION, "a")], None)


def test_large_reads_and_writes_may_take_as_long_as_they_need(
    hurried: Records, entry: Make, session: "psycopg.Connection[Any]", wait_until: Callable[..., None]
) -> None:
    hurried.put([entry("a")], None)
    session.execute("LOCK TABLE decisions, counter")
    done: list[str] = []

    def late(name: str, function: Callable[[], object]) -> Thread:
        thread = Thread(target=lambda: (function(), done.append(name)))
        thread.start()
        return thread

    threads = [
        late("page", lambda: hurried.changes.page(DECISIONS, 0, 10, None)),
        late("put", lambda: hurried.put([entry("b")], None)),
    ]
    for _ in range(2):  # by then the others are past the deadline too
        with pytest.raises(ComponentFailed):
            hurried.last_seq()
    session.rollback()
    for thread in threads:
        thread.join(20)
    assert sorted(done) == ["page", "put"]
    assert sum(hurried.counts().values()) == 2


def parameters(url: str, deadline: float | None = None) -> Mapping[str, str]:
    """Return the connection parameters of the pool."""
    store = open_store(url, deadline)
    with store.reader.connect() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        found: Mapping[str, str] = driver.info.get_parameters()
    store.reader.dispose()
    return found


def test_a_vanished_host_is_noticed_on_every_connection_unless_the_url_says_otherwise(postgresql_url: str) -> None:
    found = parameters(postgresql_url, 2.5)
    assert (found["connect_timeout"], found["tcp_user_timeout"], found["keepalives_idle"]) == ("10", "10000", "10")
    assert found["options"] == "-c statement_timeout=3500"
    found = parameters(f"{postgresql_url}&tcp_user_timeout=700&connect_timeout=3&options=-c%20work_mem%3D8MB", 2.5)
    assert (found["connect_timeout"], found["tcp_user_timeout"], found["keepalives_idle"]) == ("3", "700", "10")
    assert found["options"] == "-c work_mem=8MB -c statement_timeout=3500"
    assert "options" not in parameters(postgresql_url)


@pytest.mark.long("restarts a PostgreSQL")
@pytest.mark.parametrize("end", [PostgreSQL.stop, PostgreSQL.kill], ids=["stopped", "killed"])
def test_records_are_read_and_written_again_after_a_restart(
    own_postgresql: PostgreSQL, entry: Make, end: Callable[[PostgreSQL], None], wait_until: Callable[..., None]
) -> None:
    records = open_records(own_postgresql.url, 5)
    records.put([entry("a")], None)
    end(own_postgresql)
    for _ in range(3):
        with pytest.raises(ComponentFailed, match="records: the database"):
            records.reads.find([(Kind.DECISION, "a")], None)
    own_postgresql.start()
    assert records.reads.find([(Kind.DECISION, "a")], None)
    records.put([entry("b")], None)
    assert sum(records.counts().values()) == 2
    records.close()


@pytest.mark.long("restarts a PostgreSQL")
def test_a_running_server_answers_again_after_a_database_restart(
    own_postgresql: PostgreSQL,
    entry: Make,
    live_server: Callable[..., Any],
    log_output: Callable[[str], StringIO],
    wait_until: Callable[..., None],
) -> None:
    log = log_output("error")
    records = open_records(own_postgresql.url)
    records.put([entry("a", "a lighthouse keeper")], None)
    live = live_server({"store.url": own_postgresql.url, "vectors.url": None})
    token = live.token()

    def asked(words: str) -> Any:
        return live.call("cstp.queryDecisions", token, {"query": words, "mode": "keyword"}).json

    def titles(words: str) -> int:
        reply = asked(words)
        return reply["result"]["total"] if "result" in reply else -1

    assert titles("lighthouse") == 1
    own_postgresql.stop()
    error = asked("lighthouse")["error"]
    assert (error["code"], error["data"]["component"]) == (-32003, "records")
    assert error["data"].keys() == {"component", "requestId"}
    logged = [json.loads(line) for line in log.getvalue().splitlines()]
    reasons = {line["reason"] for line in logged if line["event"] == "component_failed"}
    gone = "records: the database does not answer"
    assert reasons <= {gone, f"{gone} (connection refused)"}
    assert reasons
    own_postgresql.start()
    assert titles("lighthouse") == 1
    records.put([entry("b", "another lighthouse")], None)
    wait_until(lambda: titles("lighthouse") == 2)
    records.close()


@pytest.fixture(scope="module")
def guarded(postgresql: PostgreSQL) -> Iterator[sa.URL]:
    """Yield a PostgreSQL that requires a password of one user and has no connection for another."""
    with postgresql.connect() as connection:
        connection.execute("CREATE ROLE guarded LOGIN PASSWORD 'right'")
        connection.execute("CREATE ROLE crowded LOGIN CONNECTION LIMIT 0")
        row = connection.execute("SHOW hba_file").fetchone()
        assert row is not None
        rules = Path(row[0])
        before = rules.read_text()
        ways = ("local all guarded", "host all guarded all")
        rules.write_text("".join(f"{way} scram-sha-256\n" for way in ways) + before)
        connection.execute("SELECT pg_reload_conf()")
        yield sa.make_url(postgresql.database_url("postgres"))
        rules.write_text(before)
        connection.execute("SELECT pg_reload_conf()")
        connection.execute("DROP ROLE guarded, crowded")


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"database": "elsewhere"}, "there is no such database; create it"),
        ({"username": "stranger"}, "refuses the user or password; correct them"),
        ({"username": "guarded", "password": "wrong"}, "refuses the user or password; correct them"),
        ({"username": "guarded"}, "refuses the user or password; correct them"),
        ({"username": "crowded"}, "no connection left; close some"),
    ],
    ids=str,
)
def test_a_refused_connection_names_reason_and_remedy(
    guarded: sa.URL, parts: dict[str, str], reason: str, wait_until: Callable[..., None]
) -> None:
    url = guarded.set(**parts).render_as_string(hide_password=False)

    def told() -> str:
        with pytest.raises(ComponentFailed, match=r"^records: ") as caught:
            open_records(url)
        return str(caught.value)

    wait_until(lambda: reason in told())  # its new rules take a moment
    assert "wrong" not in told()


def test_an_unresolvable_host_names_reason_and_remedy() -> None:
    with pytest.raises(ComponentFailed, match=r"^records: the host .* cannot be resolved; correct it in the URL"):
        open_records("postgresql://me:secret@nowhere.invalid/x")


def serve(url: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", "from cstp_server.cli.entry import main; main()", "serve", "--port", "0"]
    environment = {"CSTP_STORE__URL": url, "CSTP_EMBEDDING__MODEL": "none"}
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=240, check=False
    )


def refused(done: "subprocess.CompletedProcess[str]") -> bool:
    *_, named, last = done.stderr.splitlines()
    return (
        done.returncode == 1
        and "postgresql://" in named
        and "check that the database named above is running" in last
        and "Traceback" not in done.stderr
    )


@pytest.mark.long("restarts a PostgreSQL")
def test_a_server_with_a_stopped_database_says_so_and_ends_with_1(tmp_path: Path) -> None:
    assert refused(serve(f"postgresql://me:secret@127.0.0.1:{free_port()}/x", tmp_path))


@pytest.mark.long("restarts a PostgreSQL")
def test_a_hanging_database_ends_a_start_with_1(own_postgresql: PostgreSQL, tmp_path: Path) -> None:
    own_postgresql.freeze()
    try:
        began = monotonic()
        assert refused(serve(f"{own_postgresql.url}&connect_timeout=2", tmp_path))
        assert monotonic() - began < 30, "without a timeout it would wait for ever"
    finally:
        own_postgresql.thaw()
