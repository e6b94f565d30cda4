"""`cstp setup` over configuration files as each program writes them, in a home folder of the test."""

import json
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from cstp_server.setup.clients import CLIENTS
from cstp_server.setup.hook_entries import EVENTS
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
    """A home folder of the test, in which each program has its files; the working folder is a repository."""
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
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def value_of(path: Path) -> Any:
    text = path.read_bytes().decode()
    return tomllib.loads(text) if path.suffix == ".toml" else parse(text).value


@pytest.mark.parametrize("name", NAMES)
def test_a_set_up_program_has_the_server_next_to_its_own_entries(cstp: Cstp, home: Path, name: str) -> None:
    done = cstp("setup", name)
    assert (done.code, len(done.out.splitlines())) == (0, len(FOUND[name]))
    file = home / next(iter(FOUND[name]))
    before, after = FOUND[name][str(file.relative_to(home))], value_of(file)
    path, key = CLIENTS[name].servers
    entry = after[path].pop(key)
    assert [entry["command"], *entry["args"]] == [
        *(PROGRAM, "mcp", "--data-dir", str(Path("data").absolute()), "--agent", name)
    ]
    assert after == (tomllib.loads(before) if file.suffix == ".toml" else parse(before).value)
    assert file.stat().st_mode & 0o777 == 0o640
    assert f"created a token of {name} (read write review)" in done.err


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("words", [(), ("--url", "http://127.0.0.1:8100")], ids=["folder", "url"])
def test_a_second_run_changes_nothing_and_a_removal_restores_every_byte(
    cstp: Cstp, home: Path, name: str, words: tuple[str, ...]
) -> None:
    before = files(home)
    assert cstp("setup", name, *words).code == 0
    between = files(home)
    assert between != before
    again = cstp("setup", name, *words)
    assert (again.code, again.out, files(home)) == (0, "nothing to change\n", between)
    assert cstp("setup", name, "--remove").code == 0
    assert files(home) == before
    assert cstp("setup", name, "--remove").out == "nothing to change\n"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", [None, "{}", "{ }\n", "{\n}\n", "// mine\n{\n  // nothing\n}\n", '{"mcpServers": {}}'])
def test_files_that_are_absent_or_empty_are_so_again_after_a_removal(
    cstp: Cstp, home: Path, name: str, text: str | None
) -> None:
    for file in FOUND[name]:
        if text is None:
            (home / file).unlink()
        else:
            (home / file).write_text(text if name != "codex" else "# mine\n")
    before = files(home)
    assert cstp("setup", name).code == 0
    assert cstp("setup", name, "--data-dir", "other").code == 0  # replaces its entries
    assert cstp("setup", name, "--remove").code == 0
    assert files(home) == before


def test_a_later_entry_of_another_survives_a_removal(cstp: Cstp, home: Path) -> None:
    for name in ("cursor", "codex"):
        assert cstp("setup", name).code == 0
    cursor, codex = home / ".cursor/mcp.json", home / ".codex/config.toml"
    cursor.write_text(cursor.read_text().replace('"]}}}', '"]}, "b": {}}}'))
    codex.write_text(
        codex.read_text() + '\n[mcp_servers.cstp.env]\nA = "1"\n\n# another\n[mcp_servers.b]\ncommand = "b"\n'
    )
    for name in ("cursor", "codex"):
        assert cstp("setup", name, "--remove").code == 0
    assert list(json.loads(cursor.read_text())["mcpServers"]) == ["postgres", "b"]
    assert codex.read_text() == CODEX + '\n\n\n# another\n[mcp_servers.b]\ncommand = "b"\n'


def test_another_data_folder_replaces_the_entries_and_leaves_no_second_hook(cstp: Cstp, home: Path) -> None:
    for folder in ("data", "two words"):
        assert cstp("setup", "claude-code", "--data-dir", folder, "--agent", "ada").code == 0
    hooks = value_of(home / ".claude/settings.json")["hooks"]
    for event, _, ours in EVENTS:
        commands = [hook["command"] for item in hooks[event] for hook in item["hooks"] if "cstp" in hook["command"]]
        given = ["--data-dir", str(Path("two words").absolute()), "--agent", "ada"]
        assert [shlex.split(command) for command in commands] == [[PROGRAM, "hook", ours, *given]]
    assert value_of(home / ".claude.json")["mcpServers"]["cstp"]["args"][2] == str(Path("two words").absolute())


