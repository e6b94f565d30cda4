"""Where in its source a passage stands, as answers have it."""

from typing import Annotated, TypeAlias

from pydantic import Field

from cstp.contract import WireResult


def _is_absent(value: object) -> bool:
    return value is None


class PassagePlace(WireResult):
    """Where in its source a chunk begins; what is not known is left out.

    Pages, slides and the cells of a notebook count from 1. `headings` are those above it and its own, the outermost
    first; `section` is the last of them.
    """

    chapter: str | None = Field(None, exclude_if=_is_absent)
    section: str | None = Field(None, exclude_if=_is_absent)
    page: int | None = Field(None, exclude_if=_is_absent)
    slide: int | None = Field(None, exclude_if=_is_absent)
    cell: int | None = Field(None, exclude_if=_is_absent)
    headings: list[str] | None = Field(None, exclude_if=_is_absent)


# present where it is known
PlaceOut: TypeAlias = Annotated[PassagePlace | None, Field(exclude_if=_is_absent)]
