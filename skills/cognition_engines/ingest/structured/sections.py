"""Members of a decision that are part of its text: each becomes a section, as a decision record in Markdown has it."""

import json
import re
from collections.abc import Mapping
from typing import Final

from cognition_engines.drafts.plain_values import Value

# In the order of the text. Of several names of one section each that is given has its own section.
HEADINGS: Final[Mapping[str, str]] = {
    "context": "Context",
    "decision": "Decision",
    "alternatives": "Considered Options",
    "options": "Considered Options",
    "considered_options": "Considered Options",
    "rationale": "Rationale",
    "consequences": "Consequences",
}
# Names of texts, however short; what other names hold is prose if it has at least this number of words.
_OF_TEXTS: Final = frozenset(
    {"body", "content", "description", "details", "message", "note", "notes", "comment", "comments", "summary"}
)
_FEWEST_WORDS: Final = 2
_LEAST_LONG: Final = 4  # characters
_WITHOUT_BLANKS: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\U0003ffff]")  # Thai, Lao, Han …
_OPTION: Final = ("option", "name", "title")
_WHY: Final = ("why", "reason", "description", "text")


def section(name: str, value: Value) -> str | None:
    """Return the section of a member that is part of the text; None for one without text."""
    body = _body(value) or (_written(value) if _has_text(value) else None)
    return None if body is None else f"## {HEADINGS[name]}\n\n{body}"


def prose_section(name: str, value: Value) -> str | None:
    """Return the section of a member that no field or heading takes; None for a value without prose."""
    if not _has_prose(value) and not (name.casefold() in _OF_TEXTS and isinstance(value, str) and value.strip()):
        return None
    return f"## {' '.join(name.split())}\n\n{_written(value)}"


def _has_text(value: Value) -> bool:
    if isinstance(value, list | dict):
        return any(map(_has_text, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and bool(value.strip())


def _has_prose(value: Value) -> bool:
    """Return whether a value holds a text of several words, or a long one of a script without blanks."""
    if isinstance(value, str):
        return len(value.split()) >= _FEWEST_WORDS or len(_WITHOUT_BLANKS.findall(value)) >= _LEAST_LONG
    if isinstance(value, list):
        return any(map(_has_prose, value))
    return isinstance(value, dict) and any(map(_has_prose, value.values()))


def _written(value: Value, indent: str = "") -> str:
    """Return a value as text: a list and an object as a list of Markdown."""
    if isinstance(value, list):
        return "\n".join(f"{indent}* {_written(item, indent + '  ').lstrip()}" for item in value)
    if isinstance(value, dict):
        return "\n".join(f"{indent}* {name}: {_inner(item, indent)}" for name, item in value.items())
    return value.strip() if isinstance(value, str) else json.dumps(value, default=str)


def _inner(value: Value, indent: str) -> str:
    written = _written(value, indent + "  ")
    return f"\n{written}" if isinstance(value, dict | list) else written


def _body(value: Value) -> str | None:
    if isinstance(value, str):
        return value.strip() or None
    if not isinstance(value, list) or not value:
        return None
    items = [_item(item) for item in value]
    return None if None in items else "\n".join(f"* {item}" for item in items)


def _item(value: Value) -> str | None:
    """A text, or `option: why` of an object that has no other member."""
    if isinstance(value, str):
        return value.strip() or None
    if not isinstance(value, dict):
        return None
    given = {name: member for name, member in value.items() if member is not None}
    texts = [given.pop(name) for names in (_OPTION, _WHY) for name in names if isinstance(given.get(name), str)]
    named = any(isinstance(value.get(name), str) for name in _OPTION)
    return ": ".join(str(text).strip() for text in texts) if named and not given else None
