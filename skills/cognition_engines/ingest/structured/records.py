"""From the members of an object to a checked record of any kind but a decision."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from pydantic import JsonValue, ValidationError

from cognition_engines.drafts.plain_values import (
    LABELS,
    Unacceptable,
    Value,
    joined,
    labels,
    misspelled_right,
    named,
    unsound,
    whole,
)
from cognition_engines.drafts.refusal_messages import a, reasons
from cognition_engines.ingest.structured.aliases import VECTORS, DuplicateField, Members, read_members, snake
from cognition_engines.kinds.extractions import EXTRACTION_TYPES, content_lists
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.registry import OtherRecord, validated

_MARK: Final = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
# What an extraction says whose content is a mere text, by its type.
AS_TEXT: Final[Mapping[str, tuple[Mapping[str, str], str]]] = {
    "decision": ({}, "question"),
    "pattern": ({"name": "Pattern"}, "solution"),
    "warning": ({"title": "Warning"}, "description"),
}


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """A record, the text to be cut into its chunks, and the names of the members that went to its metadata.

    `text` is that of a source; an artifact has its own. `vectors` names members that were left out.
    """

    record: OtherRecord
    text: str | None = None
    kept: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()


def read_other(kind: Kind, given: Mapping[str, Value], *, named_kind: bool) -> ReadRecord:
    """Check the members of a record. Raises `Unacceptable` with all that is wrong.

    Members that are not the kind's are refused when the record names its kind, else kept in the metadata.
    """
    bad = unsound(given)
    wrong = [*bad.values(), *filter(None, map(misspelled_right, given))]
    members, twice = _members(kind, {name: value for name, value in given.items() if name not in bad})
    wrong += twice.values()
    if named_kind:
        unknown = [name for name in members.others if name not in members.storage and misspelled_right(name) is None]
        wrong += [f"{named(name, 'an unknown member')} is not a field of {a(kind)}" for name in unknown]
    known = {name: value if name == "metadata" else whole(value) for name, value in members.known.items()}
    text = known.pop("content", None) if kind is Kind.SOURCE else None
    if text is not None and not isinstance(text, str):
        wrong.append("content must be text")
    try:
        kept = () if wrong else into_metadata(known, members.others)
    except Unacceptable as error:
        wrong.append(str(error))
    try:
        record = cast("OtherRecord", validated(kind, cast("Mapping[str, JsonValue]", _tolerated(kind, known))))
    except ValidationError as error:
        found = reasons(error, kind, known, absent={*map(snake, bad), *twice})
        if kind is Kind.EXTRACTION and known.get("type") not in EXTRACTION_TYPES:
            found += _wrong_beside_type(known)
        raise Unacceptable(joined([*wrong, *found])) from None
    if wrong:
        raise Unacceptable(joined(wrong))
    left_out = tuple(name for name in members.others if name in VECTORS)
    return ReadRecord(record, text if isinstance(text, str) else None, tuple(kept), left_out)


def _members(kind: Kind, given: Mapping[str, Value]) -> tuple[Members, dict[str, str]]:
    """The members by our names, and why some are refused that are given twice, by their name.

    The first of two is kept, so that what else is wrong is found.
    """
    rest, twice = dict(given), dict[str, str]()
    while True:
        try:
            return read_members(kind, rest), twice
        except DuplicateField as error:
            twice[error.name] = str(error)
            spellings = [spelling for spelling in rest if snake(spelling) == error.name]
            if not spellings:
                twice["content"] = str(error)  # both stand in it
            del rest[spellings[-1] if spellings else "content"]


def _wrong_beside_type(known: Mapping[str, Value]) -> list[str]:
    """What else is wrong with an extraction of no known type; its content could be anything."""
    others: dict[str, Value] = {**known, "type": "warning", "content": {"title": "-", "description": "-"}}
    try:
        validated(Kind.EXTRACTION, cast("Mapping[str, JsonValue]", others))
    except ValidationError as error:
        return reasons(error, Kind.EXTRACTION, others)
    return []


def check_rights(names: Iterable[str]) -> None:
    """Raises `Unacceptable` for a name that says who may see a record in a spelling that nothing heeds."""
    for reason in filter(None, map(misspelled_right, names)):
        raise Unacceptable(reason)


def into_metadata(known: dict[str, Value], others: Mapping[str, Value]) -> Iterable[str]:
    """Puts what has no field into the metadata; the names of it. Raises `Unacceptable`."""
    kept = {name: value for name, value in others.items() if name not in VECTORS}
    metadata = known.get("metadata", {})
    if not kept or not isinstance(metadata, dict):
        return ()
    if both := sorted(kept.keys() & metadata.keys()):
        raise Unacceptable(f"{named(both[0], 'an unknown member')} is given in metadata and outside it")
    known["metadata"] = {**metadata, **kept}
    return kept


def _tolerated(kind: Kind, known: dict[str, Value]) -> dict[str, Value]:
    """The members with what is read leniently made strict; see docs/record-files.md."""
    known |= {name: labels(known[name]) for name in LABELS & known.keys()}
    if isinstance(card := known.get("knowledge_card"), dict) and "tags" in card:
        known["knowledge_card"] = {**card, "tags": labels(card["tags"])}
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
