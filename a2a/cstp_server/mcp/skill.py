"""The skill for agents over MCP: a resource, and the methods of the skills extension.

https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import mcp_types as types
import yaml
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError

EXTENSION: Final = "io.modelcontextprotocol/skills"
_MIME_TYPE: Final = "text/markdown"
_CACHED: Final[Mapping[str, Any]] = {"ttlMs": 300_000, "cacheScope": "public"}


class _GetSkillParams(types.RequestParams):
    uri: str


@dataclass(frozen=True, slots=True)
class Skill:
    """The skill's text, and the extension's entry: address, front matter, files with digests."""

    text: str
    entry: Mapping[str, Any]

    @property
    def uri(self) -> str:
        return str(self.entry["uri"])

    def as_listed(self) -> types.Resource:
        """Return the skill as `resources/list` has it."""
        front = self.entry["frontmatter"]
        return types.Resource(uri=self.uri, name=front["name"], description=front["description"], mime_type=_MIME_TYPE)

    def as_read(self) -> types.ReadResourceResult:
        """Return the skill as `resources/read` has it."""
        content = types.TextResourceContents(uri=self.uri, mime_type=_MIME_TYPE, text=self.text)
        return types.ReadResourceResult(contents=[content])


def read_skill() -> Skill:
    """Return the skill from the wheel or the checkout. Raise OSError."""
    content = (Path(str(files("cognition_engines"))) / "SKILL.md").read_bytes()
    text = content.decode()
    front: Mapping[str, Any] = yaml.safe_load(text.split("---\n")[1])
    uri = f"skill://{front['name']}/SKILL.md"
    file = {"uri": uri, "digest": f"sha256:{sha256(content).hexdigest()}", "size": len(content)}
    return Skill(text, {"uri": uri, "frontmatter": dict(front), "resources": [file]})


def add_skill(server: Server[Any], skill: Skill) -> None:
    """Declare the extension, and answer the extension's methods."""

    async def list_skills(_: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams) -> dict[str, Any]:
        return {**_CACHED, "skills": [skill.entry]}

    async def get_skill(_: ServerRequestContext[Any, Any], params: _GetSkillParams) -> dict[str, Any]:
        if params.uri != skill.uri:
            message = "Unknown skill; skills/list names those there are"
            raise MCPError(code=types.INVALID_PARAMS, message=message, data={"uri": params.uri})
        return {**_CACHED, "skill": skill.entry}

    server.extensions[EXTENSION] = {}
    server.add_request_handler("skills/list", types.PaginatedRequestParams, list_skills)
    server.add_request_handler("skills/get", _GetSkillParams, get_skill)
