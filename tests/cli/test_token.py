"""`cstp token rotate` while the token is revoked; `transcripts/tokens.txt` has the rest."""

import fcntl
import json
import os
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
    """Return the number of processes waiting for a file lock."""
    lines = Path("/proc/locks").read_text().splitlines()
    return sum(" -> " in line and f":{file.stat().st_ino} " in line for line in lines)


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
