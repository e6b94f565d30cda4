"""Moving windows in Redis, in the format of the `limits` library, with many calls per round trip.

The script differs from the library's, which takes from a single window: a call denied by the next window would have
spent units.

redis-py works longer on a command than Redis does. The calls of an event loop turn go in one pipeline, which costs each
of 16 of them about half of a separate command's cost.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from time import time
from typing import Any, Final

from limits import RateLimitItem
from limits.aio.storage import RedisStorage
from limits.aio.storage.redis.redispy import RedispyBridge
from limits.errors import StorageError
from redis.asyncio import BlockingConnectionPool
from redis.exceptions import NoScriptError, RedisError

from cognition_engines.errors import ConfigurationError

# A window is a list with the time of each unit, the newest first, without expired units. Arguments:
# time, cost, each window's limit and seconds. Answers whether it took, then of each window its units and the time of
# the oldest of them.
_TAKE: Final = b"""
local now, cost, allowed = tonumber(ARGV[1]), tonumber(ARGV[2]), 1
for place, key in ipairs(KEYS) do
    local limit, seconds = tonumber(ARGV[2 * place + 1]), tonumber(ARGV[2 * place + 2])
    local unit = redis.call('lindex', key, -1)
    while unit and tonumber(unit) < now - seconds do
        redis.call('rpop', key)
        unit = redis.call('lindex', key, -1)
    end
    if redis.call('llen', key) + cost > limit then
        allowed = 0
    end
end
local answer = {allowed}
for place, key in ipairs(KEYS) do
    if allowed == 1 then
        for _ = 1, cost do
            redis.call('lpush', key, ARGV[1])
        end
        redis.call('expire', key, ARGV[2 * place + 2])
    end
    answer[2 * place] = redis.call('llen', key)
    answer[2 * place + 1] = redis.call('lindex', key, -1) or ARGV[1]
