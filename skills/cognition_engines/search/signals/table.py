"""All signals, in the order in which a search applies them."""

from typing import Final

from cognition_engines.search.signals import dates, known_items, phrases, speakers, statements, successors
from cognition_engines.search.signals.signal import Signal

SIGNALS: Final[tuple[Signal, ...]] = (
    dates.SIGNAL,
    speakers.SIGNAL,
    phrases.SIGNAL,
    statements.SIGNAL,
    successors.SIGNAL,
    known_items.SIGNAL,
)
