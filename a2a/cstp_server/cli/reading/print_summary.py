"""What the commands that read files print of a run."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from cognition_engines.drafts.refusal_messages import kinds
from cognition_engines.ingest.options import Pruned, Summary
from cognition_engines.kinds.kind import KINDS
from cstp_server.cli.reading.skipped_files import problem_lines, skipped_lines
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
    for line in _deleted(summary.pruned):
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


def _deleted(pruned: Sequence[Pruned]) -> Iterator[str]:
    """Each record by itself, what documents were cut into by file."""
    parts = Counter((one.file, one.kind) for one in pruned if one.part)
    yield from (f"{one.file}: {one.kind} {one.id}" for one in pruned if not one.part)
    for (file, kind), count in parts.items():
        yield f"{file}: {count} {kinds(KINDS[kind], count)} of its text"