def test_a_program_that_asks_a_server_takes_the_token_from_its_environment(cstp: Cstp, home: Path) -> None:
    expected = {
        "claude-code": {"type": "http", "url": "https://h/c/mcp", "headers": {"Authorization": "Bearer ${CSTP_TOKEN}"}},
        "claude-desktop": {"command": PROGRAM, "args": ["mcp", "--url", "https://h/c"]},
        "codex": {"url": "https://h/c/mcp", "bearer_token_env_var": "CSTP_TOKEN"},
        "cursor": {"url": "https://h/c/mcp", "headers": {"Authorization": "Bearer ${env:CSTP_TOKEN}"}},
        "vscode": {"type": "http", "url": "https://h/c/mcp", "headers": {"Authorization": "Bearer ${env:CSTP_TOKEN}"}},
        "gemini-cli": {"httpUrl": "https://h/c/mcp", "headers": {"Authorization": "Bearer $CSTP_TOKEN"}},
    }
    for name, entry in expected.items():
        done = cstp("setup", name, "--url", "https://h/c/mcp/", CSTP_TOKEN="cstp_1_secret")
        assert (done.code, "CSTP_TOKEN" in done.err) == (0, True)
        path, key = CLIENTS[name].servers
        assert value_of(home / next(iter(FOUND[name])))[path][key] == entry
    assert not Path("data").exists()


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"claude-desktop"}))
@pytest.mark.parametrize("words", [(), ("--url", "http://127.0.0.1:8100")], ids=["folder", "url"])
def test_the_files_of_a_project_never_hold_a_token(
    cstp: Cstp, home: Path, name: str, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = cstp("token", "create", "--agent", name, "--quiet").out.strip().rpartition("_")[2]
    before = files(home)
    (tmp_path / "src").mkdir()
    monkeypatch.chdir("src")
    folder = () if words else ("--data-dir", "../data")
    done = cstp("setup", name, "--scope", "project", *words, *folder, CSTP_TOKEN=f"cstp_1_{secret}")
    assert done.code == 0
    assert files(home) == before
    monkeypatch.chdir(tmp_path)
    written = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_relative_to(home)]
    written = [path for path in written if not path.is_relative_to(tmp_path / "data")]
    assert written
    assert all(secret not in path.read_text() and "digest" not in path.read_text() for path in written)
    assert cstp("setup", name, "--scope", "project", "--remove").code == 0
    assert not any(path.exists() for path in written)


def test_a_dry_run_shows_the_changes_and_makes_none(cstp: Cstp, home: Path) -> None:
    before = files(home)
    done = cstp("setup", "vscode", "--dry-run")
    assert (done.code, files(home), Path("data").exists()) == (0, before, False)
    assert f"+++ {home}/.config/Code/User/mcp.json" in done.out
    assert '+        "cstp": {' in done.out
    assert not [line for line in done.out.splitlines() if line.startswith("-") and not line.startswith("---")]


def test_the_list_shows_what_is_set_up_where(cstp: Cstp, home: Path) -> None:
    assert cstp("setup", "claude-code").code == 0
    assert cstp("setup", "codex", "--scope", "project").code == 0
    (home / ".cursor/mcp.json").write_text("{")
    settings = home / ".claude/settings.json"
    settings.write_text(settings.read_text().replace("hook session-end", "hook nothing"))
    done = cstp("setup", "--list")
    rows = {tuple(line.split()[:2]): line for line in done.out.splitlines()[1:]}
    assert done.code == 0
    assert len(rows) == 11
    assert "4 of 5 entries" in rows["claude-code", "user"]
    assert " yes " in rows["codex", "project"]
    assert " no " in rows["codex", "user"]
    assert "line 1 is not JSON" in rows["cursor", "user"]


