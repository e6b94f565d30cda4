"""Each part of a search works in a separate pool, and an outage names the part that does not answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from threading import Event, current_thread
from typing import Any

import pytest

from cognition_engines.embedding.cache import QueryCache
from cognition_engines.errors import ComponentFailed
from cognition_engines.models import Mode, Sensitivity, Viewer
from cognition_engines.queries.pools import Pool, Pools, run_through
from cognition_engines.queries.search import Search
from cognition_engines.relevance import RELEVANCE
from cognition_engines.search.candidates import KeywordSource
from cognition_engines.search.query import RECALLED, Query, QueryParser, SearchScope
from cognition_engines.spaces import SEARCHED
from tests.isolation.world import make_world, put
from tests.serving import SeededEmbedder, serve

__all__ = ["serve"]
ALL = Viewer(Sensitivity.HIGHLY_SENSITIVE)
TEXT = "window filter"


@dataclass(frozen=True)
class Noted:
    """The real keyword index of a space, noting requesting threads; they hang while `hangs` is not set."""

    words: KeywordSource
    hangs: Event
    threads: list[str] = field(default_factory=list)

    def search(self, *given: Any, **named: Any) -> Any:
        self.note()
        return self.words.search(*given, **named)

    def search_among(self, query: str, keys: Sequence[int]) -> Any:
        self.note()
        return self.words.search_among(query, keys)

    def note(self) -> None:
        self.threads.append(current_thread().name)
        assert self.hangs.wait(20)


@pytest.fixture
def pools() -> Iterator[Pools]:
    made = Pools(
        call_seconds=20,
        embedder=Pool("embedder", 2, 20),
        keywords=Pool("keywords", 2, 0.5),
        vectors=Pool("vectors", 2, 20),
        records=Pool("records", 2, 20),
        lists=Pool("records", 2, 20, "lists"),
        writes=Pool("records", 2, 20, "writes"),
    )
    yield made
    made.close()


@pytest.mark.long("waits for deadlines")
@pytest.mark.parametrize("hanging", [False, True])
async def test_fusing_asks_for_words_in_their_own_pool(serve: Any, pools: Pools, hanging: bool) -> None:
    serving, release = serve(SeededEmbedder()), Event()
    put(serving.records, SeededEmbedder(), make_world(Random(3)).entries)
    serving.caught_up()
    searching = Search(serving.indexes, QueryCache(SeededEmbedder()), pools, QueryParser(RELEVANCE))
    scopes = [SearchScope(space, ()) for space in SEARCHED]
    query = Query(TEXT, ALL, Mode.HYBRID, scopes, 300, ranking=RECALLED)
    caller, text, vector = pools.caller("agent"), searching.parser.parse(TEXT), SeededEmbedder().embed_query(TEXT)
    spaces = await run_through(caller, searching.find_candidates, query, text, vector)
    threads: list[str] = []
    noted = [replace(space, words=Noted(space.words, release, threads)) for space in spaces if space.words is not None]
    given = query, text, noted, vector
    if hanging:
        with pytest.raises(ComponentFailed) as failed:
            await run_through(caller, searching.rank, *given)
        assert failed.value.component == "keywords"
        assert await pools.vectors.run(caller, len, "ab") == 2
        assert not pools.vectors.load.running
        release.set()
    else:
        release.set()
        _, (hits, _) = await run_through(caller, searching.rank, *given)
        assert len(hits) > 3
    assert set(threads) == {"keywords-pool"}
