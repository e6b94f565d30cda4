"""Tools that are run by a CSTP server elsewhere, through the Python client."""

from collections.abc import Mapping
from typing import Any

import structlog

from cstp.client.async_client import AsyncClient
from cstp.errors import CstpError, MethodNotFound, QueryFailed, TransportError
from cstp_server.mcp.server import Context, Run
from cstp_server.mcp.stdio import answer
from cstp_server.mcp.tools import Tool, call_of
from cstp_server.rpc.bound import new_request_id
from cstp_server.rpc.dispatch import Outcome
from cstp_server.settings import Settings

_log = structlog.get_logger("cstp.mcp")


async def answer_from_server(client: AsyncClient, settings: Settings) -> None:
    """Answer on standard input and output from the client's server, until input ends or a signal arrives."""
    async with client:
        await answer(remote_run(client), settings)


def remote_run(client: AsyncClient) -> Run:
    """Run calls on the server of `client`; without an answer, a call fails as the component `server`."""

    async def run(tool: Tool | None, arguments: Mapping[str, Any], _: Context) -> Outcome:
        if tool is None:
            return Outcome(error=MethodNotFound())
        try:
            return Outcome(result=await client.send(call_of(tool, arguments)))
        except CstpError as error:
            return Outcome(error=error)
        except TransportError as error:
            failure = QueryFailed("server", new_request_id())
            _log.error("no_answer", request_id=failure.request_id, reason=str(error), method=tool.method.name)
            return Outcome(error=failure)

    return run
