"""A server as the decision source of a check."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cstp.client.methods import Methods
from cstp.values.decision_context import GoverningRecord
from cstp_server.checking.verdicts import Governed, StatedPatterns

_TOKENS = 32_000  # of an answer
_PAGE = 500  # decisions


@dataclass(frozen=True, slots=True)
class ServerSource:
    """A server; decisions of the repository and the project, or every project if None."""

    methods: Methods
    repository: str
    project: str | None

    def govern(self, files: Sequence[str]) -> tuple[Sequence[Governed], int]:
        found = self.methods.get_decision_context(
            files=list(files),
            repository=self.repository,
            project=self.project,
            max_tokens=_TOKENS,
            include=["files"],
        )
        listed = [self._governed(one, proposed=False) for one in found.governing]
        return [*listed, *(self._governed(one, proposed=True) for one in found.proposals)], found.omitted

    def stated(self) -> Iterator[StatedPatterns]:
        offset, total = 0, 1
        while offset < total:
            page = self.methods.list_decisions(project=self.project, current=True, limit=_PAGE, offset=offset)
            for one in page.decisions:
                patterns = [each.pattern for each in one.affects or () if each.type == "path"]
                if patterns:
                    yield StatedPatterns(one.id, one.title, patterns, self._path(one.id))
            offset, total = offset + _PAGE, page.total

    def _governed(self, one: GoverningRecord, *, proposed: bool) -> Governed:
        path = self._path(one.id)
        return Governed(one.id, one.title, one.status, one.date, one.matched, one.files or (), path, proposed)

    def _path(self, id: str) -> str | None:
        found = self.methods.get_decision(id=id, include_history=False, include_reviews=False, include_links=False)
        return found.decision.provenance.path
