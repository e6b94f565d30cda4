"""Programs known to `cstp setup`: files, and the form of a server entry."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeAlias

from cstp_server.setup.hook_entries import CLAUDE, CODEX, CURSOR, GEMINI, NO_HOOKS, VSCODE, HookForm
from cstp_server.setup.json_edits import Json

Files: TypeAlias = "Mapping[Scope, Callable[[Places], Path]]"
Entry: TypeAlias = Mapping[str, Json]
NAME: Final = "cstp"  # of the server in every file
TOKEN: Final = "CSTP_TOKEN"


class Scope(StrEnum):
    """Files for a user, of a repository, or for a user in a repository."""

    USER = "user"
    PROJECT = "project"
    LOCAL = "local"


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

    `servers` is the path to servers in the scope's file in `files`. `hooks` are files with hooks of the form `form`.
    `remote` is the form of a server at an address; without it, `cstp mcp --url` calls the server. `start` are the
    options with which `cstp mcp` finds the repository of the program's window: none if it starts there, None if there
    are no such options. `then` follows "restart" and the title.
    """

    name: str
    title: str
    servers: Sequence[str]
    files: Files
    remote: Callable[[str], Entry] | None
    typed: bool = False
    form: HookForm = NO_HOOKS
    hooks: Files = field(default_factory=dict)
    start: Sequence[str] | None = ()
    then: str = ""

    def start_in(self, words: Sequence[str], folder: Path) -> Sequence[str]:
        """Return the words with this folder as that of the program's window."""
        return [str(folder) if one in (self.start or ())[1:] else one for one in words]

    def place(self, scope: Scope, places: Places) -> Sequence[str]:
        """Return the path to the server's entry in the scope's file."""
        return ("projects", str(places.project), *self.servers) if scope is Scope.LOCAL else self.servers

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


def _codex(places: Places, name: str) -> Path:
    return Path(places.environment.get("CODEX_HOME") or places.home / ".codex") / name


def _both(name: str) -> Files:
    """Return the file with this name in the home folder and in a repository."""
    return {Scope.USER: lambda at: at.home / name, Scope.PROJECT: lambda at: at.project / name}


def _headed(token: str, **members: str) -> Entry:
    return {**members, "headers": {"Authorization": f"Bearer {token}"}}


CLIENTS: Final[Mapping[str, Client]] = {
    client.name: client
    for client in (
        Client(
            "claude-code",
            "Claude Code",
            ("mcpServers", NAME),
            {
                Scope.USER: lambda at: _claude(at, ".claude.json"),
                Scope.PROJECT: lambda at: at.project / ".mcp.json",
                Scope.LOCAL: lambda at: _claude(at, ".claude.json"),
            },
            lambda url: _headed(f"${{{TOKEN}}}", type="http", url=url),
            typed=True,
            form=CLAUDE,
            hooks={
                Scope.USER: lambda at: _claude(at, "settings.json"),
                Scope.PROJECT: lambda at: at.project / ".claude" / "settings.json",
                Scope.LOCAL: lambda at: at.project / ".claude" / "settings.local.json",
            },
        ),
        Client(
            "claude-desktop",
            "Claude Desktop",
            ("mcpServers", NAME),
            {Scope.USER: lambda at: at.settings / "Claude" / "claude_desktop_config.json"},
            None,
            start=None,
        ),
        Client(
            "codex",
            "Codex",
            ("mcp_servers", NAME),
            {
                Scope.USER: lambda at: _codex(at, "config.toml"),
                Scope.PROJECT: lambda at: at.project / ".codex" / "config.toml",
            },
            lambda url: {"url": url, "bearer_token_env_var": TOKEN},
            form=CODEX,
            hooks={
                Scope.USER: lambda at: _codex(at, "hooks.json"),
                Scope.PROJECT: lambda at: at.project / ".codex" / "hooks.json",
            },
            then=", and trust the hooks there with /hooks",
        ),
        Client(
            "cursor",
            "Cursor",
            ("mcpServers", NAME),
            _both(".cursor/mcp.json"),
            lambda url: _headed(f"${{env:{TOKEN}}}", url=url),
            form=CURSOR,
            hooks=_both(".cursor/hooks.json"),
            start=("--cwd", "${workspaceFolder}"),
        ),
        Client(
            "vscode",
            "VS Code",
            ("servers", NAME),
            {
                Scope.USER: lambda at: at.settings / "Code" / "User" / "mcp.json",
                Scope.PROJECT: lambda at: at.project / ".vscode" / "mcp.json",
            },
            lambda url: _headed(f"${{env:{TOKEN}}}", type="http", url=url),
            typed=True,
            form=VSCODE,
            # not in .github/hooks: agents on GitHub's machines run those, too
            hooks={Scope.USER: lambda at: at.home / ".copilot" / "hooks" / "cstp.json"},
        ),
        Client(
            "gemini-cli",
            "Gemini CLI",
            ("mcpServers", NAME),
            _both(".gemini/settings.json"),
            lambda url: _headed(f"${TOKEN}", httpUrl=url),
            form=GEMINI,
            hooks=_both(".gemini/settings.json"),
        ),
    )
}
