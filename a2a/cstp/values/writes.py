"""Common values of write methods: text bounds, the call key, and common answer members."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, LiteralString

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, WithJsonSchema
from pydantic_core import PydanticCustomError, to_json

from cstp.values.base import Wire
from cstp.values.fields import Label, each_once, not_blank

LONGEST_TEXT: Final = 32_768  # characters
MOST: Final = 100  # items of a list
_BEYOND: Final = 2**63  # the least number of more than 64 bits, with a sign
_DEEPEST: Final = 62  # levels of a value, the maximum in an export line
_PRINTABLE: Final = re.compile(r"[!-~]{1,128}")
_PERIOD: Final = re.compile(r"[1-9][0-9]{0,3}[dwm]")

_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def storable(value: str) -> str:
    """Return the text. Raise an error for a NUL, which not every store accepts."""
    if "\0" in value:
        raise PydanticCustomError("text", "must not have a NUL")
    return value


def _one_line(value: str) -> str:
    if _CONTROL.search(value):
        raise PydanticCustomError("text", "must be one line")
    return value


def visible_text(value: str) -> str:
    """Return a text unchanged. Raise PydanticCustomError if it is blank, or cannot be stored."""
    return storable(not_blank(value))


def _visible_line(value: str) -> str:
    return _one_line(not_blank(value))


_LINE: Final = AfterValidator(_visible_line)  # the same object for both checks: an import counts each


LongText = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT), AfterValidator(visible_text)]
Name = Annotated[Label, AfterValidator(_one_line)]
# lines of records, as docs/record-files.md has them
Line100 = Annotated[str, Field(min_length=1, max_length=100), _LINE]
Line200 = Annotated[str, Field(min_length=1, max_length=200), _LINE]
Line500 = Annotated[str, Field(min_length=1, max_length=500), _LINE]
Line1024 = Annotated[str, Field(min_length=1, max_length=1024), _LINE]
Line2048 = Annotated[str, Field(min_length=1, max_length=2048), _LINE]
Line2000 = Annotated[str, Field(min_length=1, max_length=2000), _LINE]
Tags = Annotated[list[Line100], Field(max_length=64), AfterValidator(each_once)]
Names = Annotated[list[Name], Field(max_length=MOST), AfterValidator(each_once)]


def _key(value: str) -> str:
    if not _PRINTABLE.fullmatch(value):
        raise PydanticCustomError("text", "must be 1 to 128 printable ASCII characters without blanks")
    return value


def _period(value: str) -> str:
    if not _PERIOD.fullmatch(value):
        raise PydanticCustomError("text", "must be a number of days, weeks or months such as 7d, 2w or 1m")
    return value


def _account(value: JsonValue) -> JsonValue:
    """Return an object or a list unchanged. Raise PydanticCustomError if it is anything else, or cannot be stored."""
    if not isinstance(value, dict | list):
        raise PydanticCustomError("text", "must be an object or a list")
    if fault := next(_faults(value), None):
        raise PydanticCustomError("text", fault)
    if len(to_json(value)) > LONGEST_TEXT:
        raise PydanticCustomError("text", f"must have at most {LONGEST_TEXT} bytes of JSON")
    return value


def _faults(value: JsonValue) -> Iterator[LiteralString]:
    """Yield a message for each value part no export could hold."""
    waiting: list[tuple[JsonValue, int]] = [(value, 1)]
    while waiting:
        one, level = waiting.pop()
        if isinstance(one, dict | list):
            if level > _DEEPEST:
                yield f"must nest at most {_DEEPEST} levels deep"
                return
            inner = [*one.keys(), *one.values()] if isinstance(one, dict) else one
            waiting += [(each, level + 1) for each in inner]
        elif isinstance(one, str) and "\0" in one:
            yield "must not have a NUL"
        elif isinstance(one, float) and not math.isfinite(one):
            yield "must have finite numbers"
        elif isinstance(one, int) and not -_BEYOND <= one < _BEYOND:
            yield "must have whole numbers of at most 64 bits"


IdempotencyKey = Annotated[str, AfterValidator(_key), WithJsonSchema({"type": "string", "pattern": "^[!-~]{1,128}$"})]
Period = Annotated[
    str, AfterValidator(_period), WithJsonSchema({"type": "string", "pattern": "^[1-9][0-9]{0,3}[dwm]$"})
]
Account = Annotated[
    JsonValue, BeforeValidator(_account), WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "array"}]})
]
RecordId = Annotated[str, Field(min_length=1, max_length=525), AfterValidator(not_blank)]
KEY_DESCRIPTION: Final = (
    "The same key and the same parameters give the first answer again, so that a call may be repeated. Choose another "
    "one for each record."
)
PROJECT_DESCRIPTION: Final = "Default: the only project of the token, none where it has no list."
DRY_RUN_DESCRIPTION: Final = "Checks everything and writes nothing."
AGENT_DESCRIPTION: Final = "The token says who writes; a name that is given must be that of its agent."


class WriteParams(Wire):
    """Parameters of every write."""

    idempotency_key: IdempotencyKey | None = Field(default=None, description=KEY_DESCRIPTION)
    agent_id: Name | None = Field(default=None, description=AGENT_DESCRIPTION)


@dataclass(frozen=True, slots=True)
class WriteWarning:
    """A warning about a successful write."""

    code: str
    message: str


class PossibleConflict(Wire):
    """A record in force possibly contradicting the new record; the server changes neither.

    `why` is alternative for another choice about the same thing, negation if either record denies it, and number for
    another number, date or version.
    """

    id: str
    title: str
    why: Literal["alternative", "negation", "number"]


@dataclass(eq=False)
class NotIndexed:
    """A server part unable to process a written record, and the cause.

    The record is readable by id and in lists. The part tries again when the record changes, when the server starts, and
    when the operator runs `cstp reindex --record`.
    """

    id: str
    part: str
    cause: str


class FoundSecret(Wire):
    """A secret in a text of the call: member path and kind. If `masked`, the secret was not stored."""

    field: str
    kind: str
    masked: bool


# the same object for all members: an import counts each
_REPORTED: Any = Field(default=[], exclude_if=lambda found: not found)


class WriteReport(Wire):
    """Members of every write's answer, absent if there is nothing to report.

    `secrets` are found in the call's texts, `notIndexed` are parts unable to process a written record.
    """

    secrets: list[FoundSecret] = _REPORTED
    not_indexed: list[NotIndexed] = _REPORTED


class WriteResult(WriteReport):
    """Common members of write answers.

    The change is visible from `seq` on, a time: with it as `minSeq`, any server on the same store reads the written
    record, and `cstp.changes` returns later changes; 0 for a `dryRun`. `indexed` is true if this server's searches find
    the record already: false for a moment if indexes follow later, or with `notIndexed` if a part cannot process the
    record.
    """

    success: Literal[True] = True
    id: str
    indexed: bool
    seq: int
