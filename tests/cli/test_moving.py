"""`cstp copy`, `cstp backup` and `cstp restore`: their output, beside a server, on a full disk, and killed."""

import json
import os
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

import cstp as package
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Decision
from cognition_engines.store.database import begin_read
from cognition_engines.store.opening import open_store
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.transfer.backup import opened_backup
from cognition_engines.store.transfer.copy import Contents, Source, contents
from cognition_engines.store.values import Entry
from tests.cli.conftest import limit_files, tables_of
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


def test_copy_to_postgresql(cstp: Cstp, source_url: str, postgresql_url: str) -> None:
    fill(source_url, range(30)).close()
    done = cstp("copy", "--to", postgresql_url.replace("://postgres:@", "://postgres:hunter2@"), "--json")
    assert "hunter2" not in done.out + done.err + done.places
    found = one_line(done)
    wanted = held(source_url)
    assert found["to"].startswith("postgresql+psycopg://")
    assert {name: found[name] for name in ("records", "kinds", "vectors", "digest")} == {
        "records": 30,
        "kinds": {"decision": 30},
        "vectors": {"m": 30},
        "digest": wanted.digest,
    }
    assert held(postgresql_url) == wanted

    Path("elsewhere").mkdir()
    done = cstp("copy", "--to", "sqlite:///elsewhere/records.sqlite3")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("copied 30 records with 30 vectors to sqlite:///elsewhere/records.sqlite3")
    assert "set store.url" in done.out

    shown = json.loads(cstp("show", "d-3", "--json").out)
    assert json.loads(cstp("show", "d-3", "--json", CSTP_STORE__URL=postgresql_url).out) == shown


def test_copy_refuses_impossible_copies_with_a_remedy(cstp: Cstp, source_url: str) -> None:
    assert cstp("copy", "--to", "sqlite:///x.sqlite3").code == 2  # there is nothing to copy yet
    assert not Path("x.sqlite3").exists()
    fill(source_url, range(3)).close()
    fill("sqlite:///full.sqlite3", [9]).close()
    before = held("sqlite:///full.sqlite3")
    for words, code, said in [
        (["--to", "sqlite:///full.sqlite3"], 2, "holds 1 records already; name an empty database"),
        (["--to", source_url], 2, "holds 3 records already"),
        (["--to", "mysql://me:hunter2@host/x"], 2, "--to: mysql is neither sqlite nor postgresql"),
        (["--to", "no url"], 2, "--to: not a database URL"),
        (["--to", "sqlite:////proc/x"], 2, "--to: cannot use /proc/x: "),
        (["--to", "sqlite:////dev/null/x"], 2, "--to: /dev/null is not a folder; create it"),
        (["--to", "sqlite:///nope/deep/x"], 2, f"--to: {Path('nope/deep').absolute()} is not a folder; create it"),
        (
            ["--to", "postgresql://me:hunter2@127.0.0.1:1/x"],
            1,
            "cstp: target: the database does not answer (connection refused); nothing was copied",
        ),
    ]:
        done = cstp("copy", *words)
        assert (done.code, done.out) == (code, "")
        assert said in done.err
        assert "hunter2" not in done.err
    assert held("sqlite:///full.sqlite3") == before
    assert not Path("nope").exists()


def test_a_backup_is_reported_kept_and_restored(cstp: Cstp, source_url: str) -> None:
    fill(source_url, range(30)).close()
    cstp("token", "create", "--agent", "me")
    found = one_line(cstp("backup", FILE, "--json"))
    wanted = held(source_url)
    assert found == {
        "file": str(FILE.absolute()),
        "bytes": FILE.stat().st_size,
        "createdAt": found["createdAt"],
        "records": 30,
        "kinds": {"decision": 30},
        "vectors": {"m": 30},
        "digest": wanted.digest,
        "tokens": 1,
    }
    assert stat.S_IMODE(FILE.stat().st_mode) == 0o600
    with opened_backup(FILE, Quiet()) as backup:
        assert backup.notes.program == package.__version__

    restored = one_line(cstp("--data-dir", "new", "restore", FILE, "--tokens", "--json"))
    assert [one["scopes"] for one in restored.pop("live")] == [["read"]]
    assert restored == {
        **{name: found[name] for name in ("file", "createdAt", "records", "kinds", "vectors", "digest", "tokens")},
        **{"new": 30, "changed": 0, "unchanged": 0, "deleted": 0, "forgotten": 0},
    }
    assert held("sqlite:///new/records.sqlite3") == wanted
    assert Path("new/tokens.json").read_bytes() == Path("data/tokens.json").read_bytes()
    assert {stat.S_IMODE(path.stat().st_mode) for path in Path("new").iterdir()} == {0o600}


def test_backup_and_restore_speak_plainly(cstp: Cstp, source_url: str) -> None:
    fill(source_url, range(30)).close()
    done = cstp("backup", FILE)
    assert done.out.startswith(f"wrote 30 records with 30 vectors and 0 tokens to {FILE} (")
    records = fill(source_url, range(2, 40), "Changed. ")
    records.delete(Kind.DECISION, ["d-5"])
    records.close()
    done = cstp("restore", FILE, "--replace")
    assert done.out.endswith(": 30 records with 30 vectors; 1 new, 27 changed, 2 unchanged, 10 deleted; "
                             "tokens unchanged\n")  # fmt: skip


