"""`python -m benchmarks.profile_call CALL`: where a call's time goes, in tables, and as stacks for a flame graph.

py-spy samples the server, all its threads, while one connection asks the same again and again.
"""

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Final

from benchmarks.call_costs import RunningVersion, current_version, requests_of, running_version
from benchmarks.options import ROOT, SHARED, show_progress
from benchmarks.serving import result_of
from benchmarks.texts import read_queries, read_texts

_BUILD: Final = ROOT / "build" / "profile"
_RATE: Final = 500  # samples a second
_KNOWN: Final = 20  # texts that are asked in turn
_ROWS: Final = 30
_ROOMS: Final = ("cstp/", "cstp_server/", "cognition_engines/")
_CALLS: Final = tuple(requests_of(()))


def main() -> int:
    options = _parser().parse_args()
    _BUILD.mkdir(parents=True, exist_ok=True)
    texts = read_texts(options.texts, 2000)
    asked = requests_of(read_queries(texts, _KNOWN))[options.call]
    show_progress("ingesting the records, which takes minutes the first time")
    with running_version(current_version(), options.texts, _BUILD / "data") as running:
        show_progress(f"sampling for {options.seconds} s")
        stacks, calls = _sampled(running, asked, options.call, options.seconds)
    table = render_samples(stacks, calls, options.call)
    (_BUILD / f"{options.call}.md").write_text(table, encoding="utf-8")
    sys.stdout.write(table)
    show_progress(f"wrote {_BUILD / options.call}.md, and .txt for https://www.speedscope.app")
    return 0


def render_samples(stacks: Mapping[str, int], calls: int, name: str) -> str:
    """Return tables in Markdown: samples by thread, and by the file and the function of this project at work.

    What a library does counts for the code that called it. `stacks` are py-spy's: frames with `;` between them, the
    outermost first, each `function (file:line)` after the thread's, and how often each was seen.
    """
    threads: Counter[str] = Counter()
    files: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    for stack, count in stacks.items():
        frames = stack.split(";")
        thread = frames[0].partition(": ")[2].strip('"') or frames[0]
        function, _, place = _own_frame(frames).partition(" (")
        file = place.partition(":")[0]
        threads[thread] += count
        files[file or f"libraries in {thread}"] += count
        functions[f"{file} {function}" if file else f"libraries in {thread}"] += count
    total = max(1, sum(stacks.values()))
    lines = [f"# {name}", "", f"{calls} calls, {total} samples of threads at work", ""]
    for title, counted in (("thread", threads), ("file", files), ("function", functions)):
        rows = [f"| {count / total:.1%} | {key} |" for key, count in counted.most_common(_ROWS)]
        lines += [f"| share | {title} |", "| ---: | --- |", *rows, ""]
    return "\n".join(lines)


def _own_frame(frames: Sequence[str]) -> str:
    """Return the innermost frame of this project; empty if there is none."""
    return next((frame for frame in reversed(frames) if any(f"({room}" in frame for room in _ROOMS)), "")


def _sampled(
    running: RunningVersion, asked: Sequence[tuple[str, Mapping[str, object]]], name: str, seconds: int
) -> tuple[dict[str, int], int]:
    """Return py-spy's stacks, and the number of calls that were answered meanwhile."""
    ended, calls = Event(), 0

    def ask() -> None:
        nonlocal calls
        while not ended.is_set():
            result_of(running.caller.send(*asked[calls % len(asked)]))
            calls += 1

    for request in [*asked] * 5:
        result_of(running.caller.send(*request))
    asking = Thread(target=ask)
    asking.start()
    try:
        _record(running.caller.process, seconds, _BUILD / f"{name}.txt")
    finally:
        ended.set()
        asking.join()
    return _counted((_BUILD / f"{name}.txt").read_text(encoding="utf-8").splitlines()), calls


def _record(process: int, seconds: int, path: Path) -> None:
    """Write the stacks of a process, with their counts. It is not paused: some samples fail, and are left out."""
    spy = Path(sys.executable).with_name("py-spy")
    what = ("--pid", str(process), "--rate", str(_RATE), "--duration", str(seconds), "--threads", "--nonblocking")
    command = [str(spy), "record", *what, "--format", "raw", "--output", str(path)]
    subprocess.run(command, check=True, capture_output=True)


def _counted(lines: Iterable[str]) -> dict[str, int]:
    split = (line.rpartition(" ") for line in lines)
    return {stack: int(count) for stack, _, count in split}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile_call", description="Where a call's time goes.")
    parser.add_argument("call", choices=_CALLS, metavar=f"CALL ({', '.join(_CALLS)})")
    parser.add_argument("--seconds", type=int, default=10, help="of sampling")
    shared = SHARED / "data"
    parser.add_argument("--texts", type=Path, default=shared, help="folder with `decisions` and `episodes`")
    return parser


if __name__ == "__main__":
    sys.exit(main())
