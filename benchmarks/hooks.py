"""The latency of `cstp hook`, from the start of its process to its end, at 10,000 decisions."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from benchmarks.serving import Caller, clean_environment, run_cstp, served
from cstp_server.settings import Settings

DECISIONS: Final = 10_000
GOVERNING: Final = 20  # one decision in twenty has a pattern
ROUNDS: Final = 100
BOUND: Final = 150  # ms
_PROGRAM: Final = (sys.executable, "-c", "from cstp_server.cli.entry import main; main()")
HOOKS_READING: Final = f"""Reading the tables:

- A row is {ROUNDS} processes, one after another, in milliseconds from the start of the process to its end. *Python
  alone* is `python -c pass` in the same rounds: no hook can take less.
- The server has {DECISIONS:,} decisions, of which {DECISIONS // GOVERNING} have a pattern. Each edit is of another
  file, which two decisions govern. *Over the folder* is the default of `cstp setup`, the socket of the process that
  holds the data folder; *over HTTP* is with `--url`.
- Each prompt is another one, and concerns several decisions.
- The bound is {BOUND} ms for the median of an edit, and of a prompt.
"""


@dataclass(frozen=True, slots=True)
class HookRow:
    """The milliseconds of the processes of one kind of hook, sorted."""

    name: str
    times: Sequence[float]


def measure_hooks() -> Sequence[HookRow]:
    """Fill a folder, serve it, and run the hooks in turns."""
    with TemporaryDirectory(prefix="cstp-benchmark-") as name:
        folder = Path(name)
        settings = Settings(data_dir=folder / "data")
        (folder / "decisions.jsonl").write_text("".join(_lines()))
        words = ["ingest", str(folder / "decisions.jsonl"), "--data-dir", str(settings.data_dir)]
        run_cstp(words, clean_environment({}))
        (folder / "repository/.git").mkdir(parents=True)
        with served(settings) as caller:
            return _measure(folder, settings, caller)


def render_hooks(rows: Sequence[HookRow]) -> Sequence[str]:
    """Return the parts of the page."""
    lines = ["| hook | median, ms | 95th percentile | slowest |", "| --- | ---: | ---: | ---: |"]
    for row in rows:
        percentile = row.times[int(len(row.times) * 0.95)]
        lines.append(f"| {row.name} | {statistics.median(row.times):.0f} | {percentile:.0f} | {row.times[-1]:.0f} |")
    return [HOOKS_READING, "\n".join(lines) + "\n"]


def _lines() -> Iterator[str]:
    for number in range(DECISIONS):
        decision: dict[str, object] = {
            "kind": "decision",
            "title": f"Choose way {number} for part {number % 997}",
            "status": "accepted",
            "date": f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}",
            "category": "parts",
            "context": f"Part {number % 997} had two ways, and the other one was slower.",
        }
        if number % GOVERNING == 0:
            place = number // GOVERNING
            decision["affects"] = [{"type": "path", "pattern": f"src/part{place // 2}/**"}]
        yield json.dumps(decision) + "\n"


def _measure(folder: Path, settings: Settings, caller: Caller) -> Sequence[HookRow]:
    variables = clean_environment({"XDG_CACHE_HOME": str(folder / "caches"), "CSTP_TOKEN": caller.token})
    by_folder = ("--data-dir", str(settings.data_dir))
    by_http = ("--url", f"http://127.0.0.1:{caller.port}")
    rows: dict[str, list[float]] = {}
    for number in range(ROUNDS):
        edit = _input(folder, "PreToolUse", tool_input={"file_path": f"src/part{number}/a.py"})
        other = _input(folder, "PreToolUse", session_id="other", tool_input={"file_path": f"src/part{number}/a.py"})
        start = _input(folder, "SessionStart", source="startup")
        prompt = _input(folder, "UserPromptSubmit", prompt=f"use the slower of the two ways of part {number}")
        runs: Sequence[tuple[str, Sequence[str], str]] = (
            ("Python alone", (sys.executable, "-c", "pass"), ""),
            ("before an edit, over the folder", (*_PROGRAM, "hook", "before-edit", *by_folder), edit),
            ("before an edit, over HTTP", (*_PROGRAM, "hook", "before-edit", *by_http), other),
            ("before an edit of a file that was explained", (*_PROGRAM, "hook", "before-edit", *by_folder), edit),
            ("at the start of a session, over the folder", (*_PROGRAM, "hook", "session-start", *by_folder), start),
            ("at a prompt, over the folder", (*_PROGRAM, "hook", "at-prompt", *by_folder), prompt),
            ("before a compaction", (*_PROGRAM, "hook", "before-compact", *by_folder), start),
        )
        for name, command, given in runs:
            rows.setdefault(name, []).append(_milliseconds(command, given, variables))
    return [HookRow(name, sorted(times)) for name, times in rows.items()]


def _input(folder: Path, event: str, session_id: str = "measured", **members: object) -> str:
    given = {"session_id": session_id, "cwd": str(folder / "repository"), "hook_event_name": event, **members}
    return json.dumps(given)


def _milliseconds(command: Sequence[str], given: str, variables: Mapping[str, str]) -> float:
    """Return the time of a process. Raise CalledProcessError, RuntimeError if it writes to standard error."""
    began = perf_counter()
    done = subprocess.run(command, input=given.encode(), capture_output=True, env=variables, cwd=os.sep, check=True)
    took = (perf_counter() - began) * 1000
    if done.stderr:
        raise RuntimeError(done.stderr.decode())
    return took
