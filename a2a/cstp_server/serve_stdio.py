"""Serves MCP over standard input and output from the data folder, without a server."""

from collections.abc import Callable, Mapping
from random import getrandbits
from time import monotonic

from cognition_engines.engine import Engine
from cstp.errors import AuthenticationRequired, Overloaded
from cstp_server.app import create_app
from cstp_server.http.endpoint import Parts
from cstp_server.limits.gate import HeldPlace
from cstp_server.mcp.server import Context, Run
from cstp_server.mcp.stdio import answer
from cstp_server.mcp.tool import Tool, run_tool
from cstp_server.rpc.bound import Call
from cstp_server.rpc.dispatch import Outcome
from cstp_server.settings import Settings
from cstp_server.tokens import Token, TokenBook

Identify = Callable[[TokenBook], Token | None]
_RETRY_SECONDS = 1


async def answer_from_folder(settings: Settings, engine: Engine, identify: Identify) -> None:
    """Answers until standard input ends, or SIGTERM or SIGINT comes; then closes `engine`.

    `identify` is asked in each call: a token that ends or is revoked ends the answers.
    """
    app = create_app(settings, engine=engine)
    async with app.router.lifespan_context(app) as state:
        assert state is not None
        parts: Parts = state["parts"]
        await answer(_folder_run(parts, identify), settings)


def _folder_run(parts: Parts, identify: Identify) -> Run:
    async def run(tool: Tool | None, arguments: Mapping[str, object], _: Context) -> Outcome:
        parts.tokens.refresh(monotonic())
        token = identify(parts.tokens)
        if token is None:
            return Outcome(error=AuthenticationRequired())
        if not await parts.gate.enter(token.agent):
            return Outcome(error=Overloaded(_RETRY_SECONDS))
        place = HeldPlace(parts.gate, token.agent)
        try:
            # identifies a request, is no secret
            call = Call(token, f"{getrandbits(128):032x}", "mcp", place=place)
            return await run_tool(parts.dispatcher, tool, arguments, call)
        finally:
            place.leave()

    return run
