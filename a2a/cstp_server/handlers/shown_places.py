"""Where a record stands, as answers have it: the place of a chunk in its source, and the path of a file."""

from pathlib import PurePosixPath

from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.kinds.spec import Origin
from cstp.reads import PassagePlace


def shown_place(record: object) -> PassagePlace | None:
    """Return the place of a chunk; None if it is unknown or the record is not a chunk."""
    if not isinstance(record, Chunk) or record.place is None:
        return None
    place = record.place
    return PassagePlace(
        chapter=place.chapter,
        section=place.section,
        page=place.page,
        slide=place.slide,
        cell=place.cell,
        headings=list(place.headings) or None,
    )


def shown_path(origin: Origin) -> str | None:
    """Return the path of the record's file in its repository, or the name of the file; None if no file has it."""
    if origin.path and origin.path != origin.source:
        return origin.path
    # where the server has its files is not for callers
    return PurePosixPath(origin.source).name if origin.source.startswith("/") else None
