"""A full disk: impossible writes are refused, existing records stay readable, and nothing is half written."""

import json
import os
import resource
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from cognition_engines.indexes.index_folder import CompactionMarks, FolderLock, holder, read_marks, write_marks
from cognition_engines.store.records import Records, open_records
from tests.chaos.asking import callers
from tests.chaos.chaos import Chaos
from tests.chaos.process import COMMAND, Served, environment, run_cstp
from tests.chaos.questions import Questions, refused
from tests.chaos.store import MODEL, Known, asked, decision, fill, found_in_all_modes, store_of, write_jsonl
from tests.stored import models

BASE = 400
QUESTIONS = Questions(BASE)
LATE = 4.0  # seconds for an answer on a busy machine
FULL = "the disk is full"


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mount a file system of this size at `folder`. Skips without permission to mount."""
    folder.mkdir(parents=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def no_space(folder: Path, left: int = 0) -> Iterator[Callable[[], None]]:
    """Fill the file system of `folder` except `left` bytes; the yielded function refills it."""
    filler = folder / "filler"

    def take_space() -> None:
        with filler.open("ab", buffering=0) as file:  # a buffer would be flushed once more when the file is closed
            with suppress(OSError):
                while True:
                    file.write(bytes(1 << 16))
            file.truncate(max(0, os.fstat(file.fileno()).st_size - left))

    take_space()
    yield take_space
    filler.unlink()


def log_given_back(data: Path) -> bool:
    """Return whether SQLite's log could be emptied: an ingest would write into the space of a leftover log."""
    with closing(sqlite3.connect(data / "records.sqlite3")) as connection:
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def some_docs(folder: Path, count: int, name: str) -> Path:
    for number in range(count):
        write_jsonl(folder / f"{number}.jsonl", [decision(f"{name}-{number}", "x" * 500)])
    return folder


def test_a_full_disk_refuses_an_ingest_and_serves_reads_until_it_has_space(chaos: Chaos) -> None:
    rounds = chaos.scale.pick(1, 10)
    kept = answered = 0
    with small_disk(chaos.folder / "data", 48) as data:
        store_of(data, BASE)
        server = chaos.served(MODEL, data_dir=data)
        records = open_records(f"sqlite:///{data}/records.sqlite3")
        for number in range(rounds):
            docs = some_docs(chaos.folder / f"docs{number}", 200, f"full{number}")
            words = ("ingest", docs, "--json", "--data-dir", data)
            with callers(server, 2, QUESTIONS, pause=0.02) as noted:
                chaos.wait_until(partial(log_given_back, data))
                with no_space(data, 100_000 * (number % 5)):
                    done = run_cstp(*words, overrides=server.overrides, cwd=chaos.folder)
                    refused(done, FULL)
                    known = seen(records)
                    whole_records(records, known)
                    count = len(noted.answers)
                    chaos.wait_until(lambda noted=noted, count=count: len(noted.answers) > count + 50)
                kept += sum(id.startswith(f"full{number}-") for id in known.texts)
                assert server.ingest(docs)["new"] == 200 - sum(id.startswith(f"full{number}-") for id in known.texts)
                known = seen(records)
                chaos.wait_until(partial(found_in_all_modes, server, known, known.last))
            answered += QUESTIONS.check(noted.answers, LATE)[0]
            assert all(found_in_all_modes(server, known, f"full{number}-{place}") for place in range(0, 200, 20))
        records.close()
        server.kill()
    chaos.report(
        "4",
        "the disk of the data folder full under an ingest and queries",
        rounds,
        f"ingest ends with 1 and a reason; {answered} answers meanwhile, all whole; {kept} records committed before, "
        "all kept; all works again with space",
    )


def seen(records: Records) -> Known:
    known = Known(records)
    known.read_on()
    return known


def whole_records(records: Records, known: Known) -> None:
    """Assert that each record has vectors: nothing is half stored."""
    assert models(records) == {model: len(known.texts) for model in models(records)}
    assert sum(records.counts().values()) == len(known.texts)


