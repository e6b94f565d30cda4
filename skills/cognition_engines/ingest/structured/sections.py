"""Members of a decision that are part of its text: each becomes a section, as a decision record in Markdown has it."""

from collections.abc import Mapping
from typing import Final

from cognition_engines.ingest.parse.plain_values import Value

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
_OPTION: Final = ("option", "name", "title")
_WHY: Final = ("why", "reason", "description", "text")


def section(name: str, value: Value) -> str | None:
    """The section of a member; None for a value that is neither text nor a list of texts or options."""
    body = _body(value)
    return None if body is None else f"## {HEADINGS[name]}\n\n{body}"


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
