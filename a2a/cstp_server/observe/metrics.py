"""What the server counts as it goes, for `GET /metrics`. docs/operations.md lists what to watch."""

import asyncio
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, Histogram, Metric
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

CALL_BUCKETS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15)  # seconds
LAG_BUCKETS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5)  # seconds
LAG_EVERY: Final = 0.1  # seconds


@dataclass(slots=True)
class _Times:
    """How long the calls of one method took: their number by bucket, the last for all above, and their sum."""

    numbers: list[int] = field(default_factory=lambda: [0] * (len(CALL_BUCKETS) + 1))
    seconds: float = 0.0


class CallMetrics(Collector):
    """Calls by method and error code (0 is a result) with how long they took, and HTTP answers by status.

    Only the event loop counts, so nothing is locked: prometheus_client's own counters would take three times as long.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._calls: Counter[tuple[str, int]] = Counter()
        self._times: defaultdict[str, _Times] = defaultdict(_Times)
        self._answers: Counter[int] = Counter()
        registry.register(self)

    def count(self, method: str, code: int, seconds: float) -> None:
        """Count one call."""
        self._calls[method, code] += 1
        times = self._times[method]
        times.numbers[bisect_left(CALL_BUCKETS, seconds)] += 1
        times.seconds += seconds

    def answered(self, status: int) -> None:
        """Count one HTTP answer."""
        self._answers[status] += 1

    def collect(self) -> Iterable[Metric]:
        calls = CounterMetricFamily("cstp_calls", "Calls, by method and error code.", labels=("method", "code"))
        for (method, code), number in self._calls.items():
            calls.add_metric((method, str(code)), number)
        seconds = HistogramMetricFamily("cstp_call_seconds", "Duration of calls in seconds.", labels=("method",))
        for method, times in self._times.items():
            bounds = [*map(floatToGoString, CALL_BUCKETS), "+Inf"]
            buckets = list(zip(bounds, accumulate(times.numbers), strict=True))
            seconds.add_metric((method,), buckets, times.seconds)
        about = "Answers of /cstp and /mcp, and those to connections above the maximum, by status."
        answers = CounterMetricFamily("cstp_http_answers", about, labels=("status",))
        for status, number in self._answers.items():
            answers.add_metric((str(status),), number)
        return calls, seconds, answers


async def watch_loop(registry: CollectorRegistry) -> None:
    """Measure the delay of the event loop, until cancelled."""
    late = Histogram(
        "cstp_event_loop_lag_seconds", "Delay of the event loop in seconds.", buckets=LAG_BUCKETS, registry=registry
    )
    clock = asyncio.get_running_loop().time
    while True:
        due = clock() + LAG_EVERY
        await asyncio.sleep(LAG_EVERY)
        late.observe(max(0.0, clock() - due))
