"""The method by which records are forgotten."""

from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator
from pydantic_core import PydanticCustomError

from cstp.contract import Method, ToolText, WireResult
from cstp.errors import Conflict, NotFound, QueryFailed
from cstp.fields import InstantOut
from cstp.writes import Name, RecordId, WriteParams, WriteResult

KINDS: Final = (
    *("decision", "source", "chunk", "cluster", "extraction", "episode"),
    *("artifact", "artifact_chunk", "turn", "event", "entity", "edge"),
)


def _kind(value: str) -> str:
    if value not in KINDS:
        raise PydanticCustomError("text", "must be one of {kinds}", {"kinds": ", ".join(KINDS)})
    return value


RecordKind = Annotated[str, AfterValidator(_kind), WithJsonSchema({"type": "string", "enum": list(KINDS)})]


Number = Annotated[int, Field(ge=0)]


MOST_ID: Final = 2**63 - 1  # of an episode, the one kind whose ids are numbers


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
    """Which record to forget."""

    id: AnyRecordId = Field(description="Of a record of any kind, as answers name it.")
    kind: RecordKind | None = Field(default=None, description="Needed where records of several kinds have the id.")
    reason: Name | None = Field(default=None, description="Why; the ledger of erasures keeps it. Quote nothing here.")
    dry_run: bool = Field(default=False, description="Check everything and forget nothing.")
    # after dry_run, which its check reads
    confirm: bool = Field(
        default=False,
        validate_default=True,
        description="Must be true, unless `dryRun` is: what is forgotten cannot be brought back.",
    )

    @field_validator("confirm")
    @classmethod
    def _confirmed(cls, value: bool, info: ValidationInfo) -> bool:
        if not value and info.data.get("dry_run") is False:
            raise PydanticCustomError("text", "must be true, unless dryRun is")
        return value


class ForgetCascade(WireResult):
    """What goes with the record, as far as the caller sees it."""

    chunks: Number
    events: Number
    entities: Number
    edges: Number
    extractions: Number
    reviews: Number
    links: Number
    revisions: Number


class ForgetRemaining(WireResult):
    """What is left of all that was to go: rows, texts and vectors; null where it could not be looked at."""

    records: Number | None
    keywords: Number | None
    vectors: Number | None


class ForgetPending(WireResult):
    """A part that could not be looked at, or that may hold bytes of the record until what the reason says."""

    part: str
    reason: str


class ForgetReceipt(WireResult):
    """What a look into every store and index of this server found, and when."""

    seq: int
    verified_at: InstantOut
    remaining: ForgetRemaining
    pending: list[ForgetPending]


class ForgetResult(WriteResult):
    """What was forgotten; with `dryRun` what would be, without a receipt."""

    deleted: bool
    kind: RecordKind
    cascade: ForgetCascade
    receipt: ForgetReceipt | None


FORGET = Method(
    name="cstp.forget",
    summary="Forget a record with all that came of it, for good.",
    params=ForgetParams,
    result=ForgetResult,
    errors=(QueryFailed, NotFound, Conflict),
    scope="write",
    other_scopes=("admin",),
    cost=3,
    tool=ToolText(
        title="Forget a record",
        description=(
            "Delete a record of any kind for good, with all that came of it; nothing brings it back. Call it only when "
            "a person asked for it: first with dry_run true, where cascade says what goes along, then with confirm "
            "true. For a decision that no longer holds, record a new one with supersedes."
        ),
        adds=False,
        repeatable=True,
    ),
)
