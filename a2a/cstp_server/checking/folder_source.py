"""Records of a data folder, without indexes, as the decision source of a check."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from cognition_engines.indexes.columns.listing import Listing
from cognition_engines.models import Decision, Viewer, in_force, one_of
from cognition_engines.queries.governing import ContextRequest, GoverningDecision, read_context
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.record_reads import RecordReads
from cognition_engines.store.values import StoredRecord
from cstp_server.checking.verdicts import Governed, StatedPatterns

_PAGE = 500  # decisions


@dataclass(frozen=True, slots=True)
class FolderSource:
    """Records of a data folder visible to the viewer.

    Restricted to the repository's decisions and the project, or every project if None.
    """

    records: RecordReads
    listing: Listing
    viewer: Viewer
    repository: str
    project: str | None

    def govern(self, files: Sequence[str]) -> tuple[Sequence[Governed], int]:
        request = ContextRequest(tuple(files), self.viewer, self.repository, self.project)
        found = read_context(self.listing, self.records, request, datetime.now(UTC))
        listed = [_governed(one, proposed=False) for one in found.governing]
        return [*listed, *(_governed(one, proposed=True) for one in found.proposals)], found.unread

    def stated(self) -> Iterator[StatedPatterns]:
        conditions = (*one_of("project", self.project), *in_force("until", datetime.now(UTC)))
        offset, total = 0, 1
        while offset < total:
            page = self.listing.page(conditions, self.viewer, offset, _PAGE)
            for stored in page.stored:
                assert isinstance(stored.record, Decision)
                patterns = [each.pattern for each in stored.record.affects if each.type == "path"]
                if patterns:
                    yield StatedPatterns(str(stored.record.id), stored.record.title, patterns, _own_file(stored))
            offset, total = offset + _PAGE, page.total


def folder_source(records: RecordReads, viewer: Viewer, repository: str, project: str | None) -> FolderSource:
    """Return a source reading these records."""
    return FolderSource(records, Listing(records, DECISIONS), viewer, repository, project)


def _governed(one: GoverningDecision, *, proposed: bool) -> Governed:
    decision = one.decision
    matched = [text.partition(":")[2] for text in one.matched]
    path = _own_file(one.stored)
    return Governed(
        str(decision.id), decision.title, decision.status, decision.date, matched, one.files, path, proposed
    )


def _own_file(stored: StoredRecord) -> str | None:
    """Return the path of a decision's file from the repository root; None if an agent wrote the decision."""
    return None if stored.origin.is_written else stored.origin.path
