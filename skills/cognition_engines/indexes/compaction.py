"""Up to which change the files of the indexes hold nothing of deleted records, noted next to them."""

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

_NAME: Final = "compacted.json"


@dataclass(frozen=True, slots=True)
class CompactionMarks:
    """A `seq` each: of what was deleted up to it, no file of words or of vectors has anything."""

    keywords: int = 0
    vectors: int = 0


def read_marks(folder: Path) -> CompactionMarks:
    """What is noted in the folder of the indexes; zeros where nothing is, or nothing that can be read."""
    try:
        found = CompactionMarks(**json.loads((folder / _NAME).read_bytes()))
        return CompactionMarks(int(found.keywords), int(found.vectors))
    except (OSError, ValueError, TypeError):
        return CompactionMarks()


def write_marks(folder: Path, marks: CompactionMarks) -> None:
    """Notes it, whole or not at all. Raises OSError."""
    draft = folder / f"{_NAME}.new"
    with draft.open("w", encoding="utf-8") as file:
        json.dump(asdict(marks), file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / _NAME)


def remove_set_aside(folder: Path) -> None:
    """Removes the keyword indexes that were set aside as damaged. Raises OSError."""
    for damaged in folder.glob("*/keywords.damaged-*"):
        shutil.rmtree(damaged)
