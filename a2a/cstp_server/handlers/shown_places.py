"""The place of a chunk in its source, as answers have it."""

from cognition_engines.kinds.knowledge import Chunk
from cstp.passage_place import PassagePlace


def shown_place(record: object) -> PassagePlace | None:
    """Where a chunk begins; None where that is not known, and for what is no chunk."""
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
