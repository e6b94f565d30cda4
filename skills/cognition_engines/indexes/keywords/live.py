"""The keyword index as a query sees it: it follows the records, or fails with the reason why it cannot be asked.

A damaged folder is set aside and rebuilt while queries are answered. Until it has reached the snapshot of a
query, a query for words fails: it would find less than there is.
"""

import logging
import shutil
from contextlib import suppress
from pathlib import Path

from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.keywords.files import COMPONENT
from cognition_engines.indexes.keywords.index import KeywordIndex, ViewerKeywords
from cognition_engines.models import Viewer
from cognition_engines.relevance import Relevance

_log = logging.getLogger(__name__)


class LiveKeywords:
    """The owner of the keyword index of one store. One thread applies, checks and closes; any may ask."""

    def __init__(self, folder: Path, store_id: str, columns: str, last_seq: int, relevance: Relevance) -> None:
        """Open the index in `folder`, or begin a new one there if it is damaged or ahead of `last_seq`.

        Raise FolderInUse, ConfigurationError or ComponentFailed.
        """
        self._folder = folder
        self._store_id = store_id
        self._columns = columns
        self._relevance = relevance
        self._index = self._open()
        if self._index.seq > last_seq:
            self.start_over()  # the records were replaced by older ones

    @property
    def index(self) -> KeywordIndex:
        return self._index

    @property
    def seq(self) -> int:
        """Every change up to here can be found."""
        return self._index.seq

    def searcher_for(self, viewer: Viewer, seq: int) -> ViewerKeywords:
        """Return a keyword searcher with the rights of `viewer`.

        Raise ComponentFailed until every change up to `seq` can be found.
        """
        index = self._index
        if index.seq < seq:
            raise ComponentFailed(COMPONENT, "the index is being rebuilt")
        return ViewerKeywords(index, viewer)

    def start_over(self) -> None:
        """Begin a new index, which is empty."""
        self._index.close()
        shutil.rmtree(self._folder)
        self._index = self._open()

    def check(self) -> None:
        """Begin a new index if the files of this one are not as they were written.

        Raise ConfigurationError, ComponentFailed or OSError if that fails; then try again.
        """
        try:
            if self._index.is_open:
                self._index.check()
                return
        except ComponentFailed as error:
            _log.warning("%s; rebuilding", error)
            with suppress(ComponentFailed):
                self._index.close()
        self._index = self._open()

    def close(self) -> None:
        self._index.close()

    def _open(self) -> KeywordIndex:
        index = KeywordIndex.open(self._folder, self._store_id, self._columns, self._relevance)
        if index.set_aside is not None:
            _log.warning("the keyword index was set aside at %s (%s)", index.set_aside.folder, index.set_aside.reason)
        return index
