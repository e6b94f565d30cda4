"""Builds the application: everything it works with is made in its lifespan and passed down."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Final, TypedDict

import structlog
from limits.aio.storage import RedisStorage
from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from starlette.applications import Starlette
from starlette.routing import Route

from cognition_engines.engine import Engine
from cognition_engines.errors import ComponentFailed, ConfigurationError
from cognition_engines.queries.pools import Caller, Pool
from cstp.methods.registry import METHODS
from cstp.values.system import DiscoverResult
from cstp_server.describe.openrpc import discover
from cstp_server.handlers.engine_methods import engine_methods
from cstp_server.handlers.followed_changes import changes_method
from cstp_server.handlers.system import system_methods
from cstp_server.holder.folder_calls import FolderCalls
from cstp_server.http import discovery as documents, page as pages
from cstp_server.http.auth import Network, allowed_hosts, parse_networks
from cstp_server.http.endpoint import METADATA_PATH, Endpoint, Parts, cstp_endpoint
from cstp_server.http.events import EventStream, changes_endpoint
from cstp_server.http.probes import Probes, healthz, metrics, readyz
from cstp_server.limits.admission import AdmissionGate, FollowerPlaces
from cstp_server.limits.bodies import Bodies, BodyParser
from cstp_server.limits.limiter import FailedAttempts, Limiter, redis_storage
from cstp_server.limits.prices import Plan, Window, make_plan, parse_windows
from cstp_server.mcp.mount import Mount, mcp_endpoint, open_mount
from cstp_server.mcp.profiles import check_tools
from cstp_server.observe.metrics import CallMetrics, StateGauges, watch_loop
from cstp_server.observe.readiness import ReadinessCheck
from cstp_server.open_engine import open_engine
from cstp_server.process.malloc import return_free_memory
from cstp_server.process.stop import Grace
from cstp_server.rpc.bound import AuditedCalls
from cstp_server.rpc.dispatch import Bounds, Dispatcher
from cstp_server.settings import Settings
from cstp_server.tokens import TokenBook
from cstp_server.workers.membership import Membership
from cstp_server.workers.scrape import OwnMetrics, Siblings

_log = structlog.get_logger("cstp.stop")


_ROUTES: Final = {
    "/cstp": cstp_endpoint,
    "/cstp/changes": changes_endpoint,
    "/mcp": mcp_endpoint,
    "/mcp/": mcp_endpoint,  # as some clients write it
    "/healthz": healthz,
    "/readyz": readyz,
    "/metrics": metrics,
    documents.OPENRPC_PATH: documents.openrpc,
    documents.CARD_PATH: documents.card,
    documents.OLD_CARD_PATH: documents.card,
    METADATA_PATH: documents.metadata,
    "/": pages.root,
    pages.PAGE_PATH.rstrip("/"): pages.to_page,
    pages.PAGE_PATH: pages.index,
    pages.ASSET_PATH: pages.asset,
    pages.SESSION_PATH: pages.session,
}


class State(TypedDict):
    """The state in the scope of each request."""

    parts: Parts
    probes: Probes
    mcp: Mount
    discovery: documents.Discovery
    events: EventStream
    page: pages.Page
    sessions: pages.PageSessions
    folder_calls: FolderCalls


@dataclass(frozen=True, slots=True)
class Prepared:
    """Parts made from the settings before anything is opened."""

    settings: Settings
    plan: Plan
    failures: Window
    redis: RedisStorage | None
    proxies: Sequence[Network]
    gate: AdmissionGate
    document: DiscoverResult


def create_app(
    settings: Settings,
    gate: AdmissionGate | None = None,
    engine: Engine | None = None,
    member: Membership | None = None,
) -> Starlette:
    """Return the ASGI application. Raise ConfigurationError for wrong settings, before anything is opened.

    A given, already open `engine` is used, and closed at the end; without it the lifespan opens the parts named in the
    settings. `member` is set if this process is a worker among several.
    """
    prepared = _prepare(settings, gate)
    discovery = documents.make_discovery(settings, prepared.plan, prepared.document)

    @asynccontextmanager
    async def opened_parts() -> AsyncIterator[State]:
        opened = open_engine(settings) if engine is None else engine
        registry = CollectorRegistry()
        parsing = Pool("bodies", 1, settings.server.handler_seconds)
        claims = Pool("links", 1, settings.server.handler_seconds)
        limiter = Limiter(prepared.plan, prepared.redis, settings.limits.redis_timeout_seconds)
        parts = _parts(prepared, opened, limiter, CallMetrics(registry), BodyParser(parsing))
        probes = _probes(opened, parts, registry, settings, member)
        lag = asyncio.create_task(watch_loop(registry))
        memory = return_free_memory(opened.indexes.background)
        memory.start()
        try:
            others = FolderCalls(parts.dispatcher, prepared.gate, settings, probes.look)
            async with (
                open_mount(parts.dispatcher, settings) as mount,
                _with_others(member, opened, probes),
                others.answer_calls(settings.indexes_path) if _holds(member) else nullcontext(),
            ):
                yield {
                    "parts": parts,
                    "probes": probes,
                    "mcp": mount,
                    "discovery": discovery,
                    "events": EventStream(opened.following, settings.server.quiet_seconds),
                    "page": pages.Page(settings),
                    "sessions": pages.PageSessions(settings, claims),
                    "folder_calls": others,
                }
        finally:
            lag.cancel()
            memory.stop()
            parsing.close()
            claims.close()
            grace = Grace(settings.server.grace_seconds, settings.server.drain_seconds)
            await _close(opened, grace.closing_left(prepared.gate))
            await parts.limiter.close()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[State]:
        begun = False
        try:
            async with opened_parts() as state:
                begun = True
                yield state
        except Exception as error:
            if not begun:
                app.state.start_failure = error  # which the server would cut to a text
            raise

    app = Starlette(routes=[Route(path, Endpoint(run)) for path, run in _ROUTES.items()], lifespan=lifespan)
    app.router.redirect_slashes = False
    return app


def _prepare(settings: Settings, gate: AdmissionGate | None) -> Prepared:
    """Return the parts made from the settings. Raise ConfigurationError for wrong settings."""
    server = settings.server
    check_tools(settings)
    failures, *others = parse_windows(settings.limits.auth_failures, "limits.auth_failures")
    if others:
        raise ConfigurationError("limits.auth_failures: must be one window")
    return Prepared(
        settings,
        make_plan(settings, {method.name: method for method in METHODS}),
        failures,
        redis_storage(settings.limits),
        parse_networks(server.trusted_proxies),
        gate or AdmissionGate(server.max_in_flight, server.max_queue, server.handler_seconds),
        discover(server.public_url),
    )


def _holds(member: Membership | None) -> bool:
    """Return whether this process has the folder's lock: of several workers, the first has it."""
    return member is None or member.worker.writes


