"""Copies the files of a keyword index for another process, as of its last commit."""

import json
import os
import shutil
from pathlib import Path
from typing import Final

from cognition_engines.indexes.keywords.files import LIST, MANAGED, TABLE, files_in_use

_ATTEMPTS: Final = 10  # while the writer of the index commits or merges


def copy_index(source: Path, target: Path) -> bool:
    """Makes `target` a copy of the index in `source`, which another process may write; whether there is one now.

    It takes no time and hardly any space: a segment is written once, so its files are linked, and only the lists of
    them are copied. Where it fails, `target` is absent. Raises OSError for a `target` that cannot be written.
    """
    for _ in range(_ATTEMPTS):
        if target.exists():
            shutil.rmtree(target)
        if not (source / TABLE).exists():
            return False
        target.mkdir(parents=True)
        if _copied(source, target):
            return True
    shutil.rmtree(target)
    return False


def _copied(source: Path, target: Path) -> bool:
    """Whether all files of one commit are there."""
    try:
        table = (source / TABLE).read_bytes()
        names = files_in_use(source, table, ())
        for name in names:
            _link(source / name, target / name)
        if (source / LIST).exists():
            shutil.copyfile(source / LIST, target / LIST)
        (target / MANAGED).write_text(json.dumps([*names, TABLE]), encoding="utf-8")
        (target / TABLE).write_bytes(table)
        return (source / TABLE).read_bytes() == table
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # removed meanwhile, or damaged
        return False


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:  # a file system without links
        shutil.copyfile(source, target)
