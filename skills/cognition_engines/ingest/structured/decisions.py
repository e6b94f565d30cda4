"""Checks a decision's members: members belonging to its text become sections, as in a Markdown record."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Final, Generic, TypeVar, cast, get_type_hints

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic.alias_generators import to_snake
from pydantic.fields import FieldInfo

from cognition_engines.drafts.plain_values import (
    Unacceptable,
    Value,
    first_refusal,
    join_reasons,
    labels,
    misspelled_right,
    safe_name,
    unsound,
    whole,
)
from cognition_engines.ingest.dates import iso_date
from cognition_engines.ingest.statuses import normalise_status
from cognition_engines.ingest.structured.aliases import VECTORS, own_names, snake
from cognition_engines.kinds.affects import parts_of, refused_part
from cognition_engines.kinds.decisions import GivenDecision
from cognition_engines.kinds.fields import Metadata
from cognition_engines.kinds.registry import Record, validate_record
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Decision
from cstp.values.decisions import Reason

# In text order. If several names of a section are given, each has a separate section.
HEADINGS: Final[Mapping[str, str]] = {
    "context": "Context",
    "decision": "Decision",
    "alternatives": "Considered Options",
    "options": "Considered Options",
    "considered_options": "Considered Options",
    "rationale": "Rationale",
    "consequences": "Consequences",
}
# Names of texts, however short; values of other names are prose if they have at least this number of words.
_OF_TEXTS: Final = frozenset(
    {"body", "content", "description", "details", "message", "note", "notes", "comment", "comments", "summary"}
)
_FEWEST_WORDS: Final = 2
_LEAST_LONG: Final = 4  # characters
_WITHOUT_BLANKS: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\U0003ffff]")  # Thai, Lao, Han …
_OPTION: Final = ("option", "name", "title")
_WHY: Final = ("why", "reason", "description", "text")
_METADATA: Final[TypeAdapter[dict[str, JsonValue]]] = TypeAdapter(Metadata)
# Names of other tools for decider and place, kept in the metadata even if a record names its kind.
_OF_OTHERS: Final = frozenset(
    {"agent", "author", "authors", "decided_by", "deciders", "decision_makers", "recorded_by"}
)


def section(name: str, value: Value) -> str | None:
    """Return the section for a member belonging to the text; None for a member without text."""
    body = _body(value) or (_write_value(value) if _has_text(value) else None)
    return None if body is None else f"## {HEADINGS[name]}\n\n{body}"


def prose_section(name: str, value: Value) -> str | None:
    """Return the section for a member without a field or heading; None for a value without prose."""
    if not _has_prose(value) and not (name.casefold() in _OF_TEXTS and isinstance(value, str) and value.strip()):
        return None
    return f"## {' '.join(name.split())}\n\n{_write_value(value)}"


def _has_text(value: Value) -> bool:
    if isinstance(value, list | dict):
        return any(map(_has_text, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and bool(value.strip())


def _has_prose(value: Value) -> bool:
    """Return whether a value holds a text of several words, or a long text in a script without blanks."""
    if isinstance(value, str):
        return len(value.split()) >= _FEWEST_WORDS or len(_WITHOUT_BLANKS.findall(value)) >= _LEAST_LONG
    if isinstance(value, list):
        return any(map(_has_prose, value))
    return isinstance(value, dict) and any(map(_has_prose, value.values()))


def _write_value(value: Value, indent: str = "") -> str:
    """Return a value as text: a list and an object as a list of Markdown."""
    if isinstance(value, list):
        return "\n".join(f"{indent}* {_write_value(item, indent + '  ').lstrip()}" for item in value)
    if isinstance(value, dict):
        breaks = {name: "\n" if isinstance(item, dict | list) else "" for name, item in value.items()}
        return "\n".join(
            f"{indent}* {name}: {breaks[name]}{_write_value(item, indent + '  ')}" for name, item in value.items()
        )
    return value.strip() if isinstance(value, str) else json.dumps(value, default=str)


def _body(value: Value) -> str | None:
    if isinstance(value, str):
        return value.strip() or None
    if not isinstance(value, list) or not value:
        return None
    items = [_section_item(item) for item in value]
    return None if None in items else "\n".join(f"* {item}" for item in items)


def _section_item(value: Value) -> str | None:
    """Return a text, or `option: why` for an object with no other member."""
    if isinstance(value, str):
        return value.strip() or None
    if not isinstance(value, dict):
        return None
    given = {name: member for name, member in value.items() if member is not None}
    texts = [given.pop(name) for names in (_OPTION, _WHY) for name in names if isinstance(given.get(name), str)]
    named = any(isinstance(value.get(name), str) for name in _OPTION)
    return ": ".join(str(text).strip() for text in texts) if named and not given else None


R = TypeVar("R", bound=Record, covariant=True)


@dataclass(frozen=True, slots=True)
class ReadRecord(Generic[R]):
    """A record, the text to cut into its chunks, and the names of the members moved to its metadata.

    `text` is a source's text; an artifact has its own. `vectors` names left-out members.
    """

    record: R
    kept: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()
    text: str | None = None


@dataclass(slots=True)
class _Members:
    """A record's members: fields by name, sections of the text by name, all others unchanged."""

    known: dict[str, Value] = field(default_factory=dict)
    sections: dict[str, Value] = field(default_factory=dict)
    others: dict[str, Value] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def _sort_members(record: Mapping[str, Value], *, strict: bool) -> _Members:
    """Return the members of a record; with `strict` a member unknown to all fields and other tools is an error."""
    found, seen = _Members(), set[str]()
    for spelling, value in record.items():
        plain = snake(spelling)
        name = plain if plain in HEADINGS or plain in own_names(Kind.DECISION) else None
        if (name or plain) in seen:
            found.wrong.append(f"{name or safe_name(plain, 'an unknown member')} is given in both spellings")
        elif (reason := misspelled_right(spelling)) is not None:
            found.wrong.append(reason)
        elif name is None and strict and plain not in _OF_OTHERS | VECTORS:
            found.wrong.append(f"{safe_name(spelling, 'an unknown member')} is not a field of a decision")
        elif value is not None:
            place = found.others if name is None else found.sections if name in HEADINGS else found.known
            place[spelling if name is None else name] = value
        seen.add(name or plain)
    return found


