"""What a structured record may hold: one table that checks records, words the refusals and gives the JSON Schema."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from cognition_engines.drafts.plain_values import RefusedValue, Value
from cognition_engines.kinds.fields import MAX_MEMBERS, MAX_METADATA
from cognition_engines.models import SENSITIVITIES

_ONE_LINE: Final = r"^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$"
_PRINTABLE: Final = r"^[^\s\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]+$"
_NOT_BLANK: Final = r"\S"
TITLE_LENGTH: Final = 1000
TEXT_LENGTH: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Rule:
    """What a value may be. `says` completes "<name> must be ..."; `types` are JSON Schema's names."""

    says: str
    types: tuple[str, ...]
    longest: int | None = None
    shortest: int | None = None
    patterns: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    items: "Rule | None" = None
    most_items: int | None = None
    members: Mapping[str, "Rule"] | None = None
    required: tuple[str, ...] = ()
    most_members: int | None = None  # of an object whose members may have any names

    def allows(self, value: Value) -> bool:
        """Whether the value meets the rule."""
        if isinstance(value, bool) or value is None or isinstance(value, RefusedValue):
            return False
        if isinstance(value, str):
            return "string" in self.types and self._allows_text(value)
        if isinstance(value, int | float):
            return self._allows_number(value)
        if isinstance(value, list):
            return "array" in self.types and self._allows_list(value)
        return "object" in self.types and self._allows_members(value)

    def _allows_text(self, value: str) -> bool:
        if not sound(value) or (self.choices and value not in self.choices):
            return False
        if not (self.shortest or 0) <= len(value) <= (self.longest or len(value)):
            return False
        return all(_matches(pattern, value) for pattern in self.patterns)

    def _allows_number(self, value: int | float) -> bool:
        if "number" not in self.types and not ("integer" in self.types and isinstance(value, int)):
            return False
        if isinstance(value, float) and not math.isfinite(value):
            return False
        return (self.minimum is None or value >= self.minimum) and (self.maximum is None or value <= self.maximum)

    def _allows_list(self, value: list[Value]) -> bool:
        if self.most_items is not None and len(value) > self.most_items:
            return False
        return self.items is None or all(self.items.allows(item) for item in value)

    def _allows_members(self, value: Mapping[str, Value]) -> bool:
        if self.most_members is not None:
            return len(value) <= self.most_members
        members = self.members or {}
        given = {name: member for name, member in value.items() if member is not None}
        if any(name not in given for name in self.required):
            return False
        return all(name in members and members[name].allows(member) for name, member in given.items())


