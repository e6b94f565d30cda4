"""Runs of `cstp site`, and page-like reads of the output."""

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.programs import plain_environment, run_cstp

_SCRIPT: Final = re.compile(r"cstp\.site\.add\('(\w+)', (\d+), '((?:[^'\\]|\\.)*)'\);\n", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(u202[89]|.)")


def cstp(
    folder: Path, *words: object, environment: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command in a folder, with only these settings in the environment, and without an embedding model."""
    return run_cstp(*words, cwd=folder, env=plain_environment(**(environment or {})))


def made(folder: Path, *words: object, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the summary of a successful `cstp site`."""
    done = cstp(folder, "site", *words, "--json", environment=environment)
    assert done.returncode == 0, done.stderr
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def records(site: Path, name: str) -> list[Any]:
    """Return all records of a site's list, in order."""
    paths = sorted(site.glob(f"data/{name}-*.js"), key=lambda path: int(path.stem.rpartition("-")[2]))
    return [one for number, path in enumerate(paths) for one in part(path, name, number)]


def part(path: Path, name: str, number: int) -> list[Any]:
    """Return the records of a file that hands them over under this name and number."""
    shape = _SCRIPT.fullmatch(path.read_text(encoding="utf-8"))
    assert shape is not None, path
    assert (shape[1], int(shape[2])) == (name, number)
    text = _ESCAPED.sub(lambda found: chr(int(found[1][1:], 16)) if len(found[1]) > 1 else found[1], shape[3])
    found: list[Any] = json.loads(text)
    return found


def about(site: Path) -> dict[str, Any]:
    """Return a site's description of itself."""
    (found,) = part(site / "data" / "about.js", "about", 0)
    held: dict[str, Any] = found
    return held


def everything(site: Path) -> bytes:
    """Return the names and contents of a site's files."""
    files = sorted(path for path in site.rglob("*") if path.is_file())
    return b"\n".join(part for path in files for part in (str(path.relative_to(site)).encode(), path.read_bytes()))


def write_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    return path
