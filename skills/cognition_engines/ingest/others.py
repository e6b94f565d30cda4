"""From the members of an object to a checked record of any kind but a decision."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from pydantic import JsonValue, ValidationError

from cognition_engines.ingest.items import OtherRecord
from cognition_engines.ingest.names import VECTORS, Members, Twice, content_lists, read_members
from cognition_engines.ingest.records import Unacceptable
from cognition_engines.ingest.refusals import a, worded
from cognition_engines.ingest.values import Refused, Value, named, whole
from cognition_engines.kinds.fields import sound
from cognition_engines.kinds.kind import Kind, validated

RIGHTS: Final = frozenset({"project", "sensitivity"})
_DEEPEST: Final = 64
_LARGEST: Final = 2**63
_MARK: Final = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
# What an extraction says whose content is a mere text, by its type.
AS_TEXT: Final[Mapping[str, tuple[Mapping[str, str], str]]] = {
    "decision": ({}, "question"),
    "pattern": ({"name": "Pattern"}, "solution"),
    "warning": ({"title": "Warning"}, "description"),
}


@dataclass(frozen=True, slots=True)
class Read:
    """A record, the text to be cut into its chunks, and the names of the members that went to its metadata.

    `text` is that of a source; an artifact has its own. `vectors` names members that were left out.
    """

    record: OtherRecord
    text: str | None = None
    kept: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()


def read_other(kind: Kind, given: Mapping[str, Value], *, named_kind: bool) -> Read:
    """Check the members of a record. Raises `Unacceptable` for the first thing that is wrong.

    Members that are not the kind's are refused when the record names its kind, else kept in the metadata.
    """
    if (reason := unsound(given)) is not None:
        raise Unacceptable(reason)
    check_rights(given)
    try:
        members = read_members(kind, given)
    except Twice as error:
        raise Unacceptable(str(error)) from None
    if named_kind:
        for name in members.others.keys() - members.storage:
            raise Unacceptable(f"{named(name, 'an unknown member')} is not a field of {a(kind)}")
    known = {name: value if name == "metadata" else whole(value) for name, value in members.known.items()}
    text = known.pop("content", None) if kind is Kind.SOURCE else None
    if text is not None and not isinstance(text, str):
        raise Unacceptable("content must be text")
    kept = _into_metadata(known, members)
    record = _validated(kind, _tolerated(kind, known))
    return Read(record, text, tuple(kept), tuple(name for name in members.others if name in VECTORS))


def check_rights(names: Iterable[str]) -> None:
    """Raises `Unacceptable` for a name that says who may see a record in a spelling that nothing heeds."""
    for name in names:
        if name not in RIGHTS and (right := name.casefold()) in RIGHTS:
            raise Unacceptable(f"{name} must be written {right}")


def _validated(kind: Kind, known: Mapping[str, Value]) -> OtherRecord:
    try:
        return cast("OtherRecord", validated(kind, cast("Mapping[str, JsonValue]", known)))
    except ValidationError as error:
        raise Unacceptable(worded(error, kind, known)) from None


def _into_metadata(known: dict[str, Value], members: Members) -> Iterable[str]:
    """Puts what has no place of its own into the metadata; the names of it."""
    kept = {name: value for name, value in members.others.items() if name not in VECTORS}
    metadata = known.get("metadata", {})
    if not kept or not isinstance(metadata, dict):
        return ()
    if both := sorted(kept.keys() & metadata.keys()):
        raise Unacceptable(f"{named(both[0], 'an unknown member')} is given in metadata and beside it")
    known["metadata"] = {**metadata, **kept}
    return kept


def unsound(given: Mapping[str, Value]) -> str | None:
    """Why the members cannot be stored as they are, by the name of the first that cannot; None when they can."""
    for name, value in given.items():
        if (reason := _unsound_value(value)) is not None:
            return f"{named(name, 'a member')}: {reason}".replace("'", "")
    return None


def _unsound_value(value: Value) -> str | None:
    waiting: list[tuple[Value, int]] = [(value, 1)]
    while waiting:
        current, depth = waiting.pop()
        if isinstance(current, Refused):
            return current.reason
        if depth > _DEEPEST:
            return f"nested too deeply: at most {_DEEPEST} levels are read"
        if isinstance(current, float) and not math.isfinite(current):
            return "the number is too large"
        if isinstance(current, int) and not -_LARGEST <= current < _LARGEST:
            return "a whole number must have at most 64 bits"
        if isinstance(current, str) and not sound(current):
            return "there must be no NUL and no lone surrogate"
        inner: Iterable[Value] = ()
        if isinstance(current, list):
            inner = current
        elif isinstance(current, dict):
            inner = [*current.keys(), *current.values()]
        waiting += [(each, depth + 1) for each in inner]
    return None


def _tolerated(kind: Kind, known: dict[str, Value]) -> dict[str, Value]:
    """The members with what is read leniently made strict; see docs/record-files.md."""
    if kind is Kind.EXTRACTION:
        return known | {"content": _content(known.get("type"), known.get("content"))}
    if kind is Kind.ARTIFACT and isinstance(participants := known.get("participants"), str):
        known["participants"] = [name.strip() for name in participants.split(",") if name.strip()]
    if kind is Kind.EVENT:
        if isinstance(known.get("actors"), str | dict):
            known["actors"] = [known["actors"]]
        evidence = known.get("evidence")
        given = evidence if isinstance(evidence, list) else [] if evidence is None else [evidence]
        known["evidence"] = [{"quote": quote} if isinstance(quote, str) else quote for quote in given]
    return known


def _content(type: Value, content: Value) -> Value:
    if isinstance(content, str) and isinstance(type, str) and type in AS_TEXT:
        others, name = AS_TEXT[type]
        return {**others, name: content}
    if not isinstance(content, dict) or not isinstance(type, str):
        return content
    lists = content_lists(type)
    return {name: _items(value) if name in lists else value for name, value in content.items()}


def _items(value: Value) -> Value:
    """A text where a list is asked: one item, or one for each of its lines, without the marks of a list."""
    if not isinstance(value, str):
        return value
    if "\n" not in value:
        return [value]
    return [_MARK.sub("", line).strip() for line in value.splitlines() if line.strip()]
