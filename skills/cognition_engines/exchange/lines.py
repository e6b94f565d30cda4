"""Records as JSON lines, as written by `cstp export` and read by `cstp import`.

    {"kind": "cluster", "record": {...}, "origin": {"source": ..., "ordinal": 0, "ingestedAs": null}, "updatedAt": ...}

A line has the whole record except its vectors, which are computed again: id, project and sensitivity, origin and last
change time. Two stores with equal records give equal lines in the same order.
"""

import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, fields, make_dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeAlias, cast, get_type_hints

import orjson
from pydantic import Field, JsonValue, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, from_json, to_json

from cognition_engines.drafts.ids import digest, with_place
from cognition_engines.drafts.plain_values import join_reasons, unsound
from cognition_engines.errors import StatedError
from cognition_engines.escapes import one_line
from cognition_engines.kinds.affects import GivenPart, GivenParts, parts_of
from cognition_engines.kinds.fields import PRINTABLE, Instant, Level, Metadata, Model, Share, Text
from cognition_engines.kinds.registry import Record, adapter, add_prefix, kind_of, validate_record
from cognition_engines.kinds.spec import KINDS, MAX_ID, Kind, Origin
from cognition_engines.models import SENSITIVITIES, STATUSES, Decision
from cognition_engines.store.values import PART, Entry, StoredRecord
from cstp.values.decisions import Reason

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_DIGEST: Final = re.compile("[0-9a-f]{32}(?:-[0-9]{1,12})?[.][0-9a-f]{8}")
_IS_PRINTABLE: Final = re.compile(PRINTABLE)
_Label: TypeAlias = Annotated[str, Text(10_000)]
_Status: Any = Literal.__getitem__(STATUSES)


class UnreadableLine(StatedError):
    """A line is no record; the message names the member and the fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reason(Model):
    type: _Label
    text: Annotated[str, Text(1_000_000, shortest=0)] | None = None
    strength: Share | None = None


# Rules for a decision's members on a line, by type, and by name for exceptions.
_BY_TYPE: Final[Mapping[Any, Any]] = {
    str: _Label,
    str | None: _Label | None,
    float | None: Share | None,
    datetime | None: Instant | None,
    tuple[str, ...]: tuple[_Label, ...],
}
_BY_NAME: Final[Mapping[str, Any]] = {
    "title": Annotated[str, Text(100_000)],  # a call may state a decision in a single long line
    "text": Annotated[str, Text(10_000_000, shortest=0)],
    "status": _Status | None,
    "reasons": tuple[_Reason, ...],
    "affects": GivenParts,
    "sensitivity": Level,
    "metadata": Metadata,
}


def _decision_line() -> type[Any]:
    """Return the class for a stored decision; unlike in a record file, it also has the status as written.

    It has the members of `Decision` but the id, whose form `_record` checks for all kinds.
    """
    types = get_type_hints(Decision)
    members = [
        (each.name, _BY_NAME.get(each.name, _BY_TYPE.get(types[each.name], types[each.name])), copy(each))
        for each in fields(Decision)
        if each.name != "id"
    ]
    return make_dataclass("_Decision", members, bases=(Model,), frozen=True, slots=True, kw_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin(Model):
    source: _Label
    ordinal: Annotated[int, Field(ge=PART, le=2**31 - 1)]
    ingested_as: _Label | None
    repository: _Label | None = None
    path: _Label | None = None
    given: Annotated[str, Text(MAX_ID)] | None = None
    identity: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = None
    project_scope: _Label | None = None
    guarded_as: Literal["normal", "sensitive", "highly_sensitive"] | None = None
    guard_scope: _Label | None = None
    recorded_by: _Label | None = None
    via: Literal["ingest", "cstp", "mcp", "a2a"] = "ingest"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line(Model):
    kind: str
    record: dict[str, Any]
    origin: _Origin
    updated_at: Instant
    expires_at: Instant | None = None


_OF_ORIGIN: Final = tuple(member.name for member in fields(_Origin))
_LINE: Final = TypeAdapter(_Line)
_ORIGIN: Final = TypeAdapter(_Origin)
_Decision: Final = _decision_line()
_DECISION: Final = TypeAdapter[Any](_Decision)


def line_of(stored: StoredRecord) -> bytes:
    """Return a record as a line, with the line end."""
    text = to_json(_dump_record(stored.record, stored.origin, stored.updated_at, stored.expires_at)).decode()
    return f"{one_line(text)}\n".encode()  # still JSON, with nothing a terminal obeys


def object_of(entry: Entry, at: datetime) -> dict[str, Any]:
    """Return an entry as a line's object, with the digest; `at` is the time when its content changed.

    `over` is the repository and path of the stored record it may replace, if that has another place.
    """
    found = {**_dump_record(entry.record, entry.origin, at, entry.expires_at), "digest": entry.origin.digest}
    return found if entry.over is None else found | {"over": list(entry.over)}


def origin_object(origin: Origin) -> dict[str, Any]:
    """Return an origin as in lines, with the digest."""
    dumped: dict[str, Any] = _ORIGIN.dump_python(_origin_line(origin), mode="json", by_alias=True)
    return {**dumped, "digest": origin.digest}


def _origin_line(origin: Origin) -> _Origin:
    written: dict[str, Any] = {name: getattr(origin, name) or None for name in _OF_ORIGIN}
    guarded = None if origin.guarded_as is None else origin.guarded_as.name.lower()
    return _Origin(**written | {"ordinal": origin.ordinal, "guarded_as": guarded})


def origin_from(given: Mapping[str, Any]) -> Origin:
    """Return the origin in a result of `origin_object`. Raise pydantic's ValidationError for anything else."""
    others = {name: value for name, value in given.items() if name != "digest"}
    return replace(_origin(_ORIGIN.validate_json(orjson.dumps(others)), ""), digest=str(given["digest"]))