end
return answer
"""
# Puts units that were taken without an answer of Redis among those there; a call that arrived although its answer was
# late has its unit there already, by its time. Arguments: each window's limit and seconds, then their times.
_ADD: Final = b"""
for place, key in ipairs(KEYS) do
    local units, missing, oldest = {}, {}, math.huge
    for at = 2 * #KEYS + 1, #ARGV do
        missing[ARGV[at]] = (missing[ARGV[at]] or 0) + 1
        oldest = math.min(oldest, tonumber(ARGV[at]))
    end
    local unit = redis.call('lindex', key, 0)
    while unit and tonumber(unit) >= oldest do
        units[#units + 1] = redis.call('lpop', key)
        missing[unit] = (missing[unit] or 0) - 1
        unit = redis.call('lindex', key, 0)
    end
    for time, count in pairs(missing) do
        for _ = 1, count do
            units[#units + 1] = time
        end
    end
    table.sort(units, function(one, other) return tonumber(one) < tonumber(other) end)
    for _, time in ipairs(units) do
        redis.call('lpush', key, time)
    end
    redis.call('ltrim', key, 0, ARGV[2 * place - 1] - 1)
    redis.call('expire', key, ARGV[2 * place])
end
"""


def connection(url: str) -> RedisStorage:
    """Return an unconnected pool to the Redis at `url`. Raise ConfigurationError for an invalid URL."""
    try:
        # no timeouts here: the limiter's timeout for a whole hit has a third of the cost of a timeout for each step
        pool = BlockingConnectionPool.from_url(url, max_connections=32, timeout=None)
    except ValueError as error:
        raise ConfigurationError("limits.redis_url: must read like redis://host:6379/0") from error
    return RedisStorage(
        url,
        wrap_exceptions=True,
        implementation="redispy",
        key_prefix="cstp",
        connection_pool=pool,  # type: ignore[arg-type]
    )


@dataclass(frozen=True, slots=True)
class ChargeResult:
    """The result of a charge: whether units were taken, and for each window the units and the time of the oldest."""

    allowed: bool
    windows: Sequence[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class _Hit:
    """The charge of a call, as the script's keys and arguments, and the future of its answer."""

    keys: Sequence[str]
    arguments: Sequence[float]
    taken: "asyncio.Future[ChargeResult]"


class SharedWindows:
    """Windows in Redis, from which units are taken; a round trip may last `timeout` seconds."""

    def __init__(self, storage: RedisStorage, timeout: float) -> None:
        assert isinstance(storage.bridge, RedispyBridge)
        self._bridge = storage.bridge
        self._client: Any = storage.bridge.get_connection()
        self._script = self._client.register_script(_TAKE)
        self._timeout = timeout
        self._waiting: list[_Hit] = []
        self._round_trips: set[asyncio.Task[None]] = set()

    async def take(self, items: Sequence[RateLimitItem], key: str, cost: int, now: float) -> ChargeResult:
        """Take `cost` units for `key` from all windows if each has them; `cost` is at most any limit.

        `now` is the time by `time.time`; `add` with the same time counts them once, whether this call arrived or not.

        Raise StorageError when Redis refuses, TimeoutError when it does not answer in time.
        """
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._send)
        arguments: list[float] = [now, cost]
        for item in items:
            arguments += (item.amount, item.get_expiry())
        hit = _Hit([self._name(item, key) for item in items], arguments, loop.create_future())
        self._waiting.append(hit)
        return await hit.taken

    async def add(self, items: Sequence[RateLimitItem], key: str, times: Sequence[float]) -> None:
        """Count units taken elsewhere, by the clock of `time.time`. Raise as `take` does."""
        windows = [number for item in items for number in (item.amount, item.get_expiry())]
        names = [self._name(item, key) for item in items]
        try:
            async with asyncio.timeout(self._timeout):
                await self._client.eval(_ADD, len(names), *names, *windows, *times)
        except RedisError as error:
            raise StorageError(error) from error

    async def wait(self, item: RateLimitItem, key: str, cost: int) -> float:
        """Return the seconds until `take` would succeed, 0 if it would now. Raise as `take` does."""
        try:
            async with asyncio.timeout(self._timeout):
                # the newest unit comes first, and the script checks it
                taken = await self._client.lindex(self._name(item, key), item.amount - cost)
        except RedisError as error:
            raise StorageError(error) from error
        return 0.0 if taken is None else max(0.0, float(taken) + item.get_expiry() - time())

    def _name(self, item: RateLimitItem, key: str) -> str:
        return self._bridge.prefixed_key(item.key_for(key))

    def _send(self) -> None:
        hits, self._waiting = self._waiting, []
        task = asyncio.create_task(self._round_trip(hits))
        self._round_trips.add(task)  # the loop alone would not keep it
        task.add_done_callback(self._round_trips.discard)

    async def _round_trip(self, hits: Sequence[_Hit]) -> None:
        answers: list[object]
        try:
            async with asyncio.timeout(self._timeout):
                answers = await self._ask(hits)
                lacking = [place for place, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
                if lacking:  # Redis has restarted; another server may have loaded it halfway through
                    await self._client.script_load(self._script.script)
                    again = await self._ask([hits[place] for place in lacking])
                    for place, answer in zip(lacking, again, strict=True):
                        answers[place] = answer
        except (RedisError, TimeoutError) as error:
            answers = [error] * len(hits)
        for hit, answer in zip(hits, answers, strict=True):
            if hit.taken.done():
                continue  # the call was cancelled
            if isinstance(answer, TimeoutError):
                hit.taken.set_exception(TimeoutError())
            elif isinstance(answer, Exception):
                failure = StorageError(answer)
                failure.__cause__ = answer
                hit.taken.set_exception(failure)
            else:
                hit.taken.set_result(_parse_charge(answer))

    async def _ask(self, hits: Sequence[_Hit]) -> list[object]:
        """Return an answer for each hit, from the script, or the error."""
        pipeline = self._client.pipeline(transaction=False)
        for hit in hits:
            pipeline.execute_command("EVALSHA", self._script.sha, len(hit.keys), *hit.keys, *hit.arguments)
        answers: list[object] = await pipeline.execute(raise_on_error=False)
        return answers


def _parse_charge(answer: Any) -> ChargeResult:
    allowed, *numbers = answer
    windows = zip(numbers[::2], numbers[1::2], strict=True)
    return ChargeResult(bool(allowed), [(int(units), float(oldest)) for units, oldest in windows])