def _with_sections(found: _Members) -> None:
    """Move members with a section into the text, and all prose: the metadata is not searched."""
    text = found.known.get("text", "")
    if not isinstance(text, str):
        return
    if isinstance(found.sections.get("decision"), str) and "title" not in found.known:
        found.known["title"] = found.sections.pop("decision")
    parts = [text] if text else []
    for name in HEADINGS:
        if name in found.sections:
            value = found.sections.pop(name)
            if (made := section(name, value)) is None:
                found.others[name] = value
            else:
                parts.append(made)
    for name in [name for name in found.others if snake(name) not in _OF_OTHERS | VECTORS]:
        if (made := prose_section(name, found.others[name])) is not None:
            parts.append(made)
            del found.others[name]
    if len(parts) > bool(text):
        found.known["text"] = "\n\n".join(parts)


def _metadata(found: _Members) -> dict[str, JsonValue]:
    """Return the given metadata with the members without another place; note its flaws."""
    given = found.known.pop("metadata", {})
    if not isinstance(given, dict):
        found.wrong.append(_rules()["metadata"])
        return {}
    kept = {name: value for name, value in found.others.items() if name not in VECTORS}
    twice = [safe_name(name, "an unknown member") for name in kept if name in given]
    found.wrong += [f"{name} is given in metadata and outside it" for name in twice]
    found.wrong += unsound({"metadata": given, **kept}).values()
    if found.wrong:
        return {}
    try:
        return _METADATA.validate_python({**given, **kept})
    except ValidationError:
        found.wrong.append(_rules()["metadata"])
        return {}