@pytest.mark.parametrize(
    ("name", "file", "text", "reason"),
    [
        ("cursor", ".cursor/mcp.json", '{"mcpServers": {"a": 1,, }}', "line 1 is not JSON"),
        ("cursor", ".cursor/mcp.json", "\ufeff", "line 1 is not JSON"),
        ("cursor", ".cursor/mcp.json", '{"mcpServers": {}, "mcpServers": {}}', "'mcpServers' occurs twice"),
        ("cursor", ".cursor/mcp.json", '{"mcpServers": []}', "'cstp' is not in an object"),
        (
            "cursor",
            ".cursor/mcp.json",
            '{"mcpServers": {"cstp": {"command": "x"}}}',
            "another server with the name cstp",
        ),
        ("cursor", ".cursor/mcp.json", "[" * 65 + "]" * 65, "more than 64 levels"),
        ("claude-code", ".claude/settings.json", '{"hooks": {"Stop": {}}}', "'Stop' is not an array"),
        ("claude-code", ".claude/settings.json", '{"hooks": 1}', "'hooks' is not an object"),
        ("claude-code", ".claude/settings.json", "{\n nothing\n}", "line 2 is not JSON"),
        ("codex", ".codex/config.toml", "a = \n", "is not TOML"),
        ("codex", ".codex/config.toml", "\ufeffa = 1\n", "begins with a byte order mark"),
        ("codex", ".codex/config.toml", 'mcp_servers = {b = {command = "b"}}\n', "no table can be added"),
        ("codex", ".codex/config.toml", 'mcp_servers.cstp.command = "cstp"\nmcp_servers.cstp.cwd = "/"\n', "has cwd"),
        ("codex", ".codex/config.toml", 'mcp_servers.cstp.command = "cstp"\n', "cannot be removed as text"),
    ],
)
def test_a_file_that_cannot_be_edited_is_left_alone_with_the_reason(
    cstp: Cstp, home: Path, name: str, file: str, text: str, reason: str
) -> None:
    (home / file).write_text(text)
    before = files(home)
    done = cstp("setup", name)
    assert (done.code, done.out, files(home)) == (2, "", before)
    assert f"{home}/{file}: " in done.err
    assert reason in done.err
    assert "left alone" in done.err
    assert not Path("data").exists()


@pytest.mark.parametrize("name", ["cursor", "codex"])
def test_a_blank_file_is_filled(cstp: Cstp, home: Path, name: str) -> None:
    (file,) = FOUND[name]
    (home / file).write_text("\n \n")
    assert cstp("setup", name).code == 0
    assert "cstp" in (home / file).read_text()


def test_nothing_is_written_if_one_of_the_files_is_read_only(cstp: Cstp, home: Path) -> None:
    (home / ".claude/settings.json").chmod(0o444)
    before = files(home)
    done = cstp("setup", "claude-code")
    assert (done.code, files(home)) == (2, before)
    assert f"{home}/.claude/settings.json: is read-only; nothing was changed" in done.err


def test_a_file_that_cannot_be_read_is_left_alone_with_the_reason(cstp: Cstp, home: Path) -> None:
    file = home / ".cursor/mcp.json"
    file.write_bytes(b"\xff{}")
    assert f"{file}: is not UTF-8; nothing was changed" in cstp("setup", "cursor").err
    file.write_bytes(b" " * (16 * 1024 * 1024 + 1))
    assert f"{file}: is larger than 16 MiB; nothing was changed" in cstp("setup", "cursor").err
    file.unlink()
    os.mkfifo(file)
    assert f"{file}: is not a file; nothing was changed" in cstp("setup", "cursor").err
    file.unlink()
    file.mkdir()
    assert f"{file}: is not a file; nothing was changed" in cstp("setup", "cursor").err
    file.rmdir()
    file.symlink_to("nowhere.json")
    done = cstp("setup", "cursor")
    assert (done.code, "is a link to a file that does not exist" in done.err) == (2, True)


