"""Memory freed by a server returns to the system."""

import platform
import subprocess
import sys
from typing import Any

import pytest

# Small blocks between the freed blocks, so that no arena shrinks by itself.
PROGRAM = """
import psutil
from cognition_engines.background import Background
from cstp_server.process.malloc import return_free_memory, share_arenas
from tests.stores import wait_for

share_arenas()
process = psutil.Process()
large, small = [], []
for _ in range(3000):
    large.append(bytearray(60_000))
    small.append(bytes(600))
used = process.memory_info().rss
large.clear()
retained = process.memory_info().rss
assert retained > used - 60_000_000, "returned without help"
thread = return_free_memory(Background())
thread.start()
wait_for(lambda: process.memory_info().rss < used - 120_000_000)
thread.close(60)
assert thread.has_ended
"""


def test_a_server_runs_the_memory_returning_thread(live_server: Any, request_bytes: Any) -> None:
    with live_server().connect() as connection:
        connection.send(request_bytes(b"", [("Connection", "close")], "GET", "/metrics"))
        assert b'cstp_work_failures_total{work="memory"} 0.0' in connection.read("GET").body


@pytest.mark.long("measures the memory of a process of its own")
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc retains it")
def test_freed_memory_below_a_block_in_use_returns_to_the_system() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
