"""tantivy's index and writer of a folder."""

from pathlib import Path
from typing import Final

import tantivy

from cognition_engines.errors import ComponentFailed, FolderInUse
from cognition_engines.foreign import ForeignCalls
from cognition_engines.indexes.keywords.files import COMPONENT

_WRITER_BYTES: Final = 64_000_000


def index_in(folder: Path, schema: tantivy.Schema) -> tantivy.Index:
    """The index of a folder, new or as it is. Raises ComponentFailed."""
    try:
        with ForeignCalls(COMPONENT):
            return tantivy.Index(schema, path=str(folder))
    except ComponentFailed as error:
        if "schema does not match" in str(error.__cause__):
            raise ComponentFailed(COMPONENT, "the index is of another version") from error
        raise


def writer_of(index: tantivy.Index, folder: Path) -> tantivy.IndexWriter:
    """The one writer of a folder. Raises FolderInUse where another process has it, ComponentFailed."""
    try:
        with ForeignCalls(COMPONENT):
            return index.writer(_WRITER_BYTES, 1)
    except ComponentFailed as error:
        if "LockBusy" in str(error.__cause__):
            raise FolderInUse(f"the index folder {folder} is held by another process") from error
        raise
