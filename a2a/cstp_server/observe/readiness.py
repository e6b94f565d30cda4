"""The readiness of this server, part by part, for `GET /readyz` and `GET /metrics`."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final, Literal

from cognition_engines.engine import Engine
from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.space import worst
from cognition_engines.queries.pools import Caller, Pool
from cognition_engines.store.audit.trail import AuditTrail
from cstp.values.fields import format_instant
from cstp_server.limits.admission import AdmissionGate
from cstp_server.limits.limiter import Limiter
from cstp_server.tokens import TokenBook

KEEP_SECONDS: Final = 0.5  # a flood of probes costs a single check of the parts in this time
NAMED_RECORDS: Final = 100
PROBE_SECONDS: Final = 2.0  # a part without an answer by then is down

Status = Literal["ready", "degraded", "draining", "unavailable"]


@dataclass(frozen=True, slots=True)
class Readiness:
    """`parts` gives each part's state; `last_seq` is from the records, None if they do not answer.

    `set_aside` names part, id and cause of records that a part cannot process, the latest NAMED_RECORDS. `failing`
    names background work whose last round failed; a part of that name is `degraded`.

    `unavailable`: a part needed by calls is `down`. `degraded`: all calls are answered, but limits are not shared, a
    Chroma server is unreachable and vectors are compared in memory, audit rows wait for the store, the tokens file is
    damaged and the tokens read before are used, a part has set records aside, or background work fails.
    """

    status: Status
    parts: Mapping[str, str]
    last_seq: int | None
    set_aside: Sequence[Mapping[str, str]] = ()
    failing: Sequence[Mapping[str, str]] = ()

    @property
    def http_status(self) -> int:
        return 200 if self.status in ("ready", "degraded") else 503


class ReadinessCheck:
    """Check of the parts on request, at most once in KEEP_SECONDS."""

    def __init__(self, engine: Engine, limiter: Limiter, gate: AdmissionGate, tokens: TokenBook) -> None:
        self._engine = engine
        self._tokens = tokens
        self._limiter = limiter
        self._gate = gate
        self._turn = asyncio.Lock()
        self._seen: Readiness | None = None
        self._seen_at = 0.0

    async def look(self) -> Readiness:
        """Return the current state, at most KEEP_SECONDS old; never raises."""
        async with self._turn:
            if self._seen is None or monotonic() - self._seen_at > KEEP_SECONDS:
                self._seen, self._seen_at = await self._look(), monotonic()
            seen = self._seen
        return replace(seen, status="draining") if self._gate.draining else seen

    async def _look(self) -> Readiness:
        pools, indexes = self._engine.pools, self._engine.indexes
        works = asyncio.gather(*map(_works, (pools.records, pools.lists, pools.keywords, pools.vectors)))
        last_seq, embedder, limits = await asyncio.gather(self._last_seq(), self._embedder(), self._limiter.look())
        records, lists, keywords, vectors = await works
        parts = {
            "records": "ready" if last_seq is not None and records and lists else "down",
            "keywords": indexes.keywords_state if keywords else "down",
            # an unreachable Chroma server costs no search: see indexes/vectors/live.py
            "vectors": indexes.vectors_state.replace("down", "degraded") if vectors else "down",
            "embedder": embedder,
            "limits": limits,
            "audit": _audit(self._engine.audit),
            "tokens": _tokens(self._tokens),
        }
        left_out = indexes.set_aside.records
        parts |= {note.part.value: worst([parts.get(note.part.value, "ready"), "degraded"]) for note in left_out}
        failing = self._engine.indexes.background.failing
        parts |= {work.name: worst([parts.get(work.name, "ready"), "degraded"]) for work in failing}
        causes = [{"work": work.name, "since": format_instant(work.since), "cause": work.cause} for work in failing]
        named = [{"part": note.part.value, "id": note.id, "cause": note.cause} for note in left_out[-NAMED_RECORDS:]]
        states = parts.values()
        status: Status = "unavailable" if "down" in states else "degraded" if "degraded" in states else "ready"
        return Readiness(status, parts, last_seq, named, causes)

    async def _last_seq(self) -> int | None:
        try:
            return await self._engine.pools.records.run(_caller(), self._engine.records.last_seq)
        except ComponentFailed:
            return None

    async def _embedder(self) -> str:
        """Call the model only if its last call failed: a model behind an API costs money each time."""
        if self._engine.embeddings is None:
            return "off"
        if self._engine.pools.embedder.failing:
            try:
                await self._engine.pools.embedder.run(_caller(), self._engine.embeddings.probe)
            except ComponentFailed:
                return "down"
        return "ready"


def _audit(trail: AuditTrail) -> str:
    """Return `degraded` while rows wait for the store, `down` if no more can wait, since calls fail then."""
    state = trail.state
    if not state.failing:
        return "ready"
    return "down" if state.full or trail.options.durable else "degraded"


def _tokens(book: TokenBook) -> str:
    """Return `down` for a missing or damaged file if no token read before is valid."""
    book.refresh(monotonic())
    if book.problem is None:
        return "ready"
    return "degraded" if book.token_count else "down"


async def _works(pool: Pool) -> bool:
    """Return whether a pool has a thread, and its failed part works again."""
    if pool.stuck:
        return False
    try:
        await pool.retry(_caller())
    except ComponentFailed:
        return False
    return True


def _caller() -> Caller:
    return Caller(None, monotonic() + PROBE_SECONDS)
