"""Whether this server can answer, part by part. `GET /readyz` tells it, `GET /metrics` counts it."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Final, Literal

from cognition_engines.embedding.cache import QueryCache
from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.following import Indexes
from cognition_engines.records.store import Records
from cstp_server.adapters.pools import Caller, Pools
from cstp_server.http import Gate
from cstp_server.limits import Limiter

KEEP_SECONDS: Final = 0.5  # a flood of probes costs one look at the parts in this time
PROBE_SECONDS: Final = 2.0  # a part that does not answer by then is down

Status = Literal["ready", "degraded", "draining", "unavailable"]


@dataclass(frozen=True, slots=True)
class Readiness:
    """`parts` gives each part's state; `last_seq` is the records' own, None when they do not answer.

    `unavailable`: a part that a search needs is `down`. `degraded`: all are answered, but limits are not shared.
    """

    status: Status
    parts: Mapping[str, str]
    last_seq: int | None

    @property
    def http_status(self) -> int:
        return 200 if self.status in ("ready", "degraded") else 503


class ReadinessCheck:
    """Looks at the parts when asked, at most once in KEEP_SECONDS."""

    def __init__(
        self,
        records: Records,
        indexes: Indexes,
        embeddings: QueryCache | None,
        pools: Pools,
        limiter: Limiter,
        gate: Gate,
    ) -> None:
        self._records = records
        self._indexes = indexes
        self._embeddings = embeddings
        self._pools = pools
        self._limiter = limiter
        self._gate = gate
        self._turn = asyncio.Lock()
        self._seen: Readiness | None = None
        self._seen_at = 0.0

    async def look(self) -> Readiness:
        """The state of now, or of KEEP_SECONDS ago at most; never raises."""
        async with self._turn:
            if self._seen is None or monotonic() - self._seen_at > KEEP_SECONDS:
                self._seen, self._seen_at = await self._look(), monotonic()
            seen = self._seen
        return Readiness("draining", seen.parts, seen.last_seq) if self._gate.draining else seen

    async def _look(self) -> Readiness:
        last_seq, embedder, limits = await asyncio.gather(self._last_seq(), self._embedder(), self._limiter.look())
        parts = {
            "records": "down" if last_seq is None else "ready",
            "keywords": "down" if self._pools.keywords.stuck else self._indexes.keywords_state,
            "vectors": "down" if self._pools.vectors.stuck else self._indexes.vectors_state,
            "embedder": embedder,
            "limits": limits,
        }
        needed = [state for name, state in parts.items() if name != "limits"]
        if "down" in needed:
            return Readiness("unavailable", parts, last_seq)
        return Readiness("degraded" if parts["limits"] == "degraded" else "ready", parts, last_seq)

    async def _last_seq(self) -> int | None:
        try:
            return await self._pools.records.run(_caller(), self._records.last_seq)
        except ComponentFailed:
            return None

    async def _embedder(self) -> str:
        """Asked only when its last call failed: a model behind an API costs something each time."""
        if self._embeddings is None:
            return "off"
        if self._pools.embedder.failing:
            try:
                await self._pools.embedder.run(_caller(), self._embeddings.probe)
            except ComponentFailed:
                return "down"
        return "ready"


def _caller() -> Caller:
    return Caller(None, monotonic() + PROBE_SECONDS)
