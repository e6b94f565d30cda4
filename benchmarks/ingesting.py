"""The speed of `cstp ingest` beside its embedding model alone, and its memory.

`python -m benchmarks.ingesting FILE` embeds the decisions of a file and does nothing else: the control, in a process
of its own like the command.
"""

import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from benchmarks.embedding import packaged_model
from benchmarks.serving import clean_environment, run_cstp
from benchmarks.texts import Text, write_records
from cstp_server.settings import Settings

SLICES: Final = 5
REQUIRED: Final = 0.9
_WORDS: Final = 150  # about one window
_CONTROL: Final = ("-m", "benchmarks.ingesting")
# Linux counts the memory of the process that starts another one to the new one's peak, but not in VmHWM.
_PROGRAM: Final = """
import sys
from pathlib import Path
from cstp_server.cli.main import run
code = run(sys.argv[1:])
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
sys.exit(code)
"""
_COMMAND: Final = ("-c", _PROGRAM, "ingest", "--json")


@dataclass(frozen=True, slots=True)
class IngestRow:
    """Decisions a second over all slices, the median of the slices' ratios, and the highest memory seen."""

    decisions: int
    rate: float
    model_rate: float
    ratio: float
    megabytes: float


@dataclass(frozen=True, slots=True)
class _Run:
    seconds: float
    kilobytes: int


def measure_ingest(texts: Sequence[Text], count: int, slices: int = SLICES) -> IngestRow:
    """Read `count` decisions of about one window each in `slices` commands, each followed by its control.

    What both take to start is measured with one decision, and left out.
    """
    size = count // slices
    runs: list[tuple[_Run, _Run]] = []
    with TemporaryDirectory(prefix="cstp-benchmark-") as name:
        folder = Path(name)
        one = _write(folder / "one.jsonl", texts, range(count, count + 1))
        start, control_start = _run([*_COMMAND, str(one), *_data(folder)]), _run([*_CONTROL, str(one)])
        for number in range(slices):
            file = _write(folder / f"{number}.jsonl", texts, range(number * size, (number + 1) * size))
            runs.append((_run([*_COMMAND, str(file), *_data(folder)]), _run([*_CONTROL, str(file)])))
    spent = [run.seconds - start.seconds for run, _ in runs]
    control = [run.seconds - control_start.seconds for _, run in runs]
    return IngestRow(
        decisions=size * slices,
        rate=size * slices / sum(spent),
        model_rate=size * slices / sum(control),
        ratio=statistics.median(alone / both for alone, both in zip(control, spent, strict=True)),
        megabytes=max(run.kilobytes for run, _ in runs) / 1000,
    )


def _data(folder: Path) -> tuple[str, str]:
    return "--data-dir", str(folder / "data")


def _write(path: Path, texts: Sequence[Text], numbers: range) -> Path:
    """Write different decisions: the words of a text from another place each time it comes up."""
    records = []
    for number in numbers:
        text = texts[number % len(texts)]
        words = text.body.split() or [text.title]
        first = number // len(texts) * _WORDS % len(words)
        body = " ".join((words[first:] + words[:first])[:_WORDS])
        records.append({"kind": "decision", "id": f"dec_{number}", "title": f"{text.title} {number}", "text": body})
    write_records(records, path)
    return path


def _run(arguments: Sequence[str]) -> _Run:
    began = perf_counter()
    output = run_cstp(arguments, clean_environment({}), [sys.executable])
    return _Run(perf_counter() - began, int(output.split()[-1]))


def main() -> None:
    embedder = packaged_model()
    embedder.embed_query("warm")
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    texts = [f"{decision['title']}\n{decision['text']}" for decision in map(json.loads, lines)]
    with ThreadPool(Settings().embedding.threads) as pool:
        pool.map(embedder.embed_text, texts, chunksize=1)
    sys.stdout.write("0\n")  # its memory is not asked for


if __name__ == "__main__":
    main()
