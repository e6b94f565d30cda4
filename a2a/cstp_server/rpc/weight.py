"""What the parameters of a call weigh: what their texts cost, and how long it takes to validate them."""

from collections.abc import Mapping
from dataclasses import dataclass
from string import ascii_letters, digits, whitespace
from typing import Final

from cognition_engines.embedding.base import QUERY_WINDOWS

TEXT_UNIT: Final = 1024  # characters of a text parameter; each further ones cost a unit
VALUE_BYTES: Final = 64  # validating a value takes at least as long as parsing this many bytes
_DENSE: Final = 4  # a token of the model is about four plain characters, or one of any other kind
_PLAIN: Final = (ascii_letters + digits + whitespace).encode()


@dataclass(frozen=True, slots=True)
class Weight:
    """The units that the texts cost, and the size of a body that takes as long to parse as these take to validate."""

    units: int
    size: int


def weigh(sent: object) -> Weight:
    """Return the weight of parameters as they were sent. A text counts as the values that it has if it is JSON."""
    units = size = 0
    left = [sent]
    while left:
        value = left.pop()
        size += VALUE_BYTES
        if isinstance(value, str):
            units += _units_of(value)
            size += len(value) + VALUE_BYTES * value.count(",")
        elif isinstance(value, Mapping):
            size += sum(map(len, value))
            left += value.values()
        elif isinstance(value, list):
            left += value
    return Weight(units, size)


def _units_of(text: str) -> int:
    """Return nothing for the first TEXT_UNIT characters, and a unit for each further ones.

    A text whose characters fill more windows of the model than that costs a unit for each window of a query but one.
    """
    units = max(0, len(text) - 1) // TEXT_UNIT
    if units >= QUERY_WINDOWS - 1 or _DENSE * len(text) <= TEXT_UNIT:
        return units
    encoded = text.encode("utf-8", "surrogatepass")
    plain = len(encoded) - len(encoded.translate(None, _PLAIN))
    filled = plain + _DENSE * (len(text) - plain)
    return max(units, min(QUERY_WINDOWS - 1, (filled - 1) // TEXT_UNIT))
