"""Records of files from a program that reads the files elsewhere: `cstp.putRecords`."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, JsonValue

from cstp.contract import Method, Wire, WireResult
from cstp.errors import Conflict, QueryFailed
from cstp.fields import not_blank
from cstp.writes import DRY_RUN_DESCRIPTION, WriteParams

MOST_PUT: Final = 1000
_Id = Annotated[str, Field(min_length=1, max_length=525), AfterValidator(not_blank)]
_Identity = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
_Text = Annotated[str, Field(min_length=0, max_length=10_000)]  # empty where a file is in no repository
KindName = Literal[
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


class NamedRecord(Wire):
    """A record by its kind and its id."""

    kind: KindName
    id: _Id


class ReplacedDocument(Wire):
    """A document that was read again: what it was cut into before and is not `kept` goes."""

    kind: Literal["source", "artifact"]
    id: _Id
    kept: Annotated[list[NamedRecord], Field(max_length=MOST_PUT)]


class FilePlace(Wire):
    """A file by its repository and its path there."""

    repository: _Text
    path: _Text


class LookUp(Wire):
    """What the caller has to know before it puts: what is stored under ids, identities and places of files.

    With `guards`, also the levels that options of earlier runs gave.
    """

    ids: Annotated[list[NamedRecord], Field(max_length=MOST_PUT)] | None = None
    identities: Annotated[list[_Identity], Field(max_length=MOST_PUT)] | None = None
    places: Annotated[list[FilePlace], Field(max_length=MOST_PUT)] | None = None
    guards: bool = False


class PutRecordsParams(WriteParams):
    """Records that files own, as `cstp ingest --url` sends them: each a line of `cstp export`, with its `digest`.

    One that replaces a record of another file has that one's repository and path as `over`.

    All are put, or none. What is stored already as it is sent is left alone, so a call may be repeated.
    """

    records: Annotated[list[dict[str, JsonValue]], Field(max_length=MOST_PUT)] | None = None
    replaces: Annotated[list[ReplacedDocument], Field(max_length=MOST_PUT)] | None = None
    look_up: LookUp | None = None
    dry_run: bool = Field(default=False, description=DRY_RUN_DESCRIPTION)


class KnownRecordState(WireResult):
    """A stored record without its content; `origin` as lines of `cstp export` have it, with its `digest`."""

    key: int
    kind: KindName
    id: str
    project: str | None
    origin: dict[str, JsonValue]


class GuardedPlace(WireResult):
    """A level that an option gave to records of one file, whose absolute path is `source`."""

    source: str
    path: str
    scope: str | None
    level: Literal["normal", "sensitive", "highly_sensitive"]


class PutRecordsResult(WireResult):
    """What was done with each record, in order; then what was looked up before that."""

    outcomes: list[Literal["new", "changed", "unchanged"]]
    known: list[KnownRecordState]
    guarded: list[GuardedPlace]
    indexed: bool
    seq: int


PUT_RECORDS = Method(
    name="cstp.putRecords",
    summary="Put records of files that were read elsewhere, all of a call or none.",
    params=PutRecordsParams,
    result=PutRecordsResult,
    errors=(QueryFailed, Conflict),
    scope="admin",
    cost=3,
    stores=True,
)