def sound(text: str) -> bool:
    """Whether the text can be stored and sent: no NUL, no lone surrogate."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _matches(pattern: str, value: str) -> bool:
    # Python's $ also matches before a final newline, JSON Schema's does not.
    if pattern.startswith("^"):
        return re.fullmatch(pattern[1:-1], value) is not None
    return re.search(pattern, value) is not None


def _short(longest: int, says: str | None = None) -> Rule:
    return Rule(
        says or f"one line of text, not blank, of at most {longest} characters",
        ("string",),
        longest=longest,
        shortest=1,
        patterns=(_NOT_BLANK, _ONE_LINE),
    )


_ID: Final = Rule(
    "text of 1 to 200 printable characters without blanks, or an integer",
    ("string", "integer"),
    longest=200,
    shortest=1,
    patterns=(_PRINTABLE,),
)
_REFERENCES: Final = Rule(
    "an id, a number or a file name, or a list of at most 64 of them, each of at most 200 characters",
    ("string", "integer", "array"),
    longest=200,
    shortest=1,
    patterns=(_NOT_BLANK, _ONE_LINE),
    items=Rule(
        "an id, a number or a file name",
        ("string", "integer"),
        longest=200,
        shortest=1,
        patterns=(_NOT_BLANK, _ONE_LINE),
    ),
    most_items=64,
)
_SHARE: Final = Rule("a number from 0 to 1", ("number",), minimum=0, maximum=1)
_REASON_TYPE: Final = _short(64)
_REASON: Final = Rule(
    "a reason's type, or an object with type, text and strength",
    ("string", "object"),
    longest=64,
    shortest=1,
    patterns=(_NOT_BLANK, _ONE_LINE),
    members=MappingProxyType(
        {"type": _REASON_TYPE, "text": Rule("text", ("string",), longest=TEXT_LENGTH), "strength": _SHARE}
    ),
    required=("type",),
)
RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "id": _ID,
        "title": _short(TITLE_LENGTH),
        "text": Rule("text of at most 1,000,000 characters", ("string",), longest=TEXT_LENGTH),
        "category": _short(200),
        "confidence": _SHARE,
        "stakes": _short(200),
        "status": _short(200),
        "outcome": _short(200),
        "date": Rule("an ISO 8601 date or timestamp as text, of a year from 1900 to 2199", ("string",)),
        "reasons": Rule(
            "a list of reasons, each a type (not blank, at most 64 characters) or an object with type and, optionally, "
            "text and strength (0 to 1)",
            ("array",),
            items=_REASON,
        ),
        "tags": Rule(
            "a list of at most 64 texts, each one line, not blank, of at most 100 characters",
            ("array",),
            items=_short(100),
            most_items=64,
        ),
        "project": _short(200),
        "sensitivity": Rule("one of " + ", ".join(SENSITIVITIES), ("string",), choices=tuple(SENSITIVITIES)),
        "supersedes": _REFERENCES,
        "superseded_by": _REFERENCES,
        "metadata": Rule(
            f"an object of at most {MAX_MEMBERS} members and {MAX_METADATA:,} characters as JSON",
            ("object",),
            most_members=MAX_MEMBERS,
        ),
    }
)
# Each name in camelCase and in snake_case: they differ for one only.
NAMES: Final[Mapping[str, str]] = MappingProxyType({**{name: name for name in RULES}, "supersededBy": "superseded_by"})


def _as_schema(rule: Rule, optional: bool) -> dict[str, object]:
    kinds = [*rule.types, "null"] if optional else list(rule.types)
    schema: dict[str, object] = {"type": kinds[0] if len(kinds) == 1 else kinds}
    limits = {
        "minLength": rule.shortest,
        "maxLength": rule.longest,
        "minimum": rule.minimum,
        "maximum": rule.maximum,
        "maxItems": rule.most_items,
        "maxProperties": rule.most_members,
    }
    schema |= {name: limit for name, limit in limits.items() if limit is not None}
    if rule.patterns:
        schema["allOf"] = [{"pattern": pattern} for pattern in rule.patterns]
    if rule.choices:
        schema["enum"] = [*rule.choices, None] if optional else list(rule.choices)
    if rule.items is not None:
        schema["items"] = _as_schema(rule.items, optional=False) | {"description": rule.items.says}
    if rule.members is not None:
        schema["properties"] = {
            name: _as_schema(member, name not in rule.required) for name, member in rule.members.items()
        }
        schema["required"] = list(rule.required)
        schema["additionalProperties"] = False
    return schema


def decision_schema() -> dict[str, object]:
    """The JSON Schema (2020-12) of one record in a YAML, JSON or JSONL file."""
    properties = {
        spelling: _as_schema(RULES[name], name != "title") | {"description": RULES[name].says}
        for spelling, name in NAMES.items()
    }
    # read leniently: one text, numbers and booleans become texts
    scalars, items = ["string", "number", "boolean"], _as_schema(_short(100), optional=False)
    properties["tags"] |= {"type": ["array", *scalars, "null"], "items": items | {"type": scalars}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Decision",
        "type": "object",
        "properties": properties,
        "required": ["title"],
        "additionalProperties": False,
        "not": {"required": ["superseded_by", "supersededBy"]},
    }
