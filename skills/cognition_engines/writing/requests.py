"""The caller of a write, and records of knowledge and of files as written."""

from dataclasses import dataclass

from cognition_engines.kinds.registry import OtherRecord
from cognition_engines.models import Sensitivity, Viewer
from cognition_engines.store.values import Entry, Replaces


@dataclass(frozen=True, slots=True)
class WriteCaller:
    """The caller of a write: name, view, scopes, and transport (cstp, mcp or a2a).

    `method` and `request_id` identify the call, for the audit.
    """

    agent: str
    viewer: Viewer
    scopes: frozenset[str]
    via: str = "cstp"
    method: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class GivenRecord:
    """A knowledge record as sent: a source with the text of the chunks, a chunk, or an extraction."""

    record: OtherRecord
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreKnowledge:
    """Knowledge records to store, all or none. `project` and `sensitivity` are defaults for records without one."""

    records: tuple[GivenRecord, ...]
    project: str | None = None
    sensitivity: Sensitivity = Sensitivity.NORMAL
    idempotency_key: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PutRecords:
    """File records with final ids, as put by an ingest: all, or none.

    `replaces` are documents read again: their former parts not among these records are deleted.
    """

    records: tuple[Entry, ...]
    replaces: tuple[Replaces, ...] = ()
    idempotency_key: str | None = None
    dry_run: bool = False
