"""`store.threads` calls read records at a time, each with a separate connection."""

from collections.abc import Callable
from threading import Thread
from typing import Any

import psycopg

THREADS = 24


def test_threads_bound_concurrent_reads(live_server: Any, postgresql_url: str, wait_until: Callable[..., None]) -> None:
    server = live_server(
        {
            "store.url": postgresql_url,
            "store.threads": THREADS,
            "store.deadline_seconds": 60,
            "server.handler_seconds": 60,
        }
    )
    token = server.token()
    codes: list[int] = []

    def call(number: int) -> None:
        codes.append(server.call("cstp.getChunk", token, {"chunkId": f"chunk-{number}"}).code)

    threads = [Thread(target=call, args=[number]) for number in range(THREADS)]
    with psycopg.connect(postgresql_url.replace("+psycopg", ""), autocommit=True) as watching:

        def waiting() -> int:
            return watching.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            ).fetchone()[0]  # type: ignore[index]

        with psycopg.connect(postgresql_url.replace("+psycopg", "")) as held:
            held.execute("LOCK TABLE records IN ACCESS EXCLUSIVE MODE")
            for thread in threads:
                thread.start()
            wait_until(lambda: waiting() >= THREADS)
            held.rollback()
    for thread in threads:
        thread.join()
    assert codes == [-32007] * THREADS
