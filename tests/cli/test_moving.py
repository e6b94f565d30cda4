"""`cstp backup` and `restore` with tokens, a server, full disks and kills; `transcripts/transfer.txt` has the rest."""

import json
import signal
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import httpx
import numpy as np
import psycopg
import pytest

from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Decision
from cognition_engines.store.database import begin_read
from cognition_engines.store.opening import open_store
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.transfer.backup import opened_backup
from cognition_engines.store.transfer.copy import Contents, Source, contents
from cognition_engines.store.values import Entry
from tests.cli.conftest import limit_files
from tests.stored import Quiet
from tests.stores import DATABASES

Cstp = Callable[..., Any]
Start = Callable[..., Any]
Wait = Callable[..., None]
RECORDS = 2500
FILE = Path("backup")
pytestmark = pytest.mark.usefixtures("embedded")


def decision(number: int, text: str = "Some words about it. ") -> Entry:
    origin = Origin("/notes/a.md", number, None, digest=text)
    vectors = np.full((1, 384), number + 1, np.float32)
    return Entry(Decision(f"d-{number}", f"Decision {number}", text * 20), origin, vectors)


def fill(url: str, numbers: Sequence[int], text: str = "Some words about it. ") -> Records:
    records = open_records(url)
    for start in range(0, len(numbers), 500):
        records.put([decision(number, text) for number in numbers[start : start + 500]], "m")
    return records


def held(url: str) -> Contents:
    store = open_store(url)
    try:
        with begin_read(store) as connection:
            return contents(Source(connection), Quiet())
    finally:
        store.reader.dispose()


def held_by(file: Path) -> Contents:
    """Return the content of a backup that passed verification."""
    with opened_backup(file, Quiet()) as backup:
        return backup.notes.contents


@pytest.fixture
def source_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/data/records.sqlite3"


def one_line(done: Any) -> dict[str, Any]:
    assert (done.code, done.err) == (0, "")
    assert done.out.count("\n") == 1
    found: dict[str, Any] = json.loads(done.out)
    return found


@pytest.mark.long("kills processes again and again, or moves many records")
def test_tokens_are_restored_only_with_the_option_and_ended_tokens_never(cstp: Cstp, source_url: str) -> None:
    fill(source_url, range(3)).close()
    tokens = Path("data/tokens.json")

    def made(agent: str) -> str:
        return str(json.loads(cstp("token", "create", "--agent", agent, "--json").out)["id"])

    def states() -> dict[str, str]:
        return {one["id"]: one["state"] for one in json.loads(cstp("token", "list", "--json").out)}

    revoked, rotated, lost, ended = made("old"), made("moving"), made("lost"), made("ended")
    cstp("token", "revoke", ended)
    cstp("backup", FILE)
    cstp("token", "revoke", revoked)
    cstp("token", "rotate", rotated, "--overlap", "1h")
    file = json.loads(tokens.read_text())
    file["tokens"] = [one for one in file["tokens"] if one["id"] != lost]
    for one in file["tokens"]:
        if one["id"] == ended:
            one["revoked"] = None
        if one["id"] == rotated:
            one["scopes"], early = ["read"], one["expires"]
    tokens.write_text(json.dumps(file))
    newer = tokens.read_bytes()
    assert one_line(cstp("restore", FILE, "--replace", "--json"))["tokens"] is None
    assert tokens.read_bytes() == newer
    done = cstp("restore", FILE, "--replace", "--tokens")
    assert (done.code, "4 tokens restored" in done.out) == (0, True)
    found = states()
    assert (found[revoked], found[ended], len(found)) == ("revoked", "revoked", 5)
    assert {one["id"]: one["expires"] for one in json.loads(tokens.read_text())["tokens"]}[rotated] == early
    live = [id for id, state in found.items() if state not in ("revoked", "expired")]
    lines = [line for line in done.out.splitlines() if line.startswith("live token ")]
    assert {line.split()[2] for line in lines} == {*live} >= {rotated, lost}
    assert f"live token {lost} of lost: read, normal, until " in done.out
    tokens.unlink()
    assert one_line(cstp("restore", FILE, "--replace", "--json"))["tokens"] is None
    assert not tokens.exists()
    again = one_line(cstp("restore", FILE, "--replace", "--tokens", "--json"))
    assert (again["tokens"], {one["agent"] for one in again["live"]}) == (4, {"old", "moving", "lost"})
    assert stat.S_IMODE(tokens.stat().st_mode) == 0o600


