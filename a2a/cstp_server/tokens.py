"""Bearer tokens: made here, stored as digests in a single file, looked up on every request.

A token reads `cstp_<id>_<secret>`; the secret has 256 random bits. The file (mode 0600, replaced atomically) holds the
SHA-256 of each secret, never the secret.
"""

import fcntl
import hmac
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Annotated, Final

import structlog
from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from cognition_engines.errors import ConfigurationError
from cognition_engines.folder_creation import make_data_folder
from cognition_engines.models import SENSITIVITIES, Viewer

FIX_TOKENS: Final = "fix the file, or move it away and create new tokens: cstp token create --agent NAME"
SCOPES: Final = ("read", "write", "review", "ratify", "admin")
AGENT_SCOPES: Final = ("read", "write", "review")  # for an agent's program: its hooks remind to record
AGENT_LIFETIME: Final = timedelta(days=90)
LIVE_PER_AGENT: Final = 2  # the token in use and a successor
_log = structlog.get_logger("cstp.tokens")


def _with_zone(text: str) -> str:
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("has no time zone")
    return text


Instant = Annotated[str, AfterValidator(_with_zone)]


@dataclass(frozen=True, slots=True)
class Token:
    """Stored form of a token. `projects` None is no restriction; times are ISO 8601 UTC.

    `by_link` is true if the page has claimed the token by a link, see `ui/grants.py`; a person made all others.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    id: Annotated[str, Field(pattern=r"^[0-9a-z]+$")]
    agent: Annotated[str, Field(min_length=1)]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    scopes: tuple[Annotated[str, Field(pattern=f"^({'|'.join(SCOPES)})$")], ...]
    clearance: Annotated[str, Field(pattern=f"^({'|'.join(SENSITIVITIES)})$")]
    projects: tuple[str, ...] | None
    created: Instant
    expires: Instant
    revoked: Instant | None = None
    by_link: bool = False

    def live(self, now: datetime) -> bool:
        return self.revoked is None and now < self.expires_at

    @property
    def expires_at(self) -> datetime:
        return datetime.fromisoformat(self.expires)

    @property
    def viewer(self) -> Viewer:
        projects = None if self.projects is None else frozenset(self.projects)
        return Viewer(clearance=SENSITIVITIES[self.clearance], projects=projects)


class TokenRefused(ConfigurationError):
    """A token cannot be made, rotated or revoked; the message gives the reason and the remedy."""


def read_tokens(path: Path) -> tuple[Token, ...]:
    """Return all tokens in the file, none without a file. Raise ConfigurationError for a damaged file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return ()
    except NotADirectoryError as error:
        raise ConfigurationError(f"{path.parent} is not a folder; give one with --data-dir (or data_dir)") from error
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}); {FIX_TOKENS}") from error
    try:
        return parse_tokens(content, str(path))
    except ConfigurationError as error:
        raise ConfigurationError(f"{error}; {FIX_TOKENS}") from None


def parse_tokens(content: bytes, origin: str) -> tuple[Token, ...]:
    """Return the tokens in a file's content. Raise ConfigurationError naming `origin` for damaged content."""
    try:
        tokens = _FILE.validate_json(content).tokens
        if len({token.id for token in tokens}) < len(tokens):
            raise ConfigurationError(f"{origin}: is not a readable token file (an id occurs twice)")
        return tokens
    except ValidationError as error:
        place = ".".join(str(step) for step in error.errors(include_input=False)[0]["loc"]) or "its JSON"
        raise ConfigurationError(f"{origin}: is not a readable token file ({place} is wrong)") from None


def dump_tokens(tokens: Sequence[Token]) -> str:
    """Return the file content for these tokens: digests, never secrets."""
    return _FILE.dump_json(_File(tuple(tokens)), indent=1).decode()


def merge_tokens(path: Path, found: Sequence[Token]) -> tuple[Token, ...]:
    """Add tokens to the file, made if missing; return all tokens then in the file.

    A token in both keeps the rights in the file, and gets the earlier expiry. Raise ConfigurationError for a damaged
    file.
    """
    with lock_file(path):
        kept = {token.id: token for token in read_tokens(path)}
        given = {token.id: token for token in found}
        merged = (*(_ended_early(one, given.get(one.id, one)) for one in kept.values()),)
        merged = (*merged, *(one for one in given.values() if one.id not in kept))
        _write_tokens(path, merged)
    return merged


def _ended_early(kept: Token, other: Token) -> Token:
    revoked = [at for at in (kept.revoked, other.revoked) if at is not None]
    return replace(
        kept,
        expires=min(kept.expires, other.expires, key=datetime.fromisoformat),
        revoked=min(revoked, key=datetime.fromisoformat, default=None),
    )


