"""Forms of hook input and output: other programs' input becomes that of Claude Code, and its answer theirs."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

FORMS: Final = ("claude", "cursor", "vscode")  # Codex and Gemini CLI have that of Claude Code
_MOST: Final = 5  # files of an edit that are explained
_PATCHED: Final = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): ([^\r\n]+)", re.MULTILINE)
_PATHS: Final = ("file_path", "notebook_path", "filePath", "path")
_LISTS: Final = ("files", "replacements", "edits")  # of paths, or of objects with a path
_PATCHES: Final = ("command", "input", "patch")
_EDITING: Final = re.compile(r"(?i)edit|write|create|replace|patch|insert")  # in names of tools, for VS Code
_ENDS: Final = ("AfterAgent", "stop")  # of Gemini CLI and Cursor


def read_forms(form: str, given: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return an input in the form of Claude Code; for an edit one for each file, none for another tool."""
    common: dict[str, Any] = {**given}
    for name, others in (
        ("session_id", ("conversation_id", "sessionId")),
        ("hook_event_name", ("hookEventName",)),
        ("cwd", ("workspace_roots",)),
    ):
        found = next((given[one] for one in (name, *others) if given.get(one)), None)
        if found is not None:
            common[name] = found[0] if isinstance(found, list) else found
    if common.get("hook_event_name") in _ENDS:
        common["hook_event_name"] = "Stop"
        if given.get("status", "completed") != "completed":  # the user stopped it
            common["stop_hook_active"] = True
    inputs = given.get("tool_input")
    if not isinstance(inputs, Mapping):
        return [common]
    if form == "vscode" and not _EDITING.search(str(given.get("tool_name"))):
        return []
    return [{**common, "tool_input": {"file_path": path}} for path in _edited_paths(given, inputs)] or [common]


def write_form(form: str, answers: Sequence[str]) -> str | None:
    """Return the answers to an input, in the form of Claude Code, as one answer of a program; None without any."""
    if form not in FORMS[1:] and len(answers) < 2:
        return answers[0] if answers else None
    found = [json.loads(answer) if answer.startswith("{") else {} for answer in answers]
    contexts = [one["hookSpecificOutput"] for one in found if "hookSpecificOutput" in one]
    if contexts:
        text = "\n\n".join(one["additionalContext"] for one in contexts)
        written: dict[str, object] = {"additional_context": text}
        if form != "cursor":
            written = {"hookSpecificOutput": {**contexts[0], "additionalContext": text}}
    else:
        reason = next((one["reason"] for one in found if "reason" in one), None)
        if reason is None:
            return None
        written = {"followup_message": reason}
        if form != "cursor":
            written = {"hookSpecificOutput": {"hookEventName": "Stop", "decision": "block", "reason": reason}}
    return json.dumps(written, ensure_ascii=False)


def _edited_paths(given: Mapping[str, Any], inputs: Mapping[str, Any]) -> Sequence[str]:
    """Return the first paths that an edit names, each once."""
    named: list[object] = [inputs.get(name) for name in _PATHS]
    for name in _LISTS:
        items = inputs.get(name)
        for item in islice(items if isinstance(items, list) else (), _MOST):
            named += [item.get(path) for path in _PATHS] if isinstance(item, Mapping) else [item]
    if given.get("tool_name") == "apply_patch":
        for name in _PATCHES:
            text = inputs.get(name)
            named += [found[1] for found in islice(_PATCHED.finditer(text if isinstance(text, str) else ""), _MOST)]
    return [*dict.fromkeys(os.path.normpath(one) for one in named if isinstance(one, str) and one)][:_MOST]
