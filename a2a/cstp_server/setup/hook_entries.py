"""Hooks of agents' programs: commands in their settings for running `cstp hook` at events."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath, PureWindowsPath
from typing import Final

from cstp_server.setup.json_edits import Json

SECONDS: Final = 10  # until a program continues without the answer
_OPTIONS: Final = frozenset({"--data-dir", "--agent", "--tokens", "--url", "--form", "--config", "--cwd", "--tools"})
_PROGRAMS: Final = frozenset({"cstp", "cstp.exe"})
_OWN: Final = re.compile(r"(?:^|[/\\'\" ])cstp(?:\.exe)?['\"]? hook [a-z]+-[a-z]+\b")


@dataclass(frozen=True, slots=True)
class HookForm:
    """Hooks in a program's file: its event, the matcher (None: always), and our event.

    `second` is a second in the unit of `timeout`. A `flat` item has the command itself, without an inner list. `words`
    are the options of `cstp hook` for the form of its answers, `head` the other members of a new file.
    """

    events: Sequence[tuple[str, str | None, str]]
    second: int = 1
    flat: bool = False
    typed: bool = True
    words: Sequence[str] = ()
    head: Mapping[str, Json] = field(default_factory=dict)

    @property
    def names(self) -> Sequence[str]:
        """Return our events."""
        return [ours for *_, ours in self.events]


NO_HOOKS: Final = HookForm(())
_STARTS: Final = "startup|resume|clear|compact"
CLAUDE: Final = HookForm(
    (
        ("SessionStart", _STARTS, "session-start"),
        ("UserPromptSubmit", None, "at-prompt"),
        ("PreToolUse", "Edit|Write|MultiEdit|NotebookEdit", "before-edit"),
        ("PreCompact", None, "before-compact"),
        ("Stop", None, "session-end"),
    )
)
# output of PreCompact is no context here, but a session starts again after a compaction
CODEX: Final = HookForm(
    (
        ("SessionStart", _STARTS, "session-start"),
        ("UserPromptSubmit", None, "at-prompt"),
        ("PreToolUse", "apply_patch", "before-edit"),
        ("Stop", None, "session-end"),
    )
)
# these two add context only after an edit, and Cursor and VS Code none at a prompt
CURSOR: Final = HookForm(
    (("sessionStart", None, "session-start"), ("postToolUse", "Write", "after-edit"), ("stop", None, "session-end")),
    flat=True,
    typed=False,
    words=("--form", "cursor"),
    head={"version": 1},
)
GEMINI: Final = HookForm(
    (
        ("SessionStart", None, "session-start"),
        ("BeforeAgent", None, "at-prompt"),
        ("AfterTool", "write_file|replace", "after-edit"),
        ("AfterAgent", None, "session-end"),
    ),
    second=1000,
)
# matchers are ignored here: the hook looks at the tool
VSCODE: Final = HookForm(
    (("SessionStart", None, "session-start"), ("PreToolUse", None, "before-edit"), ("Stop", None, "session-end")),
    flat=True,
    words=("--form", "vscode"),
    head={"version": 1},
)


@dataclass(frozen=True, slots=True)
class HookEntry:
    """An item in the array for `event` in the settings, running `command`; a new file also has `head`."""

    event: str
    ours: str
    command: str
    item: Mapping[str, Json]
    head: Mapping[str, Json]


def hook_entries(form: HookForm, command: str, words: str, names: Iterable[str]) -> Sequence[HookEntry]:
    """Return the items running `command`, quoted for a shell, with each named event of ours and these words."""
    chosen, more = set(names), shlex.join(form.words)
    return [
        _entry(form, event, matcher, ours, " ".join(filter(None, (command, "hook", ours, words, more))))
        for event, matcher, ours in form.events
        if ours in chosen
    ]


def commands_of(item: Json) -> Sequence[str]:
    """Return the commands in an item; empty if one is not `cstp hook`."""
    hooks = item.get("hooks", [item]) if isinstance(item, Mapping) else None
    if not isinstance(hooks, list):
        return []
    found = [hook.get("command") for hook in hooks if isinstance(hook, Mapping)]
    own = [one for one in found if isinstance(one, str) and _OWN.search(one)]
    return own if len(own) == len(hooks) else []


def is_written_item(form: HookForm, event: str, item: Json) -> bool:
    """Return whether an item is as `hook_entries` makes it, with any values of the options."""
    commands = commands_of(item)
    try:
        words = shlex.split(commands[0]) if len(commands) == 1 else []
    except ValueError:
        return False
    return any(
        name == event
        and is_written_command(words, ("hook", ours))
        and _entry(form, name, matcher, ours, commands[0]).item == item
        for name, matcher, ours in form.events
    )


def is_written_command(words: Sequence[str], head: Sequence[str]) -> bool:
    """Return whether the words are `cstp`, the head, and options as setup writes them, each with a value."""
    if not words or not {PurePath(words[0]).name, PureWindowsPath(words[0]).name} & _PROGRAMS:
        return False
    rest = words[1 + len(head) :]
    return tuple(words[1 : 1 + len(head)]) == tuple(head) and len(rest) % 2 == 0 and set(rest[::2]) <= _OPTIONS


def _entry(form: HookForm, event: str, matcher: str | None, ours: str, command: str) -> HookEntry:
    kind: Mapping[str, Json] = {"type": "command"} if form.typed else {}
    run = {**kind, "command": command, "timeout": SECONDS * form.second}
    when: Mapping[str, Json] = {} if matcher is None else {"matcher": matcher}
    return HookEntry(event, ours, command, {**when, **run} if form.flat else {**when, "hooks": [run]}, form.head)
