"""What an operator's tools ask: `/healthz`, `/readyz` and `/metrics`. They count against no limit."""

from dataclasses import dataclass
from typing import Final

import orjson
from prometheus_client import CollectorRegistry, generate_latest
from starlette.types import Receive, Scope, Send

from cstp.errors import Forbidden
from cstp_server.auth import Refusal, authenticate
from cstp_server.gauges import StateGauges
from cstp_server.http import Parts, Reply, refuse, send_reply, unauthenticated
from cstp_server.readiness import ReadinessCheck

_TEXT: Final = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")


@dataclass(frozen=True, slots=True)
class Probes:
    """What the probes look at; `gauges` are part of the registry."""

    readiness: ReadinessCheck
    registry: CollectorRegistry
    gauges: StateGauges
    metrics_need_token: bool


async def healthz(scope: Scope, receive: Receive, send: Send) -> None:
    """The process is alive; touches nothing."""
    await send_reply(send, _refused_method(scope) or Reply(200, b'{"status":"ok"}', []))


async def readyz(scope: Scope, receive: Receive, send: Send) -> None:
    """200 when searches can be answered, else 503; each part by name with its state."""
    probes: Probes = scope["state"]["probes"]
    reply = _refused_method(scope)
    if reply is None:
        seen = await probes.readiness.look()
        body = orjson.dumps({"status": seen.status, "parts": dict(seen.parts)})
        reply = Reply(seen.http_status, body, [(b"retry-after", b"1")] if seen.http_status != 200 else [])
    await send_reply(send, reply)


async def metrics(scope: Scope, receive: Receive, send: Send) -> None:
    """Prometheus' text format. A server that others can reach wants a token; one for some projects will not do."""
    probes: Probes = scope["state"]["probes"]
    reply = _refused_method(scope) or _refused_caller(scope, probes)
    if reply is None:
        probes.gauges.readiness = await probes.readiness.look()
        reply = Reply(200, generate_latest(probes.registry), [_TEXT])
    await send_reply(send, reply)


def _refused_caller(scope: Scope, probes: Probes) -> Reply | None:
    if not probes.metrics_need_token:
        return None
    parts: Parts = scope["state"]["parts"]
    token = authenticate(scope["headers"], parts.tokens)
    if isinstance(token, Refusal):
        return unauthenticated(scope, token, parts)
    # the figures count the records of all projects
    return None if token.projects is None else refuse(403, Forbidden("read"))


def _refused_method(scope: Scope) -> Reply | None:
    return None if scope["method"] in ("GET", "HEAD") else Reply(405, None, [(b"allow", b"GET, HEAD")])
