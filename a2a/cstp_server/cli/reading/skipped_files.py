"""What `cstp ingest` reports of files that it does not read, and of warnings and refusals that many places share."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from cognition_engines.ingest.detect import SUFFIXES
from cognition_engines.ingest.discover import LINK
from cognition_engines.models import Problem

_SHOWN: Final = 8  # extensions
_NAMED: Final = 3  # places that share a reason, where there are more than _FEW
_FEW: Final = 5
_OF_PANDOC: Final = frozenset({".odt", ".org", ".rtf", ".tex"})
_OF_TABLES: Final = frozenset({".csv", ".tsv", ".xlsx"})


def skipped_lines(skipped: Mapping[str, int]) -> Iterator[str]:
    """Yield `204 files skipped: 120 .html, 60 .pdf, ...` and a remedy; nothing if none were skipped."""
    if not skipped:
        return
    total, shown = sum(skipped.values()), list(skipped.items())[:_SHOWN]
    rest = total - sum(count for _, count in shown)
    named = [f"{count} {_named(suffix, count)}" for suffix, count in shown] + ([f"{rest} others"] if rest else [])
    yield f"{total} {'file' if total == 1 else 'files'} skipped: {', '.join(named)}"
    suffixes = skipped.keys()
    remedies = [
        *_remedy(suffixes & _OF_PANDOC, "with pandoc, to Markdown"),
        *_remedy(suffixes & _OF_TABLES, "to JSONL"),
    ]
    convert = f"convert {'; '.join(remedies)}" if remedies else f"supported: {', '.join(sorted(SUFFIXES))}"
    text = "a text file of any extension is read if you name it, or use --include PATTERN --as document"
    yield f"to read them: {convert}; {text}"


def _named(suffix: str, count: int) -> str:
    if suffix == LINK:
        return "link" if count == 1 else "links"
    return suffix or "without an extension"


def _remedy(found: set[str], how: str) -> Iterator[str]:
    if found:
        yield f"{', '.join(sorted(found))} {how}"


def problem_lines(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield the place and reason of each problem; many places with one reason share a line."""
    places: dict[str, list[str]] = {}
    for problem in problems:
        place = problem.file if problem.line is None else f"{problem.file}:{problem.line}"
        places.setdefault(problem.reason, []).append(place)
    for reason, found in places.items():
        if len(found) > _FEW:
            yield f"{', '.join(found[:_NAMED])}: {reason} ... and {len(found) - _NAMED} more like this"
        else:
            yield from (f"{place}: {reason}" for place in found)