@asynccontextmanager
async def _with_others(member: Membership | None, engine: Engine, probes: Probes) -> AsyncIterator[None]:
    """Answer other workers meanwhile, and check for changes after their writes."""
    if member is None or probes.siblings is None:
        yield
        return
    loop, waker = asyncio.get_running_loop(), member.common.wakers[member.number - 1]
    waker.watch(loop, engine.indexes.follow_now)
    try:
        async with probes.siblings.answer_siblings():
            yield
    finally:
        waker.leave(loop)


def _parts(prepared: Prepared, engine: Engine, limiter: Limiter, metrics: CallMetrics, parser: BodyParser) -> Parts:
    """Return the parts used by the endpoint."""
    settings, server = prepared.settings, prepared.settings.server
    tokens = TokenBook(settings.tokens_path, settings.auth.reload_seconds)
    tokens.refresh(monotonic())
    followers = FollowerPlaces(server.max_followers, prepared.gate, tokens)
    methods = (
        *system_methods(engine, limiter, settings.agent.id, prepared.document),
        *engine_methods(engine),
        changes_method(engine, followers),
    )
    for bound in methods:  # here, and not on the loop in the first call of each
        bound.method.params.model_rebuild()
        bound.method.result.model_rebuild()
    bounds = Bounds(
        max_batch=server.max_batch,
        concurrency=server.batch_concurrency,
        batch_seconds=server.handler_seconds,
        answer_bytes=server.max_answer_bytes,
        batch_answer_bytes=server.max_batch_answer_bytes,
    )
    audit, count_patterns = AuditedCalls(engine.audit), engine.listings.decisions.count_patterns
    return Parts(
        dispatcher=Dispatcher(methods, limiter, bounds, metrics, parser, engine.reached, audit, count_patterns),
        limiter=limiter,
        tokens=tokens,
        gate=prepared.gate,
        failures=FailedAttempts(limiter, prepared.failures),
        proxies=prepared.proxies,
        public_url=server.public_url,
        bodies=Bodies(server.max_body_bytes, server.max_body_bytes * (server.max_in_flight + server.max_queue + 1)),
        metrics=metrics,
        followers=followers,
    )


def _probes(
    engine: Engine, parts: Parts, registry: CollectorRegistry, settings: Settings, member: Membership | None
) -> Probes:
    gauges = StateGauges(parts.gate, parts.bodies, parts.limiter, engine, parts.followers)
    registry.register(gauges)
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    readiness = ReadinessCheck(engine, parts.limiter, parts.gate, parts.tokens)
    siblings = None
    if member is not None:
        own = OwnMetrics(registry, gauges, readiness, member.counters(member.number))
        siblings = Siblings(member, readiness, own)
    return Probes(readiness, registry, gauges, not settings.server.loopback, allowed_hosts(settings), siblings)


async def _close(engine: Engine, seconds: float) -> None:
    """Close the records and the indexes; a part that does not end in time is left to the next start.

    In a daemon thread: asyncio and the interpreter would wait for a thread of the default executor.
    """
    pool = Pool("closing", 1, seconds)
    try:
        await pool.run(Caller(None, inf), engine.close, seconds / 2)
    except ComponentFailed as error:
        _log.error("not_closed", component=error.component, reason=str(error))
    finally:
        pool.close()
    if engine.audit_rows_lost:
        _log.error("audit_rows_lost", count=engine.audit_rows_lost)
