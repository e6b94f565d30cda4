"""Git checkouts around a path: their top folders, their names, and the remote in a configuration of git.

Hooks import this module before each edit, so it imports little.
"""

import os
import re
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

_SECTION: Final = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\](.*)')
_ENTRY: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*)")
_SCP: Final = re.compile(r"(?:[^@/\s]+@)?(\[[^\]/]+\]|[^:/\s]+):(?!//)(.*)")
_LONGEST: Final = 1_000  # characters of a name
_DEEPEST: Final = 64  # folders above a path
_LARGEST_FILE: Final = 1_000_000  # read bytes


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
            git = _git_folder(folder)
            if found and not inner.startswith(os.path.join(git, "modules", "")):
                break  # a clone inside of another one is no submodule of it
            found.append(Repository(folder, _name_of(folder, git)))
            inner = git
        if folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
    return found


def path_from_root(path: str, root: str) -> str:
    """Return an absolute path in the checkout at `root` from there; any other path as it is."""
    if not os.path.isabs(path):
        return path
    folder, name = os.path.split(os.path.normpath(path))
    inside = os.path.relpath(os.path.join(os.path.realpath(folder), name), root)
    return path if inside.startswith(os.pardir) else inside.replace(os.sep, "/")


def _name_of(root: str, git: str) -> str:
    """Return the remote's name, else the folder of the main work tree."""
    main, common = root, _text_of(os.path.join(git, "commondir"))
    if common is not None:  # of a worktree
        git = _join_path(git, common)
        main = os.path.dirname(git) if os.path.basename(git) == ".git" else git
    urls = values_in(_text_of(os.path.join(git, "config")) or "", "remote", "url")
    url = urls.get("origin") or next((url for name, url in urls.items() if name), None)
    return (None if url is None else remote_name(url, root)) or main


def _git_folder(root: str) -> str:
    """Return the folder that `.git` is, or names."""
    marker = os.path.join(root, ".git")
    line = _text_of(marker) or ""
    return _join_path(root, line.removeprefix("gitdir:")) if line.startswith("gitdir:") else marker


def _join_path(folder: str, written: str) -> str:
    """Return a path from a file of git."""
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
