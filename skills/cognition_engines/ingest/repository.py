"""Which repository a file belongs to, so that equal paths and ids of two repositories stay two records.

A repository is named by the host and path of its remote as `.git/config` has it, whatever way it is fetched; without
a remote by the absolute folder of the checkout, outside of one by the absolute folder of the file.
"""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

_SECTION: Final = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\](.*)')
_URL: Final = re.compile(r"\s*url\s*=\s*(.*)", re.IGNORECASE)
_SCP: Final = re.compile(r"(?:[^@/\s]+@)?(\[[^\]/]+\]|[^:/\s]+):(?!//)(.*)")
_LARGEST: Final = 1_000_000  # bytes of a file of git's that is read
_LONGEST: Final = 1_000  # characters of a name
EVERYTHING: Final = "/"  # the scope of a run that named a folder above the repository
STREAM: Final = "stdin:"  # how the address of a stream begins, before its name
UNNAMED: Final = f"{STREAM}/"  # how that of a stream without a name begins, before the digest of what it holds


@dataclass(frozen=True, slots=True)
class FilePlace:
    """Where a file is: `path` is POSIX and below `root`, the folder that the repository begins at.

    `source` is the absolute path as it was named, or the address of a collection, which has no `root`. `scope` is
    what the run named, relative to the root where that is a checkout: the options of the run hold for all below it.
    """

    source: str
    repository: str
    path: str
    scope: str
    root: Path | None


def of_collection(address: str, repository: str | None = None) -> FilePlace:
    """The place of a collection or stream: it is a repository by itself, unless one is named.

    All streams without a name are in one repository and scope, so that a given id means the same record in each.
    """
    scope = STREAM if address.startswith(UNNAMED) else address
    return FilePlace(address, repository or scope, address, scope, None)


class Places:
    """Finds the places of files. `repository` overrides the name of all their repositories."""

    def __init__(self, repository: str | None = None) -> None:
        self._override = None if repository is None else named(repository, None) or repository
        self._checkouts: dict[Path, tuple[str, Path] | None] = {}  # by folder
        self._tops: dict[Path, Path] = {}  # what was named, without links

    def of(self, file: Path, run: Path) -> FilePlace:
        """The place of a file that was found by naming `run`, the file or a folder above it; both absolute."""
        # as git does: a checkout is the same whatever link leads to it; a link to a file is its own file
        top = self._resolved(file.parent if run == file else run)
        where = top / file.relative_to(file.parent if run == file else run)
        folder, scope = where.parent, where if run == file else top
        found = self._checkout(folder)
        if found is not None:
            name, root = found
            return self._place(file, name, where, _scope(scope, root), root)
        if self._override is not None:
            return self._place(file, self._override, where, _scope(scope, top), top)
        return self._place(file, folder.as_posix(), where, scope.as_posix(), folder)

    def _place(self, file: Path, name: str, where: Path, scope: str, root: Path) -> FilePlace:
        path = where.relative_to(root).as_posix()
        return FilePlace(str(file), self._override or name, path, scope, root)

    def _checkout(self, folder: Path) -> tuple[str, Path] | None:
        """The name and the folder of the checkout around a folder."""
        passed: list[Path] = []
        found: tuple[str, Path] | None = None
        for each in (folder, *folder.parents):
            if each in self._checkouts:
                found = self._checkouts[each]
                break
            passed.append(each)
            if _exists(each / ".git"):
                found = remote_of(each) or each.as_posix(), each
                break
        self._checkouts.update(dict.fromkeys(passed, found))
        return found

    def _resolved(self, folder: Path) -> Path:
        if folder not in self._tops:
            self._tops[folder] = folder.resolve()
        return self._tops[folder]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _scope(run: Path, root: Path) -> str:
    return run.relative_to(root).as_posix() if run.is_relative_to(root) else EVERYTHING


def within(scope: str, other: str | None) -> bool:
    """Whether a scope is the other one or lies in it."""
    if other is None or other == EVERYTHING:
        return True
    return PurePosixPath(scope).is_relative_to(PurePosixPath(other))


def remote_of(root: Path) -> str | None:
    """The name of the checkout's remote, `origin` before others; None without one. Includes are not followed."""
    config = _config_of(root / ".git")
    text = None if config is None else _text_of(config)
    remotes = {} if text is None else _remotes(text)
    url = remotes.get("origin") or next(iter(remotes.values()), None)
    return None if url is None else named(url, root)


def named(url: str, root: Path | None) -> str | None:
    """Host and path of a remote, as `github.com/acme/shop`; None for what is no name of one.

    `root` is what a relative path starts at; without it only what has a scheme or a user is a remote.
    """
    try:
        host, path = _parts(url, root)
    except ValueError:
        return None
    path = re.sub(r"/{2,}", "/", path).rstrip("/").removesuffix(".git").rstrip("/")
    name = f"{host}/{path.lstrip('/')}" if host else path
    return name if path.strip("/") and len(name) <= _LONGEST and name.isprintable() else None


def _parts(url: str, root: Path | None) -> tuple[str, str]:
    if "://" in url:
        parts = urlsplit(url)
        return (parts.hostname or "").lower(), unquote(parts.path)
    scp = _SCP.fullmatch(url)
    if scp is not None and (root is not None or "@" in url):
        return scp[1].strip("[]").lower(), scp[2]
    if root is None:
        raise ValueError("no remote")
    return "", (root / url).resolve().as_posix()


def _config_of(marker: Path) -> Path | None:
    """The configuration of a checkout, of which `marker` is the `.git`: a folder, or a file that names one."""
    try:
        if marker.is_dir():
            return marker / "config"
    except OSError:
        return None
    line = _text_of(marker)
    if line is None or not line.startswith("gitdir:"):
        return None
    folder = marker.parent / line.removeprefix("gitdir:").strip()
    common = _text_of(folder / "commondir")  # of a worktree
    return (folder if common is None else folder / common.strip()) / "config"


def _text_of(path: Path) -> str | None:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        return path.read_bytes().decode(errors="replace")
    except (OSError, ValueError):
        return None


def _remotes(config: str) -> dict[str, str]:
    """The first URL of each remote, in the order of the file."""
    found: dict[str, str] = {}
    remote: str | None = None
    for line in config.splitlines():
        section = _SECTION.match(line)
        if section is not None:
            is_remote = section[1].lower() == "remote" and section[2] is not None
            remote = re.sub(r"\\(.)", r"\1", section[2]) if is_remote else None
            line = section[3]
        url = _URL.match(line)
        if remote is not None and url is not None and (value := _value(url[1])):
            found.setdefault(remote, value)
    return found


def _value(written: str) -> str:
    """A value without its quotes and the comment after it."""
    quoted = re.match(r'"((?:[^"\\]|\\.)*)"', written)
    if quoted is not None:
        return re.sub(r"\\(.)", r"\1", quoted[1])
    return re.split(r"\s[#;]|^[#;]", written, maxsplit=1)[0].strip()