def read_object(given: Mapping[str, JsonValue]) -> Entry:
    """Return the entry in a result of `object_of`, without vectors. Raise `UnreadableLine` for anything else."""
    others = {name: value for name, value in given.items() if name not in ("digest", "over")}
    over = given.get("over")
    if over is not None and not (
        isinstance(over, list) and len(over) == 2 and all(isinstance(one, str) for one in over)
    ):
        raise UnreadableLine("over must be a repository and a path")
    stated = given.get("digest")
    if not isinstance(stated, str) or not _DIGEST.fullmatch(stated):
        raise UnreadableLine("digest must be 32 hexadecimal digits, a dot and 8 more")
    entry = read_line(to_json(others))
    place = None if over is None else (str(over[0]), str(over[1]))
    return replace(entry, origin=replace(entry.origin, digest=stated), over=place)


def _dump_record(record: Record, origin: Origin, updated_at: datetime, expires_at: datetime | None) -> dict[str, Any]:
    line = _Line(
        kind=kind_of(record).label,
        record=record_members(record),
        origin=_origin_line(origin),
        updated_at=updated_at,
        expires_at=expires_at,
    )
    found: dict[str, Any] = _LINE.dump_python(line, mode="json", by_alias=True)
    return found


def record_members(record: Record) -> dict[str, Any]:
    """Return a record's members as in lines, by their names in camelCase."""
    if isinstance(record, Decision):
        given = {name: value for name, value in _by_name(record).items() if name != "id"}
        given["affects"] = tuple(GivenPart(type=one.type, pattern=one.pattern) for one in record.affects)
        given["reasons"] = tuple(_Reason(type=one.type, text=one.text, strength=one.strength) for one in record.reasons)
        dumped: dict[str, Any] = _DECISION.dump_python(_Decision(**given), mode="json", by_alias=True)
        dumped = {"id": record.id, **dumped}
    else:
        dumped = adapter(kind_of(record)).dump_python(record, mode="json", by_alias=True)
    return {**dumped, "sensitivity": None if record.sensitivity is None else record.sensitivity.name.lower()}


def _by_name(record: Any) -> dict[str, Any]:
    return {member.name: getattr(record, member.name) for member in fields(record)}


def read_line(line: bytes) -> Entry:
    """Return a line's entry, without vectors. Raise `UnreadableLine` if there is none."""
    try:
        given = from_json(line, allow_inf_nan=False)  # also reads 1e400, so that the member is named
    except ValueError:
        raise UnreadableLine("is not JSON in UTF-8") from None
    if not isinstance(given, dict):
        raise UnreadableLine("must be an object with kind, record, origin and updatedAt")
    try:
        # through JSON, for strict fields take lists and times from nothing else
        read = _LINE.validate_json(line)
    except ValidationError as error:
        raise UnreadableLine(_join_faults(error, "")) from None
    if read.kind not in KINDS:
        raise UnreadableLine(f"kind must be one of {', '.join(KINDS)}")
    kind = KINDS[read.kind]
    if wrong := unsound(read.record):
        raise UnreadableLine(join_reasons(f"record.{reason}" for reason in wrong.values()))
    try:
        record = _record(kind, read.record)
    except ValidationError as error:
        raise UnreadableLine(_join_faults(error, "record.")) from None
    said = digest(record, read.origin.ordinal)
    return Entry(record, _origin(read.origin, said), updated_at=read.updated_at, expires_at=read.expires_at)


def _origin(read: _Origin, digest: str) -> Origin:
    given = {name: value for name in _OF_ORIGIN if (value := getattr(read, name)) is not None}
    if read.guarded_as is not None:
        given["guarded_as"] = SENSITIVITIES[read.guarded_as]
    return with_place(Origin(**{"ingested_as": None} | given, digest=digest))


def _record(kind: Kind, members: Mapping[str, Any]) -> Record:
    if kind is Kind.EPISODE:
        if members.get("id") is None:
            raise UnreadableLine("record.id is required")
        return validate_record(kind, members)
    id = members.get("id")
    if not isinstance(id, str) or len(id) > MAX_ID or not _IS_PRINTABLE.fullmatch(id):
        raise UnreadableLine(f"record.id must be 1 to {MAX_ID} printable characters without blanks")
    if add_prefix(kind, id) != id:
        raise UnreadableLine(f"record.id must begin with {add_prefix(kind, '')}")
    others = {name: value for name, value in members.items() if name != "id"}
    if kind is not Kind.DECISION:
        # a stored id may be longer than a given id, by the prefix
        return cast("Record", replace(cast("Any", validate_record(kind, others)), id=id))
    read = _DECISION.validate_json(orjson.dumps(others))
    given = _by_name(read)
    given["reasons"] = tuple(Reason(one.type, one.text, one.strength) for one in read.reasons)
    given["affects"] = parts_of(read.affects)
    return Decision(id=id, **given)


def _join_faults(error: ValidationError, before: str) -> str:
    """Join all faults, each with the place; names other than plain words are not repeated."""
    return join_reasons(_describe_error(one, before) for one in error.errors(include_url=False, include_input=False))


def _describe_error(error: ErrorDetails, before: str) -> str:
    steps = [str(step) if isinstance(step, int) or _PLAIN.fullmatch(step) else "a member" for step in error["loc"]]
    what = "is not a member of it" if error["type"] == "unexpected_keyword_argument" else error["msg"]
    return f"{before}{'.'.join(steps)}: {what}"
