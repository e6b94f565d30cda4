"""Page, holder, marks and start of `cstp hook`; `transcripts/hook.txt` has the rest."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cstp.validation import parse_params
from cstp.values.decision_writes import RecordDecisionParams
from cstp_server.hook.sessions import add_mark, forget_files, is_full, read_marks, remove_old
from cstp_server.hook.texts import FORM
from tests.programs import COMMAND, run_cstp

SESSION = "5f6b0c1e-7d2a-4c53-9a53-2f6f3b0b9d11"


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's cache folder; the working folder is a repository."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    (tmp_path / "repository/.git").mkdir(parents=True)
    return tmp_path / "caches/cstp/hooks"


def sent(event: str, **members: Any) -> str:
    """Return hook input in the form of Claude Code 2.1."""
    common = {
        "session_id": SESSION,
        "transcript_path": f"/home/me/.claude/projects/-home-me-orders/{SESSION}.jsonl",
        "cwd": str(Path("repository").absolute()),
        "permission_mode": "default",
        "hook_event_name": event,
    }
    return json.dumps({**common, **members})


def edit(path: str, session: str = SESSION) -> str:
    """Return hook input before an edit of a file in the repository."""
    tool = {"file_path": str(Path("repository", path).absolute()), "old_string": "a", "new_string": "b"}
    return sent("PreToolUse", tool_name="Edit", tool_input=tool, tool_use_id="toolu_01", session_id=session)


def hook(event: str, given: str, *words: object, **environment: str) -> "subprocess.CompletedProcess[str]":
    done = run_cstp("hook", event, *words, input=given, env={**os.environ, **environment})
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    return done


def test_the_form_of_the_reminder_is_a_valid_call() -> None:
    shown = re.fullmatch(r"record_decision with (\{.*\})", FORM)
    assert shown is not None
    assert parse_params(RecordDecisionParams, json.loads(shown[1])).confidence == 0.8


@pytest.mark.long("waits for two seconds")
def test_an_endless_input_is_not_waited_for() -> None:
    with subprocess.Popen([*COMMAND, "hook", "before-edit"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.wait(60) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b"cstp hook: standard input did not end in time\n"


def context_of(done: "subprocess.CompletedProcess[str]", event: str) -> str:
    """Return the context added by an answer; assert the form validated by Claude Code."""
    answer = json.loads(done.stdout)
    assert list(answer) == ["hookSpecificOutput"]
    assert sorted(answer["hookSpecificOutput"]) == ["additionalContext", "hookEventName"]
    assert answer["hookSpecificOutput"]["hookEventName"] == event
    context: str = answer["hookSpecificOutput"]["additionalContext"]
    return context


def test_the_page_shows_the_context(asked: Callable[..., Any], cstp: Callable[..., Any]) -> None:
    asked({}, scopes=["read", "write"])
    pattern = 'affects:=[{"type": "path", "pattern": "src/orders/**"}]'
    done = cstp("call", "cstp.recordDecision", "decision=Keep orders in PostgreSQL", "confidence:=0.8", pattern)
    assert done.code == 0
    context = context_of(hook("before-edit", edit("src/orders/book.py")), "PreToolUse")
    page = (Path(__file__).parents[2] / "docs/agents-setup.md").read_text()
    shown = re.search(r"^```text\n(.*?)\n```$", page, re.MULTILINE | re.DOTALL)
    assert shown is not None
    made = r"dec_[0-9a-f]{16} \| \d{4}-\d\d-\d\d"
    assert re.sub(made, "", context) == re.sub(made, "", shown[1])


def test_patterns_of_a_superproject_hold_before_an_edit_in_a_submodule(
    asked: Callable[..., Any], cstp: Callable[..., Any]
) -> None:
    asked({}, scopes=["read", "write"])
    for name, pattern in (("Keep the library", "vendor/library/**"), ("Write no C", "src/**/*.c")):
        affects = json.dumps([{"type": "path", "pattern": pattern}])
        assert (
            cstp("call", "cstp.recordDecision", f"decision={name}", "confidence:=0.8", f"affects:={affects}").code == 0
        )
    inner = Path("repository/vendor/library")
    inner.mkdir(parents=True)
    (inner / ".git").write_text("gitdir: ../../.git/modules/vendor/library\n")
    context = context_of(hook("before-edit", edit("vendor/library/src/a.c")), "PreToolUse")
    assert ("Keep the library" in context, "Write no C" in context) == (True, True)


@pytest.mark.long("starts the program as a process")
def test_the_holder_of_the_data_folder_answers_for_the_agent(
    serving: Callable[..., Any], cstp: Callable[..., Any], token: str
) -> None:
    assert cstp("setup", "claude-code", "--agent", "me", HOME=str(Path("home").absolute())).code == 0
    _, url = serving("--data-dir", "data")
    assert cstp("record", "Keep orders in PostgreSQL", "--confidence", 0.9, CSTP_URL=url, CSTP_TOKEN=token).code == 0
    settings = json.loads(Path("home/.claude/settings.json").read_text())
    [item] = settings["hooks"]["SessionStart"]
    words = shlex.split(item["hooks"][0]["command"])
    assert words[1:3] == ["hook", "session-start"]
    done = hook("session-start", sent("SessionStart", source="startup"), *words[3:])
    assert "Keep orders in PostgreSQL" in context_of(done, "SessionStart")
    deep = Path("a" * 60, "b" * 60)  # with a socket path too long for a system call
    deep.parent.mkdir()
    deep.symlink_to(Path("data").absolute())
    done = hook("session-start", sent("SessionStart", source="startup"), "--data-dir", deep, CSTP_TOKEN=token)
    assert "Keep orders in PostgreSQL" in context_of(done, "SessionStart")


def test_marks_of_old_sessions_are_removed_and_marks_of_each_session_bounded(caches: Path) -> None:
    add_mark("old", "0123456789abcdef")
    [old] = caches.iterdir()
    os.utime(old, (0, 0))
    remove_old()
    assert not old.exists()
    for number in range(2002):
        add_mark(SESSION, f"{number:016x}")
    marks = read_marks(SESSION)
    assert (len(marks), is_full(marks)) == (2000, True)
    forget_files(SESSION)
    assert read_marks(SESSION) == set()


@pytest.mark.true_start
@pytest.mark.long("starts interpreters")
def test_a_hook_imports_little() -> None:
    code = (
        "import sys, cstp_server.cli.entry, cstp_server.hook.run;"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"pydantic", "httpx", "typer", "rich", "asyncio", "dataclasses", "http", "pathlib", "yaml"} & set(
        found
    ) == set()
