"""Values of `cstp.changes`, `cstp.putRecords` and `cstp.forget`, for any record kind."""

from typing import Annotated, Final, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, ValidationInfo, WithJsonSchema, field_validator
from pydantic_core import PydanticCustomError

from cstp.values.base import Names, Wire
from cstp.values.fields import WHOLE, InstantOut, each_once, not_blank, whole_number
from cstp.values.writes import DRY_RUN_DESCRIPTION, Name, RecordId, WriteParams, WriteReport, WriteResult

NOW: Final = "now"
HIGHEST_SEQ: Final = 2**53 - 1
LONGEST_WAIT: Final = 30_000  # milliseconds
_HINT: Final = f'must be an integer from 0 to {HIGHEST_SEQ}, or "now"'


def _parse_since(value: object) -> int | str:
    number = whole_number(value)
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= HIGHEST_SEQ:
        return number
    if value == NOW:
        return NOW
    raise PydanticCustomError("type", _HINT)


_SINCE_SCHEMA: Final = {
    "anyOf": [{"type": "integer", "minimum": 0, "maximum": HIGHEST_SEQ}, {"type": "string", "enum": [NOW]}]
}
Since = Annotated[int | Literal["now"], BeforeValidator(_parse_since), WithJsonSchema(_SINCE_SCHEMA)]
RecordKind: TypeAlias = Literal[
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
]
KIND_NAMES: Final[tuple[RecordKind, ...]] = get_args(RecordKind)


def _kind(value: str) -> str:
    if value not in KIND_NAMES:
        raise PydanticCustomError("type", f"must be one of {', '.join(KIND_NAMES)}")
    return value


KindName = Annotated[str, AfterValidator(_kind), WithJsonSchema({"type": "string", "enum": [*KIND_NAMES]})]


class ChangesParams(Wire):
    """Position in the changes, record kinds, maximum number, and time to wait without changes.

    `since` is 0 for everything, a `cursor` or a `seq` from an earlier answer, or `now` for changes from now on.
    """

    since: Since = Field(description='A `cursor`, or the `seq` of a change or a write; 0 for all, "now" for none yet.')
    kinds: (
        Annotated[list[KindName], Field(min_length=1, max_length=len(KIND_NAMES)), AfterValidator(each_once)] | None
    ) = Field(default=None, description="Absent: all.")
    limit: Annotated[int, Field(ge=1, le=1000), WHOLE] = 100
    wait_ms: Annotated[int, Field(ge=0, le=LONGEST_WAIT), WHOLE] = Field(
        default=0, description="How long to wait for a change, in milliseconds. In a batch nothing waits: 0."
    )


class RecordChange(Wire):
    """An added or changed record (`put`), or a record out of the caller's sight (`delete`): deleted, or moved away.

    `at` is the time, to about a millisecond; `seq` grows with time, and gaps mean nothing else.
    """

    seq: int
    op: Literal["put", "delete"]
    kind: KindName
    id: Annotated[str, Names(lambda change: change.kind)]
    at: InstantOut


class ChangesResult(Wire):
    """The last change per record after `since`, in order; `cursor` is the next call's `since`.

    `more` says whether others follow.
    """

    changes: list[RecordChange]
    cursor: int
    more: bool


MOST_PUT: Final = 1000
_Id = Annotated[str, Field(min_length=1, max_length=525), AfterValidator(not_blank)]
_Identity = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
_Text = Annotated[str, Field(min_length=0, max_length=10_000)]  # empty if a file is in no repository


class NamedRecord(Wire):
    """A record by kind and id."""

    kind: RecordKind
    id: _Id


class ReplacedDocument(Wire):
    """A document read again: former parts not in `kept` are deleted."""

    kind: Literal["source", "artifact"]
    id: _Id
    kept: Annotated[list[NamedRecord], Field(max_length=MOST_PUT)]


class FilePlace(Wire):
    """A file by repository and path."""

    repository: _Text
    path: _Text


