"""What is logged of background work that fails and is tried again and again."""

import logging
from dataclasses import dataclass
from time import monotonic
from typing import Final

from cognition_engines.errors import EngineError

QUIET_SECONDS: Final = 30.0  # between two lines about one outage, whatever its reason becomes
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Outage:
    """One line when it begins, one when it is over, and between them one for another reason, not too often."""

    what: str
    _reason: str | None = None
    _logged: float = 0.0

    def note(self, error: EngineError | OSError) -> None:
        """The work failed once more."""
        reason = str(error)
        if self._reason is None or (reason != self._reason and monotonic() - self._logged > QUIET_SECONDS):
            self._logged = monotonic()
            self._reason = reason
            _log.warning("%s: %s", self.what, reason)

    def over(self) -> None:
        """The work succeeded."""
        if self._reason is not None:
            self._reason = None
            _log.warning("%s: that is over", self.what)
