"""Checks for settings, data folder and tokens, without opening a database."""

import os
import shutil
import stat
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cognition_engines.errors import ConfigurationError
from cstp_server.doctor.finding import CheckResult, Finding, Level
from cstp_server.loaded_settings import LoadedSettings
from cstp_server.settings import Settings
from cstp_server.tokens import FIX_TOKENS, Token, read_tokens

EXPIRES_SOON: Final = timedelta(days=14)
MB: Final = 1_000_000

_LITTLE_SPACE: Final = 1_000 * MB
_NO_SPACE: Final = 100 * MB  # SQLite's log and tantivy's merges need some free space to continue
_NETWORK: Final = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "gluster", "fuse.sshfs", "fuse.s3fs", "davfs")
_MEMORY: Final = ("tmpfs", "ramfs")
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


def check_settings(loaded: LoadedSettings) -> CheckResult[None]:
    """Check the settings' sources, as named by every command."""
    return CheckResult([Finding("settings", Level.OK, loaded.named_sources)])


def check_folder(settings: Settings) -> CheckResult[None]:
    """Check whether the data folder exists, the owner, the mode, and the file system."""
    folder = settings.data_dir.absolute()
    if not folder.exists():
        remedy = "cstp ingest or cstp serve creates it; if it should exist, give its path with --data-dir"
        return CheckResult([Finding("folder", Level.WARNING, f"{folder} does not exist", remedy)])
    if not folder.is_dir():
        return CheckResult([Finding("folder", Level.PROBLEM, f"{folder} is not a folder", "give another --data-dir")])
    findings = [*_access(folder, settings.tokens_path.absolute()), *_space(folder), *_filesystem(folder)]
    return CheckResult(findings or [Finding("folder", Level.OK, f"{folder}, {_free(folder) // MB:,} MB free")])


def check_tokens(settings: Settings) -> CheckResult[None]:
    """Check whether a valid token exists, and whether it stays valid."""
    try:
        tokens = read_tokens(settings.tokens_path)
    except ConfigurationError as error:
        return CheckResult([Finding("tokens", Level.PROBLEM, str(error).removesuffix(f"; {FIX_TOKENS}"), FIX_TOKENS)])
    now = datetime.now(UTC)
    live = [token for token in tokens if token.live(now)]
    findings = mode_findings("tokens", settings.tokens_path)
    make = "create one: cstp token create --agent NAME"
    if not live:
        outside = not settings.server.loopback
        seen = f"no live token in {settings.tokens_path}: no agent can call"
        if outside:
            seen += f", and cstp serve does not start on {settings.server.host}"
        return CheckResult([*findings, Finding("tokens", Level.PROBLEM if outside else Level.WARNING, seen, make)])
    for token in _ending_tokens(live, now + EXPIRES_SOON):
        seen = f"the last token of {token.agent} expires on {token.expires_at:%Y-%m-%d}"
        remedy = f"cstp token rotate {token.id}, and give the new token to the agent"
        findings.append(Finding("tokens", Level.WARNING, seen, remedy))
    return CheckResult(findings or [Finding("tokens", Level.OK, f"{len(live)} live of {len(tokens)}")])


def _ending_tokens(live: Iterable[Token], until: datetime) -> list[Token]:
    """Return each agent's last token if it ends before `until`; skip the short-lived tokens of the web page."""
    last: dict[str, Token] = {}
    for token in live:
        if token.by_link:
            continue
        if token.agent not in last or token.expires_at > last[token.agent].expires_at:
            last[token.agent] = token
    return [token for token in last.values() if token.expires_at < until]


def _access(folder: Path, tokens: Path) -> list[Finding]:
    findings = []
    owner = folder.stat().st_uid
    if owner != os.geteuid():
        seen = f"{folder} belongs to user {owner}, but this is user {os.geteuid()}"
        findings.append(Finding("folder", Level.WARNING, seen, "run cstp as the user of the server"))
    if not os.access(folder, os.W_OK | os.X_OK):
        findings.append(Finding("folder", Level.PROBLEM, f"{folder} cannot be written", f"chmod 700 {folder}"))
    for path in (folder, *sorted(folder.iterdir())):
        if path == tokens:
            continue  # is checked as a part
        findings += mode_findings("folder", path)
        if (other := _owner(path)) not in (owner, None):
            seen = f"{path} belongs to user {other}, the folder to {owner}"
            findings.append(Finding("folder", Level.PROBLEM, seen, f"chown {owner} {path}, and run cstp as that user"))
    return findings


def _owner(path: Path) -> int | None:
    """Return a file's owner; None if it was just deleted, since a server may be running."""
    try:
        return path.lstat().st_uid
    except FileNotFoundError:
        return None


def mode_findings(part: str, path: Path) -> list[Finding]:
    """Check other users' rights on a file or folder; a missing path is fine."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return []
    if not mode & _OTHERS:
        return []
    worse = mode & _OTHERS_WRITE
    seen = f"{path} can be {'written' if worse else 'read'} by other users (mode {mode:o})"
    remedy = f"chmod {700 if path.is_dir() else 600} {path}"
    return [Finding(part, Level.PROBLEM if worse else Level.WARNING, seen, remedy)]


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0


def _space(folder: Path) -> list[Finding]:
    free = _free(folder)
    used = sum(_size(path) for path in folder.rglob("*"))
    remedy = "free space before writes fail; run cstp backup to another disk first"
    if free < _NO_SPACE:
        return [Finding("folder", Level.PROBLEM, f"{free // MB:,} MB are free for {folder}", remedy)]
    if free < max(_LITTLE_SPACE, used):
        seen = f"{free // MB:,} MB are free for {folder}, too little to rebuild indexes of its {used // MB:,} MB"
        return [Finding("folder", Level.WARNING, seen, remedy)]
    return []


def _filesystem(folder: Path) -> list[Finding]:
    kind = filesystem_of(folder)
    if kind.startswith(_NETWORK):
        seen = f"{folder} is on a network filesystem ({kind}); SQLite cannot rely on its locks"
        return [Finding("folder", Level.WARNING, seen, "use a local disk, or PostgreSQL for the records (store.url)")]
    if kind in _MEMORY:
        seen = f"{folder} is in memory ({kind}) and is lost after a restart"
        return [Finding("folder", Level.WARNING, seen, "give a folder on a disk with --data-dir")]
    return []


def filesystem_of(folder: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """Return a folder's filesystem kind; "" if the system does not report it."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
    except OSError:
        return ""
    resolved = folder.resolve()
    found: tuple[int, str] = (0, "")
    for line in lines:
        _, point, kind, *_ = line.split(" ")
        path = Path(point.replace("\\040", " "))
        # of two mounts on the same place the later mount is seen
        if resolved.is_relative_to(path) and len(path.parts) >= found[0]:
            found = (len(path.parts), kind)
    return found[1]
