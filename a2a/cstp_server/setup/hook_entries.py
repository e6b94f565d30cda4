"""Hooks for Claude Code: commands in its settings for running `cstp hook` at events."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cstp_server.setup.json_edits import Json

SECONDS: Final = 10  # until Claude Code continues without the answer
# the event of Claude Code, when it runs (None: always), and our event
EVENTS: Final[Sequence[tuple[str, str | None, str]]] = (
    ("SessionStart", "startup|resume|clear|compact", "session-start"),
    ("PreToolUse", "Edit|Write|MultiEdit|NotebookEdit", "before-edit"),
    ("PreCompact", None, "before-compact"),
    ("Stop", None, "session-end"),
)
_OWN: Final = re.compile(
    r"(?:^|[/\\'\" ])cstp(?:\.exe)?['\"]? hook (?:" + "|".join(event for *_, event in EVENTS) + r")\b"
)


@dataclass(frozen=True, slots=True)
class HookEntry:
    """An item in the array for `event` in the settings."""

    event: str
    item: Mapping[str, Json]


def hook_entries(command: str, words: str) -> Sequence[HookEntry]:
    """Return the items running `command`, quoted for a shell, with each event and these words."""
    return [
        HookEntry(
            name,
            {
                **({} if matcher is None else {"matcher": matcher}),
                "hooks": [{"type": "command", "command": f"{command} hook {event} {words}", "timeout": SECONDS}],
            },
        )
        for name, matcher, event in EVENTS
    ]


def is_own_item(item: Json) -> bool:
    """Return whether each command in an item is `cstp hook`."""
    hooks = item.get("hooks") if isinstance(item, Mapping) else None
    if not isinstance(hooks, list) or not hooks:
        return False
    commands = [hook.get("command") for hook in hooks if isinstance(hook, Mapping)]
    return len(commands) == len(hooks) and all(isinstance(one, str) and _OWN.search(one) for one in commands)
