"""Tokens: the file's content, and the moment when a change takes effect."""

import json
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.errors import ConfigurationError
from cstp_server.tokens import TokenBook, TokenRefused, create_token, read_tokens, revoke_token, rotate_token

DAY = timedelta(days=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "tokens.json"


def found(path: Path, text: str, now: datetime | None = None) -> bool:
    book = TokenBook(path, 1)
    book.refresh(0.0)
    return book.find(text.encode(), now or datetime.now(UTC)) is not None


def test_the_file_is_for_its_owner_only_and_holds_no_secret(path: Path) -> None:
    token, text = create_token(path, "reader", lifetime=DAY)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    secret = text.rpartition("_")[2]
    assert len(bytes.fromhex(secret)) == 32
    assert all(secret not in file.read_text() for file in path.parent.iterdir())
    assert text == f"cstp_{token.id}_{secret}"
    assert secret not in repr(token)


def test_a_draft_left_by_a_crash_does_not_lend_its_mode(path: Path) -> None:
    path.parent.mkdir()
    path.with_suffix(".new").touch(0o644)
    create_token(path, "reader", lifetime=DAY)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_token_is_found_by_all_of_its_text_and_nothing_less(path: Path) -> None:
    token, text = create_token(path, "reader", lifetime=DAY)
    assert found(path, text)
    wrong = [
        text[:-1],
        text + "0",
        text.upper(),
        "x" + text,
        text[5:],
        f"cstp_{token.id}_",
        f"cstp_{token.id}",
        "",
        "_",
        "__",
    ]
    wrong += [f"cstp_{token.id}_{token.digest}", f"CSTP_{text[5:]}", f"cstp_zz_{text.rpartition('_')[2]}", "cstp_é_é"]
    assert [attempt for attempt in wrong if found(path, attempt)] == []


def test_an_agent_has_at_most_two_live_tokens(path: Path) -> None:
    first, _ = create_token(path, "reader", lifetime=DAY)
    _, second = create_token(path, "reader", lifetime=DAY)
    with pytest.raises(TokenRefused, match=f"already has 2 live tokens.*cstp token revoke {first.id}"):
        create_token(path, "reader", lifetime=DAY)
    create_token(path, "writer", lifetime=DAY)
    revoke_token(path, first.id)
    create_token(path, "reader", lifetime=DAY)
    assert found(path, second)


def test_rotation_keeps_the_rights_and_ends_the_old_token_after_the_overlap(path: Path) -> None:
    old, text = create_token(
        path, "reader", scopes=("read", "admin"), lifetime=DAY, clearance="sensitive", projects=("a", "b")
    )
    new, successor = rotate_token(path, old.id, lifetime=DAY, overlap=timedelta(hours=1))
    assert (new.agent, new.scopes, new.clearance, new.projects) == (
        "reader",
        ("read", "admin"),
        "sensitive",
        ("a", "b"),
    )
    now = datetime.now(UTC)
    assert found(path, text, now + timedelta(minutes=59))
    assert not found(path, text, now + timedelta(minutes=61))
    assert found(path, successor, now + timedelta(hours=23))
    with pytest.raises(TokenRefused, match="already has 2 live tokens"):
        rotate_token(path, new.id, lifetime=DAY, overlap=timedelta(hours=1))


def test_rotation_never_lengthens_the_old_token(path: Path) -> None:
    old, text = create_token(path, "reader", lifetime=timedelta(minutes=5))
    rotate_token(path, old.id, lifetime=DAY, overlap=timedelta(hours=1))
    assert not found(path, text, datetime.now(UTC) + timedelta(minutes=6))


def test_a_token_ends_when_it_expires(path: Path) -> None:
    token, text = create_token(path, "reader", lifetime=timedelta(hours=1))
    assert found(path, text, token.expires_at - timedelta(seconds=1))
    assert not found(path, text, token.expires_at)


def test_an_invalid_token_is_refused_and_leaves_no_file(path: Path) -> None:
    wrong: list[dict[str, Any]] = [
        {"agent": ""},
        {"agent": "  "},
        {"agent": "a\nb"},
        {"agent": "a" * 129},
        {"scopes": ("root",)},
        {"clearance": "secret"},
        {"projects": ("a", " ")},
        {"lifetime": timedelta(0)},
        {"lifetime": -DAY},
    ]
    for change in wrong:
        with pytest.raises(TokenRefused):
            create_token(path, **({"agent": "reader", "lifetime": DAY} | change))
    for call in (revoke_token, lambda file, name: rotate_token(file, name, lifetime=DAY, overlap=DAY)):
        with pytest.raises(TokenRefused, match="see: cstp token list"):
            call(path, "nope")
    assert not path.exists()


_CREATOR = """
import sys
from datetime import timedelta
from pathlib import Path
from cstp_server.tokens import create_token
for number in range(5):
    create_token(Path(sys.argv[1]), f"{sys.argv[2]}-{number}", lifetime=timedelta(days=1))
"""


@pytest.mark.long("starts servers or processes, and waits")
def test_creators_in_several_processes_lose_nothing(path: Path) -> None:
    command = [sys.executable, "-c", _CREATOR, str(path)]
    workers = [subprocess.Popen([*command, f"agent-{number}"]) for number in range(4)]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0, 0]
    assert len({token.agent for token in read_tokens(path)}) == 20