def test_a_broken_tokens_file_keeps_no_records_out_of_a_backup(cstp: Cstp, source_url: str) -> None:
    fill(source_url, range(3)).close()
    Path("data/tokens.json").write_text("{broken")
    done = cstp("backup", FILE)
    assert done.out.startswith("wrote 3 records with 3 vectors and 0 tokens")
    assert "warning: the backup has no tokens: " in done.err
    refused = cstp("token", "create", "--agent", "new")
    assert refused.code != 0
    assert "move it away and create new tokens" in refused.err


@pytest.mark.parametrize(
    "words",
    [
        ("backup", FILE, "--force"),
        ("copy", "--to", "sqlite:///copied.sqlite3"),
        ("export", "exported.jsonl"),
        ("show", "x"),
        ("delete", "x"),
        ("reindex",),
    ],
    ids=lambda words: words[0],
)
def test_a_url_without_a_store_is_reported_and_nothing_is_made_there(
    cstp: Cstp, source_url: str, postgresql_url: str, wordless: None, words: tuple[Any, ...]
) -> None:
    fill(source_url, range(3)).close()
    cstp("backup", FILE)
    Path("empty.sqlite3").touch()
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    for url in ("sqlite:///typo/r.sqlite3", "sqlite:///empty.sqlite3", postgresql_url):
        done = cstp(*words, CSTP_STORE__URL=url)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("cstp: store.url: ")
        assert " holds no records yet: correct it (CSTP_STORE__URL), or fill it with cstp ingest PATH" in done.err
        assert {path: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before
        assert [path.name for path in Path().iterdir() if path.is_dir()] == ["data"]
    assert tables_of(postgresql_url) == set()
    Path("bare").mkdir()
    Path("bare/records.sqlite3").touch()
    done = cstp("--data-dir", "bare", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("cstp: bare holds no records yet: ")
    assert "--data-dir" in done.err
    assert [(path.name, path.stat().st_size) for path in Path("bare").iterdir()] == [("records.sqlite3", 0)]


@pytest.mark.long("kills processes again and again, or moves many records")
def test_a_store_without_records_replaces_no_filled_backup(cstp: Cstp, source_url: str) -> None:
    open_records("sqlite:///none/records.sqlite3").close()
    assert cstp("--data-dir", "none", "backup", FILE).code == 0
    assert cstp("--data-dir", "none", "backup", FILE, "--force").code == 0  # nothing is lost
    fill(source_url, range(3)).close()
    assert cstp("backup", FILE, "--force").code == 0
    done = cstp("--data-dir", "none", "backup", FILE, "--force")
    assert (done.code, done.out) == (2, "")
    assert f"{FILE.absolute()} holds 3 records and the store none" in done.err
    assert "store.url" in done.err
    assert held_by(FILE) == held(source_url)
    assert {path.name for path in Path().iterdir()} == {"backup", "data", "none"}


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


def test_a_damaged_tokens_file_is_refused_before_anything_is_restored(cstp: Cstp, source_url: str) -> None:
    fill(source_url, range(3)).close()
    cstp("backup", FILE)
    fill(source_url, range(3), "Changed. ").close()
    before = held(source_url)
    Path("data/tokens.json").write_text("{broken")
    assert cstp("restore", FILE, "--replace", "--tokens").code != 0
    assert (held(source_url), Path("data/tokens.json").read_text()) == (before, "{broken")


def test_restore_refuses_a_store_with_records_and_names_the_loss(cstp: Cstp, source_url: str) -> None:
    fill(source_url, range(10)).close()
    cstp("backup", FILE)
    fill(source_url, [3, 20, 21], "Changed. ").close()
    before = held(source_url)
    done = cstp("restore", FILE)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "cstp: the store holds 12 records; --replace makes it equal to the backup, and what is not in it is lost: "
        "2 are not in the backup, 1 are otherwise there\n"
    )
    assert held(source_url) == before


def test_a_damaged_backup_is_reported_with_exit_code_1(cstp: Cstp, source_url: str) -> None:
    fill(source_url, range(30)).close()
    cstp("backup", FILE)
    os.truncate(FILE, FILE.stat().st_size // 2)
    done = cstp("--data-dir", "new", "restore", FILE)
    assert (done.code, done.out) == (1, "")
    assert f"{FILE.absolute()} is damaged" in done.err
    assert not Path("new").exists()


@pytest.mark.long("kills processes again and again, or moves many records")
def test_a_restore_into_a_damaged_store_names_the_remedy(cstp: Cstp, source_url: str) -> None:
    fill(source_url, range(3)).close()
    cstp("backup", FILE)
    wanted, store = held(source_url), Path("data/records.sqlite3").absolute()
    store.write_bytes(b"noise" * 1000)
    for words in ([], ["--replace"]):
        done = cstp("restore", FILE, *words)
        assert (done.code, done.out) == (1, "")
        assert done.err == (
            f"cstp: records: the database is damaged; nothing was restored into {store}: check that it is running and "
            "has space; if it is damaged, stop the server and move it away with its -wal and -shm files, or restore "
            "into another folder (--data-dir)\n"
        )
    for url, said in (
        (source_url, "or name another one in store.url (CSTP_STORE__URL)\n"),
        ("postgresql://me@127.0.0.1:1/x", "if it is damaged, name another one in store.url"),
    ):
        assert said in cstp("restore", FILE, CSTP_STORE__URL=url).err
    assert cstp("--data-dir", "other", "restore", FILE).code == 0
    assert held("sqlite:///other/records.sqlite3") == wanted
    for file in Path("data").glob("records.sqlite3*"):
        file.rename(f"away-{file.name}")
    assert cstp("restore", FILE).code == 0
    assert held(source_url) == wanted


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
