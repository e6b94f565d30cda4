"""`cstp token`."""

import fcntl
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cstp = Callable[..., Any]


def tokens(cstp: Cstp) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(cstp("token", "list", "--json").out)
    return found


def waiters(file: Path) -> int:
    """How many processes wait for the lock of a file."""
    lines = Path("/proc/locks").read_text().splitlines()
    return sum(" -> " in line and f":{file.stat().st_ino} " in line for line in lines)


def test_create_shows_the_secret_once_and_keeps_only_its_digest(cstp: Cstp) -> None:
    done = cstp("token", "create", "--agent", "ada")
    assert done.code == 0
    secret = done.out.split()[0]
    assert re.fullmatch(r"cstp_[0-9a-z]+_[0-9a-f]{64}", secret)
    assert "not shown again" in done.out
    assert Path("data/tokens.json").stat().st_mode & 0o777 == 0o600
    assert secret.rpartition("_")[2] not in Path("data/tokens.json").read_text()
    for listing in (cstp("token", "list"), cstp("token", "list", "--json")):
        assert listing.code == 0
        assert secret.rpartition("_")[2] not in listing.out
        assert "digest" not in listing.out


def test_quiet_prints_the_token_alone(cstp: Cstp) -> None:
    for quiet in ("--quiet", "-q"):
        done = cstp("token", "create", "--agent", f"ada{quiet}", quiet)
        assert re.fullmatch(r"cstp_\w+\n", done.out)
        assert done.err == ""


def test_create_takes_scopes_expiry_clearance_and_projects(cstp: Cstp) -> None:
    words = ["--scope", "read", "--scope", "admin", "--expires", "2h", "--clearance", "sensitive"]
    done = cstp("token", "create", "--agent", "ada", *words, "--project", "alpha", "--project", "beta", "--json")
    made = json.loads(done.out)
    assert made["token"].startswith(f"cstp_{made['id']}_")
    assert (made["scopes"], made["clearance"], made["projects"]) == (["read", "admin"], "sensitive", ["alpha", "beta"])
    (listed,) = tokens(cstp)
    assert listed == {name: value for name, value in made.items() if name != "token"}
    assert listed["state"] == "live"


def test_a_third_live_token_of_an_agent_is_refused_with_the_way_out(cstp: Cstp) -> None:
    for _ in range(2):
        assert cstp("token", "create", "--agent", "ada").code == 0
    done = cstp("token", "create", "--agent", "ada")
    assert done.code == 2
    remedy = re.search(r"cstp (token revoke \w+)", done.err)
    assert remedy
    assert cstp(*remedy[1].split()).code == 0
    assert cstp("token", "create", "--agent", "ada").code == 0


def test_revoke_and_rotate(cstp: Cstp) -> None:
    first = json.loads(cstp("token", "create", "--agent", "ada", "--project", "alpha", "--json").out)
    second = json.loads(cstp("token", "rotate", first["id"], "--overlap", "1h", "--json").out)
    assert second["id"] != first["id"]
    assert [second[name] for name in ("agent", "scopes", "clearance", "projects")] == [
        first[name] for name in ("agent", "scopes", "clearance", "projects")
    ]
    old, new = tokens(cstp)
    assert (old["state"], new["state"]) == ("live", "live")
    assert old["expires"] < first["expires"]
    assert cstp("token", "revoke", first["id"]).out == f"revoked {first['id']} of ada\n"
    assert [one["state"] for one in tokens(cstp)] == ["revoked", "live"]
    for command in ("revoke", "rotate"):
        done = cstp("token", command, "nobody")
        assert done.code == 2
        assert "cstp token list" in done.err


def test_an_empty_list_says_how_to_make_one(cstp: Cstp) -> None:
    assert "cstp token create" in cstp("token", "list").out


@pytest.mark.skipif(sys.platform != "linux", reason="on Linux alone: the kernel lists who waits for a lock")
def test_revoked_tokens_do_not_rotate(cstp: Cstp, program: Callable[..., Any], wait_until: Callable[..., None]) -> None:
    (first,) = (json.loads(cstp("token", "create", "--agent", "ada", "--json").out),)
    lock = Path("data/tokens.lock")
    held = os.open(lock, os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    revoking = program("token", "revoke", first["id"])
    wait_until(lambda: waiters(lock) == 1)
    rotating = program("token", "rotate", first["id"], "--quiet")
    wait_until(lambda: waiters(lock) == 2)
    os.close(held)  # whoever came first has it first
    assert revoking.finish().code == 0
    done = rotating.finish()
    assert (done.code, done.out) == (2, "")
    assert done.err == "cstp: no live token has that id; see: cstp token list\n"
    assert [token["state"] for token in tokens(cstp)] == ["revoked"]


def test_a_revoked_token_whose_successor_is_live_names_the_successor(cstp: Callable[..., Any]) -> None:
    token = json.loads(cstp("token", "create", "--agent", "me", "--json").out)["id"]
    assert cstp("token", "revoke", token).err == ""
    token = json.loads(cstp("token", "create", "--agent", "me", "--json").out)["id"]
    successor = json.loads(cstp("token", "rotate", token, "--json").out)["id"]
    done = cstp("token", "revoke", token)
    assert done.err == f"{successor} of me is still live; to revoke it as well: cstp token revoke {successor}\n"
    assert cstp("token", "revoke", successor).err == ""


def test_a_list_in_a_pipe_is_whole_however_wide(cstp: Cstp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    agent = "an-agent-with-a-very-long-name" * 3
    scopes = [word for scope in ("read", "write", "review", "ratify", "admin") for word in ("--scope", scope)]
    cstp("token", "create", "--agent", agent, *scopes, "--project", "one", "--project", "two")
    heading, row = cstp("token", "list").out.splitlines()
    assert heading.split() == ["id", "agent", "scopes", "clearance", "projects", "expires", "state"]
    assert all(word in row for word in (agent, "read write review ratify admin", "one, two", "live"))
