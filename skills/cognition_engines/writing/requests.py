"""The caller of a write, and records of knowledge and of files as they are written."""

from dataclasses import dataclass

from cognition_engines.kinds.registry import OtherRecord
from cognition_engines.models import Sensitivity, Viewer
from cognition_engines.store.values import Entry, Replaces


@dataclass(frozen=True, slots=True)
class WriteCaller:
    """The caller of a write: its name, its view, its scopes, and its transport (cstp, mcp or a2a).

    `method` and `request_id` are those of the call, for the audit.
    """

    agent: str
    viewer: Viewer
    scopes: frozenset[str]
    via: str = "cstp"
    method: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class GivenRecord:
    """A record of knowledge as sent: a source with the text of its chunks, a chunk, or an extraction."""

    record: OtherRecord
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreKnowledge:
    """Records of knowledge to store, all or none. `project` and `sensitivity` are defaults for records without one."""

    records: tuple[GivenRecord, ...]
    project: str | None = None
    sensitivity: Sensitivity = Sensitivity.NORMAL
    idempotency_key: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PutRecords:
    """Records of files, with final ids, as an ingest puts them: all of them, or none.

    `replaces` are documents that were read again: their former parts that are not kept are deleted.
    """

    records: tuple[Entry, ...]
    replaces: tuple[Replaces, ...] = ()
    idempotency_key: str | None = None
    dry_run: bool = False
