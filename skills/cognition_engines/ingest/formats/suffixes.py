"""Which files are documents of which format, and which libraries a format needs."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Format(StrEnum):
    """A format of documents; its value is the `type` of a source that was read from it."""

    HTML = "html"
    PDF = "pdf"
    DOCX = "docx"
    PPTX = "pptx"
    EPUB = "epub"
    NOTEBOOK = "notebook"
    RESTRUCTURED = "rst"
    ASCIIDOC = "asciidoc"


FORMATS: Final[Mapping[str, Format]] = {
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".xhtml": Format.HTML,
    ".pdf": Format.PDF,
    ".docx": Format.DOCX,
    ".pptx": Format.PPTX,
    ".epub": Format.EPUB,
    ".ipynb": Format.NOTEBOOK,
    ".rst": Format.RESTRUCTURED,
    ".adoc": Format.ASCIIDOC,
    ".asciidoc": Format.ASCIIDOC,
}

# in these people write decision records, too
WRITTEN_AS_TEXT: Final = frozenset({Format.HTML, Format.RESTRUCTURED, Format.ASCIIDOC})

_OF_MARKUP: Final = ("bs4", "lxml", "markdownify")
LIBRARIES: Final[Mapping[Format, tuple[str, ...]]] = {
    Format.HTML: _OF_MARKUP,
    Format.PDF: ("pypdfium2",),
    Format.DOCX: ("mammoth", *_OF_MARKUP),
    Format.PPTX: ("pptx",),
    Format.EPUB: _OF_MARKUP,
    Format.NOTEBOOK: ("nbformat",),
    Format.RESTRUCTURED: ("docutils", *_OF_MARKUP),
    Format.ASCIIDOC: (),
}


def format_of(path: str) -> Format | None:
    """The format of a file, by the extension of its name in any case."""
    return next((format for suffix, format in FORMATS.items() if path.lower().endswith(suffix)), None)
