"""Answers the methods about the connection itself."""

from typing import cast

import cstp
from cstp.fields import Level
from cstp.methods.system import (
    DISCOVER,
    WHOAMI,
    DiscoverParams,
    DiscoverResult,
    LimitState,
    ServerInfo,
    WhoamiParams,
    WhoamiResult,
)
from cstp_server.limits.limiter import Limiter
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call


def system_methods(limiter: Limiter, agent_id: str, document: DiscoverResult) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the limiter and the OpenRPC document."""
    server = ServerInfo(agent=agent_id, version=cstp.__version__)

    async def whoami(_: WhoamiParams, call: Call) -> WhoamiResult:
        token = call.token
        return WhoamiResult(
            agent=token.agent,
            scopes=list(token.scopes),
            clearance=cast(Level, token.clearance),
            projects=None if token.projects is None else list(token.projects),
            limits=[
                LimitState(policy=window.policy, limit=window.limit, window=window.seconds, remaining=remaining)
                for window, remaining, _ in await limiter.states(token.agent)
            ],
            expires_at=token.expires_at,
            server=server,
        )

    async def discover(_: DiscoverParams, call: Call) -> DiscoverResult:
        return document

    return (BoundMethod(WHOAMI, whoami), BoundMethod(DISCOVER, discover))
