"""Git checkouts around a path: their top folders, their names, and the remote in a configuration of git.

Hooks import this module before each edit, so it imports little.
"""

import os
import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

_SECTION: Final = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\](.*)')
_ENTRY: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*)")
_SCP: Final = re.compile(r"(?:[^@/\s]+@)?(\[[^\]/]+\]|[^:/\s]+):(?!//)(.*)")
_LONGEST: Final = 1_000  # characters of a name
_DEEPEST: Final = 64  # folders above a path
_LARGEST_FILE: Final = 1_000_000  # read bytes


Read: TypeAlias = Callable[[str], str | None]  # returns the text of a file; None without one


class Repository(NamedTuple):
    """The top folder of a checkout, and the repository's name, as ingest has it."""

    root: str
    name: str


def repositories_around(folder: str) -> Sequence[Repository]:
    """Return the checkout with a folder and, for a submodule, the superprojects; none outside of a checkout."""
    found: list[Repository] = []
    folder, inner = os.path.realpath(folder), ""  # as ingest: a checkout is the same through any link
    for _ in range(_DEEPEST):
        if os.path.lexists(os.path.join(folder, ".git")):
            git = git_folder(folder, _text_of)
            if found and not inner.startswith(os.path.join(git, "modules", "")):
                break  # a clone inside of another one is no submodule of it
            found.append(Repository(folder, name_of_checkout(folder, git, _text_of) or folder))
            inner = git
        if folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
    return found


def name_of_checkout(root: str, git: str, read: Read) -> str | None:
    """Return the remote's name, `origin` before others, else the folder of the main work tree. Ignore includes.

    None if the configuration cannot be read.
    """
    main, common = root, read(os.path.join(git, "commondir"))
    if common is not None:  # of a worktree
        git = join_path(git, common)
        main = os.path.dirname(git) if os.path.basename(git) == ".git" else git
    config = read(os.path.join(git, "config"))
    if config is None:
        return None
    urls = values_in(config, "remote", "url")
    url = urls.get("origin") or next((url for name, url in urls.items() if name), None)
    return (None if url is None else remote_name(url, root)) or main


def git_folder(root: str, read: Read) -> str:
    """Return the folder that `.git` is, or names."""
    marker = os.path.join(root, ".git")
    line = read(marker) or ""
    return join_path(root, line.removeprefix("gitdir:")) if line.startswith("gitdir:") else marker


def join_path(folder: str, written: str) -> str:
    """Return a path from a file of git, without access to the disk."""
    return os.path.normpath(os.path.join(folder, written.strip()))


def _text_of(path: str) -> str | None:
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            content = file.read(_LARGEST_FILE + 1)
    except OSError:
        return None
    return content.decode(errors="replace") if len(content) <= _LARGEST_FILE else None


def _open_at_once(path: str, flags: int) -> int:
    """Open a file, also a pipe without a writer, which then is empty."""
    return os.open(path, flags | os.O_NONBLOCK)


def remote_name(url: str, root: str | os.PathLike[str] | None) -> str | None:
    """Return a remote's host and path, as `github.com/acme/shop`; None for any other text.

    Relative paths start at `root`; without it only texts with a scheme or a user are remotes.
    """
    try:
        host, path = _parts(url, root)
    except ValueError:
        return None
    path = re.sub(r"/{2,}", "/", path).rstrip("/").removesuffix(".git").rstrip("/")
    name = f"{host}/{path.lstrip('/')}" if host else path
    return name if path.strip("/") and len(name) <= _LONGEST and name.isprintable() else None


def _parts(url: str, root: str | os.PathLike[str] | None) -> tuple[str, str]:
    if "://" in url:
        parts = urlsplit(url)
        return (parts.hostname or "").lower(), unquote(parts.path)
    scp = _SCP.fullmatch(url)
    if scp is not None and (root is not None or "@" in url):
        return scp[1].strip("[]").lower(), scp[2]
    if root is None:
        raise ValueError("no remote")
    return "", os.path.normpath(os.path.join(root, url))


def values_in(config: str, section: str, key: str) -> dict[str, str]:
    """Return a key's first value in each subsection of a section, "" if absent, in file order."""
    found: dict[str, str] = {}
    within: str | None = None
    for line in config.split("\n"):
        header = _SECTION.match(line)
        if header is not None:
            within = re.sub(r"\\(.)", r"\1", header[2] or "") if header[1].lower() == section else None
            line = header[3]
        entry = _ENTRY.match(line)
        if within is not None and entry is not None and entry[1].lower() == key and (value := _value(entry[2])):
            found.setdefault(within, value)
    return found


def _value(written: str) -> str:
    """Return a value without quotes and trailing comment."""
    quoted = re.match(r'"((?:[^"\\]|\\.)*)"', written)
    if quoted is not None:
        return re.sub(r"\\(.)", r"\1", quoted[1])
    return re.split(r"\s[#;]|^[#;]", written, maxsplit=1)[0].strip()
