"""The files that a run reads."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cognition_engines.ingest.discover import walk
from cognition_engines.ingest.formats.reader import FormatReader
from cognition_engines.ingest.formats.suffixes import format_of
from cognition_engines.ingest.options import Options
from cognition_engines.ingest.places.known_files import KnownFiles
from cognition_engines.ingest.report import Tally, is_gone
from cognition_engines.ingest.repository import FilePlace, Places


@dataclass(frozen=True, slots=True)
class RunFile:
    """A file to read."""

    path: Path
    place: FilePlace
    below: Path | None  # the folder in which it was found; None for one that a person named
    size: int  # bytes

    @property
    def explicit(self) -> bool:
        """Return whether a person named it."""
        return self.below is None


def files_of(
    paths: Iterable[Path],
    options: Options,
    places: Places,
    known: KnownFiles,
    tally: Tally,
    formats: FormatReader | None,
) -> list[RunFile]:
    """Return the files to read, each once; what folders hold besides goes to the tally. Raises FileNotFoundError."""
    paths = [Path(os.path.abspath(path)) for path in paths]
    selection = options.selection
    for path in paths:
        if not (options.gone or os.path.lexists(path)):
            raise FileNotFoundError(path)
    found: dict[Path, RunFile] = {}
    left: set[Path] = set()  # whose format cannot be read
    for path in paths:
        if options.gone and is_gone(path):
            continue
        if not path.is_dir():
            if selection.only is None or path in selection.only:
                found.setdefault(path, RunFile(path, known.place_of(places.of(path, path)), None, _size(path)))
            continue
        walked = walk(path, selection)
        tally.skipped.update(walked.skipped)
        tally.ignored += walked.ignored
        tally.warnings += walked.warnings
        tally.rejected += walked.refused
        tally.unlisted = tally.unlisted or bool(walked.refused)
        for file in walked.files:
            name = str(file.path)
            if format_of(name) is not None and (formats is None or formats.leave(name)):
                left.add(file.path)
                continue
            place = known.place_of(places.of(file.path, path))
            found.setdefault(file.path, RunFile(file.path, place, path, file.size))
    tally.skipped.update(path.suffix.lower() for path in left)
    return list(found.values())


def _size(path: Path) -> int:
    """In bytes; 0 for a link that leads nowhere."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
