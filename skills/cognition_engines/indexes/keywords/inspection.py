"""Looking at the keyword index without taking its lock or changing it."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import tantivy

from cognition_engines.errors import ComponentFailed
from cognition_engines.foreign import ForeignCalls
from cognition_engines.indexes.keywords.files import check_files, read_list
from cognition_engines.indexes.keywords.schema import read_checkpoint, written_by
from cognition_engines.relevance import Relevance

_ATTEMPTS: Final = 3  # the writer of the index may merge its files away while they are being read


@dataclass(frozen=True, slots=True)
class KeywordState:
    """How far an index has followed the records, and how many texts it holds."""

    seq: int
    texts: int


def inspect_keywords(folder: Path, store_id: str, columns: str, relevance: Relevance) -> KeywordState | None:
    """The state of the index in `folder`, None without one.

    Every file is compared with the list of files. Raises ComponentFailed for an index that is damaged or belongs to
    another store, other columns or another relevance.
    """
    written = written_by(columns, relevance)
    if not (folder / "meta.json").exists():
        return None
    for _ in range(_ATTEMPTS - 1):
        with suppress(ComponentFailed):
            return _inspect(folder, store_id, written)
    return _inspect(folder, store_id, written)


def _inspect(folder: Path, store_id: str, columns: str) -> KeywordState:
    check_files(folder, read_list(folder))
    with ForeignCalls("keywords"):
        index = tantivy.Index.open(str(folder))
        searcher = index.searcher()
        seq = read_checkpoint(searcher, index.schema, store_id, columns)
        return KeywordState(seq, int(searcher.num_docs) - 1)  # the checkpoint is a document too