DAMAGE: list[tuple[str, Any]] = [
    ("empty", lambda _: ""),
    ("truncated", lambda text: text[: len(text) // 2]),
    ("no object", lambda _: "[]"),
    ("no tokens", lambda _: "{}"),
    ("another member", lambda text: text.replace('"tokens"', '"more": 1, "tokens"')),
    ("not text", lambda _: "\x00\udcff"),
    ("too deep", lambda _: "[" * 100_000),
    ("no expiry", lambda text: text.replace('"expires"', '"expiry"')),
    ("expiry in words", lambda text: text.replace('"expires": "2', '"expires": "in the year 2')),
    ("expiry null", lambda text: change(text, "expires", None)),
    ("expiry without zone", lambda text: change(text, "expires", "2999-01-01T00:00:00")),
    ("digest null", lambda text: change(text, "digest", None)),
    ("digest short", lambda text: change(text, "digest", "00")),
    ("scopes in a string", lambda text: change(text, "scopes", "read")),
    ("unknown scope", lambda text: change(text, "scopes", ["root"])),
    ("unknown clearance", lambda text: change(text, "clearance", "secret")),
    ("projects in a string", lambda text: change(text, "projects", "a")),
    ("revoked is no time", lambda text: change(text, "revoked", True)),
    ("agent is a number", lambda text: change(text, "agent", 7)),
    ("an id twice", lambda text: json.dumps({"tokens": json.loads(text)["tokens"] * 2})),
]


def change(text: str, member: str, value: object) -> str:
    document = json.loads(text)
    document["tokens"][0][member] = value
    return json.dumps(document)


@pytest.mark.parametrize("damage", [function for _, function in DAMAGE], ids=[name for name, _ in DAMAGE])
def test_a_damaged_file_keeps_the_last_good_state_and_is_reported(path: Path, damage: Any) -> None:
    _, text = create_token(path, "reader", lifetime=DAY)
    good = path.read_bytes()
    book = TokenBook(path, 1)
    book.refresh(0.0)
    path.write_bytes(damage(good.decode()).encode(errors="surrogateescape"))
    with pytest.raises(ConfigurationError, match=r"tokens\.json"):
        read_tokens(path)
    book.refresh(2.0)
    assert book.problem is not None
    assert book.find(text.encode(), datetime.now(UTC)) is not None
    path.write_bytes(good)
    book.refresh(4.0)
    assert book.problem is None


def test_an_unreadable_file_keeps_the_last_good_state_but_a_removed_file_does_not(path: Path) -> None:
    _, text = create_token(path, "reader", lifetime=DAY)
    book = TokenBook(path, 1)
    book.refresh(0.0)
    moved = path.parent.rename(path.parent.with_name("moved"))
    path.parent.touch()
    book.refresh(2.0)
    assert book.problem is not None
    assert book.find(text.encode(), datetime.now(UTC)) is not None
    path.parent.unlink()
    moved.rename(path.parent)
    path.unlink()
    book.refresh(4.0)
    assert book.problem is not None
    assert book.find(text.encode(), datetime.now(UTC)) is None


def test_a_failing_tokens_file_is_logged_once(live_server: Any, wait_until: Any, log_output: Any) -> None:
    server = live_server()
    text, tokens = server.token("reader"), server.settings.tokens_path
    assert server.call("cstp.whoami", text).status == 200
    good, logged = tokens.read_bytes(), log_output("info")

    def told(event: str) -> int:
        server.call("cstp.whoami", text)
        return int(logged.getvalue().count(f'"{event}"'))

    tokens.write_text("{broken")
    wait_until(lambda: told("tokens_file_fails") == 1)
    assert server.call("cstp.whoami", text).status == 200
    tokens.write_bytes(good)
    wait_until(lambda: told("tokens_file_works_again") == 1)
    tokens.unlink()
    wait_until(lambda: told("tokens_file_fails") == 2)
    assert server.call("cstp.whoami", text).status == 401
    tokens.write_bytes(good)
    wait_until(lambda: told("tokens_file_works_again") == 2)
    assert told("tokens_file_fails") == 2


@pytest.mark.long("starts servers or processes, and waits")
def test_a_running_server_takes_new_tokens_at_once_and_follows_the_file(live_server: Any, wait_until: Any) -> None:
    server = live_server({"auth.reload_seconds": 5, "limits.auth_failures": "10000/minute"})
    tokens = server.settings.tokens_path
    assert server.call("cstp.whoami", server.token("other")).status == 200
    first = server.token("reader")
    assert server.call("cstp.whoami", first).status == 200
    old = next(token for token in read_tokens(tokens) if token.agent == "reader")
    _, second = rotate_token(tokens, old.id, lifetime=DAY, overlap=timedelta(hours=1))
    assert server.call("cstp.whoami", second).status == 200
    assert server.call("cstp.whoami", first).status == 200
    revoke_token(tokens, old.id)
    wait_until(lambda: server.call("cstp.whoami", first).status == 401)
    assert server.call("cstp.whoami", second).status == 200
