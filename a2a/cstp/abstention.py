"""An honest empty answer: nothing that is stored is near enough to the question."""

from typing import Annotated, Final, TypeAlias

from pydantic import Field

from cstp.contract import WireResult

ABSTAIN_DESCRIPTION: Final = (
    "No results rather than poor ones: where the record that is nearest by meaning is further away than for 95 of 100 "
    "questions that have an answer, there are none, `noGoodMatch` is true and `nearest` names it."
)


class NearestRecord(WireResult):
    """The record that is nearest by meaning, which is not near enough; `cosine` is -1 to 1, higher is nearer."""

    id: str
    cosine: float


NoGoodMatch: TypeAlias = Annotated[bool | None, Field(exclude_if=lambda value: value is None)]
Nearest: TypeAlias = Annotated[NearestRecord | None, Field(exclude_if=lambda value: value is None)]