def test_a_file_size_limit_stops_an_ingest_and_leaves_nothing_half_stored(chaos: Chaos) -> None:
    data = chaos.folder / "data"
    store_of(data, BASE)
    records = open_records(f"sqlite:///{data}/records.sqlite3")
    docs = some_docs(chaos.folder / "docs", 300, "limited")
    words = [*COMMAND, "ingest", str(docs), "--json", "--data-dir", str(data)]
    limits = chaos.scale.pick((100_000, 700_000), range(50_000, 1_250_000, 50_000))
    for limit in limits:
        done = subprocess.run(
            words,
            cwd=chaos.folder,
            env=environment(MODEL),
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (limit, limit)),
        )
        refused(done, "the disk fails or a file may not grow")
        whole_records(records, seen(records))
    kept = sum(records.counts().values()) - BASE
    done = run_cstp(*words[len(COMMAND) :], overrides=MODEL, cwd=chaos.folder)
    assert (done.returncode, json.loads(done.stdout)["unchanged"]) == (0, kept)
    records.close()
    chaos.report(
        "4",
        "an ingest whose files may not grow (RLIMIT_FSIZE)",
        len(limits),
        f"ends with 1 and a reason each time; {kept} records committed on the way, none half; the next run ends it",
    )


def test_indexes_without_space_agree_with_words_and_catch_up(chaos: Chaos) -> None:
    data = chaos.folder / "data"
    rounds = chaos.scale.pick(1, 10)
    store_of(data, BASE)
    records = open_records(f"sqlite:///{data}/records.sqlite3")
    lines: list[int] = []
    with small_disk(data / "indexes", 16) as indexes:
        server = chaos.served(MODEL, data_dir=data)
        for number in range(rounds):
            told = server.log_path.read_text().count('"level":"warning"')
            with callers(server, 2, QUESTIONS, pause=0.02) as noted:
                with no_space(indexes) as take_space:
                    fill(records, (decision(f"late{number}-{place}", "y" * 300) for place in range(300)))
                    known = seen(records)
                    shown(server, known, f"late{number}-")
                    count = len(noted.answers)
                    chaos.wait_until(
                        lambda noted=noted, count=count: len(noted.answers) > count + chaos.scale.pick(100, 500)
                    )
                    chaos.wait_until(partial(words_are_refused, server, records, take_space))
                    known.read_on()
                    shown(server, known, f"late{number}-")
                for place in range(0, 300, 60):
                    chaos.wait_until(partial(found_in_all_modes, server, known, f"late{number}-{place}"))
            QUESTIONS.check(noted.answers, LATE)
            lines.append(server.log_path.read_text().count('"level":"warning"') - told)
        said = server.log_path.read_text()
        server.kill()
    records.close()
    assert max(lines) < 30
    assert "raised ValueError" not in said
    chaos.report(
        "4",
        "the disk of the indexes full under a server that follows",
        rounds,
        f"what words cannot find is not shown; all found with space again; at most {max(lines)} warnings",
    )


def words_are_refused(server: Served, records: Records, take_space: Callable[[], None]) -> bool:
    """Return whether the server's log reports an unwritable keyword index; add a record without space for it."""
    take_space()  # the index of vectors may have given some back when it failed
    fill(records, [decision(f"more-{records.last_seq()}", "y" * 300)])
    return f"keywords: {FULL}" in server.log_path.read_text()


def test_with_the_disk_full_a_write_names_the_cause_and_the_server_is_degraded(chaos: Chaos) -> None:
    with small_disk(chaos.folder / "data", 48) as data:
        store_of(data, BASE)
        server = chaos.served(MODEL, data_dir=data)
        episode = {"query": "Mend the net", "reward": 0.5, "reflection": "x" * 1000}

        def refused_write() -> bool:
            reply = server.call("cstp.storeEpisode", episode)
            return bool(reply.get("error", {}).get("data", {}).get("component") == "store")

        with no_space(data):
            chaos.wait_until(refused_write)  # the log of SQLite may have had some space left
            error = server.call("cstp.storeEpisode", episode)["error"]
            assert (error["code"], error["data"]["component"]) == (-32003, "store")
            assert "the disk is full" in error["data"]["reason"]
            # each refused call adds a row, until the log has no space for rows either
            chaos.wait_until(lambda: refused_write() and server.metrics()['cstp_work_failing{work="audit"}'] == 1)
            chaos.wait_until(lambda: json.loads(server.request("GET", "/readyz")[1])["parts"]["audit"] == "degraded")
            status, body = server.request("GET", "/readyz")
            assert (status, json.loads(body)["status"]) == (200, "degraded")
            named_with_remedy(server, chaos.folder)
        assert "result" in server.call("cstp.storeEpisode", episode)
        chaos.wait_until(lambda: json.loads(server.request("GET", "/readyz")[1])["status"] == "ready")
        assert server.metrics()['cstp_work_failing{work="audit"}'] == 0
        server.kill()
        said = server.log_path.read_text()
    assert f"audit rows cannot be stored: records: {FULL}" in said
    assert "audit rows are stored again" in said


