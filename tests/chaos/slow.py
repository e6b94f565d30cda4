"""Many slow clients in a separate process: `python -m tests.chaos.slow PORT TOKEN SOCKETS SECONDS RAMP`.

Clients start within RAMP seconds and reconnect after each disconnect, until SECONDS are over. Prints a JSON list of
[kind, seconds until disconnected].
"""

import asyncio
import json
import sys
from time import monotonic

from tests.chaos.clients import SLOW, Cut


async def again_and_again(port: int, token: str, kind: Cut, delay: float, until: float) -> list[tuple[str, float]]:
    """Connect as `kind` after `delay` seconds and after each disconnect; note each connection's length in seconds."""
    await asyncio.sleep(delay)
    cuts: list[tuple[str, float]] = []
    while not cuts or monotonic() < until:
        began = monotonic()
        await kind(port, token)
        cuts.append((kind.__name__, monotonic() - began))
        await asyncio.sleep(max(0.0, began + 1 - monotonic()))  # slow, even if disconnected at once
    return cuts


async def slow_clients(port: int, token: str, sockets: int, seconds: float, ramp: float) -> list[tuple[str, float]]:
    until = monotonic() + seconds
    clients = (
        again_and_again(port, token, SLOW[number % len(SLOW)], ramp * number / sockets, until)
        for number in range(sockets)
    )
    return [cut for cuts in await asyncio.gather(*clients) for cut in cuts]


if __name__ == "__main__":
    port, token, sockets, seconds, ramp = sys.argv[1:]
    cuts = asyncio.run(slow_clients(int(port), token, int(sockets), float(seconds), float(ramp)))
    sys.stdout.write(json.dumps(cuts))
