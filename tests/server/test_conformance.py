"""The published conformance cases, by their own runner."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RUNNER = Path(__file__).parents[3] / "shared" / "conformance" / "run.py"


@pytest.mark.skipif(not RUNNER.is_file(), reason="the conformance cases are not here")
def test_every_published_conformance_case_passes(common_server: Any) -> None:
    server = common_server()
    command = [sys.executable, str(RUNNER), f"http://127.0.0.1:{server.port}", server.token()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    passed, _, total = done.stdout.split()[0].partition("/")
    assert passed == total
    assert int(total) > 50
