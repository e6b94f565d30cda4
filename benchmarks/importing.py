"""The share of real decision files that an ingest recognises, and whose status it reads as people do.

`make bench-import ARGS=FOLDER`: FOLDER has a folder of decision files for each repository. The labels name files by the
path below FOLDER; `--list` names each file read otherwise. Nothing is stored.
"""

import argparse
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Final

from benchmarks.options import ROOT, existing_folder
from cognition_engines.ingest.detect import read
from cognition_engines.ingest.items import RecordDraft
from cognition_engines.models import Decision

_LABELS: Final = ROOT / "tests" / "ingest" / "labels"
_FOLDER: Final = PurePosixPath("docs/adr")  # of a repository's decisions
# The statuses that a label covers; `other` covers each.
_COVERED: Final[Mapping[str, Collection[str | None]]] = {
    "accepted": {"accepted", "decided"},
    "proposed": {"proposed", "pending"},
    "none": {None},
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make bench-import", description=__doc__)
    parser.add_argument("folder", type=existing_folder)
    parser.add_argument("--kinds", type=Path, default=_LABELS / "kinds.tsv", help="lines of path, tab, kind")
    parser.add_argument("--statuses", type=Path, default=_LABELS / "statuses.tsv", help="lines of path, tab, status")
    parser.add_argument("--list", action="store_true", help="name each file read otherwise than labelled")
    chosen = parser.parse_args(arguments)
    kinds, statuses = (_read_labels(path) for path in (chosen.kinds, chosen.statuses))
    absent = sorted(path for path in kinds.keys() | statuses.keys() if not (chosen.folder / path).is_file())
    for line in (*_kind_lines(chosen.folder, kinds, chosen.list), *_status_lines(chosen.folder, statuses, chosen.list)):
        sys.stdout.write(f"{line}\n")
    if absent:
        sys.stdout.write(f"not in the folder: {len(absent)} of the labelled files: {', '.join(absent[:5])}\n")
    return 0


def _read_labels(path: Path) -> Mapping[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t")[:2] for line in lines if line)


def _kind_lines(folder: Path, labels: Mapping[str, str], listed: bool) -> Iterator[str]:
    """Yield the rates of decisions missed and of other files taken, as the files lie and in a folder of decisions."""
    for place, moved in (("as they lie", False), (f"under {_FOLDER}", True)):
        found = {path: _decision(folder, path, moved) for path in labels if (folder / path).is_file()}
        wanted = [path for path in found if labels[path] == "decision"]
        missed = [path for path in wanted if found[path] is None]
        others = [path for path in found if labels[path] != "decision"]
        taken = [path for path in others if found[path] is not None]
        yield f"{place}: decisions missed: {_rate(missed, wanted)}"
        yield f"{place}: others taken for decisions: {_rate(taken, others)}"
        yield from (f"  missed: {path}" for path in missed if listed)
        yield from (f"  taken: {path} ({labels[path]})" for path in taken if listed)


def _status_lines(folder: Path, labels: Mapping[str, str], listed: bool) -> Iterator[str]:
    """Yield the rate of right statuses among the files read as decisions, and the number of the other files."""
    found = {path: _decision(folder, path, moved=True) for path in labels if (folder / path).is_file()}
    read = {path: decision for path, decision in found.items() if decision is not None}
    wrong = [path for path, decision in read.items() if not _is_right(decision, labels[path])]
    yield f"statuses right: {_rate([path for path in read if path not in wrong], read)}"
    yield f"with a label of a status, but no decision: {len(found) - len(read)}"
    for path in found if listed else ():
        decision = found[path]
        if decision is None or path in wrong:
            yield f"  {path}: {labels[path]}, read as {'no decision' if decision is None else decision.status}"


def _is_right(decision: Decision, label: str) -> bool:
    return label == "other" or decision.status in _COVERED.get(label, {label})


def _decision(folder: Path, path: str, moved: bool) -> Decision | None:
    """Return the decision read from a file where it lies, or as if its repository had it in a folder of decisions."""
    repository, name = path.split("/", 1)
    place = str(repository / _FOLDER / name) if moved else path
    items = read(place, BytesIO((folder / path).read_bytes())) or ()
    records = (item.record for item in items if isinstance(item, RecordDraft))
    return next((record for record in records if isinstance(record, Decision)), None)


def _rate(part: Sequence[str], whole: Sequence[str] | Mapping[str, object]) -> str:
    return f"{len(part) / max(1, len(whole)):.2%} ({len(part)} of {len(whole)})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
