"""The methods about the connection, and about the audit trail."""

from typing import cast

import cstp
from cognition_engines.engine import Engine
from cstp.methods.system import AUDIT, DISCOVER, WHOAMI
from cstp.values import system as wire
from cstp.values.fields import Level
from cstp_server.limits.limiter import Limiter
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call, bind_read


def system_methods(
    engine: Engine, limiter: Limiter, agent_id: str, document: wire.DiscoverResult
) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine, the limiter and the OpenRPC document."""
    server = wire.ServerInfo(agent=agent_id, version=cstp.__version__)

    async def whoami(_: wire.WhoamiParams, call: Call) -> wire.WhoamiResult:
        token = call.token
        return wire.WhoamiResult(
            agent=token.agent,
            scopes=list(token.scopes),
            clearance=cast(Level, token.clearance),
            projects=None if token.projects is None else list(token.projects),
            limits=[
                wire.LimitState(policy=window.policy, limit=window.limit, window=window.seconds, remaining=remaining)
                for window, remaining, _ in await limiter.states(token.agent)
            ],
            expires_at=token.expires_at,
            server=server,
        )

    async def discover(_: wire.DiscoverParams, call: Call) -> wire.DiscoverResult:
        return document

    return (
        BoundMethod(WHOAMI, whoami),
        BoundMethod(DISCOVER, discover),
        bind_read(AUDIT, engine.list_audit),
    )
