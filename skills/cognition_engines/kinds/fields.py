"""Record field types. Invalid values are rejected with a reason, never repaired or cut.

A record is validated from JSON (`TypeAdapter.validate_json`); the reasons made here are pydantic errors with the types
`line`, `text`, `id`, `instant`, `sensitivity` and `metadata`, and name no value.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Final, TypeAlias

import orjson
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    JsonValue,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from cognition_engines.models import SENSITIVITIES, Sensitivity
from cognition_engines.unicode_forms import fold_text

_CONTROL: Final = r"\u0000-\u001f\u007f-\u009f\u2028\u2029"
ONE_LINE: Final = rf"^[^{_CONTROL}]*[^\s{_CONTROL}][^{_CONTROL}]*$"  # and not blank
PRINTABLE: Final = rf"^[^\s{_CONTROL}\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+$"
ISO_8601: Final = (
    r"^[0-9]{4}(-[0-9]{2}-[0-9]{2}|[0-9]{4}|-W[0-9]{2}(-[1-7])?|W[0-9]{2}[1-7]?)"
    r"(.[0-9]{2}(:?[0-9]{2}(:?[0-9]{2}([.,][0-9]+)?)?)?(Z|[+-][0-9]{2}(:?[0-9]{2}(:?[0-9]{2}(\.[0-9]+)?)?)?)?)?$"
)
MAX_MEMBERS: Final = 64  # of metadata
MAX_METADATA: Final = 100_000  # characters as JSON
MAX_REF: Final = 200  # characters

_HAS_CONTROL: Final = re.compile(rf"[{_CONTROL}]")
_IS_PRINTABLE: Final = re.compile(PRINTABLE)

CONFIG: Final = ConfigDict(
    extra="forbid",
    strict=True,
    alias_generator=to_camel,
    validate_by_alias=True,
    validate_by_name=True,
    allow_inf_nan=False,
)


def sound(text: str) -> bool:
    """Return whether the text can be stored and sent: no NUL, no lone surrogate."""
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_sound(value: str) -> str:
    if not sound(value):
        raise PydanticCustomError("text", "must have no NUL and no lone surrogate")
    return value


def _check_line(value: str) -> str:
    if _HAS_CONTROL.search(value) or value.isspace() or not sound(value):
        raise PydanticCustomError("line", "must be one line, and not blank")
    return value


def _id(value: str) -> str:
    if not _IS_PRINTABLE.fullmatch(value) or not sound(value):
        raise PydanticCustomError("id", "must be printable characters without blanks")
    return value


def is_line(text: str, longest: int) -> bool:
    """Return whether a text is a single line, not blank, up to `longest` characters."""
    return 0 < len(text) <= longest and not (_HAS_CONTROL.search(text) or text.isspace()) and sound(text)


def a_line(longest: int) -> str:
    """Return the words that complete "must be ..." for `is_line`."""
    return f"one line of text, not blank, of at most {longest} characters"


def _line_schema(longest: int) -> CoreSchema:
    text = core_schema.str_schema(strict=True, min_length=1, max_length=longest)
    return core_schema.no_info_after_validator_function(_check_line, text)


@dataclass(frozen=True, slots=True)
class Line:
    """For `str`: a single line, not blank, 1 to `longest` characters."""

    longest: int

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return _line_schema(self.longest)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(schema) | {"pattern": ONE_LINE}


@dataclass(frozen=True, slots=True)
class Text:
    """For `str`: `shortest` to `longest` characters, no NUL, no lone surrogate; as JSON at most `most_bytes`."""

    longest: int
    shortest: int = 1
    most_bytes: int | None = None

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        text = core_schema.str_schema(strict=True, min_length=self.shortest, max_length=self.longest)
        return core_schema.no_info_after_validator_function(self._check_text, text)

    def _check_text(self, value: str) -> str:
        _check_sound(value)
        most = self.most_bytes
        # a character takes at most six bytes, as \u0001 does
        if most is not None and len(value) * 6 > most and len(orjson.dumps(value)) > most:
            raise PydanticCustomError(
                "text", f"must have at most {most:,} bytes as JSON in UTF-8, or no answer holds it"
            )
        return value


@dataclass(frozen=True, slots=True)
class Lines:
    """For `tuple[str, ...]`: `least` to `most` items, each a `Line(longest)`; a text is a list with a single item."""

    longest: int
    most: int
    least: int = 0

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        line = _line_schema(self.longest)
        items = core_schema.tuple_variable_schema(line, min_length=self.least or None, max_length=self.most)
        return core_schema.no_info_before_validator_function(_as_list, items)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        item = {"type": "string", "minLength": 1, "maxLength": self.longest, "pattern": ONE_LINE}
        items: JsonSchemaValue = {"type": "array", "items": item, "minItems": self.least, "maxItems": self.most}
        return {"anyOf": [items, item]} if self.least < 2 else items


def _as_list(value: object) -> object:
    # strict validation takes no list from Python
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class OrText:
    """For a model: a text on a single line, up to `longest` characters, is replaced by the result of `make`."""

    make: Callable[[str], object]
    longest: int = MAX_REF

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        # distinguished by type: a union would report the mistakes in both
        both = core_schema.tagged_union_schema(
            {"text": _line_schema(self.longest), "object": handler(source)},
            lambda value: "text" if isinstance(value, str) else "object",
        )
        return core_schema.no_info_after_validator_function(
            lambda value: self.make(value) if isinstance(value, str) else value, both
        )


def _instant(value: object) -> object:
    """Return an ISO 8601 text as an aware UTC time: a bare date is the day's start, a naive time is in UTC."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise PydanticCustomError("instant", "must be a date or time in ISO 8601") from None
    if not isinstance(value, datetime):
        raise PydanticCustomError("instant", "must be a date or time in ISO 8601")
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise PydanticCustomError("instant", "must lie in the years 1 to 9999") from None


