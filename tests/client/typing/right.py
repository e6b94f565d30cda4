"""Valid caller code; mypy must accept every line."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date, datetime
from typing import assert_type

from cstp import (
    AsyncClient,
    Client,
    CstpError,
    DecisionLinks,
    DecisionSummary,
    EpisodeSummary,
    ExtractedPattern,
    Filters,
    InvalidParams,
    KnowledgeFilters,
    Provenance,
    QueryDecisionsResult,
    RateLimited,
    RecallResult,
    TransportError,
    Violation,
    WhoamiResult,
    calls,
)
from cstp.agents import AgentRegistry
from cstp.errors import JsonValue


def connect() -> None:
    assert_type(Client(), Client)
    assert_type(AsyncClient(timeout=5), AsyncClient)


def ask(client: Client) -> None:
    found = client.query_decisions(
        "why",
        filters=Filters(min_confidence=0.5, stakes=["high"], date_after=datetime(2026, 1, 1, tzinfo=UTC)),
        limit=3,
    )
    assert_type(found, QueryDecisionsResult)
    client.query_decisions("why", filters={"min_confidence": 0.5, "stakes": ["high"]}, include=["snippet", "links"])
    narrow: dict[str, float] = {"minConfidence": 0.5}
    client.query_decisions("why", filters=narrow)
    assert_type(found.decisions[0].links, DecisionLinks | None)
    assert_type(found.decisions[0].provenance, Provenance | None)
    assert_type(found.decisions[0].snippet, str | None)
    assert_type(found.decisions, list[DecisionSummary])
    assert_type(found.decisions[0].confidence, float | None)
    assert_type(found.decisions[0].date, datetime | None)
    client.search_knowledge("why", filters=KnowledgeFilters(type=["chunk"], topic="search"), mode="keyword", timeout=5)
    assert_type(client.recall(query="why", sensitivity="normal", date_from=date(2026, 1, 1)), RecallResult)
    client.list_episodes(since="2026-01-01", tags=["filters"])
    assert_type(client.iter_episodes(), Iterator[EpisodeSummary])
    assert_type(client.batch([calls.whoami(), calls.whoami()]), list[WhoamiResult | CstpError])
    for one in client.batch([calls.whoami(), calls.recall(id="art_1")]):
        if isinstance(one, WhoamiResult):
            assert_type(one.agent, str)
    assert_type(client.call("rpc.discover", {"any": ["JSON", 1, None]}), JsonValue)


async def ask_async(client: AsyncClient) -> None:
    assert_type(await client.query_decisions("why"), QueryDecisionsResult)
    assert_type(client.iter_patterns(topic="search"), AsyncIterator[ExtractedPattern])
    async for pattern in client.iter_patterns():
        assert_type(pattern, ExtractedPattern)
    assert_type(await client.batch([calls.whoami()]), list[WhoamiResult | CstpError])


def fail(client: Client) -> float:
    try:
        with client:
            client.whoami(timeout=0.5)
    except RateLimited as error:
        return error.retry_after
    except InvalidParams as error:
        assert_type(error.violations, tuple[Violation, ...])
    except TransportError:
        pass
    return 0.0


def several() -> None:
    agents = AgentRegistry("agents.yaml")
    with agents.client(agents.list()[0].name) as client:
        assert_type(client, Client)