class LookUp(Wire):
    """A request for stored records before a put, by ids, identities and file places.

    With `guards`, also for sensitivities set by options in earlier runs.
    """

    ids: Annotated[list[NamedRecord], Field(max_length=MOST_PUT)] | None = None
    identities: Annotated[list[_Identity], Field(max_length=MOST_PUT)] | None = None
    places: Annotated[list[FilePlace], Field(max_length=MOST_PUT)] | None = None
    guards: bool = False


class PutRecordsParams(WriteParams):
    """Records owned by files, as sent by `cstp ingest --url`: each a `cstp export` line, with `digest`.

    A record replacing a record of another file has the other file's repository and path as `over`.

    All are put, or none. Unchanged stored records are left alone, so a call may be repeated.
    """

    records: Annotated[list[dict[str, JsonValue]], Field(max_length=MOST_PUT)] | None = None
    replaces: Annotated[list[ReplacedDocument], Field(max_length=MOST_PUT)] | None = None
    look_up: LookUp | None = None
    dry_run: bool = Field(default=False, description=DRY_RUN_DESCRIPTION)


class KnownRecordState(Wire):
    """A stored record without content; `origin` as in `cstp export` lines, with `digest`."""

    key: int
    kind: RecordKind
    id: str
    project: str | None
    origin: dict[str, JsonValue]


class GuardedPlace(Wire):
    """A sensitivity set by an option for a file's records; `source` is the absolute file path."""

    source: str
    path: str
    scope: str | None
    level: Literal["normal", "sensitive", "highly_sensitive"]


class PutRecordsResult(WriteReport):
    """Outcome per record, in order; and the requested stored records as they were before."""

    outcomes: list[Literal["new", "changed", "unchanged"]]
    known: list[KnownRecordState]
    guarded: list[GuardedPlace]
    indexed: bool
    seq: int


Number = Annotated[int, Field(ge=0)]


MOST_ID: Final = 2**63 - 1  # of an episode, the only kind with numbers as ids


def _record_id(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_ID:
        return str(value)
    if not isinstance(value, str):
        raise PydanticCustomError("type", "must be a string, or the number of an episode")
    return value


_ID_SCHEMA: Final = {
    "anyOf": [
        {"type": "string", "minLength": 1, "maxLength": 525},
        {"type": "integer", "minimum": 0, "maximum": MOST_ID},
    ]
}
AnyRecordId = Annotated[RecordId, BeforeValidator(_record_id), WithJsonSchema(_ID_SCHEMA)]


class ForgetParams(WriteParams):
    """The id to forget."""

    id: AnyRecordId = Field(description="Of a record of any kind, as answers name it.")
    kind: KindName | None = Field(default=None, description="Needed where records of several kinds have the id.")
    reason: Name | None = Field(default=None, description="Why; the ledger of erasures keeps it. Quote nothing here.")
    dry_run: bool = Field(default=False, description="Check everything and forget nothing.")
    # after dry_run: the check reads it
    confirm: bool = Field(
        default=False,
        validate_default=True,
        description="Must be true, unless `dryRun` is: what is forgotten cannot be brought back.",
    )

    @field_validator("confirm")
    @classmethod
    def _require_confirmation(cls, value: bool, info: ValidationInfo) -> bool:
        if not value and info.data.get("dry_run") is False:
            raise PydanticCustomError("text", "must be true, unless dryRun is")
        return value


class ForgetCascade(Wire):
    """Counts of other records deleted, if visible to the caller."""

    chunks: Number
    events: Number
    entities: Number
    edges: Number
    extractions: Number
    reviews: Number
    links: Number
    revisions: Number


class ForgetRemaining(Wire):
    """Remains of deleted records: rows, texts and vectors; null if a part could not be checked."""

    records: Number | None
    keywords: Number | None
    vectors: Number | None


class ForgetPending(Wire):
    """An unchecked part, or a part possibly containing the record's bytes until the event in the reason."""

    part: str
    reason: str


class ForgetReceipt(Wire):
    """Result and time of checking every store and index of this server."""

    seq: int
    verified_at: InstantOut
    remaining: ForgetRemaining
    pending: list[ForgetPending]


class ForgetResult(WriteResult):
    """The forgotten record; with `dryRun` a preview, without a receipt."""

    deleted: bool
    kind: KindName
    cascade: ForgetCascade
    receipt: ForgetReceipt | None
