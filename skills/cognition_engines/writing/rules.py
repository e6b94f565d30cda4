"""The rules that every write obeys: who may, which project, whose record it is."""

from collections.abc import Iterable, Sequence
from typing import Final

from cognition_engines.kinds.decisions import UNDECIDED
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.reviews import DecisionLink
from cognition_engines.models import Decision, Sensitivity
from cognition_engines.store.values import StoredRecord
from cognition_engines.store.write_transaction import WriteTransaction
from cognition_engines.writing.errors import RecordNotFound, ScopeNeeded, WriteConflict, WriteRefused
from cognition_engines.writing.requests import WriteCaller

AMEND_OTHERS: Final = "admin"
REVIEW: Final = "review"
RATIFY: Final = "ratify"


def project_for(writer: WriteCaller, asked: str | None) -> str | None:
    """The project of a new record: the one asked for, or the only one that the writer has."""
    allowed = writer.viewer.projects
    if allowed is None:
        return asked
    if asked is None:
        if len(allowed) != 1:
            raise WriteRefused("project", "is required: this token has several projects")
        return next(iter(allowed))
    if asked not in allowed:
        raise WriteRefused("project", "must be one of this token's projects")
    return asked


def check_sensitivity(writer: WriteCaller, asked: Sensitivity) -> None:
    """Raises WriteRefused for a level above the writer's clearance: it would not see its own record."""
    if asked > writer.viewer.clearance:
        raise WriteRefused("sensitivity", "must be at most the clearance of this token")


def decision_of(transaction: WriteTransaction, writer: WriteCaller, id: str) -> StoredRecord:
    """The decision that the writer means. Raises RecordNotFound where it sees none."""
    found = transaction.find(Kind.DECISION, id, writer.viewer)
    if found is None:
        raise RecordNotFound(id)
    return found


def check_owner(stored: StoredRecord, writer: WriteCaller) -> None:
    """Raises where the content is a file's, or another agent's and the writer may not amend it."""
    if not stored.origin.written:
        path = stored.origin.path or stored.origin.source.rpartition("/")[2]
        raise WriteConflict(str(stored.record.id), "fileOwned", "a record that an agent wrote", f"the file {path}")
    if stored.origin.recorded_by != writer.agent and AMEND_OTHERS not in writer.scopes:
        raise ScopeNeeded(AMEND_OTHERS)


def check_links(targets: Iterable[StoredRecord], writer: WriteCaller) -> None:
    """Raise ScopeNeeded for a link to a decision of a file or another agent, unless the writer may review."""
    if REVIEW not in writer.scopes and any(one.origin.recorded_by != writer.agent for one in targets):
        raise ScopeNeeded(REVIEW)


def check_validity(decision: Decision, changed: Sequence[str], writer: WriteCaller) -> None:
    """Raise ScopeNeeded for other times of a decision that binds others, unless the writer may ratify."""
    moved = "valid_from" in changed or "valid_to" in changed
    if moved and decision.status not in UNDECIDED and RATIFY not in writer.scopes:
        raise ScopeNeeded(RATIFY)


def check_link_owner(link: DecisionLink, writer: WriteCaller) -> None:
    """Raise ScopeNeeded for the end of another agent's link, unless the writer may amend what others wrote."""
    if link.agent != writer.agent and AMEND_OTHERS not in writer.scopes:
        raise ScopeNeeded(AMEND_OTHERS)
