"""What the server counts as it goes, for `GET /metrics`. docs/operations.md says what to watch."""

import asyncio
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

CALL_BUCKETS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15)  # seconds
LAG_BUCKETS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5)  # seconds
LAG_EVERY: Final = 0.1  # seconds


class CallMetrics:
    """Calls by method and error code (0 is a result) with how long they took, and HTTP answers by status."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._calls = Counter("cstp_calls", "Calls, by method and error code.", ("method", "code"), registry=registry)
        self._seconds = Histogram(
            "cstp_call_seconds", "Seconds that a call took.", ("method",), buckets=CALL_BUCKETS, registry=registry
        )
        self._answers = Counter("cstp_http_answers", "Answers of /cstp, by status.", ("status",), registry=registry)
        # a lookup by labels costs more than the counting
        self._children: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        self._statuses: dict[int, Counter] = {}

    def count(self, method: str, code: int, seconds: float) -> None:
        """One call."""
        children = self._children.get((method, code))
        if children is None:
            children = (self._calls.labels(method, str(code)), self._seconds.labels(method))
            self._children[method, code] = children
        children[0].inc()
        children[1].observe(seconds)

    def answered(self, status: int) -> None:
        """One HTTP answer."""
        child = self._statuses.get(status)
        if child is None:
            child = self._statuses[status] = self._answers.labels(str(status))
        child.inc()


async def watch_loop(registry: CollectorRegistry) -> None:
    """Measures, until cancelled, how late the event loop runs what is due."""
    late = Histogram(
        "cstp_event_loop_lag_seconds", "How late the event loop was.", buckets=LAG_BUCKETS, registry=registry
    )
    clock = asyncio.get_running_loop().time
    while True:
        due = clock() + LAG_EVERY
        await asyncio.sleep(LAG_EVERY)
        late.observe(max(0.0, clock() - due))