@pytest.mark.long("kills processes again and again, or moves many records")
def test_a_server_follows_restore(cstp: Cstp, source_url: str, serving: Callable[..., Any], wait_until: Wait) -> None:
    fill(source_url, range(300)).close()
    assert cstp("backup", FILE).code == 0
    records = fill(source_url, [1, 500], "Quokkas vote. ")
    records.delete(Kind.DECISION, ["d-7"])
    records.close()
    token = cstp("token", "create", "--agent", "me", "--quiet").out.strip()
    _, url = serving()

    def found(query: str) -> set[str]:
        params = {"query": query, "mode": "keyword", "limit": 50}
        request = {"jsonrpc": "2.0", "id": 1, "method": "cstp.queryDecisions", "params": params}
        answer = httpx.post(f"{url}/cstp", headers={"Authorization": f"Bearer {token}"}, json=request).json()
        return {one["id"] for one in answer["result"]["decisions"]}

    assert found("quokkas") == {"d-1", "d-500"}
    assert "d-7" not in found("Decision 7")
    assert cstp("restore", FILE, "--replace").code == 0
    wait_until(lambda: "d-7" in found("Decision 7"))
    assert found("quokkas") == set()
    assert held(source_url) == held_by(FILE)


@pytest.mark.long("kills processes again and again, or moves many records")
def test_a_backup_on_a_full_disk_is_reported_and_leaves_nothing(program: Start, source_url: str) -> None:
    fill(source_url, range(RECORDS)).close()
    folder = set(Path().iterdir())
    done = limit_files(program("backup", FILE), 300_000)
    assert (done.code, done.out) == (1, "")
    place, refusal = done.err.splitlines()
    assert place.startswith("cstp: records: ")
    assert refusal.startswith(f"cstp: {FILE.absolute()}: cannot be written (")
    assert "make room" in refusal
    assert set(Path().iterdir()) == folder
    Path("older").mkdir()
    assert program("backup", "older/b").finish().code == 0
    before = Path("older/b").read_bytes()
    assert limit_files(program("backup", "older/b", "--force"), 300_000).code == 1
    assert Path("older/b").read_bytes() == before
    assert [path.name for path in Path("older").iterdir()] == ["b"]


@pytest.mark.long("kills processes again and again, or moves many records")
def test_a_restore_on_a_full_disk_changes_nothing(cstp: Cstp, program: Start, source_url: str) -> None:
    fill(source_url, range(RECORDS)).close()
    cstp("backup", FILE)
    records = fill(source_url, range(100), "Changed. ")
    records.delete(Kind.DECISION, [f"d-{number}" for number in range(200, RECORDS)])
    before = held(source_url)
    done = limit_files(program("restore", FILE, "--replace"), 1_000_000)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("cstp: records: ")
    assert held(source_url) == before
    records.close()
    assert cstp("restore", FILE, "--replace").code == 0
    assert held(source_url) == held_by(FILE)


class Target:
    """A database under writes by a killed command, and the command's progress."""

    def __init__(self, kind: str, url: str) -> None:
        self.kind = kind
        self.url = url

    def written(self) -> int:
        """Return bytes written by a transaction, committed or not."""
        if self.kind == "sqlite":
            wal = Path(f"{self.url.removeprefix('sqlite:///')}-wal")
            return wal.stat().st_size if wal.exists() else 0
        with psycopg.connect(self.url.replace("+psycopg", ""), autocommit=True) as connection:
            row = connection.execute("SELECT pg_table_size('vectors')").fetchone()
            assert row is not None
            return int(row[0])


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/data/records.sqlite3"
    else:
        url = request.getfixturevalue("postgresql_url")
    return Target(request.param, url)


def kill_when(running: Any, reached: Callable[[], bool], wait_until: Wait) -> bool:
    """Send SIGKILL as soon as `reached`; return whether the program was still running."""
    wait_until(lambda: reached() or running.process.poll() is not None)
    running.process.send_signal(signal.SIGKILL)
    return running.finish().code == -signal.SIGKILL


