"""The Claude Code plugin: the hooks and server of `cstp setup`, and the skill."""

import json
import re
from pathlib import Path
from typing import Any

import cstp
from cstp_server.setup.clients import CLIENTS
from cstp_server.setup.hook_entries import CLAUDE, hook_entries

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugins/claude-code"


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def test_the_marketplace_names_the_plugin() -> None:
    market = read(ROOT / ".claude-plugin/marketplace.json")
    [plugin] = market["plugins"]
    assert (ROOT / plugin["source"]).resolve() == PLUGIN
    assert re.fullmatch(r"[a-z0-9-]+", market["name"])
    assert market["owner"]["name"]
    manifest = read(PLUGIN / ".claude-plugin/plugin.json")
    assert (manifest["name"], manifest["version"]) == (plugin["name"], cstp.__version__)
    assert [path.name for path in (PLUGIN / ".claude-plugin").iterdir()] == ["plugin.json"]


def test_the_plugin_has_the_hooks_and_the_server_of_the_set_up() -> None:
    hooks = read(PLUGIN / "hooks/hooks.json")["hooks"]
    assert hooks == {one.event: [one.item] for one in hook_entries(CLAUDE, "cstp", "--agent claude-code", CLAUDE.names)}
    [server] = read(PLUGIN / ".mcp.json")["mcpServers"].values()
    assert server == CLIENTS["claude-code"].local("cstp", ["mcp", "--agent", "claude-code"])


def test_the_plugin_has_the_skill() -> None:
    [skill] = PLUGIN.rglob("SKILL.md")
    text = skill.read_text()
    assert text == (ROOT / "skills/cognition_engines/SKILL.md").read_text()
    name = re.search(r"^name: (.*)$", text, re.MULTILINE)
    assert name is not None
    assert name[1] == skill.parent.name
