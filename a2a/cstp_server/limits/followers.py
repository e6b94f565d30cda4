"""Places of the calls and streams that wait for changes, apart from those of requests in flight."""

from collections import Counter
from datetime import UTC, datetime
from time import monotonic
from typing import Final

from cognition_engines.queries.turns import half
from cstp_server.limits.gate import Gate
from cstp_server.tokens import Token, TokenBook


class FollowerPlaces:
    """How many wait for changes at a time, at most half of them for one agent. None waits while the gate drains."""

    def __init__(self, places: int, gate: Gate, tokens: TokenBook) -> None:
        self._places: Final = places
        self._gate: Final = gate
        self._tokens: Final = tokens
        self._held: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        return self._held.total()

    def enter(self, agent: str) -> bool:
        """Take a place and return True, or return False if there is none. Each True needs a `leave`."""
        if self._gate.draining or self.taken >= self._places or self._held[agent] >= half(self._places):
            return False
        self._held[agent] += 1
        return True

    def leave(self, agent: str) -> None:
        self._held[agent] -= 1
        if not self._held[agent]:
            del self._held[agent]

    def ended(self, token: Token) -> bool:
        """Return whether one that waits is to stop: the server ends, or the token counts no longer as it did."""
        self._tokens.refresh(monotonic())
        return self._gate.draining or not self._tokens.counts(token, datetime.now(UTC))
