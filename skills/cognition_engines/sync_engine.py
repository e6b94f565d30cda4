"""`SyncEngine`: the engine for notebooks and scripts."""

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, TypeVar

from cognition_engines.embedding.base import Embedder
from cognition_engines.embedding.open import EmbeddingChoice
from cognition_engines.engine import DEFAULTS, Engine, EngineOptions
from cognition_engines.indexes.columns.listing import ListPage
from cognition_engines.ingest.options import Options, Progress, Silent, Summary
from cognition_engines.kinds.extractions import ExtractionType
from cognition_engines.models import MemoryFilters, Viewer
from cognition_engines.queries.knowledge import KnowledgeMatch, KnowledgeQuestion, NearChunk
from cognition_engines.queries.lists import EpisodeFilters, ExtractionPage
from cognition_engines.store.reads.knowledge import ChunkFound
from cstp.values.decision_searches import QueryDecisionsParams, QueryDecisionsResult
from cstp.values.everything import SearchParams, SearchResult
from cstp.values.recall import RecallParams, RecallResult

T = TypeVar("T")


class SyncEngine:
    """An engine with synchronous methods. A text is accepted in place of a query.

    It has an event loop in a thread, so that it also works if a loop runs already. As a context manager it is closed in
    the end.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="engine", daemon=True)
        self._thread.start()

    @classmethod
    def open(
        cls,
        store: str,
        folder: Path | str,
        embedder: Embedder | EmbeddingChoice | None = EmbeddingChoice(),
        options: EngineOptions = DEFAULTS,
    ) -> "SyncEngine":
        """Open an engine as `Engine.open` does."""
        return cls(Engine.open(store, folder, embedder, options))

    def query_decisions(self, params: QueryDecisionsParams | str, viewer: Viewer = Viewer()) -> QueryDecisionsResult:
        """Return the decisions that answer best, in order."""
        asked = QueryDecisionsParams(query=params) if isinstance(params, str) else params
        return self._run(self.engine.query_decisions(asked, viewer))

    def search_knowledge(self, question: KnowledgeQuestion | str) -> list[KnowledgeMatch]:
        """Return the chunks and extractions that answer best, in order."""
        asked = KnowledgeQuestion(question) if isinstance(question, str) else question
        return self._run(self.engine.search_knowledge(asked))

    def get_chunk(
        self, id: str, viewer: Viewer = Viewer(), related_limit: int = 5
    ) -> tuple[ChunkFound, list[NearChunk]] | None:
        """Return a chunk and at most `related_limit` similar ones, best first; None if there is no such chunk."""
        return self._run(self.engine.get_chunk(id, viewer, related_limit))

    def list_episodes(
        self, filters: EpisodeFilters = EpisodeFilters(), viewer: Viewer = Viewer(), offset: int = 0, limit: int = 50
    ) -> ListPage:
        """Return the episodes from `offset` on, newest first."""
        return self._run(self.engine.list_episodes(filters, viewer, offset, limit))

    def list_memories(
        self, filters: MemoryFilters = MemoryFilters(), viewer: Viewer = Viewer(), offset: int = 0, limit: int = 50
    ) -> ListPage:
        """Return the artifacts and turns from `offset` on, newest first."""
        return self._run(self.engine.list_memories(filters, viewer, offset, limit))

    def list_extractions(
        self,
        type: ExtractionType,
        topic: str | None = None,
        viewer: Viewer = Viewer(),
        offset: int = 0,
        limit: int = 50,
    ) -> ExtractionPage:
        """Return the extractions of a type from `offset` on, newest first, of a topic or of all."""
        return self._run(self.engine.list_extractions(type, topic, viewer, offset, limit))

    def recall(self, params: RecallParams | str, viewer: Viewer = Viewer()) -> RecallResult:
        """Return the records that the parameters select. Raise NotFound if the viewer sees no record of the id."""
        asked = RecallParams(query=params) if isinstance(params, str) else params
        return self._run(self.engine.recall(asked, viewer))

    def search(self, params: SearchParams | str, viewer: Viewer = Viewer()) -> SearchResult:
        """Return the records of all kinds that answer best, in order."""
        asked = SearchParams(query=params) if isinstance(params, str) else params
        return self._run(self.engine.search(asked, viewer))

    def ingest(
        self, paths: Sequence[Path | str], options: Options = Options(), progress: Progress = Silent()
    ) -> Summary:
        """Read files and folders, and update the store from them. Searches find them when it returns."""
        return self._run(self.engine.ingest(paths, options, progress))

    def close(self) -> None:
        """Close the engine and end its thread."""
        self.engine.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> "SyncEngine":
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, call: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()
