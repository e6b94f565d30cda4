"""Options that several benchmarks have, and the progress that they report."""

import argparse
import re
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SHARED: Final = ROOT.parent / "shared"  # real input beside the checkout
_SIZE: Final = re.compile(r"([0-9]+)(k|m|)")
_UNITS: Final = {"": 1, "k": 1000, "m": 1_000_000}


def sizes(text: str) -> tuple[int, ...]:
    """Return `1k,10k` as numbers. Raises ArgumentTypeError."""
    found = [_SIZE.fullmatch(part) for part in text.split(",")] if text else []
    numbers = tuple(int(match[1]) * _UNITS[match[2]] for match in found if match)
    if len(numbers) < len(found) or any(number < 1000 for number in numbers):
        raise argparse.ArgumentTypeError("must read like 1k,10k,100k, nothing below 1k")
    return numbers


def positive(text: str) -> int:
    """Return a number of at least 1. Raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("must be a number, at least 1")
    return int(text)


def existing_folder(text: str) -> Path:
    """Return the path of a folder. Raises ArgumentTypeError if there is none."""
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is no folder")
    return Path(text)


def default_texts() -> Path:
    """Return the folder of real input beside the checkout, or the project's own decisions if there is none."""
    shared = SHARED / "data"
    return shared if shared.is_dir() else ROOT / "docs" / "decisions"


def show_progress(line: str) -> None:
    """Write a line about the progress of a run."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
