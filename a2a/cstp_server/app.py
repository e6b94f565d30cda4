"""Builds the application: everything it works with is made in its lifespan and passed down."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from math import inf
from time import monotonic
from typing import TypedDict

import structlog
from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from cognition_engines.engine import Knowledge
from cognition_engines.errors import ComponentFailed, ConfigurationError
from cognition_engines.queries.decisions import Decisions
from cognition_engines.queries.knowledge import Chunks, KnowledgeSearch
from cognition_engines.queries.paged_lists import Lists
from cognition_engines.queries.passages import Passages
from cognition_engines.queries.pools import Caller, Pool, Pools
from cognition_engines.queries.recall.recall import Recall
from cognition_engines.queries.search import Searching
from cstp.methods.registry import METHODS
from cstp_server.describe.openrpc import discovered
from cstp_server.handlers.decisions import decision_methods
from cstp_server.handlers.episodes import episode_methods
from cstp_server.handlers.extractions import extraction_methods
from cstp_server.handlers.knowledge import knowledge_methods
from cstp_server.handlers.recall import recall_methods
from cstp_server.handlers.system import system_methods
from cstp_server.http.auth import parse_networks
from cstp_server.http.discovery import (
    CARD_PATH,
    OLD_CARD_PATH,
    OPENRPC_PATH,
    Discovery,
    card,
    make_discovery,
    metadata,
    openrpc,
)
from cstp_server.http.endpoint import METADATA_PATH, FailedAttempts, Parts, cstp_endpoint
from cstp_server.http.hosts import allowed_hosts
from cstp_server.http.probes import Probes, healthz, metrics, readyz
from cstp_server.limits.bodies import Bodies, BodyParser
from cstp_server.limits.gate import Gate
from cstp_server.limits.limiter import Limiter, make_plan, parse_windows, redis_storage
from cstp_server.mcp.mount import Mount, mcp_endpoint, open_mount
from cstp_server.observe.gauges import StateGauges
from cstp_server.observe.metrics import CallMetrics, watch_loop
from cstp_server.observe.readiness import ReadinessCheck
from cstp_server.process.open_engine import open_knowledge
from cstp_server.process.stop import Grace
from cstp_server.rpc.dispatch import Bounds, Dispatcher
from cstp_server.settings import Settings
from cstp_server.tokens import TokenBook

_log = structlog.get_logger("cstp.stop")


class State(TypedDict):
    """What each request finds in its scope."""

    parts: Parts
    probes: Probes
    mcp: Mount
    discovery: Discovery


class Endpoint:
    """An ASGI function as a route's endpoint; starlette takes plain functions for request handlers."""

    def __init__(self, run: Callable[[Scope, Receive, Send], object]) -> None:
        self._run = run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._run(scope, receive, send)  # type: ignore[misc]