def _make_strict(name: str, value: Value) -> Value:
    """Return the value with its lenient forms made strict; see docs/decision-files.md."""
    if name == "tags":
        return labels(value)
    if name == "affects" and isinstance(value, str):
        return [value]
    value = [_whole(item) for item in value] if isinstance(value, list) else _whole(value)
    if name in ("supersedes", "superseded_by"):
        items = value if isinstance(value, list) else [value]
        return [str(item) if isinstance(item, int) and not isinstance(item, bool) else item for item in items]
    date = iso_date(value) if name == "date" and isinstance(value, str) else None
    return value if date is None else date.isoformat()


def _whole(value: Value) -> Value:
    """Return a number with 10.0 as 10; any other value unchanged."""
    return whole(value) if isinstance(value, float) else value


@cache
def _rules() -> Mapping[str, str]:
    """Return the rule of each member."""
    hints = get_type_hints(GivenDecision, include_extras=True)
    return {
        field.name: f"{field.name} must be {of.description}"
        for field in fields(GivenDecision)
        for of in hints[field.name].__metadata__
        if isinstance(of, FieldInfo) and of.description
    }


def _check_decision(given: Mapping[str, Value], wrong: list[str]) -> GivenDecision | None:
    """Return the members as a decision; None after adding the broken rules to `wrong`."""
    broken: dict[str, str] = {}
    for name, value in given.items():
        if (refused := first_refusal(value)) is not None:
            broken[name] = f"{name}: {refused.reason}"
        elif name == "affects" and (bad := refused_part(value)) is not None:
            broken[name] = f"affects: {bad}"
        elif unsound({name: value}) or (name == "date" and not (isinstance(value, str) and iso_date(value))):
            broken[name] = _rules()[name]
    fine = {name: _make_strict(name, value) for name, value in given.items() if name not in broken}
    read: GivenDecision | None = None
    try:
        read = cast(
            "GivenDecision", validate_record(Kind.DECISION, cast("Mapping[str, JsonValue]", {"title": "-", **fine}))
        )
    except ValidationError as error:
        names = [to_snake(str(details["loc"][0])) for details in error.errors(include_url=False, include_input=False)]
        broken |= {name: _rules()[name] for name in names}
    wrong += [broken[name] for name in given if name in broken]
    return read


def read_decision(
    record: Mapping[str, Value], *, named_kind: bool = False, titled: bool = False
) -> ReadRecord[Decision]:
    """Check the members of a record. Raise `Unacceptable` with all violations.

    Members without a field go to the text or the metadata. In a record that names its kind (`named_kind`) a member
    written by no known tool is rejected instead. `titled` says that it must have a title.
    """
    found = _sort_members(record, strict=named_kind)
    found.wrong += unsound(found.sections).values()
    has_others = bool(found.others)
    _with_sections(found)
    metadata = _metadata(found)
    read = _check_decision(found.known, found.wrong)
    if titled and not {"title", "decision"} & (found.known.keys() | found.sections.keys()):
        of_another = "; a record of another kind names its kind" if has_others and not named_kind else ""
        found.wrong.append(f"title is required{of_another}")
    if found.wrong or read is None:
        raise Unacceptable(join_reasons(found.wrong))
    given = {field.name: getattr(read, field.name) for field in fields(read)}
    given |= {
        "affects": parts_of(read.affects),
        "reasons": tuple(Reason(one.type, one.text, one.strength) for one in read.reasons),
        "status": None if read.status is None else normalise_status(read.status),
        "status_text": read.status,
        "metadata": metadata,
    }
    vectors = tuple(name for name in found.others if name in VECTORS)
    return ReadRecord(Decision(**given), tuple(name for name in found.others if name not in VECTORS), vectors)
