"""Store and settings of a command: it names them, and uses nothing that merely lies in the folder."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cstp = Callable[..., Any]
COMMANDS = [
    ["ingest", "notes.jsonl", "--json"],
    ["ingest", "notes.jsonl", "--dry-run"],
    ["show", "700", "--json"],
    ["delete", "700"],
    ["status", "--json"],
    ["doctor", "--json"],
    ["reindex"],
    ["backup", "again", "--json"],
    ["restore", "kept", "--replace", "--json"],
    ["copy", "--to", "sqlite:///copied.sqlite3", "--json"],
    ["export", "-"],
    ["import", "kept.jsonl", "--json"],
]
pytestmark = [pytest.mark.usefixtures("wordless")]


@pytest.fixture
def stored(cstp: Cstp) -> None:
    Path("notes.jsonl").write_text('{"kind": "episode", "query": "a lock", "reward": 1, "id": 700}\n')
    assert cstp("ingest", "notes.jsonl").code == 0
    assert cstp("backup", "kept").code == 0
    assert cstp("export", "kept.jsonl").code == 0


@pytest.mark.long("starts a server or a process of its own")
@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words))
def test_a_command_names_its_store_and_settings(cstp: Cstp, words: list[str]) -> None:
    Path("mine.yaml").write_text("agent: {id: me}\n")
    done = cstp(*words, "--config", "mine.yaml", CSTP_STORE__THREADS="2")
    assert done.code == 0, done.err
    place, settings = Path("data/records.sqlite3").absolute(), Path("mine.yaml").absolute()
    line = f"cstp: records: {place}; settings: {settings}, CSTP_EMBEDDING__MODEL, CSTP_STORE__THREADS"
    assert done.places == f"{line}\n"
    assert "cstp: records" not in done.out
    if words[-1] in ("--json", "-"):
        for printed in done.out.splitlines():
            json.loads(printed)


@pytest.fixture
def damaged(stored: None) -> Path:
    """Return the store after damage has made it unopenable."""
    file = Path("data/records.sqlite3").absolute()
    file.write_bytes(b"noise" * 1000)
    return file


@pytest.mark.parametrize("words", [words for words in COMMANDS if words[0] != "doctor"], ids=lambda words: words[0])
def test_a_command_names_an_unopenable_store_once(cstp: Cstp, damaged: Path, words: list[str]) -> None:
    done = cstp(*words)
    assert (done.code, done.out) == (1, "")
    assert done.places == f"cstp: records: {damaged}; settings: CSTP_EMBEDDING__MODEL\n"
    assert done.err.startswith("cstp: records: the database is damaged")


@pytest.mark.long("starts a server or a process of its own")
@pytest.mark.parametrize("words", [["serve", "--port", "0"], ["mcp", "--agent", "me"]], ids=lambda words: words[0])
def test_a_broken_store_is_named_once(cstp: Cstp, program: Callable[..., Any], damaged: Path, words: list[str]) -> None:
    cstp("token", "create", "--agent", "me")
    done = program(*words).finish()
    place, refusal = done.err.splitlines()
    assert (done.code, done.out) == (1, "")
    assert place == f"cstp: records: {damaged}; settings: CSTP_EMBEDDING__MODEL"
    assert refusal.startswith("cstp: records: the database is damaged")


def test_a_dry_run_names_its_target_even_if_absent(cstp: Cstp) -> None:
    Path("notes.jsonl").write_text('{"kind": "decision", "id": "d-1", "title": "t"}\n')
    done = cstp("ingest", "notes.jsonl", "--dry-run")
    assert done.places.startswith(f"cstp: records: {Path('data/records.sqlite3').absolute()}; settings: ")
    assert not Path("data").exists()


def test_a_password_of_a_store_is_not_named(cstp: Cstp) -> None:
    done = cstp("doctor", "--json", CSTP_STORE__URL="postgresql://me:hunter2@127.0.0.1:1/x")
    assert "records: postgresql://***@127.0.0.1:1/x; settings:" in done.places
    assert "hunter2" not in done.places + done.err + done.out


@pytest.mark.parametrize("level", ["info", "error"])
def test_json_logs_begin_with_the_places(program: Callable[..., Any], cstp: Cstp, level: str) -> None:
    server = program("serve", "--port", 0, CSTP_LOG__LEVEL=level, CSTP_LOG__FORMAT="json")
    first, second = (json.loads(server.line("(.*)")[1]) for _ in range(2))
    assert first["event"] == "serving"
    assert first["url"].startswith("http://127.0.0.1:")
    assert (first["agent"], first["live_tokens"]) == ("cstp", 0)
    assert first["records"] == str(Path("data/records.sqlite3").absolute())
    assert first["settings"] == "CSTP_EMBEDDING__MODEL, CSTP_LOG__FORMAT, CSTP_LOG__LEVEL"
    assert (first["mcp"], first["page"]) == (f"{first['url'][:-5]}/mcp", f"{first['url'][:-5]}/ui/")
    assert second["event"] == "no_live_tokens"
    events = [json.loads(line)["event"] for line in server.end().err.splitlines()]
    assert events == (["stopping", "stopped"] if level == "info" else [])


def test_a_pretty_log_begins_with_sentences(program: Callable[..., Any]) -> None:
    server = program("serve", "--port", 0, CSTP_LOG__FORMAT="pretty")
    assert server.line("(.*)")[1].startswith("cstp serves cstp on http://127.0.0.1:")
    assert server.line("(.*)")[1].startswith("cstp: records: ")
    assert server.line("(.*)")[1].startswith("there is no live token yet; create a token")
    assert server.end().code == 0


def test_a_found_folder_of_another_user_is_refused(
    cstp: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".cstp").mkdir()
    (tmp_path / ".cstp/tokens.lock").touch()
    monkeypatch.setattr(os, "geteuid", lambda: (tmp_path / ".cstp").stat().st_uid + 1)
    done = cstp("status")
    assert (done.code, done.err.partition("; ")[0]) == (2, f"cstp: {tmp_path}/.cstp: belongs to another user")
    assert cstp("status", "--data-dir", ".cstp").code == 0