@dataclass(frozen=True, slots=True)
class _File:
    __pydantic_config__ = ConfigDict(extra="forbid")
    tokens: tuple[Token, ...]


_FILE: Final = TypeAdapter(_File)


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Hold the lock of a possibly missing file; create a missing folder."""
    make_data_folder(path.parent)
    lock = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _write_tokens(path: Path, tokens: Sequence[Token]) -> None:
    draft = path.with_suffix(".new")
    try:
        _replace(path, draft, tokens)
    except OSError as error:  # the error of a full disk has no file name
        raise OSError(error.errno, error.strerror, error.filename or str(draft)) from error


def _replace(path: Path, draft: Path, tokens: Sequence[Token]) -> None:
    descriptor = os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)  # a draft left behind by a crash still has the old mode
        file.write(dump_tokens(tokens))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def create_token(
    path: Path,
    agent: str,
    *,
    scopes: Sequence[str] = ("read",),
    lifetime: timedelta,
    clearance: str = "normal",
    projects: Sequence[str] | None = None,
    by_link: bool = False,
) -> tuple[Token, str]:
    """Add a token and return it with the text, stored nowhere. Raise TokenRefused.

    A token `by_link` replaces the agent's oldest token by link if there is no room.
    """
    check_rights(agent, scopes=scopes, lifetime=lifetime, clearance=clearance, projects=projects)
    now = datetime.now(UTC)
    secret = secrets.token_hex(32)
    token = Token(
        id=secrets.token_hex(6),
        agent=agent,
        digest=sha256(secret.encode()).hexdigest(),
        scopes=tuple(dict.fromkeys(scopes)),
        clearance=clearance,
        projects=None if projects is None else tuple(dict.fromkeys(projects)),
        created=now.isoformat(timespec="seconds"),
        expires=(now + lifetime).isoformat(timespec="seconds"),
        by_link=by_link,
    )
    with lock_file(path):
        tokens = read_tokens(path)
        if by_link:
            tokens = _with_room(tokens, agent, now)
        _check_room(tokens, agent, now)
        _write_tokens(path, (*tokens, token))
    return token, f"cstp_{token.id}_{secret}"


def ensure_first_token(path: Path, agent: str) -> None:
    """Create a token for an agent that never had one: an expired or revoked token is not replaced."""
    if all(one.agent != agent for one in read_tokens(path)):
        with suppress(TokenRefused):  # other processes made two meanwhile
            create_token(path, agent, scopes=AGENT_SCOPES, lifetime=AGENT_LIFETIME)


def check_rights(
    agent: str, *, scopes: Sequence[str], lifetime: timedelta, clearance: str, projects: Sequence[str] | None
) -> None:
    """Raise TokenRefused for rights no token can have; the message names the option."""
    if not agent.strip() or not agent.isprintable() or len(agent) > 128:
        raise TokenRefused("--agent must be 1 to 128 printable characters")
    if unknown := [scope for scope in scopes if scope not in SCOPES]:
        raise TokenRefused(f"--scope {unknown[0]!r} is not one of {', '.join(SCOPES)}")
    if clearance not in SENSITIVITIES:
        raise TokenRefused(f"--clearance must be one of {', '.join(SENSITIVITIES)}")
    if projects is not None and any(not project.strip() for project in projects):
        raise TokenRefused("--project must not be blank")
    _check_lifetime(lifetime)


def _check_lifetime(lifetime: timedelta) -> None:
    if lifetime <= timedelta(0):
        raise TokenRefused("the lifetime of a token must be longer than 0")


def _with_room(tokens: Sequence[Token], agent: str, now: datetime) -> tuple[Token, ...]:
    """Return the tokens, with the oldest live token by link revoked if the agent has the maximum."""
    live = [token for token in tokens if token.agent == agent and token.live(now)]
    oldest = next((token for token in live if token.by_link), None) if len(live) >= LIVE_PER_AGENT else None
    revoked = now.isoformat(timespec="seconds")
    return tuple(replace(token, revoked=revoked) if token is oldest else token for token in tokens)


def _check_room(tokens: Sequence[Token], agent: str, now: datetime) -> None:
    live = [other.id for other in tokens if other.agent == agent and other.live(now)]
    if len(live) >= LIVE_PER_AGENT:
        raise TokenRefused(
            f"{agent} already has {LIVE_PER_AGENT} live tokens ({', '.join(live)}); "
            f"revoke one first: cstp token revoke {live[0]}"
        )


def revoke_token(path: Path, token_id: str) -> Token:
    """Revoke a token now. Raise TokenRefused for an unknown id."""
    with lock_file(path):
        tokens = read_tokens(path)
        found = next((token for token in tokens if token.id == token_id), None)
        if found is None:
            raise TokenRefused("no token has that id; see: cstp token list")
        ended = replace(found, revoked=found.revoked or datetime.now(UTC).isoformat(timespec="seconds"))
        _write_tokens(path, [ended if token.id == token_id else token for token in tokens])
    return ended


def rotate_token(path: Path, token_id: str, *, lifetime: timedelta, overlap: timedelta) -> tuple[Token, str]:
    """Create a successor with the same rights; the old token expires after `overlap`. Raise TokenRefused."""
    _check_lifetime(lifetime)
    secret = secrets.token_hex(32)
    with lock_file(path):  # from reading to writing: a token revoked meanwhile has no successor
        tokens, now = read_tokens(path), datetime.now(UTC)
        old = next((token for token in tokens if token.id == token_id), None)
        if old is None or not old.live(now):
            raise TokenRefused("no live token has that id; see: cstp token list")
        _check_room(tokens, old.agent, now)
        successor = replace(
            old,
            id=secrets.token_hex(6),
            digest=sha256(secret.encode()).hexdigest(),
            created=now.isoformat(timespec="seconds"),
            expires=(now + lifetime).isoformat(timespec="seconds"),
            by_link=False,
        )
        ending = replace(old, expires=min(old.expires_at, now + overlap).isoformat(timespec="seconds"))
        _write_tokens(path, [*(ending if token is old else token for token in tokens), successor])
    return successor, f"cstp_{successor.id}_{secret}"


class TokenBook:
    """The tokens as last read; checks the file again at most once in `reload_seconds`.

    If the file becomes unreadable, the last good state stays in force; if it is missing, all tokens end. `problem` and
    the log report both.
    """

    def __init__(self, path: Path, reload_seconds: float) -> None:
        self._path = path
        self._reload_seconds = reload_seconds
        self._checked = float("-inf")
        self._stamp: tuple[int, int, int] | None = None
        self._by_id: Mapping[str, Token] = {}
        self.problem: str | None = None

    def refresh(self, clock: float) -> None:
        """Read the file again if it changed; `clock` is monotonic seconds, or infinity to check it at once."""
        if clock - self._checked < self._reload_seconds:
            return
        self._checked = self._checked if clock == inf else clock
        try:
            status = self._path.stat()
            stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
        except FileNotFoundError:
            if self._stamp is not None:
                self._log_problem(
                    f"{self._path}: not found, so no token is valid; create new ones: cstp token create --agent NAME"
                )
            self._by_id, self._stamp = {}, None
            return
        except OSError as error:
            self._log_problem(f"{self._path}: cannot be read ({error.strerror})")
            return
        try:
            if stamp != self._stamp:
                self._by_id = {token.id: token for token in read_tokens(self._path)}
            self._stamp = stamp
            self._log_problem(None)
        except ConfigurationError as error:
            self._log_problem(str(error))

    @property
    def token_count(self) -> int:
        """Number of tokens last read, live or not."""
        return len(self._by_id)

    def _log_problem(self, problem: str | None) -> None:
        """Log a problem once, and the recovery once."""
        if problem is not None and self.problem is None:
            _log.warning("tokens_file_fails", reason=problem)
        if problem is None and self.problem is not None:
            _log.warning("tokens_file_works_again")
        self.problem = problem

    def find(self, presented: bytes, now: datetime) -> Token | None:
        """Return the live token for `presented` (the bytes after `Bearer `), or None, in constant time."""
        prefix, _, rest = presented.partition(b"_")
        token_id, _, secret = rest.partition(b"_")
        token = self._by_id.get(token_id.decode("latin-1"))
        digest = sha256(secret).hexdigest().encode()
        expected = token.digest.encode() if token is not None else b"0" * 64
        same = hmac.compare_digest(digest, expected)
        return token if token is not None and same and prefix == b"cstp" and token.live(now) else None

    def counts(self, token: Token, now: datetime) -> bool:
        """Return whether a token found before is still live, with the same rights."""
        known = self._by_id.get(token.id)
        return known is not None and known.live(now) and (known.scopes, known.viewer) == (token.scopes, token.viewer)

    def newest(self, agent: str, now: datetime) -> Token | None:
        """Return the agent's newest live token."""
        live = [token for token in self._by_id.values() if token.agent == agent and token.live(now)]
        return max(live, key=lambda token: datetime.fromisoformat(token.created), default=None)