def named_with_remedy(server: Served, folder: Path) -> None:
    """Check that folder status, server status and doctor name the failing work, the cause and a remedy."""
    of_folder = run_cstp("status", "--json", "--data-dir", server.data_dir, overrides=server.overrides, cwd=folder)
    asked = ("status", f"http://127.0.0.1:{server.port}", "--token", server.token, "--json")
    of_server = run_cstp(*asked, overrides=server.overrides, cwd=folder)
    for done in (of_folder, of_server):
        (audit,) = [one for one in json.loads(done.stdout)["failing"] if one["work"] == "audit"]
        assert audit["since"]
        assert (FULL in audit["cause"], "make room" in audit["remedy"]) == (True, True)
    done = run_cstp("doctor", "--json", "--data-dir", server.data_dir, overrides=server.overrides, cwd=folder)
    (finding,) = [
        one for one in json.loads(done.stdout)["findings"] if one["part"] == "server" and "audit fails" in one["seen"]
    ]
    assert finding["level"] == "warning"
    assert (FULL in finding["seen"], "make room" in finding["remedy"]) == (True, True)


def test_expired_records_are_forgotten_after_a_full_disk_has_space(chaos: Chaos) -> None:
    rounds = chaos.scale.pick(1, 5)
    with small_disk(chaos.folder / "data", 48) as data:
        store_of(data, BASE)
        server, ledger = chaos.served(MODEL, data_dir=data), data / "forgotten.jsonl"
        for number in range(rounds):
            expires = datetime.now(UTC) + timedelta(seconds=5)
            texts = [f"The tide table {number}-{place} is printed." for place in range(5)]
            made = [
                server.call("cstp.remember", {"content": text, "source": "wiki", "expiresAt": expires.isoformat()})
                for text in texts
            ]
            ids = {one["result"]["id"] for one in made}
            with no_space(data):
                chaos.wait_until(lambda: '"retention":"degraded"' in server.request("GET", "/readyz")[1].decode())
            chaos.wait_until(lambda ids=ids: ledger.exists() and all(id in ledger.read_text() for id in ids))
            chaos.wait_until(lambda: json.loads(server.request("GET", "/readyz")[1])["status"] == "ready")
            memories = server.call("cstp.listMemories", {"limit": 100})["result"]["memories"]
            assert ids.isdisjoint(one["id"] for one in memories)
        said = server.log_path.read_text()
        server.kill()
    assert f"expired records cannot be forgotten: records: {FULL}" in said
    assert "sqlite3." not in said.replace("records.sqlite3", "")
    chaos.report(
        "4",
        "the disk full while memories expire",
        rounds,
        "all are forgotten and in the ledger once there is space, without a restart",
    )


def test_index_marks_without_disk_space_leave_former_marks_and_no_draft(tmp_path: Path) -> None:
    with small_disk(tmp_path / "indexes", 1) as indexes:
        write_marks(indexes, CompactionMarks(keywords=1))
        files = set(indexes.iterdir())
        with no_space(indexes):
            with pytest.raises(OSError, match="No space left"):
                write_marks(indexes, CompactionMarks(keywords=2))
            assert set(indexes.iterdir()) == {*files, indexes / "filler"}
        assert read_marks(indexes) == CompactionMarks(keywords=1)


def test_a_process_locking_the_indexes_on_a_full_disk_can_be_asked_for_them_by_name(tmp_path: Path) -> None:
    with small_disk(tmp_path / "indexes", 1) as indexes:
        FolderLock(indexes).close()
        with no_space(indexes):
            with closing(FolderLock(indexes)) as lock:
                with suppress(OSError), (indexes / "other").open("wb") as file:
                    file.write(bytes(1 << 16))
                assert holder(indexes) == ""
                lock.name_holder("cstp mcp")
                assert holder(indexes) == "cstp mcp"
            (indexes / "other").unlink()


def shown(server: Served, known: Known, prefix: str) -> None:
    """Assert that words also find the results of the nearest neighbours."""
    for place in range(0, 300, 60):
        id = f"{prefix}{place}"
        if asked(server, known.texts[id], "semantic", 1)[0]["id"] == id:
            assert [one["id"] for one in asked(server, known.words[id].split()[1], "keyword")] == [id]