def _sensitivity(value: object) -> object:
    if isinstance(value, Sensitivity):
        return value
    if isinstance(value, str) and value in SENSITIVITIES:
        return SENSITIVITIES[value]
    raise PydanticCustomError("sensitivity", "must be one of " + ", ".join(SENSITIVITIES))


def _metadata(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        size = len(orjson.dumps(value).decode())
    except (TypeError, UnicodeDecodeError):
        raise PydanticCustomError("metadata", "must hold whole numbers of at most 64 bits and sound texts") from None
    if len(value) > MAX_MEMBERS or size > MAX_METADATA:
        reason = f"must have at most {MAX_MEMBERS} members and {MAX_METADATA} characters as JSON"
        raise PydanticCustomError("metadata", reason)
    if not all(map(sound, _all_texts(value))):
        raise PydanticCustomError("metadata", "must have no NUL and no lone surrogate")
    return value


def _all_texts(value: JsonValue) -> list[str]:
    """Return all texts in a JSON value, including member names."""
    found: list[str] = []
    open_: list[Any] = [value]
    while open_:
        match open_.pop():
            case str() as text:
                found.append(text)
            case dict() as members:
                open_ += [*members.keys(), *members.values()]
            case list() as items:
                open_ += items
    return found


def _number_as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Id: TypeAlias = Annotated[
    str,
    Field(min_length=1, max_length=MAX_REF),
    BeforeValidator(_number_as_text, json_schema_input_type=str | int),
    AfterValidator(_id),
    Field(json_schema_extra={"minLength": 1, "maxLength": MAX_REF, "pattern": PRINTABLE}),
]


@dataclass(frozen=True, slots=True)
class Prefixed:
    """For an `Id` stored with `prefix` in front: at most `MAX_REF` characters together, as in a reference."""

    prefix: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check_prefix, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(schema) | {"pattern": f"^({self.prefix})?{PRINTABLE[1:-2]}{{1,{MAX_REF - len(self.prefix)}}}$"}

    def _check_prefix(self, value: str) -> str:
        most = MAX_REF - len(self.prefix)
        if len(value) > most and not value.startswith(self.prefix):
            raise PydanticCustomError("id", f"must have at most {most} characters, or begin with {self.prefix}")
        return value


Ref: TypeAlias = Annotated[str, BeforeValidator(_number_as_text), Line(MAX_REF)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Count: TypeAlias = Annotated[int, Field(ge=0, le=2**31 - 1)]
Instant: TypeAlias = Annotated[
    datetime,
    BeforeValidator(_instant),
    # no format: a time without a zone is no date-time
    WithJsonSchema({"type": "string", "description": "A date or time in ISO 8601.", "pattern": ISO_8601}),
]
Level: TypeAlias = Annotated[
    Sensitivity, BeforeValidator(_sensitivity), WithJsonSchema({"type": "string", "enum": list(SENSITIVITIES)})
]
Metadata: TypeAlias = Annotated[
    dict[str, JsonValue],
    AfterValidator(_metadata),
    WithJsonSchema({"type": "object", "maxProperties": MAX_MEMBERS}),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Base class for records and their parts; members are read in camelCase and snake_case, others are rejected."""

    __pydantic_config__: ClassVar[ConfigDict] = CONFIG


@dataclass(frozen=True, slots=True, kw_only=True)
class Base(Model):
    """Fields in every record. `id`, `project` and `sensitivity` are None if the source gives none."""

    id: Id | None = None
    project: Annotated[str, Line(200)] | None = None
    sensitivity: Level | None = None
    metadata: Metadata = field(default_factory=dict)


def in_order(start: int | None, end: int | None) -> None:
    """Raise PydanticCustomError if a passage ends at the start or before."""
    if start is not None and end is not None and end <= start:
        raise PydanticCustomError("positions", "endChar must be greater than startChar")


def check_part(index: int, total: int) -> None:
    """Raise if a part's index is not below the number of parts."""
    if index >= total:
        raise PydanticCustomError("position", "chunkIndex must be less than totalChunks")


def normal(ref: str) -> str:
    """Return a name as names are compared: in NFKC, case folded, blanks collapsed."""
    return " ".join(fold_text(ref).split())
