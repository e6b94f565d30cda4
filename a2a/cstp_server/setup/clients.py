"""Programs known to `cstp setup`: files, and the form of a server entry."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from cstp_server.setup.json_edits import Json

Scope: TypeAlias = Literal["user", "project"]
Entry: TypeAlias = Mapping[str, Json]
NAME: Final = "cstp"  # of the server in every file
TOKEN: Final = "CSTP_TOKEN"


@dataclass(frozen=True, slots=True)
class Places:
    """Folders with configuration files; `project` is the repository root."""

    home: Path
    settings: Path
    project: Path
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Client:
    """A program with an MCP configuration.

    `servers` is the path to servers in the scope's file in `files`. `hooks` has the settings file if the program runs
    commands at events. `remote` is the form of a server at an address; without it, `cstp mcp --url` calls the server.
    """

    name: str
    title: str
    servers: Sequence[str]
    files: Mapping[Scope, Callable[[Places], Path]]
    remote: Callable[[str], Entry] | None
    typed: bool = False
    hooks: Mapping[Scope, Callable[[Places], Path]] | None = None

    def local(self, command: str, words: Sequence[str]) -> Entry:
        """Return the form of a server started by the program."""
        kind: Entry = {"type": "stdio"} if self.typed else {}
        return {**kind, "command": command, "args": list(words)}


def places_here(folder: Path, environment: Mapping[str, str]) -> Places:
    """Return this user's folders, and the repository root of `folder`, or `folder` itself."""
    home = Path(environment.get("HOME") or Path.home())
    if sys.platform == "darwin":
        settings = home / "Library" / "Application Support"
    else:
        settings = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    root = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)
    return Places(home, settings, root, environment)


def _claude(places: Places, name: str) -> Path:
    """Return the path of a Claude Code file: settings in ~/.claude, others in ~, all in CLAUDE_CONFIG_DIR if set."""
    moved = places.environment.get("CLAUDE_CONFIG_DIR")
    if moved:
        return Path(moved) / name
    return places.home / (".claude" if name == "settings.json" else "") / name


def _codex(places: Places) -> Path:
    return Path(places.environment.get("CODEX_HOME") or places.home / ".codex") / "config.toml"


def _headed(token: str, **members: str) -> Entry:
    return {**members, "headers": {"Authorization": f"Bearer {token}"}}


CLIENTS: Final[Mapping[str, Client]] = {
    client.name: client
    for client in (
        Client(
            "claude-code",
            "Claude Code",
            ("mcpServers", NAME),
            {"user": lambda at: _claude(at, ".claude.json"), "project": lambda at: at.project / ".mcp.json"},
            lambda url: _headed(f"${{{TOKEN}}}", type="http", url=url),
            typed=True,
            hooks={
                "user": lambda at: _claude(at, "settings.json"),
                "project": lambda at: at.project / ".claude" / "settings.json",
            },
        ),
        Client(
            "claude-desktop",
            "Claude Desktop",
            ("mcpServers", NAME),
            {"user": lambda at: at.settings / "Claude" / "claude_desktop_config.json"},
            None,
        ),
        Client(
            "codex",
            "Codex",
            ("mcp_servers", NAME),
            {"user": _codex, "project": lambda at: at.project / ".codex" / "config.toml"},
            lambda url: {"url": url, "bearer_token_env_var": TOKEN},
        ),
        Client(
            "cursor",
            "Cursor",
            ("mcpServers", NAME),
            {
                "user": lambda at: at.home / ".cursor" / "mcp.json",
                "project": lambda at: at.project / ".cursor" / "mcp.json",
            },
            lambda url: _headed(f"${{env:{TOKEN}}}", url=url),
        ),
        Client(
            "vscode",
            "VS Code",
            ("servers", NAME),
            {
                "user": lambda at: at.settings / "Code" / "User" / "mcp.json",
                "project": lambda at: at.project / ".vscode" / "mcp.json",
            },
            lambda url: _headed(f"${{env:{TOKEN}}}", type="http", url=url),
            typed=True,
        ),
        Client(
            "gemini-cli",
            "Gemini CLI",
            ("mcpServers", NAME),
            {
                "user": lambda at: at.home / ".gemini" / "settings.json",
                "project": lambda at: at.project / ".gemini" / "settings.json",
            },
            lambda url: _headed(f"${TOKEN}", httpUrl=url),
        ),
    )
}
