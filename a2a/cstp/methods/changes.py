"""Following what changes: `cstp.changes`."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from cstp.contract import Method, ToolText, Wire, WireResult
from cstp.errors import Conflict, Overloaded, QueryFailed
from cstp.fields import WHOLE, InstantOut, each_once, whole_number
from cstp.naming import Names

NOW: Final = "now"
HIGHEST_SEQ: Final = 2**53 - 1
LONGEST_WAIT: Final = 30_000  # milliseconds
_HINT: Final = f'must be an integer from 0 to {HIGHEST_SEQ}, or "now"'


def _since(value: object) -> int | str:
    number = whole_number(value)
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= HIGHEST_SEQ:
        return number
    if value == NOW:
        return NOW
    raise PydanticCustomError("type", _HINT)


_SINCE_SCHEMA: Final = {
    "anyOf": [{"type": "integer", "minimum": 0, "maximum": HIGHEST_SEQ}, {"type": "string", "enum": [NOW]}]
}
Since = Annotated[int | Literal["now"], BeforeValidator(_since), WithJsonSchema(_SINCE_SCHEMA)]
KIND_NAMES: Final = (
    "decision",
    "source",
    "chunk",
    "cluster",
    "extraction",
    "episode",
    "artifact",
    "artifact_chunk",
    "turn",
    "event",
    "entity",
    "edge",
)


def _kind(value: str) -> str:
    if value not in KIND_NAMES:
        raise PydanticCustomError("type", f"must be one of {', '.join(KIND_NAMES)}")
    return value


KindName = Annotated[str, AfterValidator(_kind), WithJsonSchema({"type": "string", "enum": [*KIND_NAMES]})]


class ChangesParams(Wire):
    """After which change, of which kinds, how many, and how long to wait where there is none.

    `since` is 0 for everything, a `cursor` or a `seq` that an answer had, or `now` for what changes from now on.
    """

    since: Since = Field(description='A `cursor`, or the `seq` of a change or a write; 0 for all, "now" for none yet.')
    kinds: (
        Annotated[list[KindName], Field(min_length=1, max_length=len(KIND_NAMES)), AfterValidator(each_once)] | None
    ) = Field(default=None, description="Absent: all.")
    limit: Annotated[int, Field(ge=1, le=1000), WHOLE] = 100
    wait_ms: Annotated[int, Field(ge=0, le=LONGEST_WAIT), WHOLE] = Field(
        default=0, description="How long to wait for a change, in milliseconds. In a batch nothing waits: 0."
    )


class RecordChange(WireResult):
    """A record appeared or changed (`put`), or it is out of the caller's sight (`delete`): deleted, or moved away.

    `at` is when, to about a millisecond; `seq` grows with time, and its gaps mean nothing else.
    """

    seq: int
    op: Literal["put", "delete"]
    kind: KindName
    id: Annotated[str, Names(lambda change: change.kind)]
    at: InstantOut


class ChangesResult(WireResult):
    """The last change of each record after `since`, in order; `cursor` is the `since` of the next call.

    `more` says that there are further ones by now.
    """

    changes: list[RecordChange]
    cursor: int
    more: bool


CHANGES = Method(
    name="cstp.changes",
    summary="Follow what changes among the records that the caller sees.",
    params=ChangesParams,
    result=ChangesResult,
    errors=(QueryFailed, Conflict, Overloaded),
    tool=ToolText(
        title="Follow what changes",
        description=(
            "What changed since a cursor, by kind and id, oldest first: put is new or changed, delete is gone or "
            'hidden. Begin with since "now", or 0 for everything, and go on with the cursor of the last answer; '
            "wait_ms waits for a change. Use it to learn what others recorded meanwhile; the other tools read the "
            "records."
        ),
    ),
)
