"""PostgreSQL restarted, killed and frozen, and SQLite locked: errors meanwhile, full recovery afterwards."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from cognition_engines.spaces import SEARCHED
from cognition_engines.store.records import open_records
from tests.chaos.asking import Noted, callers
from tests.chaos.chaos import Chaos, frozen, killed
from tests.chaos.process import Served, run_cstp, start_cstp
from tests.chaos.questions import Questions, refused
from tests.chaos.store import MODEL, Known, decision, fill, found_in_all_modes, store_of, write_jsonl
from tests.stores import PostgreSQL

BASE = 200
QUESTIONS = Questions(BASE)
DEADLINE = 1.0
LATE = 4.0  # extra seconds for a busy machine
PATIENCE = 10.0
RECOVERED_WITHIN = 6.0  # seconds, in the long form, with the machine to itself
_IN_A_ROW = 6  # answers, of three callers
AT_ALL_WITHIN = 60.0  # seconds, in the short form, on a machine shared with other tests
HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")  # as IMMEDIATE, since the database has a write-ahead log
print("held", flush=True)
sys.stdin.readline()
"""


def ingest(server: Served, folder: Path, id: str) -> "subprocess.CompletedProcess[str]":
    """Ingest a decision."""
    write_jsonl(folder / "one.jsonl", [decision(id)])
    words = ("ingest", folder / "one.jsonl", "--json", "--data-dir", server.data_dir)
    return run_cstp(*words, overrides=server.overrides, cwd=folder)


@pytest.fixture
def cleanup(own_postgresql: PostgreSQL) -> Iterator[ExitStack]:
    """Close connections before the database stops, however the test ends."""
    with ExitStack() as stack:
        yield stack


@contextmanager
def stopped(postgresql: PostgreSQL) -> Iterator[None]:
    postgresql.stop()
    yield
    postgresql.start()


def test_a_server_survives_postgresql_outages(chaos: Chaos, own_postgresql: PostgreSQL, cleanup: ExitStack) -> None:
    url = own_postgresql.database_url(own_postgresql.create_database())
    records = open_records(url)
    cleanup.callback(records.close)
    fill(records, (decision(f"base-{number}") for number in range(BASE)))
    impatient = sa.make_url(url).update_query_dict({"connect_timeout": "2"}).render_as_string(hide_password=False)
    server = chaos.served(MODEL | {"store.url": impatient, "store.deadline_seconds": DEADLINE})
    rounds, more = chaos.scale.pick(1, 10), chaos.scale.pick(6, 100)
    late, within = chaos.scale.pick(AT_ALL_WITHIN, LATE), chaos.scale.pick(AT_ALL_WITHIN, RECOVERED_WITHIN)
    recovery: list[float] = []
    answered = failed = 0
    for number in range(rounds):
        for outage in chaos.scale.pick((stopped, frozen), (stopped, killed, frozen)):
            with callers(server, 3, QUESTIONS, pause=0.02) as noted:
                chaos.wait_until(lambda noted=noted: any(answer.result for answer in noted.answers))
                with outage(own_postgresql):
                    chaos.wait_until(partial(fails, noted), DEADLINE + late)
                    refused(ingest(server, chaos.folder, f"never-{number}"), "the database does not answer")
                    count = len(noted.answers) + more
                    chaos.wait_until(lambda noted=noted, count=count: len(noted.answers) >= count)
                restored = time.monotonic()
                chaos.wait_until(partial(works_again, noted, restored), AT_ALL_WITHIN)
                recovery.append(time.monotonic() - restored)
            one, other = QUESTIONS.check(noted.answers, DEADLINE + late, "records")
            answered, failed = answered + one, failed + other
            name = f"{outage.__name__}-{number}"
            fill(records, [decision(name)])
            known = Known(records)
            known.read_on()
            chaos.wait_until(partial(found_in_all_modes, server, known, name), within)
            assert f"never-{number}" not in known.texts
    assert max(recovery) < within
    lines = server.log_path.read_text().count("cannot follow")
    assert lines <= 5 * len(SEARCHED) * len(recovery)  # each space follows by itself
    chaos.report(
        "4",
        "PostgreSQL stopped, killed and frozen under queries, then started again",
        len(recovery),
        f"{answered} answers, all whole; {failed} times -32003 records; ingest ends with 1 and a reason; "
        f"all works again after at most {max(recovery):.1f} s; {lines} lines in the log",
    )


def fails(noted: Noted) -> bool:
    return noted.answers[-1].failed_part == "records"


def works_again(noted: Noted, moment: float) -> bool:
    """Return whether the last calls begun after a moment were all answered: connections may be broken separately."""
    last = [answer for answer in noted.answers[-20:] if answer.at - answer.seconds > moment][-_IN_A_ROW:]
    return len(last) == _IN_A_ROW and all(answer.result is not None for answer in last)


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold a database transaction in another process."""
    words = [sys.executable, "-c", HOLD, str(file)]
    holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    try:
        yield
    finally:
        holder.communicate("\n", timeout=10)


def test_reads_go_on_and_writes_wait_while_sqlite_is_locked(chaos: Chaos) -> None:
    data = chaos.folder / "data"
    store_of(data, BASE)
    server = chaos.served(MODEL, data_dir=data)
    write_jsonl(chaos.folder / "late.jsonl", [decision("late-1")])
    words = ("ingest", chaos.folder / "late.jsonl", "--json", "--data-dir", data)
    with callers(server, 2, QUESTIONS, pause=0.02) as noted:
        with locked(data / "records.sqlite3"):
            chaos.wait_until(lambda: len(noted.answers) > 50)
            if chaos.scale.long:
                refused(
                    ingest(server, chaos.folder, "never-1"), "another process has kept the database locked for 30 s"
                )
            waiting = start_cstp(*words, overrides=server.overrides, cwd=chaos.folder)
            count = len(noted.answers)
            chaos.wait_until(lambda: len(noted.answers) > count + 100)
            assert waiting.poll() is None
        _, err = waiting.communicate(timeout=60)
        assert waiting.returncode == 0, err
    assert QUESTIONS.check(noted.answers, PATIENCE) == (len(noted.answers), 0)
    records = open_records(f"sqlite:///{data}/records.sqlite3")
    known = Known(records)
    known.read_on()
    chaos.wait_until(partial(found_in_all_modes, server, known, "late-1"))
    assert "never-1" not in known.texts
    records.close()
    chaos.report(
        "4",
        "SQLite locked by another process (BEGIN EXCLUSIVE) for over 30 s",
        1,
        f"{len(noted.answers)} answers, all whole; an ingest waits, after 30 s it ends with 1 and a reason",
    )
