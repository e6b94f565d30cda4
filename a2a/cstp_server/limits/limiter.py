"""Budgets of agents: the windows, their state, and the fallback if Redis does not answer.

Every call is counted in this process and, if configured, in Redis; both must allow it. So an outage of Redis, or a
return without data, gives no agent a second allowance. While it does not answer, this process continues counting, with
the spending of other servers as of the last answers; nothing waits for Redis, and a background probe detects the return
and adds this process's spending during the outage.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from time import monotonic, time
from typing import TYPE_CHECKING, Final

import structlog
from limits import RateLimitItemPerSecond
from limits.aio.storage import RedisStorage, Storage
from limits.aio.storage.redis.redispy import RedispyBridge
from limits.aio.strategies import MovingWindowRateLimiter
from limits.errors import StorageError

from cognition_engines.errors import ComponentFailed, ConfigurationError
from cstp.errors import RateLimited
from cstp_server.limits.memory_windows import MovingWindows
from cstp_server.limits.prices import Plan, Window, attempts_of, writes_of
from cstp_server.settings import LimitSettings, Settings

if TYPE_CHECKING:
    from cstp_server.limits.redis_windows import SharedWindows

REFRESH_SECONDS: Final = 1.0  # how old the counts in the headers may be
FIRST_PROBE_SECONDS: Final = 0.1  # each further attempt waits twice as long, up to
PROBE_SECONDS: Final = 2.0
MOST_UNSENT: Final = 10_000  # an agent's calls, to count in Redis when it is back
CONNECT_SECONDS: Final = 1.0  # for a first connection, which also loads the script
_SHARED: Final = "cstp_server.limits.redis_windows"  # loads redis-py, which servers without Redis start faster without
_PROBE: Final = RateLimitItemPerSecond(1000, namespace="PROBE")
_log = structlog.get_logger("cstp.limits")


@dataclass(slots=True)
class _WindowState:
    """The last known state of an agent's window: units left, when some come back, and when that was read."""

    remaining: int
    reset: float
    read: float


def _wait(reset: float, window: Window) -> int:
    """Return the whole seconds until `reset`, from 0 to the window's length, despite rounding errors."""
    return min(window.seconds, max(0, math.ceil(reset - time())))


def _refusal(wait: float, window: Window) -> RateLimited:
    """Return the error for a window with enough units in `wait` seconds, at most the length of the window."""
    return RateLimited(min(window.seconds, max(1, math.ceil(wait))), window.limit, window.seconds, window.policy)


def redis_storage(settings: LimitSettings) -> RedisStorage | None:
    """Return an unconnected pool to the configured Redis; None if limits are counted in memory."""
    if settings.redis_url is None:
        return None
    connection: Callable[[str], RedisStorage] = import_module(_SHARED).connection
    return connection(settings.redis_url)


def require_redis(settings: Settings) -> None:
    """Raise ConfigurationError for several workers without a Redis that counts their limits together."""
    if settings.server.workers > 1 and settings.limits.redis_url is None:
        raise ConfigurationError(
            "limits.redis_url: several workers (server.workers) count limits in Redis; name one such as "
            "redis://127.0.0.1:6379/0, or start one worker"
        )


def _shared_windows(redis: RedisStorage, timeout: float) -> "SharedWindows":
    made: SharedWindows = import_module(_SHARED).SharedWindows(redis, timeout)
    return made


