"""Decisions in a file, without a store."""

from dataclasses import dataclass
from io import BytesIO

from cognition_engines.ingest.detect import read
from cognition_engines.ingest.items import DocumentDraft, Item, RecordDraft, RejectedRecord, Warned
from cognition_engines.models import Decision, Problem


@dataclass(frozen=True, slots=True)
class Reading:
    """Decisions in a file with their places (ordinal, line), refusals and warnings.

    `recognised` is False for a file that holds other records only.
    """

    drafts: tuple[Decision, ...] = ()
    places: tuple[tuple[int, int], ...] = ()
    rejected: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    recognised: bool = True


def is_decision(item: Item) -> bool:
    return isinstance(item, RecordDraft) and isinstance(item.record, Decision)


def read_file(path: str, content: bytes, explicit: bool = False) -> Reading:
    """Read the decisions of a file; a file with other records only is not recognised."""
    items = read(path, BytesIO(content), explicit)
    found = [] if items is None else list(items)
    others = (isinstance(item, Warned | RecordDraft | DocumentDraft) and not is_decision(item) for item in found)
    if items is None or (found and all(others)):
        return Reading(recognised=False)
    drafts = [(item, item.record) for item in found if isinstance(item, RecordDraft)]
    return Reading(
        tuple(record for _, record in drafts if isinstance(record, Decision)),
        tuple((item.ordinal, item.line) for item, record in drafts if isinstance(record, Decision)),
        tuple(item.problem for item in found if isinstance(item, RejectedRecord)),
        tuple(item.problem for item in found if isinstance(item, Warned)),
    )
