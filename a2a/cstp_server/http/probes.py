"""The probes for an operator's tools: `/healthz`, `/readyz` and `/metrics`. They count against no limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import orjson
from prometheus_client import CollectorRegistry, generate_latest
from starlette.types import Receive, Scope, Send

from cstp.errors import Forbidden
from cstp_server.http.auth import Refusal, authenticate, host_allowed
from cstp_server.http.endpoint import (
    NO_STORE,
    WRONG_HOST,
    Parts,
    Reply,
    answer_unauthenticated,
    refuse,
    refuse_method,
    send_reply,
)
from cstp_server.observe.metrics import StateGauges
from cstp_server.observe.readiness import Readiness, ReadinessCheck
from cstp_server.workers.scrape import Siblings

_SCOPE: Final = "admin"
_TEXT: Final = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")


@dataclass(frozen=True, slots=True)
class Probes:
    """Inputs of the probes; `gauges` are part of the registry, `siblings` the other workers, if any."""

    readiness: ReadinessCheck
    registry: CollectorRegistry
    gauges: StateGauges
    metrics_need_token: bool
    allowed_hosts: Sequence[str]
    siblings: Siblings | None = None

    async def look(self) -> Readiness:
        """Return the server's readiness, including all workers if there are several."""
        return await (self.readiness.look() if self.siblings is None else self.siblings.readiness())


async def healthz(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer that the process is alive, without reading anything."""
    await send_reply(send, refuse_method(scope, "GET", "HEAD") or Reply(200, b'{"status":"ok"}', []))


async def readyz(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 200 if searches can be answered, else 503, with the state of each part by name.

    With a token of the scope `admin`, also name the records that a part cannot process, and the causes of failing work.
    """
    probes: Probes = scope["state"]["probes"]
    reply = refuse_method(scope, "GET", "HEAD") or _refused_host(scope, probes)
    if reply is None:
        seen = await probes.look()
        answer: dict[str, object] = {"status": seen.status, "parts": dict(seen.parts)}
        if (seen.set_aside or seen.failing) and _is_admin(scope):
            answer |= {"setAside": list(seen.set_aside), "failing": list(seen.failing)}
        body = orjson.dumps(answer)
        reply = Reply(seen.http_status, body, [(b"retry-after", b"1")] if seen.http_status != 200 else [])
    await send_reply(send, reply)


async def metrics(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer in Prometheus' text format. Not on loopback, it requires a token with the scope `admin`.

    Without a token, on loopback, counts of records are left out, since a clearance may hide them.
    """
    probes: Probes = scope["state"]["probes"]
    reply = refuse_method(scope, "GET", "HEAD") or _refused_host(scope, probes) or await _metrics(scope, probes)
    await send_reply(send, reply)


async def _metrics(scope: Scope, probes: Probes) -> Reply:
    parts: Parts = scope["state"]["parts"]
    token = authenticate(scope["headers"], parts.tokens)
    if isinstance(token, Refusal):
        if token.presented or probes.metrics_need_token:
            return await answer_unauthenticated(scope, token, parts)
        admin = False
    else:
        admin = _SCOPE in token.scopes
        if probes.metrics_need_token and not admin:
            return refuse(403, Forbidden(_SCOPE))
    headers = [_TEXT, *([NO_STORE] if admin else [])]
    if probes.siblings is not None:
        return Reply(200, await probes.siblings.metrics(counts_records=admin), headers)
    readiness = await probes.readiness.look()
    probes.gauges.readiness, probes.gauges.counts_records = readiness, admin  # the next lines are one step
    return Reply(200, generate_latest(probes.registry), headers)


def _is_admin(scope: Scope) -> bool:
    parts: Parts = scope["state"]["parts"]
    token = authenticate(scope["headers"], parts.tokens)
    return not isinstance(token, Refusal) and _SCOPE in token.scopes


def _refused_host(scope: Scope, probes: Probes) -> Reply | None:
    return None if host_allowed(scope, probes.allowed_hosts) else WRONG_HOST
