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
from cognition_engines.ingest.options import Options, Progress, Silent, Summary
from cognition_engines.models import Viewer
from cstp.values.decision_searches import QueryDecisionsParams, QueryDecisionsResult
from cstp.values.episodes import ListEpisodesParams, ListEpisodesResult
from cstp.values.everything import SearchParams, SearchResult
from cstp.values.extractions import ExtractionsParams, GetDecisionsResult, GetPatternsResult, GetWarningsResult
from cstp.values.knowledge import GetChunkParams, GetChunkResult, SearchKnowledgeParams, SearchKnowledgeResult
from cstp.values.memories import ListMemoriesParams, ListMemoriesResult
from cstp.values.recall import RecallParams, RecallResult

T = TypeVar("T")


class SyncEngine:
    """An engine with synchronous methods. A text is accepted in place of a query.

    The event loop runs in a thread, so it also works inside a running loop. The context manager closes it at the end.
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
        """Return the best matching decisions, in order."""
        asked = QueryDecisionsParams(query=params) if isinstance(params, str) else params
        return self._run_in_loop(self.engine.query_decisions(asked, viewer))

    def search_knowledge(self, params: SearchKnowledgeParams | str, viewer: Viewer = Viewer()) -> SearchKnowledgeResult:
        """Return the best matching chunks and extractions, in order."""
        asked = SearchKnowledgeParams(query=params) if isinstance(params, str) else params
        return self._run_in_loop(self.engine.search_knowledge(asked, viewer))

    def get_chunk(self, params: GetChunkParams, viewer: Viewer = Viewer()) -> GetChunkResult:
        """Return a chunk with similar chunks, best first. Raise NotFound without such a chunk."""
        return self._run_in_loop(self.engine.get_chunk(params, viewer))

    def list_episodes(self, params: ListEpisodesParams, viewer: Viewer = Viewer()) -> ListEpisodesResult:
        """List a page of episodes, newest first."""
        return self._run_in_loop(self.engine.list_episodes(params, viewer))

    def list_memories(self, params: ListMemoriesParams, viewer: Viewer = Viewer()) -> ListMemoriesResult:
        """List a page of artifacts and turns, newest first."""
        return self._run_in_loop(self.engine.list_memories(params, viewer))

    def list_extracted_decisions(self, params: ExtractionsParams, viewer: Viewer = Viewer()) -> GetDecisionsResult:
        """List a page of decisions extracted from sources, newest first."""
        return self._run_in_loop(self.engine.list_extracted_decisions(params, viewer))

    def list_patterns(self, params: ExtractionsParams, viewer: Viewer = Viewer()) -> GetPatternsResult:
        """List a page of patterns, newest first."""
        return self._run_in_loop(self.engine.list_patterns(params, viewer))

    def list_warnings(self, params: ExtractionsParams, viewer: Viewer = Viewer()) -> GetWarningsResult:
        """List a page of warnings, newest first."""
        return self._run_in_loop(self.engine.list_warnings(params, viewer))

    def recall(self, params: RecallParams | str, viewer: Viewer = Viewer()) -> RecallResult:
        """Return the records selected by the parameters. Raise NotFound if no record with the id is visible."""
        asked = RecallParams(query=params) if isinstance(params, str) else params
        return self._run_in_loop(self.engine.recall(asked, viewer))

    def search(self, params: SearchParams | str, viewer: Viewer = Viewer()) -> SearchResult:
        """Return the best matching records of all kinds, in order."""
        asked = SearchParams(query=params) if isinstance(params, str) else params
        return self._run_in_loop(self.engine.search(asked, viewer))

    def ingest(
        self, paths: Sequence[Path | str], options: Options = Options(), progress: Progress = Silent()
    ) -> Summary:
        """Read files and folders, and update the store from them. Searches find them when it returns."""
        return self._run_in_loop(self.engine.ingest(paths, options, progress))

    def close(self) -> None:
        """Close the engine and end the thread."""
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

    def _run_in_loop(self, call: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()
