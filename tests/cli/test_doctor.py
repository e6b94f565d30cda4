"""`cstp doctor` over servers, indexes and damage; `transcripts/doctor.txt` has the rest."""

import json
import os
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from cognition_engines.indexes.index_folder import FolderLock
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Decision
from cognition_engines.store.records import open_records
from cognition_engines.store.values import Entry
from cstp_server.doctor.environment import filesystem_of
from cstp_server.settings import Settings
from tests.cli.conftest import tables_of
from tests.http_servers import answering as answering_server
from tests.ingest.chroma_places import Place
from tests.serving import SeededEmbedder
from tests.stored import changes_of
from tests.stores import ChromaProgram, PostgreSQL, free_port

Cstp = Callable[..., Any]
DATA = Path("data")
PARTS = ["settings", "folder", "tokens", "model", "store", "records", "keywords", "set-aside"]
PARTS += ["vectors", "documents", "limits", "server"]


@pytest.fixture
def tmp_path(folder_on_disk: Path) -> Path:
    """Return a folder on disk: `cstp doctor` reports a folder in memory."""
    return folder_on_disk


class Doctor:
    """Runner of the command, with access to the findings."""

    def __init__(self, cstp: Cstp) -> None:
        self._cstp = cstp
        self.code = -1
        self.findings: list[dict[str, str]] = []

    def __call__(self, *words: object, **environment: str) -> "Doctor":
        done = self._cstp("doctor", "--json", *words, **environment)
        assert done.err.count("\n") <= 1  # the store's location, unless the settings cannot be read
        assert done.out.count("\n") == 1
        (self.findings,) = json.loads(done.out).values()
        assert all(set(one) == {"part", "level", "seen", "remedy"} for one in self.findings)
        assert all(one["seen"] and (one["remedy"] or one["level"] == "ok") for one in self.findings)
        assert done.code == any(one["level"] == "problem" for one in self.findings)
        self.code = done.code
        return self

    def of(self, part: str, level: str) -> dict[str, str]:
        """Return the only finding of a part, and the level."""
        found = [one for one in self.findings if one["part"] == part]
        assert [one["level"] for one in found] == [level], found
        return found[0]

    def among(self, part: str, level: str, words: str) -> dict[str, str]:
        """Return the finding of a part with these words."""
        found = [one for one in self.findings if one["part"] == part and words in one["seen"]]
        assert [one["level"] for one in found] == [level], self.findings
        return found[0]

    def others_are_ok(self, *parts: str) -> None:
        rest = [one for one in self.findings if one["part"] not in parts]
        assert {one["level"] for one in rest} == {"ok"}, rest
        assert {one["part"] for one in self.findings} == set(PARTS)


