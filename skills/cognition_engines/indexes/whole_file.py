"""Small index files, replaced whole or not at all."""

import json
import os
from contextlib import suppress
from pathlib import Path


def draft_of(path: Path) -> Path:
    """Return the path of the unfinished file that replaces `path`; a killed process leaves it behind."""
    return path.with_name(f"{path.name}.new")


def write_json(path: Path, value: object, *, durable: bool) -> None:
    """Replace a file by a JSON document; if `durable`, only once that is on the disk.

    Raise OSError on failure; the file is then unchanged, and no draft is left.
    """
    draft = draft_of(path)
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.write(json.dumps(value))
            if durable:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