def create_app(settings: Settings, gate: Gate | None = None, knowledge: Knowledge | None = None) -> Starlette:
    """The ASGI application. Wrong settings raise ConfigurationError here, before anything is opened.

    `knowledge` that is already open is used, and closed at the end; without it the lifespan opens what the settings
    name.
    """
    plan = make_plan(settings.limits, {method.name: method for method in METHODS})
    failures, *others = parse_windows(settings.limits.auth_failures, "limits.auth_failures")
    if others:
        raise ConfigurationError("limits.auth_failures: must be one window")
    proxies = parse_networks(settings.server.trusted_proxies)
    redis = redis_storage(settings.limits)
    server = settings.server
    bounds = Bounds(
        max_batch=server.max_batch,
        concurrency=server.batch_concurrency,
        batch_seconds=server.handler_seconds,
        answer_bytes=server.max_answer_bytes,
        batch_answer_bytes=server.max_batch_answer_bytes,
    )
    places = gate or Gate(server.max_in_flight, server.max_queue, server.handler_seconds)
    grace = Grace(server.grace_seconds, server.drain_seconds)
    document = discovered(server.public_url)
    discovery = make_discovery(settings, plan, document)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[State]:
        opened = open_knowledge(settings) if knowledge is None else knowledge
        registry = CollectorRegistry()
        calls = CallMetrics(registry)
        limiter = Limiter(plan, redis, settings.limits.redis_timeout_seconds)
        tokens = TokenBook(settings.tokens_path, settings.auth.reload_seconds)
        tokens.refresh(monotonic())
        pools = _pools(settings)
        parsing = Pool("bodies", 1, server.handler_seconds)
        searching = Searching(opened.indexes, opened.embeddings, pools)
        passages = Passages(opened.embeddings, pools)
        decisions = Decisions(opened.records, searching, passages, pools)
        lists = Lists(opened.records, opened.listings, pools)
        chunks = Chunks(opened.records, opened.indexes, pools)
        knowledge_search = KnowledgeSearch(opened.records, searching, pools)
        recall = Recall(opened.records, opened.listings.timeline, opened.indexes, searching, pools)
        methods = (
            *system_methods(limiter, settings.agent.id, document),
            *decision_methods(decisions, passages, settings.agent.id),
            *extraction_methods(lists),
            *episode_methods(lists),
            *knowledge_methods(chunks, knowledge_search, passages),
            *recall_methods(recall, passages),
        )
        parts = Parts(
            dispatcher=Dispatcher(methods, limiter, bounds, calls, BodyParser(parsing)),
            limiter=limiter,
            tokens=tokens,
            gate=places,
            failures=FailedAttempts(limiter, failures),
            proxies=proxies,
            public_url=server.public_url,
            bodies=Bodies(server.max_body_bytes, server.max_body_bytes * (server.max_in_flight + server.max_queue + 1)),
            metrics=calls,
        )
        probes = _probes(opened, pools, parts, registry, settings)
        lag = asyncio.create_task(watch_loop(registry))
        try:
            async with open_mount(parts.dispatcher, settings) as mount:
                yield {"parts": parts, "probes": probes, "mcp": mount, "discovery": discovery}
        finally:
            lag.cancel()
            parsing.close()
            pools.close()
            await _close(opened, grace.closing_left(places))
            await limiter.close()

    app = Starlette(
        routes=[
            Route("/cstp", Endpoint(cstp_endpoint)),
            Route("/mcp", Endpoint(mcp_endpoint)),
            Route("/healthz", Endpoint(healthz)),
            Route("/readyz", Endpoint(readyz)),
            Route("/metrics", Endpoint(metrics)),
            Route(OPENRPC_PATH, Endpoint(openrpc)),
            Route(CARD_PATH, Endpoint(card)),
            Route(OLD_CARD_PATH, Endpoint(card)),
            Route(METADATA_PATH, Endpoint(metadata)),
        ],
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app


def _probes(opened: Knowledge, pools: Pools, parts: Parts, registry: CollectorRegistry, settings: Settings) -> Probes:
    gauges = StateGauges(parts.gate, parts.bodies, parts.limiter, pools, opened.indexes, opened.embeddings)
    registry.register(gauges)
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    readiness = ReadinessCheck(opened.records, opened.indexes, opened.embeddings, pools, parts.limiter, parts.gate)
    return Probes(readiness, registry, gauges, not settings.server.loopback, allowed_hosts(settings))


async def _close(knowledge: Knowledge, seconds: float) -> None:
    """Closes the records and the indexes; what does not end in time is left to the next start.

    In a daemon thread: asyncio and the interpreter would wait for one of the default executor.
    """
    pool = Pool("closing", 1, seconds)
    try:
        await pool.run(Caller(None, inf), knowledge.close, seconds / 2)
    except ComponentFailed as error:
        _log.error("not_closed", component=error.component, reason=str(error))
    finally:
        pool.close()


def _pools(settings: Settings) -> Pools:
    store, vectors, embedding = settings.store, settings.vectors, settings.embedding
    return Pools(
        call_seconds=settings.server.handler_seconds,
        embedder=Pool("embedder", embedding.threads, embedding.deadline_seconds),
        keywords=Pool("keywords", vectors.threads, vectors.deadline_seconds),
        vectors=Pool("vectors", vectors.threads, vectors.deadline_seconds),
        records=Pool("records", store.threads, store.deadline_seconds),
        lists=Pool("records", store.threads, store.deadline_seconds, "lists"),
    )
