"""The data of a site: classic scripts that hand JSON to the page, as a page that is opened from a disk loads no other.

Whole texts are in many smaller files, one of which is loaded when one of its records is opened.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

LIST_BYTES: Final = 1_000_000  # of a file of a list, all files of which are loaded together
BUNDLE_BYTES: Final = 256_000  # of a file that is loaded for one of its records
BUNDLES: Final = ("texts", "passageTexts")


@dataclass(slots=True)
class _Open:
    """The file of a list that is being filled: its number from 0, and the JSON of its records."""

    number: int = 0
    records: list[str] = field(default_factory=list)
    size: int = 0


class DataFiles:
    """Writes `NAME-N.js` into a folder, each with an array of records in the order in which they were added."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, _Open] = {}

    def add(self, name: str, record: str) -> int:
        """Add the JSON of a record to the list; return the number of its file. Raises OSError."""
        size = len(record.encode()) + 1
        file = self._open.setdefault(name, _Open())
        if file.records and file.size + size > (BUNDLE_BYTES if name in BUNDLES else LIST_BYTES):
            self._write(name, file)
            file = self._open[name] = _Open(file.number + 1)
        file.records.append(record)
        file.size += size
        return file.number

    def close(self) -> Mapping[str, int]:
        """Write the rest; return the number of files of each list. Raises OSError."""
        for name, file in self._open.items():
            self._write(name, file)
        return {name: file.number + 1 for name, file in self._open.items()}

    def _write(self, name: str, file: _Open) -> None:
        text = script(name, file.number, f"[{','.join(file.records)}]")
        (self._folder / f"{name}-{file.number}.js").write_text(text, encoding="utf-8", newline="\n")


def script(name: str, number: int, json: str) -> str:
    """Return a script that passes JSON text to the page; a literal would interpret `__proto__`."""
    escaped = json.replace("\\", "\\\\").replace("'", "\\'").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"cstp.site.add('{name}', {number}, '{escaped}');\n"
