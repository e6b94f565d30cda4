"""Reports of commands reading files: the run, skipped files, and rejections with the same reason."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Final

from cognition_engines.drafts.refusal_messages import kinds
from cognition_engines.ingest.detect import SUFFIXES
from cognition_engines.ingest.discover import LINK
from cognition_engines.ingest.options import Pruned, Summary
from cognition_engines.kinds.spec import KINDS
from cognition_engines.models import Problem
from cstp_server.terminal import say


def print_summary(summary: Summary, *, as_json: bool, dry_run: bool = False, strict: bool = False) -> None:
    """Print the summary; warnings, rejections and deletions go to standard error, or into the JSON."""
    if as_json:
        say(json.dumps(asdict(summary)))
        return
    for line in problem_lines(summary.warnings):
        say(f"warning: {line}", err=True)
    for line in problem_lines(summary.rejected):
        say(f"rejected: {line}", err=True)
    for one in summary.moved:
        say(f"{'would be ' if dry_run else ''}moved: {one.records:,} records of {one.old} (deleted) to {one.new}")
    for held in summary.held_back:
        say(f"{'would not be' if dry_run else 'not'} deleted: {held}", err=True)
    for line in _deleted_lines(summary.pruned):
        say(f"{'would be ' if dry_run else ''}deleted: {line}", err=True)
    counts = ", ".join(f"{getattr(summary, name)} {name}" for name in ("new", "changed", "unchanged", "deleted"))
    warnings = len(summary.warnings)
    note = (
        " (dry run: nothing was written)"
        if dry_run
        else " (strict: nothing was written)"
        if strict and summary.rejected
        else ""
    )
    say(
        f"{summary.read} read: {counts}, {len(summary.rejected)} rejected, "
        f"{warnings} {'warning' if warnings == 1 else 'warnings'}{note}"
    )
    if summary.kinds.keys() - {"decision"}:
        say("by kind: " + ", ".join(f"{count} {kind}" for kind, count in summary.kinds.items()))
    if summary.limited:
        say("stopped at --limit; there are more records")
    if summary.ignored:
        files = "file or folder" if summary.ignored == 1 else "files and folders"
        say(f"{summary.ignored} {files} excluded by patterns")
    for line in skipped_lines(summary.skipped):
        say(line)


def _deleted_lines(pruned: Sequence[Pruned]) -> Iterator[str]:
    """Yield a line for each record, and for document parts a line for each file and kind."""
    parts = Counter((one.file, one.kind) for one in pruned if one.part)
    yield from (f"{one.file}: {one.kind} {one.id}" for one in pruned if not one.part)
    for (file, kind), count in parts.items():
        yield f"{file}: {count} {kinds(KINDS[kind], count)} of its text"


_SHOWN: Final = 8  # extensions
_NAMED: Final = 3  # places sharing a reason, if more than _FEW
_FEW: Final = 5
_OF_PANDOC: Final = frozenset({".odt", ".org", ".rtf", ".tex"})
_OF_TABLES: Final = frozenset({".csv", ".tsv", ".xlsx"})


def skipped_lines(skipped: Mapping[str, int]) -> Iterator[str]:
    """Yield `204 files skipped: 120 .html, 60 .pdf, ...` and a remedy; nothing if none were skipped."""
    if not skipped:
        return
    total, shown = sum(skipped.values()), list(skipped.items())[:_SHOWN]
    rest = total - sum(count for _, count in shown)
    named = [f"{count} {_describe_suffix(suffix, count)}" for suffix, count in shown] + (
        [f"{rest} others"] if rest else []
    )
    yield f"{total} {'file' if total == 1 else 'files'} skipped: {', '.join(named)}"
    suffixes = skipped.keys()
    remedies = [
        *_remedy(suffixes & _OF_PANDOC, "with pandoc, to Markdown"),
        *_remedy(suffixes & _OF_TABLES, "to JSONL"),
    ]
    convert = f"convert {'; '.join(remedies)}" if remedies else f"supported: {', '.join(sorted(SUFFIXES))}"
    text = "a text file of any extension is read if you name it, or use --include PATTERN --as document"
    yield f"to read them: {convert}; {text}"


def _describe_suffix(suffix: str, count: int) -> str:
    if suffix == LINK:
        return "link" if count == 1 else "links"
    return suffix or "without an extension"


def _remedy(found: set[str], how: str) -> Iterator[str]:
    if found:
        yield f"{', '.join(sorted(found))} {how}"


def problem_lines(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield the place and reason of each problem; many places with the same reason share a line."""
    places: dict[str, list[str]] = {}
    for problem in problems:
        place = problem.file if problem.line is None else f"{problem.file}:{problem.line}"
        places.setdefault(problem.reason, []).append(place)
    for reason, found in places.items():
        if len(found) > _FEW:
            yield f"{', '.join(found[:_NAMED])}: {reason} ... and {len(found) - _NAMED} more like this"
        else:
            yield from (f"{place}: {reason}" for place in found)
