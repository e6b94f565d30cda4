"""The published conformance cases, run by their own runner."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_every_published_conformance_case_passes(common_server: Any, shared_folder: Callable[[str], Path]) -> None:
    runner = shared_folder("conformance/run.py")
    server = common_server({"limits.default": "1000000/minute"})  # it asks as fast as it is answered
    command = [sys.executable, str(runner), f"http://127.0.0.1:{server.port}", server.token()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    passed, _, total = done.stdout.split()[0].partition("/")
    assert passed == total
    assert int(total) > 50
