"""What all methods that read records have in common."""

from typing import Annotated, Final

from pydantic import Field

from cstp.contract import Wire
from cstp.fields import WHOLE

MIN_SEQ_DESCRIPTION: Final = (
    "The `seq` of a write that the answer has to show. The call waits for it at most two seconds, then it fails with "
    "the component `indexes`; a number that the store has not reached is refused at once."
)
Seq = Annotated[int, Field(ge=0, le=2**63 - 1), WHOLE]


class ReadParams(Wire):
    """What every read takes."""

    min_seq: Seq | None = Field(default=None, description=MIN_SEQ_DESCRIPTION)