@pytest.fixture(autouse=True)
def on_chroma(embedded: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSTP_VECTORS__INDEX", "chroma")


@pytest.fixture
def doctor(cstp: Cstp, wordless: None) -> Doctor:
    return Doctor(cstp)


@pytest.fixture
def healthy(cstp: Cstp, adr: Callable[..., Path], wordless: None) -> Path:
    """Make a data folder with records, a token and an index."""
    for number in range(3):
        adr(f"docs/{number}.md", f"Title {number}")
    assert cstp("ingest", "docs").code == 0
    assert cstp("token", "create", "--agent", "me").code == 0
    assert cstp("reindex").code == 0
    return DATA


@pytest.fixture
def modelled(healthy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CSTP_EMBEDDING__MODEL")


def execute(*statements: str) -> list[Any]:
    """Execute statements in the folder's database, and return the first row of the last statement."""
    with closing(sqlite3.connect(DATA / "records.sqlite3", isolation_level=None)) as connection:
        return [connection.execute(statement).fetchone() for statement in statements][-1]


def damage(file: Path, place: int, content: bytes) -> None:
    """Overwrite bytes of a file."""
    kept = file.read_bytes()
    place %= len(kept)
    file.write_bytes(kept[:place] + content + kept[place + len(content) :])


def tree(folder: Path) -> dict[str, tuple[int, int, int, str]]:
    """Return mode, size, change time and content of all files in a folder; SQLite's shared memory has no content."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mode,
            path.stat().st_size,
            path.stat().st_mtime_ns,
            sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in sorted(folder.rglob("*"))
        if not path.name.endswith("-shm")
    }


@pytest.mark.long("starts servers and waits for what they report")
def test_nothing_is_changed_and_nothing_is_made(doctor: Doctor, healthy: Path) -> None:
    before = tree(Path())
    doctor()
    doctor("--data-dir", "elsewhere")
    assert tree(Path()) == before
    # a database opened by another process, with changes in its log
    records = open_records(f"sqlite:///{healthy.absolute()}/records.sqlite3")
    records.delete(Kind.DECISION, [changes_of(records, 0, 1, None)[0].stored.record.id])  # type: ignore[union-attr]
    before = tree(Path())
    assert doctor().of("store", "ok")["seen"].endswith("2 decisions")
    assert tree(Path()) == before
    records.close()


@pytest.mark.long("starts servers and waits for what they report")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_of_another_user_are_reported(doctor: Doctor, healthy: Path) -> None:
    os.chown(healthy / "records.sqlite3", 12345, 12345)
    assert "belongs to user 12345, the folder to 0" in doctor().of("folder", "problem")["seen"]
    for path in (healthy, *healthy.iterdir()):
        os.chown(path, 12345, 12345)
    assert "run cstp as the user" in doctor().of("folder", "warning")["remedy"]


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="this system has no /dev/shm")
def test_a_folder_in_memory_is_a_warning(doctor: Doctor) -> None:
    with TemporaryDirectory(dir="/dev/shm") as folder:
        assert "is in memory (tmpfs)" in doctor("--data-dir", folder).among("folder", "warning", "memory")["seen"]


def test_the_filesystem_is_that_of_the_deepest_and_latest_mount(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    folder = tmp_path / "a b" / "data"
    folder.mkdir(parents=True)
    escaped = str(tmp_path / "a b").replace(" ", "\\040")
    mounts.write_text(f"/dev/a / ext4 rw 0 0\nserver:/x {escaped} nfs4 rw 0 0\n/dev/b {tmp_path}/c xfs rw 0 0\n")
    assert filesystem_of(folder, mounts) == "nfs4"
    assert filesystem_of(tmp_path, mounts) == "ext4"
    mounts.write_text(mounts.read_text() + f"/dev/c {escaped} xfs rw 0 0\n")
    assert filesystem_of(folder, mounts) == "xfs"
    assert filesystem_of(folder, tmp_path / "none") == ""


def test_damaged_and_whole_tables_of_a_damaged_database_are_named(doctor: Doctor, healthy: Path) -> None:
    (page,) = execute("SELECT rootpage FROM sqlite_master WHERE name = 'vectors'")
    (size,) = execute("PRAGMA page_size")
    damage(healthy / "records.sqlite3", (page - 1) * size, b"\xff" * 64)
    seen = doctor().of("store", "problem")["seen"]
    assert "damaged tables: vectors; whole ones: " in seen
    assert "decisions" in seen.partition("whole ones")[2]


def test_an_empty_stopped_or_misencoded_postgresql_is_reported_and_unchanged(
    doctor: Doctor, postgresql_url: str, postgresql: PostgreSQL
) -> None:
    assert "has no CSTP tables" in doctor(CSTP_STORE__URL=postgresql_url).of("store", "warning")["seen"]
    assert tables_of(postgresql_url) == set()
    found = doctor(CSTP_STORE__URL="postgresql://me:hunter2@127.0.0.1:1/x").of("store", "problem")
    assert "refused" in found["seen"]
    assert "hunter2" not in json.dumps(doctor.findings)
    assert {one["part"] for one in doctor.findings} >= {"limits", "server", "vectors"}
    with postgresql.connect() as connection:
        connection.execute("CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
        try:
            found = doctor(CSTP_STORE__URL=postgresql.database_url("ascii")).among("store", "problem", "encoding")
            assert "encoding SQL_ASCII" in found["seen"]
        finally:
            connection.execute("DROP DATABASE ascii WITH (FORCE)")


@pytest.mark.long("starts servers and waits for what they report")
@pytest.mark.usefixtures("modelled")
def test_a_model_of_another_dimension_is_a_problem(doctor: Doctor, healthy: Path) -> None:
    identity = doctor().of("model", "ok")["seen"].split()[0]
    records = open_records(f"sqlite:///{healthy.absolute()}/records.sqlite3")
    records.put_vectors([(key, np.ones((1, 3), np.float32)) for key in (1, 2, 3)], identity)
    records.close()
    assert "have 3 dimensions, the model 384" in doctor().of("records", "problem")["seen"]


def put_more(healthy: Path, count: int) -> None:
    records = open_records(f"sqlite:///{healthy.absolute()}/records.sqlite3")
    records.put([Entry(Decision(f"x-{n}", "t"), Origin("/s", n, None, f"{n}")) for n in range(count)], None)
    records.close()


@pytest.mark.long("starts servers and waits for what they report")
def test_a_holder_without_progress_or_answer_is_reported(doctor: Doctor, healthy: Path) -> None:
    put_more(healthy, 2)
    lock = FolderLock(healthy / "indexes")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        found = doctor(CSTP_SERVER__PORT=str(silent.getsockname()[1])).of("keywords", "warning")
    assert "2 changes behind the records" in found["seen"]
    assert "the server's log" in found["remedy"]
    assert "does not answer (no answer within" in doctor.of("server", "problem")["seen"]
    lock.close()


@pytest.mark.usefixtures("modelled")
def test_a_chroma_server_is_asked(
    doctor: Doctor, cstp: Cstp, healthy: Path, chroma_server: ChromaProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = chroma_server.url
    found = doctor(CSTP_VECTORS__URL=f"http://127.0.0.1:{free_port()}").of("vectors", "problem")
    assert "check that Chroma is running" in found["remedy"]
    monkeypatch.setenv("CSTP_VECTORS__URL", url)
    assert "has no collection" in doctor().of("vectors", "ok")["seen"]
    assert cstp("reindex").code == 0
    assert f"decisions: 3 vectors on {url}, up to the last change, of 20" in doctor().of("vectors", "ok")["seen"]
    records = open_records(f"sqlite:///{healthy.absolute()}/records.sqlite3")
    (collection,) = chroma_server.collections(records.store_id)
    records.close()
    id = collection["id"]
    chroma_server.delete_vectors(id, [next(iter(chroma_server.ids(id)))])
    assert "holds 2 vectors, the records up to its last change 3" in doctor().of("vectors", "problem")["seen"]
    chroma_server.modify(id, new_metadata={"seq": 2**52})
    assert "they are older than it" in doctor().of("vectors", "problem")["seen"]
    chroma_server.modify(id, new_metadata={"seq": "no number"})
    assert "was not filled by CSTP" in doctor().of("vectors", "problem")["seen"]
    (healthy / "records.sqlite3").unlink()
    assert doctor().of("vectors", "ok")["seen"] == f"the Chroma server on {url} answers"


@pytest.mark.usefixtures("healthy")
def test_bad_limits_are_told(doctor: Doctor, monkeypatch: pytest.MonkeyPatch, redis_server: Callable[..., Any]) -> None:
    redis = redis_server()
    monkeypatch.setenv("CSTP_LIMITS__REDIS_URL", redis.url)
    assert "Redis counted a hit in" in doctor().of("limits", "ok")["seen"]
    redis.freeze()
    assert "cannot reach Redis" in doctor().of("limits", "problem")["seen"]
    redis.thaw()
    redis.command("CONFIG", "SET", "maxmemory", "1")
    assert "cannot reach Redis" in doctor().of("limits", "problem")["seen"]
    redis.kill()
    assert "cannot reach Redis" in doctor().of("limits", "problem")["seen"]
    doctor.others_are_ok("limits")
    monkeypatch.delenv("CSTP_LIMITS__REDIS_URL")
    found = doctor(CSTP_LIMITS__DEFAULT="1/minute").of("limits", "problem")
    assert "costs 2, more than limits.default" in found["seen"]


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """Serve every GET with this answer, and yield the port."""
    server = answering_server(status, body)
    try:
        yield str(server.server_port)
    finally:
        server.close()


@pytest.mark.long("starts servers and waits for what they report")
@pytest.mark.parametrize(
    ("status", "body", "level", "said"),
    [
        (200, b'{"status": "ready", "parts": {"a": "ready"}}', "ok", 'ready on {url}: {"a": "ready"}'),
        (200, b'{"status": "degraded", "parts": {"a": "x"}}', "warning", 'degraded on {url}: {"a": "x"}'),
        (503, b'{"parts": {"records": "down"}}', "problem", "records is down: the database does not answer"),
        (200, b'{"status": "degraded", "parts": {"limits": "degraded"}}', "warning", "limits is degraded: Redis does"),
        (503, b"no json", "problem", "not ready on {url}"),
        (404, b"", "problem", "answers with HTTP 404"),
        (500, b"", "problem", "HTTP 500"),
    ],
)
def test_the_folder_holder_is_asked_for_readiness(
    doctor: Doctor, healthy: Path, status: int, body: bytes, level: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = FolderLock(healthy / "indexes")
    with answering(status, body) as port:
        monkeypatch.setenv("CSTP_SERVER__PORT", port)
        assert said.replace("{url}", f"http://127.0.0.1:{port}") in doctor().of("server", level)["seen"]
        doctor.others_are_ok("server")
    assert "no server listens on" in doctor().of("server", "warning")["seen"]
    lock.close()
    assert "none uses this data folder" in doctor().of("server", "ok")["seen"]


def test_the_requested_address_is_reachable() -> None:
    def url(host: str) -> str:
        return Settings.model_validate({"server": {"host": host}}).base_url

    assert [url(host) for host in ("127.0.0.1", "0.0.0.0", "::", "::1", "example.org")] == [
        "http://127.0.0.1:8100",
        "http://127.0.0.1:8100",
        "http://[::1]:8100",
        "http://[::1]:8100",
        "http://example.org:8100",
    ]


@pytest.mark.long("starts servers and waits for what they report")
def test_followed_collections(doctor: Doctor, healthy: Path, tmp_path: Path) -> None:
    place = Place(str(tmp_path / "chroma"), SeededEmbedder())
    address = place.fill({"a": "One.", "b": "Two."})
    away = f"chroma:http://127.0.0.1:{free_port()}/notes"
    urls = [address, place.address("nothing"), away]
    assert doctor(CSTP_SOURCES=json.dumps([{"url": url} for url in urls])).code == 1
    assert doctor.among("sources", "ok", f"{address}: 2 items")["remedy"] == ""
    assert "records stay" in doctor.among("sources", "problem", "no collection of this name; there are notes")["remedy"]
    assert "its address" in doctor.among("sources", "problem", f"{away} cannot be read")["remedy"]
