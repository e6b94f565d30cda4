"""Two engines over a shared store, each behind a server dispatcher, and tokens of several agents."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry

from cognition_engines.embedding.base import Embedder
from cognition_engines.engine import Engine
from cognition_engines.ingest.options import Options, Summary
from cognition_engines.kinds.spec import KINDS
from cognition_engines.queries.pools import Pool
from cstp.methods.registry import METHODS
from cstp_server.handlers.engine_methods import engine_methods
from cstp_server.handlers.followed_changes import changes_method
from cstp_server.limits.admission import AdmissionGate, FollowerPlaces
from cstp_server.limits.bodies import BodyParser
from cstp_server.limits.limiter import Limiter
from cstp_server.limits.prices import make_plan
from cstp_server.observe.metrics import CallMetrics
from cstp_server.rpc.bound import AuditedCalls, Call
from cstp_server.rpc.dispatch import Bounds, Dispatcher
from cstp_server.settings import LimitSettings, Settings
from cstp_server.tokens import Token, TokenBook

T = TypeVar("T")

_LIMITS = LimitSettings(default="1000000000/second", writes="1000000000/second")
_BOUNDS = Bounds(max_batch=1, concurrency=1, batch_seconds=inf, answer_bytes=1 << 24, batch_answer_bytes=1 << 24)
FOLLOWS_WITHIN = 20.0  # seconds, on a busy machine


def token(agent: str, scopes: str, clearance: str = "highly_sensitive", projects: Sequence[str] | None = None) -> Token:
    """Return a token in the server's form; `scopes` are words."""
    named = None if projects is None else tuple(projects)
    times = {"created": "2026-01-01T00:00:00+00:00", "expires": "2999-01-01T00:00:00+00:00"}
    return Token("0", agent, "0" * 64, tuple(scopes.split()), clearance, named, **times)


@dataclass(frozen=True)
class Reply:
    """Result of a call: `code` 0 and a result, or an error with data; `text` is the full answer."""

    code: int
    value: Any
    text: str


class Doors:
    """JSON-RPC calls to either of two servers over the same records."""

    def __init__(self, url: str, folder: Path, embedder: Embedder | None) -> None:
        self.folder = folder
        self._loop = asyncio.new_event_loop()
        self._parsing = Pool("bodies", 1, 60.0)
        self.engines = [Engine.open(url, folder / f"indexes-{number}", embedder) for number in range(2)]
        self._dispatchers = [self._dispatcher(engine) for engine in self.engines]
        self._numbers = count(1)

    def _dispatcher(self, engine: Engine) -> Dispatcher:
        places = FollowerPlaces(2, AdmissionGate(1, 1), TokenBook(self.folder / "tokens.json", inf))
        limiter = Limiter(make_plan(Settings(limits=_LIMITS), {method.name: method for method in METHODS}), None, 1.0)
        methods = (*engine_methods(engine), changes_method(engine, places))
        counted, audited = CallMetrics(CollectorRegistry()), AuditedCalls(engine.audit)
        return Dispatcher(methods, limiter, _BOUNDS, counted, BodyParser(self._parsing), engine.reached, audited)

    def call(self, server: int, who: Token, method: str, params: Mapping[str, Any]) -> Reply:
        """Call a method, for example `recordDecision`."""
        return self.run(self.ask(server, who, method, params))

    async def ask(self, server: int, who: Token, method: str, params: Mapping[str, Any]) -> Reply:
        """Send a call as `call` does, for concurrent use."""
        request = {"jsonrpc": "2.0", "id": 1, "method": f"cstp.{method}", "params": params}
        call = Call(who, f"r{next(self._numbers)}")
        answer = await self._dispatchers[server % 2].handle(json.dumps(request).encode(), call)
        text = (answer.body or b"").decode()
        body = json.loads(text)
        error = body.get("error")
        return Reply(0, body["result"], text) if error is None else Reply(error["code"], error.get("data"), text)

    def ingest(self, server: int, files: Sequence[Path], options: Options) -> Summary:
        """Ingest files in a server's process."""
        return self.run(self.engines[server % 2].ingest(files, options))

    def ids(self, kind: str = "decision") -> list[str]:
        """Return all stored ids of a kind."""
        return self.engines[0].records.ids(KINDS[kind])

    def sweep(self, server: int) -> None:
        """Remove expired records, as a server does every few seconds."""
        self.engines[server % 2].retention.sweep()

    def follow(self, server: int) -> None:
        """Wait until a server's searches show all stored records."""
        engine = self.engines[server % 2]
        self.run(engine.reached(engine.records.last_seq(), seconds=FOLLOWS_WITHIN))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to completion in the servers' event loop."""
        return self._loop.run_until_complete(work)

    def all(self, calls: Sequence[Callable[[], Coroutine[Any, Any, Reply]]]) -> list[Reply]:
        """Send several calls concurrently."""

        async def gathered() -> list[Reply]:
            return list(await asyncio.gather(*(each() for each in calls)))

        return self.run(gathered())

    def close(self) -> None:
        for engine in self.engines:
            engine.close()
        self._parsing.close()
        self._loop.close()