class Limiter:
    """Agents' charges. Calls in an event-loop turn share a Redis round trip; headers need one per second and agent."""

    def __init__(self, plan: Plan, redis: RedisStorage | None, redis_timeout: float) -> None:
        self._plan = plan
        self._local = MovingWindows()
        self._others = MovingWindows()  # spending of other servers, as last reported by Redis
        self._unsent: dict[str, deque[tuple[float, int]]] = {}  # by agent: times and units spent without Redis
        self._events = MovingWindows()  # apart from agents, so that strangers use none of the agents' memory
        self._shared = _shared_windows(redis, redis_timeout) if redis else None
        self._counts = MovingWindowRateLimiter(redis) if redis else None
        self._redis: Storage | None = redis
        self._timeout = redis_timeout
        self._probe: asyncio.Task[None] | None = None
        self._seen: dict[tuple[str, str], _WindowState] = {}

    @property
    def is_degraded(self) -> bool:
        """Return whether Redis is configured and does not answer."""
        return self._probe is not None

    @property
    def state(self) -> str:
        """Return `memory`, `shared` (through Redis), or `degraded`: Redis does not answer, memory replaces it."""
        return "degraded" if self.is_degraded else "memory" if self._shared is None else "shared"

    async def look(self) -> str:
        """Return the state after asking Redis, which may have failed since the last call."""
        if self._shared is not None and not self.is_degraded:
            try:
                await self._shared.take([_PROBE], "", 1, time())
            except (StorageError, TimeoutError) as error:
                self._fall_back(error)
        return self.state

    async def charge(self, agent: str, method: str, more: int = 0) -> None:
        """Take the cost of a call of `method`, and `more`, from each window of the agent, or from none.

        A cost above a window's limit counts as that limit. A write is also counted in the windows of writes, before the
        others. Raise RateLimited.
        """
        if method in self._plan.writing:
            await self._spend(writes_of(agent), 1)
        await self._spend(agent, self._plan.costs.get(method, 1) + more)

    async def _spend(self, agent: str, units: int) -> None:
        windows = self._plan.windows(agent)
        cost = min(units, *(window.limit for window in windows))
        allowed, now = self._take(windows, agent, cost), time()
        if allowed and self._shared is not None and not self.is_degraded:
            allowed = await self._hit(self._shared, windows, agent, cost, now)
        if not allowed:
            raise await self._refuse(windows, agent, cost)
        if self._shared is not None and self.is_degraded:
            self._unsent.setdefault(agent, deque(maxlen=MOST_UNSENT)).append((now, cost))
        if self._shared is None or self.is_degraded:
            for window in windows:
                if seen := self._seen.get((agent, window.policy)):
                    seen.remaining = max(0, seen.remaining - cost)

    async def states(self, agent: str) -> list[tuple[Window, int, int]]:
        """Return each window of the agent with the units left and the seconds until some come back."""
        found, now = [], time()
        for window in self._plan.windows(agent):
            seen = self._seen.get((agent, window.policy))
            if seen is None or now - seen.read > REFRESH_SECONDS:
                seen = await self._read_window(window, agent)
            found.append((window, seen.remaining, _wait(seen.reset, window)))
        return found

    async def headers(self, agent: str) -> list[tuple[bytes, bytes]]:
        """Return RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers)."""
        states = await self.states(agent)
        policy = ", ".join([window.header for window, _, _ in states])
        state = ", ".join([f'"{window.policy}";r={remaining};t={wait}' for window, remaining, wait in states])
        return [(b"ratelimit-policy", policy.encode()), (b"ratelimit", state.encode())]

    async def count_event(self, window: Window, key: str) -> RateLimited | None:
        """Count an event of `key`, a key of no agent; return the error after too many events."""
        if not self._events.take(key, window.limit, window.seconds, 1):
            return _refusal(self._events.wait(key, window.limit, window.seconds, 1), window)
        if self._shared is None or self.is_degraded:
            return None
        try:
            taken = await self._shared.take([window.item], key, 1, time())
        except (StorageError, TimeoutError) as error:
            self._fall_back(error)
            return None
        if taken.allowed:
            return None
        self._events.give_back(key, window.seconds, 1)
        ((_, oldest),) = taken.windows
        return _refusal(oldest + window.seconds - time(), window)

    async def close(self) -> None:
        if self._probe is not None:
            self._probe.cancel()
        await _close(self._redis)

    def _take(self, windows: tuple[Window, ...], agent: str, cost: int) -> bool:
        """Take in this process, from all windows or from none."""
        return self._local.take_all(agent, windows, cost, self._others if self.is_degraded else None)

    async def _hit(
        self, shared: "SharedWindows", windows: tuple[Window, ...], agent: str, cost: int, now: float
    ) -> bool:
        """Take in Redis the units taken here already, and give them back if Redis refuses.

        Without an answer the windows here decide, with the last known spending of other servers.
        """
        try:
            taken = await shared.take([window.item for window in windows], agent, cost, now)
            allowed = taken.allowed
        except (StorageError, TimeoutError) as error:
            self._fall_back(error)
            allowed = not any(self._wait_here(window, agent, 0) for window in windows)
        else:
            for window, (units, oldest) in zip(windows, taken.windows, strict=True):
                self._note(window, agent, units, oldest + window.seconds)
        if not allowed:
            for window in windows:
                self._local.give_back(agent, window.seconds, cost)
        return allowed

    def _wait_here(self, window: Window, agent: str, cost: int) -> float:
        """Return the seconds until this process allows `cost` units, with others' units while Redis does not answer."""
        others = self._others if self.is_degraded else None
        return self._local.wait(agent, window.limit, window.seconds, cost, others)

    def _note(self, window: Window, agent: str, units: int, reset: float) -> _WindowState:
        """Store a window's state returned by Redis: the units, and when (`time`) the first of them end."""
        own, wait = self._local.state(agent, window.seconds)
        self._others.set_total(agent, window.seconds, max(0, units - own))
        if own > units:
            units, reset = own, time() + wait
        seen = self._seen[agent, window.policy] = _WindowState(max(0, window.limit - units), reset, time())
        return seen

    async def _refuse(self, windows: tuple[Window, ...], agent: str, cost: int) -> RateLimited:
        """Return the error of the window with the longest wait: after a shorter wait the caller is refused again."""
        waits = [await self._until(window, agent, cost) for window in windows]
        longest = max(waits)
        return _refusal(longest, windows[waits.index(longest)])

    async def _until(self, window: Window, agent: str, cost: int) -> float:
        """Return the seconds until `cost` units are free here and in Redis; read the state for the headers again."""
        await self._read_window(window, agent)
        wait = self._wait_here(window, agent, cost)
        if self._shared is None or self.is_degraded:
            return wait
        try:
            # at most the window: another machine's clock may be wrong
            return max(wait, min(window.seconds, await self._shared.wait(window.item, agent, cost)))
        except (StorageError, TimeoutError) as error:
            self._fall_back(error)
            return wait

    async def _read_window(self, window: Window, agent: str) -> _WindowState:
        if self._counts is not None and not self.is_degraded:
            try:
                async with asyncio.timeout(self._timeout):
                    reset, remaining = await self._counts.get_window_stats(window.item, agent)
                return self._note(window, agent, window.limit - remaining, reset)
            except (StorageError, TimeoutError) as error:
                self._fall_back(error)
        taken, _ = self._local.state(agent, window.seconds)
        others, _ = self._others.state(agent, window.seconds) if self.is_degraded else (0, 0.0)
        remaining = max(0, window.limit - taken - others)
        wait = self._wait_here(window, agent, min(window.limit, remaining + 1)) if remaining < window.limit else 0.0
        seen = self._seen[agent, window.policy] = _WindowState(remaining, time() + wait, time())
        return seen

    def _fall_back(self, error: StorageError | TimeoutError) -> None:
        if self._probe is None:
            reason = _reason(error)
            _log.warning("limits_local", reason=reason, remedy="limits.redis_url does not answer, counting in memory")
            self._seen.clear()
            self._probe = asyncio.create_task(self._await_redis())

    async def _await_redis(self) -> None:
        assert self._shared is not None
        pause = FIRST_PROBE_SECONDS
        while True:
            await asyncio.sleep(pause)
            pause = min(2 * pause, PROBE_SECONDS)
            # a hit, not a ping: a Redis that is full or read-only answers pings too
            with suppress(StorageError, TimeoutError):
                await self._shared.take([_PROBE], "", 1, time())
                await self._send_unsent(self._shared)
                break
        self._seen.clear()
        self._probe = None
        _log.info("limits_shared", reason="Redis answers again")

    async def _send_unsent(self, shared: "SharedWindows") -> None:
        """Count in Redis the units spent without it."""
        while self._unsent:
            agent, spent = self._unsent.popitem()
            windows = self._plan.windows(agent)
            since = time() - windows[-1].seconds
            times = [when for when, cost in spent if when > since for _ in range(cost)]
            if times:
                try:
                    await shared.add([window.item for window in windows], agent, times[-MOST_UNSENT:])
                except (StorageError, TimeoutError):
                    spent.extend(self._unsent.pop(agent, ()))
                    self._unsent[agent] = spent
                    raise


