"""Grants for links to the page: a token, once, for the first request with the link's code before the expiry.

A grant is a file in `ui-links` in the data folder (mode 0600), named by the code's SHA-256; it holds no secret.
"""

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final

from pydantic import ConfigDict, TypeAdapter, ValidationError

from cstp_server.tokens import Instant, check_rights, lock_file

LINK_LIFETIME: Final = timedelta(minutes=1)
_CODE_BYTES: Final = 32
_LOCK: Final = "links.lock"


@dataclass(frozen=True, slots=True)
class Grant:
    """Token rights, token lifetime in seconds, and link expiry (ISO 8601 UTC)."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    agent: str
    scopes: tuple[str, ...]
    clearance: str
    projects: tuple[str, ...] | None
    token_seconds: int
    ends: Instant

    @property
    def lifetime(self) -> timedelta:
        return timedelta(seconds=self.token_seconds)

    def live(self, now: datetime) -> bool:
        return now < datetime.fromisoformat(self.ends)


_FILE: Final = TypeAdapter(Grant)


def make_grant(
    agent: str,
    *,
    scopes: tuple[str, ...],
    clearance: str = "normal",
    projects: tuple[str, ...] | None = None,
    lifetime: timedelta,
    link_lifetime: timedelta = LINK_LIFETIME,
) -> Grant:
    """Return a grant from now on. Raise TokenRefused for rights no token can have."""
    check_rights(agent, scopes=scopes, lifetime=lifetime, clearance=clearance, projects=projects)
    ends = datetime.now(UTC) + link_lifetime
    seconds = int(lifetime.total_seconds())
    return Grant(agent, scopes, clearance, projects, seconds, ends.isoformat(timespec="milliseconds"))


def write_grant(folder: Path, grant: Grant) -> str:
    """Store a grant and return the code, stored nowhere. Removes grants for expired links."""
    code = secrets.token_urlsafe(_CODE_BYTES)
    with lock_file(folder / _LOCK):
        _remove_ended(folder)
        file = os.open(_locate_grant(folder, code), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(file, "wb") as opened:
            opened.write(_FILE.dump_json(grant))
    return code


def make_link(base: str, folder: Path, grant: Grant) -> str:
    """Return a link to the page at the server `base`, with a new code for `grant`.

    The code is in the fragment: browsers send it to no server, so no log and no referrer has it.
    """
    return f"{base}/ui/#code={write_grant(folder, grant)}"


def claim_grant(folder: Path, code: str) -> Grant | None:
    """Return the grant for a code, to a single claim only; None if it is wrong, used or expired.

    Raise OSError if it cannot be read or removed.
    """
    place = _locate_grant(folder, code)
    try:
        content = place.read_bytes()
        place.unlink()  # of several readers, only one succeeds
    except FileNotFoundError:
        return None
    grant = _parse_grant(content)
    return grant if grant is not None and grant.live(datetime.now(UTC)) else None


def _locate_grant(folder: Path, code: str) -> Path:
    return folder / sha256(code.encode()).hexdigest()


def _parse_grant(content: bytes) -> Grant | None:
    """Return the grant in a file; None if it is invalid, for example truncated by a full disk."""
    try:
        return _FILE.validate_json(content)
    except ValidationError:
        return None


def _remove_ended(folder: Path) -> None:
    now = datetime.now(UTC)
    for path in folder.iterdir():
        if path.name == _LOCK:
            continue
        with suppress(FileNotFoundError):  # claimed a moment ago
            grant = _parse_grant(path.read_bytes())
            if grant is None or not grant.live(now):
                path.unlink()
