"""Text or records that come as a stream rather than in a file, such as standard input."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from cognition_engines.ingest.items import Item, Rejected
from cognition_engines.ingest.reading import Texts, read
from cognition_engines.models import Problem

_STREAM: Final = "stdin:"  # how the address of a stream begins


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream that was copied into a seekable file. `name` is what it is called; an extension tells its format."""

    name: str
    file: BinaryIO
    texts: Texts

    @property
    def address(self) -> str:
        return f"{_STREAM}{self.name}"

    def items(self) -> Iterator[Item]:
        """What it holds, read as a file that a person named. Raises OSError."""
        found = read(self.name, self.file, explicit=True, texts=self.texts)
        if found is None:
            yield Rejected(Problem(self.name, None, "holds no record in a format that is known"))
        else:
            yield from found
