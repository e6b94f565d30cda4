"""Programs run to completion by a test."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.quick_starts import ENTRY

COMMAND = (sys.executable, "-c", ENTRY)


def plain_environment(**given: str) -> dict[str, str]:
    """Return the environment with only the given CSTP settings, and without a model."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("CSTP_")}
    return {**plain, "CSTP_EMBEDDING__MODEL": "none", **given}


def run_program(*command: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run a program; `options` are passed to `subprocess.run`."""
    usual: Mapping[str, Any] = {"capture_output": True, "text": True, "timeout": 280, "check": False}
    return subprocess.run([*map(str, command)], **{**usual, **options})


def run_python(code: str, *words: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run a Python program."""
    return run_program(sys.executable, "-c", code, *words, **options)


def build_wheel(root: Path, folder: Path) -> Path:
    """Build the checkout's wheel into a folder."""
    run_program(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=root, check=True)
    return next(folder.glob("*.whl"))


def run_cstp(*words: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run a project command in a process."""
    return run_program(*COMMAND, *words, **options)
