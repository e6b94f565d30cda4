"""`cstp hook EVENT`: reads JSON from an agent's program, and answers in the program's form.

A fault ends with exit code 0 and a line on standard error: for Claude Code, 2 would refuse the edit.
"""

import json
import os
import select
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, Final

from cognition_engines.checkouts import repositories_around
from cognition_engines.escapes import one_line
from cstp_server.data_folder import find_data_folder
from cstp_server.hook.asking import NoAnswer, Target, call_method
from cstp_server.hook.programs import FORMS, read_forms, write_form
from cstp_server.hook.sessions import (
    REMINDED,
    add_mark,
    decision_mark,
    forget_files,
    has_files,
    is_full,
    mark_of,
    read_marks,
    remove_old,
)
from cstp_server.hook.texts import COMPACTION, MOST_AT_PROMPT, REMINDER, explain_file, explain_prompt, join_found

EVENTS: Final = ("session-start", "at-prompt", "before-edit", "after-edit", "before-compact", "session-end")
_OPTIONS: Final = ("--url", "--data-dir", "--tokens", "--agent", "--form")
_LARGEST: Final = 4 * 1024 * 1024  # maximum input bytes: the input has the whole text of a written file
_INPUT_SECONDS: Final = 2.0
_START_SECONDS: Final = 3.0  # a `cstp mcp` starting with the session takes some
_EDIT_SECONDS: Final = 1.5
_START_TOKENS: Final = 1500
_EDIT_TOKENS: Final = 1000
_PROMPT: Final = 1000  # characters of a prompt to search for
_FEWEST_WORDS: Final = 4  # of such a prompt
_LEAST_SCORE: Final = 0.15  # of a decision that a prompt concerns, see decision 0097
_ITEM: Final = "\n- ["  # of a briefing; useless without any
_FRESH: Final = ("compact", "clear")  # starts at which an agent has lost earlier explanations