@pytest.fixture
def kills(request: pytest.FixtureRequest) -> int:
    """Return the number of kills; each restart takes a second or two."""
    return 20 if request.config.getoption("--chaos") == "long" else 3


def limits(database: Target, size: int, kills: int) -> Iterator[int]:
    """Yield bytes to write before each kill, from the first byte to almost all."""
    random = Random(database.kind)
    for share in (0, *(random.random() for _ in range(kills - 1))):
        yield database.written() + max(1, int(share * size / 2))


def partial_bytes() -> int:
    try:
        return sum(path.stat().st_size for path in Path().glob(f"{FILE}.partial-*"))
    except FileNotFoundError:  # it has just got its name
        return 0


@pytest.mark.long("kills processes again and again, or moves many records")
def test_a_killed_backup_leaves_none_or_all(database: Target, program: Start, wait_until: Wait, kills: int) -> None:
    fill(database.url, range(RECORDS)).close()
    wanted = held(database.url)
    environment = {"CSTP_STORE__URL": database.url}
    assert program("backup", FILE, **environment).finish().code == 0
    size = FILE.stat().st_size
    FILE.unlink()
    random = Random(database.kind)
    killed = 0
    leftovers = False
    for share in (0, 1, *(random.random() for _ in range(kills - 2))):
        running = program("backup", FILE, **environment)
        limit = max(1, int(share * size))
        killed += kill_when(running, lambda limit=limit: partial_bytes() >= limit, wait_until)
        leftovers |= bool(list(Path().glob(f"{FILE}.partial-*")))
        if FILE.exists():
            assert held_by(FILE) == wanted
            FILE.unlink()
    assert killed >= kills // 2
    assert leftovers, "some kill must come in the middle"
    assert program("backup", FILE, **environment).finish().code == 0
    assert held_by(FILE) == wanted
    assert {path.name for path in Path().iterdir()} <= {FILE.name, "data"}
    assert held(database.url) == wanted


@pytest.mark.long("kills processes again and again, or moves many records")
def test_a_killed_restore_leaves_old_or_new(database: Target, program: Start, wait_until: Wait, kills: int) -> None:
    fill(database.url, range(RECORDS)).close()
    new = held(database.url)
    environment = {"CSTP_STORE__URL": database.url}
    assert program("backup", "new", **environment).finish().code == 0
    records = fill(database.url, range(RECORDS // 2, RECORDS + 500), "Other. ")
    records.delete(Kind.DECISION, [f"d-{number}" for number in range(RECORDS // 3)])
    records.close()
    old = held(database.url)
    assert program("backup", "old", **environment).finish().code == 0

    def restore(file: str) -> Any:
        return program("restore", file, "--replace", **environment)

    killed = 0
    for limit in limits(database, Path("new").stat().st_size, kills):
        killed += kill_when(restore("new"), lambda limit=limit: database.written() >= limit, wait_until)
        found = held(database.url)
        assert found in (old, new)
        if found == new:
            assert restore("old").finish().code == 0
    assert killed >= kills // 2
    assert restore("new").finish().code == 0
    assert held(database.url) == new


@pytest.mark.long("kills processes again and again, or moves many records")
def test_killed_copy_is_atomic(database: Target, program: Start, wait_until: Wait, kills: int, tmp_path: Path) -> None:
    source = tmp_path / "from" / "records.sqlite3"
    fill(f"sqlite:///{source}", range(RECORDS)).close()
    wanted = held(f"sqlite:///{source}")
    open_records(database.url).close()
    empty = held(database.url)
    killed = 0
    for limit in limits(database, source.stat().st_size, kills):
        running = program("--data-dir", "from", "copy", "--to", database.url)
        killed += kill_when(running, lambda limit=limit: database.written() >= limit, wait_until)
        found = held(database.url)
        assert found in (empty, wanted)
        if found == wanted:
            records = open_records(database.url)
            records.delete(Kind.DECISION, [f"d-{number}" for number in range(RECORDS)])
            records.close()
    assert killed >= kills // 2
    assert program("--data-dir", "from", "copy", "--to", database.url).finish().code == 0
    assert held(database.url) == wanted
