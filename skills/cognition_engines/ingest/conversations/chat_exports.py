"""Which system a file is an export of, by its content: none takes a file of another format."""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from cognition_engines.ingest.conversations import (
    archive,
    chatgpt,
    claude,
    claude_code,
    discord,
    mail,
    slack,
    whatsapp,
)
from cognition_engines.ingest.conversations.export_file import HEAD, Alone, ExportFile, InFolder
from cognition_engines.ingest.conversations.left_out import LeftOut
from cognition_engines.ingest.items import Item
from cognition_engines.ingest.options import Texts

ZIP: Final = ".zip"
SUFFIXES: Final = frozenset({ZIP, ".mbox", ".eml"})  # of files that are nothing else
_READERS: Final[Mapping[str, tuple[Callable[[ExportFile], Iterator[Item] | None], ...]]] = {
    ".json": (slack.read, discord.read, chatgpt.read, claude.read),
    ".jsonl": (claude_code.read,),
    ".txt": (whatsapp.read,),
    ".csv": (discord.read_csv,),
    ".eml": (mail.read_eml,),
    ".mbox": (mail.read_mbox,),
    "": (mail.read_mbox,),  # as Thunderbird calls its folders
}


def read(path: str, file: BinaryIO, explicit: bool, texts: Texts, below: Path | None = None) -> Iterator[Item] | None:
    """The turns of an export; None for a file that is none, which is at its start again.

    Lists of names are looked for inside the folder `below`, and nowhere without one.
    Read as they are asked for, from `file`, which is seekable. Raises OSError.
    """
    name = PurePosixPath(path.replace("\\", "/"))
    suffix = name.suffix.lower()
    if suffix == ZIP:
        return archive.read(path, file, explicit, texts, _of_file)
    if suffix not in _READERS:
        return None
    head = file.read(HEAD)
    file.seek(0)
    around, left_out = Alone() if below is None else InFolder(below), LeftOut(texts)
    items = _of_file(ExportFile(path, name, file, head, explicit, left_out, around))
    return None if items is None else chain(items, left_out.warnings(path))


def _of_file(file: ExportFile) -> Iterator[Item] | None:
    for reader in _READERS.get(file.name.suffix.lower(), ()):
        items = reader(file)
        if items is not None:
            return items
        file.file.seek(0)
    return None
