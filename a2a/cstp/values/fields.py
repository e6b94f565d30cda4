"""Wire field types with exact rules: integers, timestamps, text.

A violation's message describes allowed values and never repeats the sent value.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from typing import Annotated, Final, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError, PydanticKnownError

T = TypeVar("T")

_ISO: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}(?P<time>T\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)?)?", re.ASCII | re.IGNORECASE
)
ISO_HINT: Final = "must be an ISO 8601 timestamp such as 2026-01-31T09:30:00Z, or a date such as 2026-01-31"


def whole_number(value: object) -> object:
    """Return 10.0 as the integer 10, and any other value unchanged for the later strict check."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def parse_instant(value: object, *, end_of_day: bool) -> datetime:
    """Parse an ISO 8601 timestamp to aware UTC; a bare date is the day's first moment, or last with `end_of_day`."""
    shape = _ISO.fullmatch(value) if isinstance(value, str) else None
    if shape is None:
        raise PydanticCustomError("instant", ISO_HINT)
    try:
        if shape["time"]:
            moment = datetime.fromisoformat(shape.string.upper())
        else:
            moment = datetime.combine(date.fromisoformat(shape.string), time.max if end_of_day else time.min)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise PydanticCustomError("instant", ISO_HINT) from error


def _lower(value: object) -> datetime | None:
    return None if value is None else parse_instant(_as_text(value), end_of_day=False)


def _upper(value: object) -> datetime | None:
    return None if value is None else parse_instant(_as_text(value), end_of_day=True)


def _as_text(value: object) -> object:
    """Return Python's own dates and times, used only by a client in this process, as ISO 8601."""
    return value.isoformat() if isinstance(value, date) else value


def format_instant(moment: datetime) -> str:
    """Format as ISO 8601 in UTC with `Z`, with microseconds only if there are any."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def not_later(early: datetime | None, name: str, late: datetime | None, late_name: str) -> datetime | None:
    """Return `late`. Raise an error with both wire names if `early` is later."""
    if early is not None and late is not None and early > late:
        raise PydanticCustomError("order", f"{name} must not be later than {late_name}", {"also": name})
    return late


def in_order(early: str, late: str) -> object:
    """Return a model check by two member names: the time in `early` must not be later than in `late`."""

    def check(value: datetime | None, info: ValidationInfo) -> datetime | None:
        return not_later(info.data.get(early), to_camel(early), value, to_camel(late))

    return field_validator(late)(check)


def not_blank(value: str) -> str:
    if not value.strip():
        raise PydanticCustomError("blank", "must not be blank")
    return value


def relative_path(value: str) -> str:
    """Return a file path. Raise an error unless it is relative, with `/` between names."""
    names = value.split("/")
    if "" in names or "." in names or ".." in names or "\0" in value:
        raise PydanticCustomError(
            "text", "must be the path of a file from the root of its repository, with / between names and no . or .."
        )
    return value


def each_once(values: list[T]) -> list[T]:
    if len(set(values)) < len(values):
        raise PydanticCustomError("once", "must have each item once")
    return values


def not_over(most: int) -> Callable[[object], object]:
    """Return a check for at most `most` members in an object; pydantic counts members only after reading all."""

    def check(value: object) -> object:
        if isinstance(value, Mapping) and len(value) > most:
            raise PydanticKnownError(
                "too_long", {"field_type": "Dictionary", "max_length": most, "actual_length": len(value)}
            )
        return value

    return check


# types that a client accepts as a time
Instant: TypeAlias = datetime | date | str
_INSTANT_SCHEMA = {"type": "string", "format": "date-time"}
_INSTANT_IN = {"anyOf": [_INSTANT_SCHEMA, {"type": "string", "format": "date"}, {"type": "null"}]}

# after the bounds, or the JSON Schema does not state them: Annotated[int, Field(ge=1), WHOLE]
WHOLE: Final = BeforeValidator(whole_number)
LowerInstant = Annotated[datetime | None, BeforeValidator(_lower), WithJsonSchema(_INSTANT_IN)]
UpperInstant = Annotated[datetime | None, BeforeValidator(_upper), WithJsonSchema(_INSTANT_IN)]
InstantOut = Annotated[datetime, WithJsonSchema(_INSTANT_SCHEMA)]  # in UTC, which pydantic writes with `Z`
Label = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(not_blank)]
# as ingest names it, such as `github.com/acme/shop`
RepositoryName = Annotated[str, Field(min_length=1, max_length=1024), AfterValidator(not_blank)]
# "" is no topic, like null
Topic = Annotated[str, Field(max_length=256)]
FilePath = Annotated[str, Field(min_length=1, max_length=1024), AfterValidator(relative_path)]
FilePaths = Annotated[
    list[FilePath],
    Field(
        min_length=1,
        max_length=256,
        description="From the root of the repository, with `/` between names. Decisions whose patterns match at least "
        "one of them.",
    ),
]
Offset = Annotated[int, Field(ge=0, le=2**63 - 1), WHOLE]
Person = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(not_blank)]
People = Annotated[list[Person], Field(min_length=1, max_length=64)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Level: TypeAlias = Literal["normal", "sensitive", "highly_sensitive"]
