"""What a summary tells of files that `cstp ingest` does not read, and what would read them."""

from collections.abc import Iterator, Mapping
from typing import Final

from cognition_engines.ingest.discover import LINK
from cognition_engines.ingest.reading import SUFFIXES

_SHOWN: Final = 8  # extensions
_OF_PANDOC: Final = frozenset(
    {".adoc", ".asciidoc", ".docx", ".epub", ".htm", ".html", ".ipynb", ".odt", ".org", ".rst", ".rtf", ".tex"}
)
_OF_TABLES: Final = frozenset({".csv", ".tsv", ".xlsx"})


def skipped_lines(skipped: Mapping[str, int]) -> Iterator[str]:
    """`204 files skipped: 120 .html, 60 .pdf, ...`, and how to have them read; nothing where none were."""
    if not skipped:
        return
    total, shown = sum(skipped.values()), list(skipped.items())[:_SHOWN]
    rest = total - sum(count for _, count in shown)
    named = [f"{count} {_named(suffix, count)}" for suffix, count in shown] + ([f"{rest} others"] if rest else [])
    yield f"{total} {'file' if total == 1 else 'files'} skipped: {', '.join(named)}"
    suffixes = skipped.keys()
    remedies = [
        *_remedy(suffixes & {".pdf"}, "with pdftotext"),
        *_remedy(suffixes & _OF_PANDOC, "with pandoc, to Markdown"),
        *_remedy(suffixes & _OF_TABLES, "to JSONL"),
    ]
    convert = f"convert {'; '.join(remedies)}" if remedies else f"read are {', '.join(sorted(SUFFIXES))}"
    yield f"to read them: {convert}; a file of text is read whatever its extension when it is named itself"


def _named(suffix: str, count: int) -> str:
    if suffix == LINK:
        return "link" if count == 1 else "links"
    return suffix or "without an extension"


def _remedy(found: set[str], how: str) -> Iterator[str]:
    if found:
        yield f"{', '.join(sorted(found))} {how}"
