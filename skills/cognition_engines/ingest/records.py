"""The members of one record, checked, to the fields of a draft."""

from collections.abc import Mapping
from dataclasses import dataclass

from cognition_engines.ingest.schema import NAMES, RULES
from cognition_engines.ingest.values import Value, first_refusal, named, whole
from cognition_engines.models import SENSITIVITIES, Reason, Sensitivity


class Unacceptable(Exception):
    """A record breaks a rule; the message names the field and says what is allowed."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The checked members of a record; None or empty where it has none. `date` is as written."""

    id: str | None
    title: str | None
    text: str
    category: str | None
    confidence: float | None
    stakes: str | None
    status: str | None
    outcome: str | None
    date: Value
    reasons: tuple[Reason, ...]
    tags: tuple[str, ...]
    supersedes: tuple[str, ...]
    superseded_by: tuple[str, ...]
    project: str | None
    sensitivity: Sensitivity | None


def _by_name(record: Mapping[str, Value]) -> dict[str, Value]:
    given: dict[str, Value] = {}
    for spelling, value in record.items():
        name = NAMES.get(spelling)
        if name is None:
            reason = f"{named(spelling, 'an unknown member')} is not a field of a decision"
            raise Unacceptable(reason if "title" in record else f"{reason}; a record of another kind names its kind")
        if name in given:
            raise Unacceptable(f"{name} is given in both spellings")
        given[name] = value
    return {name: value for name, value in given.items() if value is not None}


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
        return Reason(str(value["type"]), _text(value.get("text")))
    return Reason(str(value))


def read_fields(record: Mapping[str, Value]) -> Fields:
    """Check the members of a record. Raises `Unacceptable` for the first that breaks its rule."""
    for spelling, value in record.items():
        refused = first_refusal(value)
        if refused is not None:
            raise Unacceptable(f"{spelling if spelling in NAMES else 'an unknown member'}: {refused.reason}")
    given = {name: _numbers(value) for name, value in _by_name(record).items()}
    for name, value in given.items():
        if name != "date" and not RULES[name].allows(value):
            raise Unacceptable(f"{name} must be {RULES[name].says}")
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
        date=given.get("date"),
        reasons=tuple(map(_reason, reasons)) if isinstance(reasons, list) else (),
        tags=_texts(given.get("tags")),
        supersedes=_texts(given.get("supersedes")),
        superseded_by=_texts(given.get("superseded_by")),
        project=_text(given.get("project")),
        sensitivity=SENSITIVITIES[sensitivity] if isinstance(sensitivity, str) else None,
    )
