"""Streams copied into temporary files, so memory does not bound their size."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile, gettempdir
from typing import IO, Final

import typer

_PIECE: Final = 2**20  # bytes


@contextmanager
def copy_to_file(stream: IO[bytes], name: str, argument: str) -> Iterator[Path]:
    """Copy a stream into a file; the command's `argument` calls it `name`.

    Raise BadParameter if the stream cannot be read, and an OSError naming the temporary folder if it has no room.
    """
    with NamedTemporaryFile(prefix="cstp-copy-", buffering=0) as copy:
        while piece := _read_piece(stream, name, argument):
            try:
                while piece:
                    piece = piece[copy.write(piece) :]
            except OSError as error:
                raise OSError(error.errno, error.strerror, gettempdir()) from error
        yield Path(copy.name)


def _read_piece(stream: IO[bytes], name: str, argument: str) -> bytes:
    try:
        return stream.read(_PIECE)
    except OSError as error:
        raise typer.BadParameter(f"{name}: {error.strerror}", param_hint=argument) from None
