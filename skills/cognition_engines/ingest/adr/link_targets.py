"""Links by reference, as `[Twelve][t]` with `[t]: 0012-x.md` elsewhere in the text, as links with their target."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from cognition_engines.markdown.document import Line, Table
from cognition_engines.markdown.inline import LONGEST_LINE

_DEFINED: Final = re.compile(r" {0,3}\[([^\[\]\n]{1,300})\]:[ \t]{0,9}(?:<([^<>\n]{1,1000})>|(\S{1,1000}))")
_REFERRED: Final = re.compile(
    r"(?<![\[\]!])\[((?:[^\[\]\n]|\[[^\[\]\n]{0,300}\]){1,300})\](?:\[([^\[\]\n]{0,300})\])?(?![(\[\]:])"
)


def link_targets(lines: Sequence[str]) -> Mapping[str, str]:
    """Return the target of each label that the lines define, the first where one is defined twice."""
    found: dict[str, str] = {}
    for line in lines:
        match = _DEFINED.match(line) if len(line) <= LONGEST_LINE else None
        if match is not None:
            found.setdefault(_label(match[1]), match[2] or match[3])
    return found


def with_targets(entries: Iterable[Line | Table], targets: Mapping[str, str]) -> Iterator[Line | Table]:
    """Yield the entries with the targets of their links in place of labels, and without the lines that define them."""
    for entry in entries:
        if not targets:
            yield entry
        elif isinstance(entry, Table):
            rows = ((at, tuple(_with_targets(cell, targets) for cell in cells)) for at, cells in entry.rows)
            yield replace(entry, rows=tuple(rows))
        elif _DEFINED.match(entry.text) is None:
            yield replace(entry, text=_with_targets(entry.text, targets))


def _with_targets(text: str, targets: Mapping[str, str]) -> str:
    def targeted(link: re.Match[str]) -> str:
        target = targets.get(_label(link[2] or link[1]))
        return link[0] if target is None else f"[{link[1]}](<{target}>)"

    return _REFERRED.sub(targeted, text) if len(text) <= LONGEST_LINE else text


def _label(text: str) -> str:
    """A label as CommonMark compares it."""
    return " ".join(text.split()).casefold()
