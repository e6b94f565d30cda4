"""Storing knowledge: sources, chunks and what was extracted, many in a call."""

from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue

from cstp.contract import Method, ToolText, WireResult
from cstp.errors import Conflict, NotFound, QueryFailed
from cstp.writes import DRY_RUN_DESCRIPTION, MOST, PROJECT_DESCRIPTION, Level, Line200, WriteParams

RECORDS_DESCRIPTION: Final = (
    "Objects, each with its `kind`. A source has `title`, and with `content` it is cut into chunks; a chunk has "
    "`content`, and `source_id` if its source is known; an extraction has `type`, such as pattern, and `content`, "
    "an object such as `name`, `problem` and `solution` of a pattern. An id is the caller's own name for a record: "
    "storing it again changes it, and others of the call may refer to it. Without one, an equal record of the agent is "
    "the same."
)


class StoreKnowledgeParams(WriteParams):
    """What was read, and what was learned of it: all is stored, or nothing."""

    records: Annotated[
        list[Annotated[dict[str, JsonValue], Field(examples=[{"kind": "chunk", "content": "…"}])]],
        Field(min_length=1, max_length=MOST, description=RECORDS_DESCRIPTION),
    ]
    project: Line200 | None = Field(default=None, description="Of records that state none. " + PROJECT_DESCRIPTION)
    sensitivity: Level = Field(default="normal", description="Of records that state none.")
    dry_run: bool = Field(default=False, description=DRY_RUN_DESCRIPTION)


class StoredRecordState(WireResult):
    """A record, by which id it is stored, what was done, and how many chunks its text was cut into."""

    kind: Literal["source", "chunk", "extraction"]
    id: str
    status: Literal["created", "unchanged", "changed"]
    num_chunks: int


class StoreKnowledgeResult(WireResult):
    """What was done with each record, in the order in which they were sent."""

    records: list[StoredRecordState]
    indexed: bool
    seq: int


STORE_KNOWLEDGE = Method(
    name="cstp.storeKnowledge",
    summary="Store sources, chunks and extractions, all of a call or none.",
    params=StoreKnowledgeParams,
    result=StoreKnowledgeResult,
    errors=(QueryFailed, NotFound, Conflict),
    scope="write",
    cost=3,
    tool=ToolText(
        title="Store knowledge",
        description=(
            "Store what was read and learned, up to 100 records in a call: sources with their text, passages (chunk), "
            "and extractions such as patterns and warnings; all, or none. search_knowledge finds them. The same id "
            "again changes a record."
        ),
        adds=False,
        repeatable=True,
    ),
)
