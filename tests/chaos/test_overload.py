"""Family 6: three times the server's capacity costs little, and the effect ends with the load."""

from collections.abc import Iterator
from itertools import count

import pytest

from tests.chaos.chaos import Chaos
from tests.chaos.clients import call_bytes
from tests.chaos.load import Outcomes, closed_loops, mean, open_loop, recovery
from tests.chaos.process import TOPICS, Served, write_records
from tests.chaos.wire import request

FAMILY = "6 connections"
CONNECTIONS = 200  # below server.max_connections
PEAK_CLIENTS = 32
GOODPUT = 0.9
REFUSED_WITHIN = 50.0  # milliseconds, the median
RECOVERED_WITHIN = 2.0  # seconds


def queries(server: Served) -> Iterator[bytes]:
    """Yield searches in the default mode with unique texts."""
    for number in count():
        text = f"which option{number} was chosen for {TOPICS[number % len(TOPICS)]} and why"
        yield request(call_bytes("cstp.queryDecisions", {"query": text}), server.token)


@pytest.mark.usefixtures("long_form")
async def test_three_times_the_load_leaves_the_goodput_refuses_quickly_and_passes(chaos: Chaos) -> None:
    server = chaos.served({"embedding.model": chaos.scale.pick("none", "minilm")})
    server.ingest(write_records(chaos.folder / "records.jsonl", chaos.scale.pick(500, 2000)))
    asked = queries(server)
    await closed_loops(server.port, asked, PEAK_CLIENTS, chaos.scale.pick(0.5, 5.0))  # warm
    alone = await closed_loops(server.port, asked, 1, chaos.scale.pick(0.5, 5.0))

    peaks, overloads, recoveries = [], [], []
    for _ in range(chaos.scale.pick(1, 8)):
        peaks.append(await closed_loops(server.port, asked, PEAK_CLIENTS, chaos.scale.pick(1.0, 6.0)))
        rate = 3 * peaks[-1].rate(200)
        overloads.append(await open_loop(server.port, asked, rate, CONNECTIONS, chaos.scale.pick(1.5, 24.0)))
        within = max(2 * alone.quantile(200, 0.99), 100.0) / 1000
        recoveries.append(overloads[-1].drained + await recovery(server.port, asked, within, 20.0))
    peaks.append(await closed_loops(server.port, asked, PEAK_CLIENTS, chaos.scale.pick(1.0, 6.0)))

    together = Outcomes(0, [one for each in overloads for one in each.all])
    assert {each.status for each in together.all} <= {200, 503}
    assert together.count(200) > 0
    assert together.count(503) > 0
    assert max(recoveries) < 40.0
    peak, goodput = mean([each.rate(200) for each in peaks]), mean([each.rate(200) for each in overloads])
    refused = (together.quantile(503, 0.5), together.quantile(503, 0.99))
    seen = (
        f"peak {peak:.0f}/s ({', '.join(f'{each.rate(200):.0f}' for each in peaks)}), goodput under overload "
        f"{goodput:.0f}/s ({goodput / peak:.0%}); {together.count(503):,} refused in {refused[0]:.1f} ms at the "
        f"median, {refused[1]:.1f} ms p99; answers p50 {together.quantile(200, 0.5):.0f} ms, p99 "
        f"{together.quantile(200, 0.99):.0f} ms; as before {max(recoveries):.2f} s at most after the last request"
    )
    unsent = sum(each.unsent for each in overloads)
    what = f"open-loop hybrid searches at three times the peak, {len(overloads)} runs between peaks"
    chaos.report(FAMILY, what, len(together.all) + unsent, seen)
    if chaos.scale.long:
        assert goodput >= GOODPUT * peak, seen
        assert refused[0] < REFUSED_WITHIN, seen
        assert max(recoveries) < RECOVERED_WITHIN, seen