class FailedAttempts:
    """Wrong tokens per client network; returns the time to wait after too many."""

    def __init__(self, limiter: Limiter, window: Window) -> None:
        self._limiter = limiter
        self._window = window
        self._refusals = MovingWindows()

    async def count(self, network: str) -> RateLimited | None:
        return await self._limiter.count_event(self._window, attempts_of(network))

    def first(self, network: str, status: int) -> bool:
        """Return whether this is the network's first refusal with that status in a window, in this process."""
        return self._refusals.take(f"{status} {network}", 1, self._window.seconds, 1)


def _reason(error: StorageError | TimeoutError) -> str:
    """Return the error's name; the cause of a TimeoutError is a cancellation, which explains nothing."""
    return type((isinstance(error, StorageError) and error.__cause__) or error).__name__


def try_redis(settings: LimitSettings) -> float:
    """Return the duration of a hit on the configured Redis in seconds, once connected. Raise ComponentFailed."""
    storage = redis_storage(settings)
    assert storage is not None
    return asyncio.run(_timed_hit(storage, settings.redis_timeout_seconds))


async def _timed_hit(storage: RedisStorage, seconds: float) -> float:
    limiter = MovingWindowRateLimiter(storage)
    try:
        async with asyncio.timeout(seconds + CONNECT_SECONDS):
            await limiter.hit(_PROBE)
        start = monotonic()
        async with asyncio.timeout(seconds):
            await limiter.hit(_PROBE)
        return monotonic() - start
    except (StorageError, TimeoutError) as error:
        raise ComponentFailed("limits", f"limits.redis_url: cannot reach Redis ({_reason(error)})") from error
    finally:
        await _close(storage)


async def _close(storage: Storage | None) -> None:
    if isinstance(storage, RedisStorage) and isinstance(storage.bridge, RedispyBridge):
        # the pool is ours, so the client would leave its connections open
        await storage.bridge.get_connection().aclose(close_connection_pool=True)  # type: ignore[attr-defined]