def answer_hook(words: Sequence[str]) -> int:
    """Answer the event named by the words. Return 0, whatever happens."""
    try:
        event, options = _read_words(words)
        form = options.get("--form", FORMS[0])
        answers = [_ANSWERS[event](given, options) for given in read_forms(form, _read_input())]
        text = write_form(form, [answer for answer in answers if answer is not None])
        if text is not None:
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
    except (NoAnswer, OSError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        reason = str(error) if isinstance(error, NoAnswer | OSError) else f"unexpected input ({type(error).__name__})"
        with suppress(OSError):
            sys.stderr.write(f"cstp hook: {one_line(reason)}\n")
    return 0


def _read_words(words: Sequence[str]) -> tuple[str, Mapping[str, str]]:
    """Return the event and the options from the words after `hook`. Raise NoAnswer."""
    given: dict[str, str] = {}
    rest = iter(words)
    event = None
    for word in rest:
        name, equals, value = word.partition("=")
        if name in _OPTIONS:
            given[name] = value if equals else next(rest, "")
        elif event is None and word in EVENTS:
            event = word
        else:
            raise NoAnswer(f"{word!r} is not known; events: {', '.join(EVENTS)}; options: {', '.join(_OPTIONS)}")
    if event is None:
        raise NoAnswer(f"give an event: {', '.join(EVENTS)}")
    if given.get("--form", FORMS[0]) not in FORMS:
        raise NoAnswer(f"--form must be one of {', '.join(FORMS)}")
    return event, given


def _target(options: Mapping[str, str], start: str) -> Target:
    """Return the server or the data folder to ask from the folder `start`. Raise OSError."""
    by_folder = "--data-dir" in options or "--agent" in options
    url = options.get("--url") or (None if by_folder else os.environ.get("CSTP_URL"))
    named = options.get("--data-dir") or os.environ.get("CSTP_DATA_DIR")
    found = named or (None if url else find_data_folder(start, os.environ)) or os.path.join(start, "data")
    folder = os.path.abspath(found)
    tokens = os.path.abspath(options.get("--tokens") or os.path.join(folder, "tokens.json"))
    return Target(url, folder, tokens, options.get("--agent"))


def _read_input() -> Mapping[str, Any]:
    """Return the object on standard input. Raise NoAnswer, or ValueError for invalid JSON."""
    content, until = b"", monotonic() + _INPUT_SECONDS
    while len(content) <= _LARGEST:
        if not select.select([0], [], [], max(0.0, until - monotonic()))[0]:
            raise NoAnswer("standard input did not end in time")
        part = os.read(0, 1 << 20)
        if not part:
            found = json.loads(content)
            if not isinstance(found, dict):
                raise NoAnswer("standard input is not a JSON object")
            return found
        content += part
    raise NoAnswer("standard input is too large")


def _at_start(given: Mapping[str, Any], options: Mapping[str, str]) -> str | None:
    session, source, folder = str(given["session_id"]), given.get("source"), given.get("cwd") or os.getcwd()
    remove_old()
    if source in _FRESH:
        forget_files(session)
    params: dict[str, object] = {"format": "markdown", "maxTokens": _START_TOKENS}
    if around := repositories_around(folder):
        params["repository"] = around[0].name
    target = _target(options, folder)
    found = call_method(target, "cstp.getSessionContext", params, monotonic() + _START_SECONDS, waiting=True)
    text = found["markdown"]
    return _context(given, "SessionStart", text) if _ITEM in text else None


def prompt_search(prompt: str, repository: str | None) -> Mapping[str, object] | None:
    """Return the parameters of `cstp.search` for the decisions that a prompt concerns; None for a short prompt."""
    query = prompt[:_PROMPT]
    if len(query.split()) < _FEWEST_WORDS:
        return None
    found = {"kinds": ["decision"], "current": True, "titles": True, "minScore": _LEAST_SCORE, "limit": MOST_AT_PROMPT}
    # by words alone, scores are not comparable with the least one
    return {"query": query, "mode": "hybrid", **found, **({} if repository is None else {"repository": repository})}


def _at_prompt(given: Mapping[str, Any], options: Mapping[str, str]) -> str | None:
    """Return the decisions of the repository that a prompt concerns, each once a session."""
    session, folder = str(given["session_id"]), given.get("cwd") or os.getcwd()
    around = repositories_around(folder)
    params = prompt_search(str(given["prompt"]), around[0].name if around else None)
    if params is None or is_full(marks := read_marks(session)):
        return None
    until = monotonic() + _EDIT_SECONDS
    found = call_method(_target(options, folder), "cstp.search", params, until, waiting=False)["results"]
    new = {mark: one for one in found if (mark := decision_mark(one["id"])) not in marks}
    for mark in new:
        add_mark(session, mark)
    return _context(given, "UserPromptSubmit", explain_prompt([*new.values()]))


def _before_edit(given: Mapping[str, Any], options: Mapping[str, str]) -> str | None:
    """Return the decisions of the file's repository and, for a submodule, of its superprojects."""
    session, inputs = str(given["session_id"]), given["tool_input"]
    named = inputs.get("file_path") or inputs.get("notebook_path")
    path = os.path.join(given.get("cwd") or os.getcwd(), str(named))
    folder = os.path.realpath(os.path.dirname(path))  # as of `repositories_around`
    file = os.path.join(folder, os.path.basename(path))
    if named is None or not (around := repositories_around(folder)):
        return None
    marks, mark = read_marks(session), mark_of(file)
    if mark in marks or is_full(marks):
        return None
    target, until, answers = _target(options, folder), monotonic() + _EDIT_SECONDS, []
    paths = [os.path.relpath(file, repository.root).replace(os.sep, "/") for repository in around]
    for repository, each in zip(around, paths, strict=True):
        params = {"files": [each], "repository": repository.name, "include": ["snippet"], "maxTokens": _EDIT_TOKENS}
        answers.append(call_method(target, "cstp.getDecisionContext", params, until, waiting=False))
    text = explain_file(paths[0], join_found(answers))
    add_mark(session, mark)
    return _context(given, "PreToolUse", text)


def _before_compact(given: Mapping[str, Any], options: Mapping[str, str]) -> str | None:
    """Return an instruction for the summary: Claude Code takes it as text, and no JSON at this event."""
    return COMPACTION


def _at_end(given: Mapping[str, Any], options: Mapping[str, str]) -> str | None:
    """Return a reminder, once per session with edited files; `Stop` gives it to the agent."""
    session = str(given["session_id"])
    marks = read_marks(session)
    if given.get("stop_hook_active") or REMINDED in marks or not has_files(marks):
        return None
    add_mark(session, REMINDED)
    if given.get("hook_event_name") == "Stop":
        return json.dumps({"decision": "block", "reason": REMINDER})
    return json.dumps({"systemMessage": REMINDER})


_ANSWERS: Final = {
    "session-start": _at_start,
    "at-prompt": _at_prompt,
    "before-edit": _before_edit,
    "after-edit": _before_edit,  # of programs that cannot add context before
    "before-compact": _before_compact,
    "session-end": _at_end,
}


def _context(given: Mapping[str, Any], event: str, text: str | None) -> str | None:
    if not text:
        return None
    name = given.get("hook_event_name") or event
    return json.dumps({"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}, ensure_ascii=False)
