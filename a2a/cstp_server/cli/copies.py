"""Streams copied into files that are gone at the end, so that memory bounds none of what comes through them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile, gettempdir
from typing import IO, Final

_PIECE: Final = 2**20  # bytes


@contextmanager
def copied(stream: IO[bytes], prefix: str) -> Iterator[Path]:
    """A file with all that the stream has.

    Raises OSError as the stream does, and one that names the folder of temporary files where that has no room.
    """
    with NamedTemporaryFile(prefix=prefix, buffering=0) as copy:
        while piece := stream.read(_PIECE):
            try:
                while piece:
                    piece = piece[copy.write(piece) :]
            except OSError as error:
                raise OSError(error.errno, error.strerror, gettempdir()) from error
        yield Path(copy.name)
