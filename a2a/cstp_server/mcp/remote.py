"""Tools run by a CSTP server elsewhere, through the Python client."""

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import structlog

from cognition_engines.checkouts import Repository
from cstp.call import Call
from cstp.calls import whoami
from cstp.client.async_client import AsyncClient
from cstp.errors import CstpError, MethodNotFound, QueryFailed, TransportError
from cstp_server.mcp.server import Context, Run, ToolBackend
from cstp_server.mcp.stdio import answer
from cstp_server.mcp.tools import Tool, call_of
from cstp_server.rpc.bound import new_request_id
from cstp_server.rpc.dispatch import Outcome
from cstp_server.settings import Settings

R = TypeVar("R")
_log = structlog.get_logger("cstp.mcp")


async def answer_from_server(
    client: AsyncClient, settings: Settings, tools: Collection[str], repository: Repository | None
) -> None:
    """Answer on standard input and output from the client's server, until input ends or a signal arrives."""

    async def scopes(_: Context) -> Collection[str]:
        return (await _send(client, whoami())).scopes

    async with client:
        await answer(ToolBackend(remote_run(client), lambda _: tools, scopes), settings, repository)


def remote_run(client: AsyncClient) -> Run:
    """Run calls on the `client`'s server; without an answer, a call fails as the component `server`."""

    async def run(tool: Tool | None, arguments: Mapping[str, Any], _: Context) -> Outcome:
        if tool is None:
            return Outcome(error=MethodNotFound())
        try:
            return Outcome(result=await _send(client, call_of(tool, arguments)))
        except CstpError as error:
            return Outcome(error=error)

    return run


async def _send(client: AsyncClient, call: Call[R]) -> R:
    """Return a call's result. Raise CstpError, also for a server without an answer."""
    try:
        return await client.send(call)
    except TransportError as error:
        failure = QueryFailed("server", new_request_id())
        _log.error("no_answer", request_id=failure.request_id, reason=str(error), method=call.method)
        raise failure from error
