"""MCP Apps: the page that a client may show for an answer about decisions, as a resource and as a tool names it.

https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx
"""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from mcp.server.apps import APP_MIME_TYPE, ResourceCsp
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, ListResourcesResult, ReadResourceResult, Resource, TextResourceContents

DECISION_VIEW: Final = "ui://cstp/decision"
_NO_DOMAINS: Final = ResourceCsp(connect_domains=[], resource_domains=[], frame_domains=[], base_uri_domains=[])
_META: Final[Mapping[str, Any]] = {"ui": {"csp": _NO_DOMAINS.model_dump(by_alias=True), "prefersBorder": True}}


def view_file() -> Path:
    """Return the page's file, in the wheel or in a checkout."""
    return Path(str(files("cstp_server"))) / "ui" / "mcp_app" / "decision.html"


def listed_views() -> ListResourcesResult:
    """Return the views as `resources/list` has them."""
    view = Resource(
        uri=DECISION_VIEW,
        name="decision",
        title="Decisions",
        description="Shows the answer of a tool: one decision whole, or a list of decisions.",
        mime_type=APP_MIME_TYPE,
        _meta=dict(_META),
    )
    return ListResourcesResult(resources=[view])


def read_view(uri: str, page: str) -> ReadResourceResult:
    """Return `page` as the resource at `uri`. Raises MCPError for any other address."""
    if uri != DECISION_VIEW:
        message = "Unknown resource; resources/list names those there are"
        raise MCPError(code=INVALID_PARAMS, message=message, data={"uri": uri})
    return ReadResourceResult(
        contents=[TextResourceContents(uri=uri, mime_type=APP_MIME_TYPE, text=page, _meta=dict(_META))]
    )
