"""Removals by `cstp setup`, its trial, and the page; `transcripts/setup.txt` has the rest."""

import json
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from cstp_server.setup.clients import CLIENTS
from cstp_server.setup.json_edits import parse

Cstp = Callable[..., Any]

CLAUDE_STATE = """{
  "numStartups": 184,
  "tipsHistory": {
    "shift-enter": 12
  },
  "projects": {
    "/home/me/orders": {
      "allowedTools": [],
      "mcpServers": {},
      "history": [{ "display": "why \\u201cSQLite\\u201d {", "pastedContents": {} }]
    }
  },
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.githubcopilot.com/mcp/"
    }
  },
  "oauthAccount": {
    "emailAddress": "me@example.org"
  }
}
"""
CLAUDE_SETTINGS = """{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "permissions": { "allow": ["Bash(npm run lint)", "Read(~/.zshrc)"] },
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [{ "type": "command", "command": "\\"$CLAUDE_PROJECT_DIR\\"/.claude/hooks/check.sh" }]
      }
    ],
    "Stop": []
  }
}"""
DESKTOP = """{
\t"mcpServers": {
\t\t"filesystem": {
\t\t\t"command": "npx",
\t\t\t"args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop"]
\t\t}
\t},
\t"globalShortcut": ""
}
"""
CODEX = '''# my settings
model = "gpt-5-codex"   # the large one
approval_policy = "on-request"

[projects."/home/me/orders"]
trust_level = "trusted"

[mcp_servers.context7]
command = "npx"
args = ["-y", "@upstash/context7-mcp"]

[tui]
notice = """
[mcp_servers.cstp]
in a text, not a table"""'''
CURSOR = '{"mcpServers":{"postgres":{"command":"npx","args":["-y","mcp-postgres"],"env":{"P":"${env:P}"}}}}'
VSCODE = """{
    // asked once, kept in the key ring
    "inputs": [
        {"type": "promptString", "id": "key", "description": "Key", "password": true},
    ],
    "servers": {
        /* over the network */
        "github": {"type": "http", "url": "https://api.githubcopilot.com/mcp/"}, // ours, too
        "playwright": {
            "command": "npx", "args": ["-y", "@playwright/mcp@latest"]
        }, // the last one
    },
}
"""
GEMINI = """{\r
  "theme": "Default", // as it came\r
  "selectedAuthType": "gemini-api-key",\r
  "mcpServers": {}\r
}\r
"""
FOUND: Mapping[str, Mapping[str, str]] = {
    "claude-code": {".claude.json": CLAUDE_STATE, ".claude/settings.json": CLAUDE_SETTINGS},
    "claude-desktop": {".config/Claude/claude_desktop_config.json": DESKTOP},
    "codex": {".codex/config.toml": CODEX},
    "cursor": {".cursor/mcp.json": CURSOR},
    "vscode": {".config/Code/User/mcp.json": VSCODE},
    "gemini-cli": {".gemini/settings.json": GEMINI},
}
PROGRAM = str(Path(sys.executable).with_name("cstp"))
NAMES = sorted(CLIENTS)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a home folder for the test, with files of each program; the working folder is a repository."""
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "home"
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setattr("sys.platform", "linux")
    for files in FOUND.values():
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(text.encode())
            (folder / name).chmod(0o640)
    (tmp_path / ".git").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data/tokens.lock").touch()  # a folder of this program
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def value_of(path: Path) -> Any:
    text = path.read_bytes().decode()
    return tomllib.loads(text) if path.suffix == ".toml" else parse(text).value


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", [None, "{}", "{ }\n", "{\n}\n", "// mine\n{\n  // nothing\n}\n", '{"mcpServers": {}}'])
def test_absent_or_empty_files_are_so_again_after_a_removal(
    cstp: Cstp, home: Path, name: str, text: str | None
) -> None:
    for file in FOUND[name]:
        if text is None:
            (home / file).unlink()
        else:
            (home / file).write_text(text if name != "codex" else "# mine\n")
    before = files(home)
    assert cstp("setup", name, "--no-test").code == 0
    assert cstp("setup", name, "--no-test", "--data-dir", "other", "--replace").code == 0
    assert cstp("setup", name, "--remove").code == 0
    assert files(home) == before


def test_a_later_foreign_entry_survives_a_removal(cstp: Cstp, home: Path) -> None:
    for name in ("cursor", "codex"):
        assert cstp("setup", name, "--no-test").code == 0
    cursor, codex = home / ".cursor/mcp.json", home / ".codex/config.toml"
    cursor.write_text(cursor.read_text().replace('"]}}}', '"]}, "b": {}}}'))
    codex.write_text(
        codex.read_text() + '\n[mcp_servers.cstp.env]\nA = "1"\n\n# another\n[mcp_servers.b]\ncommand = "b"\n'
    )
    for name in ("cursor", "codex"):
        assert cstp("setup", name, "--remove", "--replace").code == 0
    assert list(json.loads(cursor.read_text())["mcpServers"]) == ["postgres", "b"]
    assert codex.read_text() == CODEX + '\n\n\n# another\n[mcp_servers.b]\ncommand = "b"\n'


def test_the_page_shows_the_written_files(cstp: Cstp, home: Path) -> None:
    for file in FOUND["claude-code"]:
        (home / file).unlink()
    assert cstp("setup", "claude-code", "--no-test").code == 0
    page = (Path(__file__).parents[2] / "docs/agents-setup.md").read_text()
    shown = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)]
    written = [
        json.loads((home / file).read_text().replace(PROGRAM, "/home/me/cstp/.venv/bin/cstp"))
        for file in FOUND["claude-code"]
    ]
    assert shown[0] == written[0]
    assert [shown[1]] == written[1]["hooks"]["PreToolUse"]
    assert all(f"| `{name}` | `~/" in page for name in CLIENTS)
    for client in CLIENTS.values():
        for event, _, ours in client.form.events:
            assert f"`{event}`" in page
            assert f"`cstp hook {ours}`" in page


@pytest.mark.long("starts servers")
def test_the_written_server_and_hook_are_started(cstp: Cstp, adr: Callable[..., Path], wordless: None) -> None:
    adr("docs/0001-storage.md", "Keep orders in PostgreSQL")
    api = adr("docs/0002-api.md", "Use REST")
    api.write_text(f"---\naffects: [src/api/**]\n---\n{api.read_text()}")
    assert cstp("ingest", "docs").code == 0
    done = cstp("setup", "claude-code")
    assert (done.code, done.out.splitlines()[-1]) == (0, "2 decisions, 1 with patterns; restart Claude Code")
    tokens = json.loads(Path("data/tokens.json").read_text())
    tokens["tokens"][0]["scopes"] = ["write"]  # a briefing needs read
    Path("data/tokens.json").write_text(json.dumps(tokens))
    done = cstp("setup", "claude-code")
    assert done.code == 1
    assert "cstp: the hook session-start fails: cstp hook: " in done.err
    assert "\n" not in done.err.strip()


@pytest.mark.long("starts a server")
def test_a_server_that_does_not_start_is_an_error_with_its_reason(cstp: Cstp, home: Path) -> None:
    Path("settings.yaml").write_text("mcp:\n  tools: everything\n")
    done = cstp("setup", "cursor", "--config", "settings.yaml", "--hooks", "none")
    assert done.code == 1
    assert "cstp: the server does not list its tools: cstp: mcp.tools: must be ask, record or all" in done.err
    assert "cstp" in value_of(home / ".cursor/mcp.json")["mcpServers"]  # the file stays
