"""Records as they are sent, in the form of record files: checked, and all that is wrong with them by its path."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from pydantic import JsonValue, ValidationError
from pydantic.alias_generators import to_snake

from cognition_engines.drafts.chunking import LONGEST
from cognition_engines.drafts.plain_values import Value, named
from cognition_engines.drafts.refusal_messages import faults_of
from cognition_engines.drafts.storable import unsound
from cognition_engines.kinds.kind import KIND_NAMES, Kind
from cognition_engines.kinds.registry import validated
from cognition_engines.writing.errors import WritesRefused
from cognition_engines.writing.memory_requests import GivenRecord

KINDS: Final = (Kind.SOURCE, Kind.CHUNK, Kind.EXTRACTION)
LONGEST_TEXT: Final = 32_768  # characters of a text that is sent
MOST_ITEMS: Final = 100  # of a list
MOST_FAULTS: Final = 100
_KIND: Final = "kind"
Fault = tuple[str, str]


def read_given(sent: Sequence[Mapping[str, JsonValue]]) -> tuple[GivenRecord, ...]:
    """Return the records that objects state. Raises WritesRefused with what is wrong, by the path of each member.

    Once a hundred faults are found, later records are not looked at.
    """
    found: list[GivenRecord] = []
    faults: list[Fault] = []
    seen: set[tuple[Kind, str]] = set()
    for place, members in enumerate(sent):
        if len(faults) >= MOST_FAULTS:
            raise WritesRefused(
                [*faults[: MOST_FAULTS - 1], (f"records[{place}]", "and later ones are not checked yet")]
            )
        path = f"records[{place}]"
        kind = _kind(members)
        if kind is None:
            names = ", ".join(one.label for one in KINDS)
            faults.append((f"{path}.{_KIND}", f"must be one of {names}"))
            continue
        wrong = [*_bounds({name: value for name, value in members.items() if name != _KIND})]
        record, others = (None, []) if wrong else _read(kind, members)
        faults += [(f"{path}.{inner}" if inner else path, reason) for inner, reason in (*wrong, *others)]
        if record is not None:
            found.append(record)
            if record.record.id is not None and (kind, str(record.record.id)) in seen:
                faults.append((f"{path}.id", "is the id of an earlier record of this call"))
            seen.add((kind, str(record.record.id)))
    if faults:
        raise WritesRefused(faults)
    return tuple(found)


def _kind(members: Mapping[str, JsonValue]) -> Kind | None:
    name = members.get(_KIND)
    kind = KIND_NAMES.get(name) if isinstance(name, str) else None
    return kind if kind in KINDS else None


def _read(kind: Kind, members: Mapping[str, JsonValue]) -> tuple[GivenRecord | None, list[Fault]]:
    given = {name: value for name, value in members.items() if name != _KIND}
    twice = sorted(name for name in given if to_snake(name) != name and to_snake(name) in given)
    faults = [(name, "is given in both spellings; give it once") for name in twice]
    bad = unsound(cast(Mapping[str, Value], given))
    faults += [(_shown(name), reason) for name, reason in bad.items()]
    text = given.pop("content", None) if kind is Kind.SOURCE else None
    if text is not None and (not isinstance(text, str) or not text.strip() or len(text) > LONGEST):
        faults.append(("content", "must be text, and not blank"))
    if faults:
        return None, faults
    try:
        record = validated(kind, given)
    except ValidationError as error:
        return None, faults_of(error, kind, cast(Mapping[str, Value], given))
    return GivenRecord(record, text if isinstance(text, str) else None), []  # type: ignore[arg-type]


def _shown(name: str) -> str:
    """A name of a member as violations show it, where it can be shown."""
    return named(name, "a member").strip("'")


def _bounds(value: JsonValue, path: str = "") -> Iterator[Fault]:
    """What is longer than a call may send."""
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        yield path, f"must have at most {LONGEST_TEXT} characters"
    elif isinstance(value, list):
        if len(value) > MOST_ITEMS:
            yield path, f"must have at most {MOST_ITEMS} items"
        else:
            for place, item in enumerate(value):
                yield from _bounds(item, f"{path}[{place}]")
    elif isinstance(value, dict):
        for name, member in value.items():
            shown = _shown(name)
            yield from _bounds(member, f"{path}.{shown}" if path else shown)
