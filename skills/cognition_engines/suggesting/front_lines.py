"""A decision's file with patterns: one more line in its front matter, or new front matter, and the patch for it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from typing import Final, NamedTuple

from cognition_engines.ingest.detect import read
from cognition_engines.ingest.items import RecordDraft
from cognition_engines.markdown.front_block import after_comments, front_block
from cognition_engines.models import Decision
from cstp.values.decisions import AffectedPart

_AROUND: Final = 3  # unchanged lines of a patch


class Edit(NamedTuple):
    """The new text of a file, and the unified diff."""

    text: str
    patch: str


def read_whole(path: str, text: str) -> Decision | None:
    """Return the decision that a Markdown file is; None for any other file."""
    items = [item for item in read(path, BytesIO(text.encode())) or () if isinstance(item, RecordDraft)]
    record = items[0].record if len(items) == 1 and items[0].of_file else None
    return record if isinstance(record, Decision) else None


def add_patterns(path: str, text: str, decision: Decision, patterns: Sequence[str]) -> Edit | None:
    """Return the edit that adds the patterns; None if the file is then not read as before with these patterns."""
    lines = text.split("\n")
    plain = [lines[0].removeprefix("\ufeff"), *lines[1:]]
    block = front_block(plain, after_comments(plain, 0))
    written = json.dumps(list(patterns), ensure_ascii=False)
    at, added = 0, ["---", f"affects: {written}", "---"]
    if block.members:
        at = block.end - 1
        added = [f"affects = {written}" if plain[at].startswith("+++") else f"affects: {written}"]
    added = [f"{line}\r" if lines[0].endswith("\r") else line for line in added]
    edited = "\n".join([*lines[:at], *added, *lines[at:]])
    wanted = replace(decision, affects=tuple(AffectedPart("path", pattern) for pattern in patterns))
    return Edit(edited, _patch(path, lines, at, added)) if read_whole(path, edited) == wanted else None


def _patch(path: str, lines: Sequence[str], at: int, added: Sequence[str]) -> str:
    start = max(0, at - _AROUND)
    around = [f" {line}" for line in lines[start : at + _AROUND]]
    end: list[str] = []
    if at + _AROUND >= len(lines):  # the last text is no line if it is empty
        around, end = (around, ["\\ No newline at end of file"]) if lines[-1] else (around[:-1], [])
    shown = [*around[: at - start], *(f"+{line}" for line in added), *around[at - start :], *end]
    places = f"@@ -{start + 1},{len(around)} +{start + 1},{len(around) + len(added)} @@"
    return "\n".join([f"--- a/{path}", f"+++ b/{path}", places, *shown, ""])