def test_a_link_of_the_user_is_kept_and_one_that_leads_out_of_a_project_is_refused(
    cstp: Cstp, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, kept = home / ".cursor/mcp.json", home / "dotfiles.json"
    file.rename(kept)
    file.symlink_to(kept)
    assert cstp("setup", "cursor").code == 0
    assert file.is_symlink()
    assert "cstp" in value_of(kept)["mcpServers"]
    (tmp_path / "project/.git").mkdir(parents=True)
    (tmp_path / "project/.mcp.json").symlink_to(kept)
    monkeypatch.chdir("project")
    before = files(home)
    done = cstp("setup", "claude-code", "--scope", "project")
    assert (done.code, files(home)) == (2, before)
    assert f"leads out of {tmp_path}/project; replace the link with a file" in done.err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("claude",), "'claude' is not known; did you mean claude-code?"),
        (("emacs",), "'emacs' is not known; known are claude-code, claude-desktop, codex,"),
        ((), "give one of claude-code, "),
        (("claude-desktop", "--scope", "project"), "Claude Desktop has no configuration of a project"),
        (("codex", "--url", "ftp://h"), "must read like http://host:8100"),
        (("codex", "--url", "http://me:secret@h"), "must not contain a user"),
        (("codex", "--url", "http://h", "--agent", "a"), "requires a token in CSTP_TOKEN, without --agent"),
        (("codex", "--list"), "takes no other argument"),
    ],
)
def test_a_wrong_line_is_refused_with_a_remedy(cstp: Cstp, home: Path, words: tuple[str, ...], reason: str) -> None:
    before = files(home)
    done = cstp("setup", *words)
    assert (done.code, files(home)) == (2, before)
    assert reason in done.err


def test_variables_that_move_a_programs_files_are_followed(cstp: Cstp, home: Path, tmp_path: Path) -> None:
    moved = {"CLAUDE_CONFIG_DIR": str(tmp_path / "c"), "CODEX_HOME": str(tmp_path / "x")}
    before = files(home)
    for name in ("claude-code", "codex"):
        assert cstp("setup", name, **moved).code == 0
    assert files(home) == before
    made = {*(tmp_path / "c").iterdir(), *(tmp_path / "x").iterdir()}
    assert {path.name for path in made} == {".claude.json", "settings.json", "config.toml"}
    assert {path.stat().st_mode & 0o777 for path in made} == {0o600}


def test_settings_elsewhere_are_named_in_the_entries(cstp: Cstp, home: Path) -> None:
    Path("my.yaml").write_text("auth:\n  tokens_file: tokens/mine.json\n")
    assert cstp("setup", "claude-code", "--config", "my.yaml").code == 0
    args = value_of(home / ".claude.json")["mcpServers"]["cstp"]["args"]
    assert args[-2:] == ["--config", str(Path("my.yaml").absolute())]
    [item] = value_of(home / ".claude/settings.json")["hooks"]["Stop"]
    assert item["hooks"][0]["command"].endswith(f" --tokens {Path('tokens/mine.json').absolute()}")
    assert Path("tokens/mine.json").exists()


def test_an_agent_with_a_live_token_gets_no_second_one(cstp: Cstp) -> None:
    assert cstp("token", "create", "--agent", "cursor").code == 0
    assert "created" not in cstp("setup", "cursor").err
    assert len(json.loads(cstp("token", "list", "--json").out)) == 1


def test_the_page_shows_what_is_written(cstp: Cstp, home: Path) -> None:
    for file in FOUND["claude-code"]:
        (home / file).unlink()
    assert cstp("setup", "claude-code").code == 0
    page = (Path(__file__).parents[2] / "docs/agents-setup.md").read_text()
    shown = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)]
    paths = {PROGRAM: "/home/me/cstp/.venv/bin/cstp", str(Path("data").absolute()): "/home/me/cstp/data"}
    written = []
    for file in FOUND["claude-code"]:
        text = (home / file).read_text()
        for path, example in paths.items():
            text = text.replace(path, example)
        written.append(json.loads(text))
    assert shown[0] == written[0]
    assert [shown[1]] == written[1]["hooks"]["PreToolUse"]
    assert all(f"| `{name}` | `~/" in page for name in CLIENTS)
    assert all(f"`{event}`" in page and f"`cstp hook {ours}`" in page for event, _, ours in EVENTS)
