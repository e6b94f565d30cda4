"""mypy, as run by a caller, accepts right and refuses wrong code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.conftest import ROOT

pytestmark = pytest.mark.long("runs mypy")
SAMPLES = Path(__file__).parent / "typing"
_ERROR = re.compile(r"^.*wrong\.py:(\d+): error: .*\[([a-z-]+)\]$", re.MULTILINE)


@pytest.fixture(scope="module")
def said() -> str:
    """Return mypy's output for both samples, with a lasting cache: reading all of pydantic and httpx takes time."""
    options = ["--strict", "--config-file=", f"--cache-dir={ROOT / '.mypy_cache' / 'samples'}"]
    samples = [str(SAMPLES / name) for name in ("right.py", "wrong.py")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *samples], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_right_code_is_accepted(said: str) -> None:
    assert [line for line in said.splitlines() if "right.py" in line] == []


def test_wrong_code_is_refused_for_exactly_its_reason(said: str) -> None:
    lines = (SAMPLES / "wrong.py").read_text(encoding="utf-8").splitlines()
    marked = [(number, line.partition("# error: ")[2]) for number, line in enumerate(lines, 1) if "# error: " in line]
    assert [(int(number), code) for number, code in _ERROR.findall(said)] == marked
    assert said.count(": error: ") == len(marked), said
