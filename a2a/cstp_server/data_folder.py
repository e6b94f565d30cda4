"""The data folder, when neither an option nor a setting names one.

Hooks import this module before each edit, so it imports little.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from errno import EPERM
from hashlib import sha256
from typing import Final

from cognition_engines.checkouts import Repository, repositories_around

_NAMES: Final = (".cstp", "data")
_MARKS: Final = ("records.sqlite3", "tokens.lock", "indexes/lock")  # a folder named data may be of anything
_LONGEST: Final = 40  # characters of the readable part of a name


def find_data_folder(folder: str, environment: Mapping[str, str]) -> str | None:
    """Return the data folder for commands in a folder, which may be missing; None outside of a checkout.

    It is the first data folder named `.cstp` or `data` from there up to the top of the checkout, else the user's folder
    for the repository. A submodule without either uses that of its superproject. Raise PermissionError for a found
    folder of another user.
    """
    around = repositories_around(folder)
    if not around:
        return None
    for each in _candidates(os.path.realpath(folder), around, environment):
        if any(os.path.exists(os.path.join(each, mark)) for mark in _MARKS):
            if os.stat(each).st_uid != os.geteuid():
                raise PermissionError(EPERM, "belongs to another user; name it with --data-dir to use it", each)
            return each
    return _user_folder(around[0], environment)


def _candidates(folder: str, around: Sequence[Repository], environment: Mapping[str, str]) -> Iterator[str]:
    for repository in around:
        while True:
            yield from (os.path.join(folder, name) for name in _NAMES)
            if folder == repository.root:
                break
            folder = os.path.dirname(folder)
        yield _user_folder(repository, environment)
        folder = os.path.dirname(folder)


def _user_folder(repository: Repository, environment: Mapping[str, str]) -> str:
    """Return the folder for a repository in the user's data directory; in the checkout for a user without a home."""
    home = os.path.expanduser("~")
    usual = "Library/Application Support" if sys.platform == "darwin" else ".local/share"
    base = environment.get("XDG_DATA_HOME", "")
    if not os.path.isabs(base):  # which counts as unset
        base = os.path.join(home, usual)
    if not os.path.isabs(base):
        return os.path.join(repository.root, _NAMES[0])
    readable = re.sub(r"[^A-Za-z0-9]+", "-", os.path.basename(repository.name))[:_LONGEST].strip("-") or "repository"
    digest = sha256(repository.name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return os.path.join(base, "cstp", f"{readable}-{digest}")
