"""Text or records that come as a stream rather than in a file, such as standard input."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import file_digest
from io import BufferedReader
from typing import BinaryIO, Final

from cognition_engines.ingest.detect import read
from cognition_engines.ingest.formats.reader import FormatReader
from cognition_engines.ingest.items import Item, RejectedRecord
from cognition_engines.ingest.options import Texts
from cognition_engines.ingest.repository import STREAM, UNNAMED
from cognition_engines.models import Problem

_DIGITS: Final = 16  # hexadecimal, of the digest that stands for a name


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream that was copied into a seekable file. `name` is what it is called; an extension gives its format."""

    name: str
    address: str
    file: BinaryIO
    texts: Texts
    formats: FormatReader | None = None

    def items(self) -> Iterator[Item]:
        """What it holds, read as a file that a person named. Raises OSError."""
        found = read(self.name, self.file, explicit=True, texts=self.texts, formats=self.formats)
        if found is None:
            yield RejectedRecord(Problem(self.name, None, "holds no record in a format that is known"))
        else:
            yield from found


def opened_stream(name: str | None, file: BufferedReader, texts: Texts, formats: FormatReader | None = None) -> Stream:
    """The stream in a seekable file, known by its name; without one by what it holds, so that no other replaces it."""
    if name is not None:
        return Stream(name, f"{STREAM}{name}", file, texts, formats)
    digest = file_digest(file, "sha256").hexdigest()[:_DIGITS]
    file.seek(0)
    return Stream("standard input", f"{UNNAMED}{digest}", file, texts)
