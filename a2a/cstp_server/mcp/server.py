"""The MCP server of the SDK with our tools in it. Each transport passes the function that runs a call."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

import orjson
from mcp.server import Server, ServerRequestContext
from mcp.server.apps import EXTENSION_ID
from mcp.server.caching import CacheHint
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
)

import cstp
from cstp.errors import MethodNotFound
from cstp_server.mcp.errors import coded
from cstp_server.mcp.tool import Tool
from cstp_server.mcp.tools import INSTRUCTIONS, TOOLS, find_tool
from cstp_server.mcp.views import listed_views, read_view, view_file
from cstp_server.rpc.dispatch import Outcome

Context: TypeAlias = ServerRequestContext[Any, Any]
Run: TypeAlias = Callable[[Tool | None, Mapping[str, object], Context], Awaitable[Outcome]]
# what a client may cache for five minutes: it changes with the server's version only
_CACHED: Final = CacheHint(ttl_ms=300_000, scope="public")


def make_mcp_server(run: Run) -> Server[Any]:
    """Return a server whose tools are run by `run(tool, arguments, context)`, which raises nothing.

    `tool` is None for a name that no tool has.     Raises OSError where the page of MCP Apps cannot be read.
    """
    listed = ListToolsResult(tools=[tool.listed for tool in TOOLS.values()])

    async def list_tools(_: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        return listed

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        tool = find_tool(params.name)
        outcome = await run(tool, params.arguments or {}, context)
        if isinstance(outcome.error, MethodNotFound):
            raise MCPError(code=INVALID_PARAMS, message="Unknown tool; tools/list names those there are")
        if outcome.error is not None:
            # no structured content: clients check it against the schema of results
            body = coded(outcome.error, {}) if tool is None else tool.failure(outcome.error)
            return CallToolResult(content=[_as_text(body)], is_error=True)
        assert tool is not None
        found = tool.result(outcome.result)
        return CallToolResult(content=[_as_text(found)], structured_content=found)

    views, page = listed_views(), view_file().read_text(encoding="utf-8")

    async def list_resources(_: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        return views

    async def list_templates(_: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=[])

    async def read_resource(_: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        return read_view(params.uri, page)

    server = Server(
        "cstp",
        version=cstp.__version__,
        title="CSTP",
        instructions=INSTRUCTIONS,
        cache_hints={
            "tools/list": _CACHED,
            "resources/list": _CACHED,
            "resources/templates/list": _CACHED,
            "resources/read": _CACHED,
        },
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )
    server.extensions[EXTENSION_ID] = {}
    return server


def _as_text(members: Mapping[str, Any]) -> TextContent:
    return TextContent(text=orjson.dumps(members).decode())
