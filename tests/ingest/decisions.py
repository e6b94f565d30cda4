"""Decisions in a file, without a store."""

from io import BytesIO

from cognition_engines.ingest.detect import read
from cognition_engines.ingest.items import DocumentDraft, RecordDraft, RejectedRecord, Warned
from cognition_engines.models import Draft, Reading


def read_file(path: str, content: bytes, explicit: bool = False) -> Reading:
    """The decisions in a file and what was refused and noticed; not recognised where it holds other records only."""
    items = read(path, BytesIO(content), explicit)
    found = [] if items is None else list(items)
    if items is None or (found and all(isinstance(item, Warned | RecordDraft | DocumentDraft) for item in found)):
        return Reading(recognised=False)
    return Reading(
        tuple(item for item in found if isinstance(item, Draft)),
        tuple(item.problem for item in found if isinstance(item, RejectedRecord)),
        tuple(item.problem for item in found if isinstance(item, Warned)),
    )
