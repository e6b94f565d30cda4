"""The SDK's MCP server with our tools, the MCP Apps page and the skill.

Each transport passes a function for running calls. The page is described in
https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, TypeAlias

import mcp_types as types
import orjson
from mcp.server import Server, ServerRequestContext
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID, ResourceCsp
from mcp.server.caching import CacheHint
from mcp.shared.exceptions import MCPError

import cstp
from cstp.errors import CstpError, MethodNotFound
from cstp_server.mcp.connectors import CONNECTED, for_connectors
from cstp_server.mcp.errors import error_body
from cstp_server.mcp.skill import add_skill, read_skill
from cstp_server.mcp.tools import DECISION_VIEW, INSTRUCTIONS, TOOLS, Tool, find_tool
from cstp_server.rpc.dispatch import Outcome

Context: TypeAlias = ServerRequestContext[Any, Any]
Run: TypeAlias = Callable[[Tool | None, Mapping[str, object], Context], Awaitable[Outcome]]
# a client may cache these for five minutes: they change with the server's version only
_CACHED: Final = CacheHint(ttl_ms=300_000, scope="public")
_OF_A_CALLER: Final = CacheHint(ttl_ms=300_000, scope="private")
_UNKNOWN_TOOL: Final = (
    "Unknown tool; tools/list names those there are, which mcp.tools, cstp mcp --tools or /mcp?tools= chooses"
)
_NO_DOMAINS: Final = ResourceCsp(connect_domains=[], resource_domains=[], frame_domains=[], base_uri_domains=[])
_META: Final[Mapping[str, Any]] = {"ui": {"csp": _NO_DOMAINS.model_dump(by_alias=True), "prefersBorder": True}}


@dataclass(frozen=True, slots=True)
class ToolBackend:
    """A transport's part: runs tool calls, and knows the chosen tools and the scopes of a request's caller.

    `run(tool, arguments, context)` raises nothing; `tool` is None if no chosen tool has the name. `scopes` raises
    CstpError. `page` is the URL of the server's page, None if it has none.
    """

    run: Run
    chosen: Callable[[Context], Collection[str]]
    scopes: Callable[[Context], Awaitable[Collection[str]]]
    page: str | None = None


def make_mcp_server(backend: ToolBackend, *, output_schemas: bool) -> Server[Any]:
    """Return a server with the tools. Raise OSError if the MCP Apps page or the skill cannot be read."""
    listed = {name: tool.as_listed(output_schemas) for name, tool in TOOLS.items()}

    async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        try:
            scopes = await backend.scopes(context)
        except CstpError as error:
            body: Any = error_body(error, {})
            raise MCPError(code=types.INTERNAL_ERROR, message=body["error"]["message"], data=body["error"]) from None
        chosen = backend.chosen(context)
        shown = [name for name, tool in TOOLS.items() if name in chosen and tool.allows(scopes)]
        return types.ListToolsResult(tools=[listed[name] for name in shown])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        named = find_tool(params.name)
        tool = named if named is not None and named.name in backend.chosen(context) else None
        outcome = await backend.run(tool, params.arguments or {}, context)
        if isinstance(outcome.error, MethodNotFound):
            raise MCPError(code=types.INVALID_PARAMS, message=_UNKNOWN_TOOL)
        if outcome.error is not None:
            # no structured content: clients check it against the schema of results
            body = error_body(outcome.error, {}) if tool is None else tool.failure(outcome.error)
            return types.CallToolResult(content=[_as_text(body)], is_error=True)
        assert tool is not None
        found = tool.result(outcome.result)
        if tool.name in CONNECTED:
            found = for_connectors(tool.name, found, backend.page)
        return types.CallToolResult(content=[_as_text(found)], structured_content=found)

    skill, page = read_skill(), view_file().read_text(encoding="utf-8")
    resources = types.ListResourcesResult(resources=[listed_view(), skill.as_listed()])

    async def list_resources(_: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        return resources

    async def list_templates(
        _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[])

    async def read_resource(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return skill.as_read() if params.uri == skill.uri else read_view(params.uri, page)

    server = Server(
        "cstp",
        version=cstp.__version__,
        title="CSTP",
        instructions=INSTRUCTIONS,
        cache_hints={
            "tools/list": _OF_A_CALLER,
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
    add_skill(server, skill)
    return server


def _as_text(members: Mapping[str, Any]) -> types.TextContent:
    return types.TextContent(text=orjson.dumps(members).decode())


def view_file() -> Path:
    """Return the page's file, in the wheel or in a checkout."""
    return Path(str(files("cstp_server"))) / "ui" / "mcp_app" / "decision.html"


def listed_view() -> types.Resource:
    """Return the page as `resources/list` has it."""
    return types.Resource(
        uri=DECISION_VIEW,
        name="decision",
        title="Decisions",
        description="Shows the answer of a tool: one decision whole, or a list of decisions.",
        mime_type=APP_MIME_TYPE,
        _meta=dict(_META),
    )


def read_view(uri: str, page: str) -> types.ReadResourceResult:
    """Return `page` as the resource at `uri`. Raise MCPError for any other address."""
    if uri != DECISION_VIEW:
        message = "Unknown resource; resources/list names those there are"
        raise MCPError(code=types.INVALID_PARAMS, message=message, data={"uri": uri})
    return types.ReadResourceResult(
        contents=[types.TextResourceContents(uri=uri, mime_type=APP_MIME_TYPE, text=page, _meta=dict(_META))]
    )
