"""What the server counts, for `GET /metrics` in Prometheus' text format."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

BUCKETS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15)  # seconds


class CallMetrics:
    """Calls by method and error code (0 is a result), and how long they took."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._calls = Counter(
            "cstp_calls", "Calls answered, by method and error code.", ("method", "code"), registry=registry
        )
        self._seconds = Histogram(
            "cstp_call_seconds", "Seconds that calls took.", ("method",), buckets=BUCKETS, registry=registry
        )
        # a lookup by labels costs more than the counting
        self._children: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def count(self, method: str, code: int, seconds: float) -> None:
        children = self._children.get((method, code))
        if children is None:
            children = (self._calls.labels(method, str(code)), self._seconds.labels(method))
            self._children[method, code] = children
        children[0].inc()
        children[1].observe(seconds)
