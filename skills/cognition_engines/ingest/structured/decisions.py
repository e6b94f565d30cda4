"""The members of one decision, checked, to the fields of a draft."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from pydantic import JsonValue, TypeAdapter, ValidationError

from cognition_engines.drafts.plain_values import Value, first_refusal, labels, named, whole
from cognition_engines.drafts.storable import Unacceptable, joined, misspelled_right, unsound
from cognition_engines.ingest.dates import iso_date
from cognition_engines.ingest.structured.aliases import VECTORS, snake
from cognition_engines.ingest.structured.decision_rules import NAMES, RULES
from cognition_engines.ingest.structured.sections import HEADINGS, prose_section, section
from cognition_engines.kinds.fields import Metadata
from cognition_engines.models import SENSITIVITIES, Reason, Sensitivity

_METADATA: Final[TypeAdapter[dict[str, JsonValue]]] = TypeAdapter(Metadata)
# Who decided and where: other tools' names, kept in the metadata even of a record that names its kind.
_OF_OTHERS: Final = frozenset(
    {"agent", "author", "authors", "decided_by", "deciders", "decision_makers", "recorded_by"}
)


@dataclass(frozen=True, slots=True)
class Fields:
    """The checked members of a record; None or empty where it has none.

    `kept` names the members that went to the metadata, `vectors` those that were left out.
    """

    id: str | None
    title: str | None
    text: str
    category: str | None
    confidence: float | None
    stakes: str | None
    status: str | None
    outcome: str | None
    date: datetime | None
    reasons: tuple[Reason, ...]
    tags: tuple[str, ...]
    supersedes: tuple[str, ...]
    superseded_by: tuple[str, ...]
    project: str | None
    sensitivity: Sensitivity | None
    metadata: dict[str, JsonValue] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()


@dataclass(slots=True)
class _Members:
    """The members of a record: fields by their name, sections of the text by theirs, all others as they came."""

    known: dict[str, Value] = field(default_factory=dict)
    sections: dict[str, Value] = field(default_factory=dict)
    others: dict[str, Value] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def _sorted(record: Mapping[str, Value], *, strict: bool) -> _Members:
    """The members of a record; with `strict` one that no field or other tool knows is wrong."""
    found, seen = _Members(), set[str]()
    for spelling, value in record.items():
        plain = snake(spelling)
        name = NAMES.get(spelling, plain if plain in HEADINGS else None)
        if (name or plain) in seen:
            found.wrong.append(f"{name or named(plain, 'an unknown member')} is given in both spellings")
        elif (reason := misspelled_right(spelling)) is not None:
            found.wrong.append(reason)
        elif name is None and strict and plain not in _OF_OTHERS | VECTORS:
            found.wrong.append(f"{named(spelling, 'an unknown member')} is not a field of a decision")
        elif value is not None:
            place = found.others if name is None else found.sections if name in HEADINGS else found.known
            place[spelling if name is None else name] = value
        seen.add(name or plain)
    return found


def _with_sections(found: _Members) -> None:
    """Move what the text has a place for into it, and all prose: the metadata is not searched."""
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
    """What was given as metadata, with the members that have no place; what is wrong with it is noted."""
    given = found.known.pop("metadata", {})
    if not isinstance(given, dict):
        found.wrong.append(f"metadata must be {RULES['metadata'].says}")
        return {}
    kept = {name: value for name, value in found.others.items() if name not in VECTORS}
    twice = [named(name, "an unknown member") for name in kept if name in given]
    found.wrong += [f"{name} is given in metadata and outside it" for name in twice]
    found.wrong += unsound({"metadata": given, **kept}).values()
    if found.wrong:
        return {}
    try:
        return _METADATA.validate_python({**given, **kept})
    except ValidationError:
        found.wrong.append(f"metadata must be {RULES['metadata'].says}")
        return {}


def _numbers(value: Value) -> Value:
    """A number, or those of a list, with 10.0 as 10."""
    if isinstance(value, list):
        return [whole(item) if isinstance(item, float) else item for item in value]
    return whole(value) if isinstance(value, float) else value


def _text(value: Value) -> str | None:
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else None


def _texts(value: Value) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(text for text in map(_text, values) if text is not None)


def _reason(value: Value) -> Reason:
    if isinstance(value, dict):
        strength = value.get("strength")
        return Reason(
            str(value["type"]), _text(value.get("text")), float(strength) if isinstance(strength, int | float) else None
        )
    return Reason(str(value))


def _broken(name: str, value: Value) -> str | None:
    """Why a value is not what its field may hold; None for one that is."""
    if (refused := first_refusal(value)) is not None:
        return f"{name}: {refused.reason}"
    fits = RULES[name].allows(value) and (name != "date" or _date(value) is not None)
    return None if fits else f"{name} must be {RULES[name].says}"


def _date(value: Value) -> datetime | None:
    return iso_date(value) if isinstance(value, str) else None


def read_fields(record: Mapping[str, Value], *, named_kind: bool = False, titled: bool = False) -> Fields:
    """Check the members of a record. Raises `Unacceptable` with all that breaks its rule.

    Members that no field holds go to the text or the metadata. In a record that names its kind (`named_kind`) one that
    no other tool is known to write is refused instead. `titled` says that it must have a title.
    """
    found = _sorted(record, strict=named_kind)
    found.wrong += unsound(found.sections).values()
    has_others = bool(found.others)
    _with_sections(found)
    metadata = _metadata(found)
    given = {name: labels(value) if name == "tags" else _numbers(value) for name, value in found.known.items()}
    found.wrong += filter(None, (_broken(name, value) for name, value in given.items()))
    if titled and not {"title", "decision"} & (given.keys() | found.sections.keys()):
        of_another = "; a record of another kind names its kind" if has_others and not named_kind else ""
        found.wrong.append(f"title is required{of_another}")
    if found.wrong:
        raise Unacceptable(joined(found.wrong))
    confidence, reasons, sensitivity = given.get("confidence"), given.get("reasons"), given.get("sensitivity")
    return Fields(
        id=_text(given.get("id")),
        title=_text(given.get("title")),
        text=_text(given.get("text")) or "",
        category=_text(given.get("category")),
        confidence=float(confidence) if isinstance(confidence, int | float) else None,
        stakes=_text(given.get("stakes")),
        status=_text(given.get("status")),
        outcome=_text(given.get("outcome")),
        date=_date(given.get("date")),
        reasons=tuple(map(_reason, reasons)) if isinstance(reasons, list) else (),
        tags=_texts(given.get("tags")),
        supersedes=_texts(given.get("supersedes")),
        superseded_by=_texts(given.get("superseded_by")),
        project=_text(given.get("project")),
        sensitivity=SENSITIVITIES[sensitivity] if isinstance(sensitivity, str) else None,
        metadata=metadata,
        kept=tuple(name for name in found.others if name not in VECTORS),
        vectors=tuple(name for name in found.others if name in VECTORS),
    )
