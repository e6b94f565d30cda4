"""Reads the contents of a file or stream, item by item."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import file_digest
from io import BufferedReader, BytesIO
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final

from cognition_engines.ingest import documents, transcripts
from cognition_engines.ingest.adr.reader import read_adr
from cognition_engines.ingest.conversations import chat_exports, notion
from cognition_engines.ingest.documents import as_document
from cognition_engines.ingest.foreign.basic_memory import with_graph
from cognition_engines.ingest.formats.converted import FORMATS, WRITTEN_AS_TEXT, Format, Unreadable
from cognition_engines.ingest.formats.reader import FormatReader
from cognition_engines.ingest.items import Item, Warned, left_out, rejected, warned
from cognition_engines.ingest.maps.dumps import read_dump
from cognition_engines.ingest.options import BY_MARKS, Texts
from cognition_engines.ingest.repository import STREAM, UNNAMED
from cognition_engines.ingest.structured.reader import read_json, read_json_lines, read_lines, read_yaml, starts_lines
from cognition_engines.ingest.text_kinds import TextKind
from cognition_engines.markdown.asides import MDX, NOTE
from cognition_engines.markdown.blobs import without_blobs
from cognition_engines.markdown.document import MOST_LINES, Document, read_markdown
from cognition_engines.open_file import LARGEST_WHOLE, lines_of

MARKDOWN: Final = frozenset({".md", ".markdown", ".mdx"})
YAML: Final = frozenset({".yaml", ".yml"})
JSON_LINES: Final = frozenset({".jsonl", ".ndjson"})
STRUCTURED: Final = YAML | JSON_LINES | {".json"}
PLAIN: Final = frozenset({".txt", ".text"})
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_OPENING: Final = re.compile(rb"<{7}(?: .*)?", re.DOTALL)
_CLOSING: Final = re.compile(rb">{7}(?: .*)?", re.DOTALL)
_MIDDLE: Final = b"======="
_FENCES: Final = re.compile(rb" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>.*)", re.DOTALL)  # of Markdown
_BLOCKS: Final = re.compile(rb"(?P<mark>-{4,}|\.{4,}|`{3,})(?P<info>\s*)")  # of AsciiDoc, unchanged
SUFFIXES: Final = MARKDOWN | STRUCTURED | PLAIN | FORMATS.keys() | chat_exports.SUFFIXES
_DIGITS: Final = 16  # hexadecimal, of the digest used as a name


def read(
    path: str,
    file: BinaryIO,
    explicit: bool = False,
    texts: Texts = BY_MARKS,
    formats: FormatReader | None = None,
    below: Path | None = None,
) -> Iterator[Item] | None:
    """Read a file, recognised by content unless `texts` gives a kind; None for an unknown format.

    `path` gives the extension and the name, and appears verbatim in every problem. `explicit` says that the file was
    named explicitly: if broken, it is rejected and not skipped. JSONL is read lazily, other formats at once, up to
    LARGEST_WHOLE bytes. `file` is seekable. `formats` reads documents in formats other than text; without it they are
    read as text. `below` is the folder whose other files may be read with it. Raise OSError on failure.
    """
    suffix = _suffix(path)
    if formats is not None and (format := FORMATS.get(suffix)) is not None:
        return _read_format(path, format, file, explicit, texts, formats)
    file = _as_utf_8(file)
    if suffix == chat_exports.ZIP and (pages := notion.read(path, file, _read_page)) is not None:
        return pages
    mapped = suffix not in MARKDOWN | PLAIN
    if suffix in STRUCTURED and (refused := _refused_conflict(path, file, None)) is not None:
        return refused
    if mapped and texts.map is not None and (items := read_dump(path, file, texts.map)) is not None:
        return items
    if texts.kind is None or suffix not in PLAIN:
        items = chat_exports.read_export(path, file, explicit, texts, below)
        if items is not None or suffix in chat_exports.SUFFIXES:
            return items
    if suffix not in STRUCTURED and (refused := _refused_conflict(path, file, _FENCES)) is not None:
        return refused
    if mapped and (items := read_dump(path, file, None)) is not None:
        return items
    if suffix not in MARKDOWN and (texts.kind is None or suffix in STRUCTURED) and starts_lines(file):
        return read_lines(path, file, explicit)
    content = file.read(LARGEST_WHOLE + 1)
    if len(content) > LARGEST_WHOLE:
        file.seek(0)
        return read_lines(path, file, explicit) if suffix in JSON_LINES else _too_large(path, explicit)
    try:
        return _read_text(path, content.decode("utf-8-sig"), explicit, texts)
    except UnicodeDecodeError as error:
        return _read_other_encoding(path, content, error.start, explicit, texts)


def _read_page(path: str, content: bytes) -> Iterator[Item] | None:
    return read(path, BytesIO(content), True, Texts(TextKind.DOCUMENT))


def _as_utf_8(file: BinaryIO) -> BinaryIO:
    """Return a file in UTF-8, if it begins with the UTF-16 mark and is UTF-16 throughout; else the file itself."""
    wide = file.read(2) in _UTF_16
    file.seek(0)
    content = file.read(LARGEST_WHOLE + 1) if wide else b""
    file.seek(0)
    if not content or len(content) > LARGEST_WHOLE:
        return file
    try:
        return BytesIO(content.decode("utf-16").encode())
    except UnicodeDecodeError:
        return file


def _read_other_encoding(path: str, content: bytes, at: int, explicit: bool, texts: Texts) -> Iterator[Item] | None:
    """Reject bytes that are no UTF-8 from `at` on, in JSONL only such lines; None for a text to be ignored."""
    wide = content.startswith(_UTF_16)
    if _suffix(path) in JSON_LINES and not wide:
        return read_lines(path, BytesIO(content), explicit)
    stand_in = content.decode("utf-16" if wide else "latin-1", errors="replace")
    items = None if explicit else _read_text(path, stand_in, explicit=False, texts=texts)
    if not explicit and all(isinstance(item, Warned) for item in items or ()):
        return None
    found = "UTF-16 with a broken character" if wide else "another encoding, such as Latin-1"
    reason = f"the encoding must be UTF-8; this line is in {found}"
    return iter([rejected(path, reason, content.count(b"\n", 0, at) + 1)])


def _refused_conflict(path: str, file: BinaryIO, fences: re.Pattern[bytes] | None) -> Iterator[Item] | None:
    found = _find_conflict(file, fences)
    if found is None:
        return None
    reason = f"a merge left conflict markers, from this line to line {found[1]:,}: resolve the conflict first"
    return iter([rejected(path, reason, found[0])])


def _too_large(path: str, explicit: bool) -> Iterator[Item]:
    most = f"has more than {LARGEST_WHOLE // 2**20} MiB, which only JSONL may: it is read line by line"
    return left_out(path, most, explicit)


def _read_format(
    path: str, format: Format, file: BinaryIO, explicit: bool, texts: Texts, formats: FormatReader
) -> Iterator[Item] | None:
    written = format in WRITTEN_AS_TEXT
    fences = _BLOCKS if format is Format.ASCIIDOC else _FENCES
    if written and (refused := _refused_conflict(path, file, fences)) is not None:
        return refused
    content = file.read(LARGEST_WHOLE + 1)
    if len(content) > LARGEST_WHOLE:
        return _too_large(path, explicit)
    try:
        converted = formats.convert(format, content)
    except Unreadable as error:
        return iter([rejected(path, str(error))])
    document = as_document(converted, format)
    may_decide = texts.kind is TextKind.DECISION or (texts.kind is None and written)
    items = _read_adr(path, document, texts) if may_decide else None
    items = items or documents.read(path, document, explicit, marks=converted.marks, converted=True)
    return None if items is None else chain((warned(path, each) for each in converted.warnings), items)


def _suffix(path: str) -> str:
    name = path.replace("\\", "/").rpartition("/")[2]
    stem, dot, end = name.rpartition(".")
    return (dot + end).lower() if stem else ""


def _read_text(path: str, text: str, explicit: bool, texts: Texts) -> Iterator[Item] | None:
    suffix = _suffix(path)
    if suffix in JSON_LINES:
        return read_json_lines(path, text, explicit)
    if suffix == ".json":
        return read_json(path, text, explicit)
    if suffix in YAML:
        return read_yaml(path, text, explicit)
    if text.count("\n") >= MOST_LINES:
        return iter([rejected(path, f"a text must have at most {MOST_LINES:,} lines")])
    if texts.kind is not None:
        return _read_as(texts.kind, path, text, explicit)
    if suffix in MARKDOWN:
        document = _read_markdown(suffix, text)
        return _read_adr(path, document, texts) or _read_note(path, document, explicit)
    items = read_json(path, text, explicit=False) if text.lstrip()[:1] in {"{", "["} else None
    if suffix not in PLAIN:
        items = items or _read_adr(path, read_markdown(text), texts) or read_yaml(path, text, explicit=False)
    return items or transcripts.read(path, without_blobs(text).text) or _read_plain(path, text, explicit)


def _read_markdown(suffix: str, text: str) -> Document:
    """Return the parts of a text; an exported decision is read as it was written."""
    return read_markdown(text, asides=MDX if suffix == ".mdx" else None if "\ncstp-export:" in text else NOTE)


def _read_note(path: str, document: Document, explicit: bool) -> Iterator[Item] | None:
    """Return a document, with the relations stated in a note of another system."""
    items = documents.read(path, document, explicit)
    return None if items is None else with_graph(path, document, items)


def _read_plain(path: str, text: str, explicit: bool) -> Iterator[Item] | None:
    return documents.read(path, read_markdown(text, indented_code=False), explicit, markdown=False)


def _read_as(kind: TextKind, path: str, text: str, explicit: bool) -> Iterator[Item] | None:
    """Return a text of a stated kind."""
    match kind:
        case TextKind.DECISION:
            document = _read_markdown(_suffix(path), text)
            if not explicit and _suffix(path) in MARKDOWN and documents.is_index(document):
                return None
            return _read_adr(path, document, Texts(kind)) or documents.blank_form(path, document, explicit)
        case TextKind.DOCUMENT if _suffix(path) in MARKDOWN:
            return _read_note(path, _read_markdown(_suffix(path), text), explicit)
        case TextKind.DOCUMENT:
            return _read_plain(path, text, explicit)
        case TextKind.TRANSCRIPT:
            return transcripts.read(path, without_blobs(text).text, is_transcript=True)


def _read_adr(path: str, document: Document, texts: Texts) -> Iterator[Item] | None:
    return read_adr(path, document, texts.decision_folders, is_decision=texts.kind is TextKind.DECISION)


def _find_conflict(file: BinaryIO, fences: re.Pattern[bytes] | None) -> tuple[int, int] | None:
    """Return the 1-based lines of the first conflict's first and last marker; None without a conflict.

    The three markers are at the beginnings of lines, in order. A conflict beginning in a block of code is an example;
    `fences` are the lines around such blocks. The position in the file is restored.
    """
    start = file.tell()
    try:
        if not any(line is not None and b"<<<<<<<" in line for _, line in lines_of(file)):
            return None
        file.seek(start)
        return _conflict(file, fences)
    finally:
        file.seek(start)


def _conflict(file: BinaryIO, fences: re.Pattern[bytes] | None) -> tuple[int, int] | None:
    fence = b""  # that is open
    opened, is_middle = 0, False
    for number, line in _lines(file):
        if fences is not None and (match := fences.fullmatch(line)) is not None:
            fence = _after(fence, match["mark"], match["info"])
        elif _OPENING.fullmatch(line) is not None:
            opened, is_middle = (number, False) if not fence else (0, False)
        elif opened and line == _MIDDLE:
            is_middle = True
        elif opened and is_middle and _CLOSING.fullmatch(line) is not None:
            return opened, number
    return None


def _after(fence: bytes, mark: bytes, info: bytes) -> bytes:
    """Return the fence open after a line with such a mark."""
    if not fence:
        return b"" if mark.startswith(b"`") and b"`" in info else mark
    return b"" if mark.startswith(fence) and not info.strip() else fence


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines, without line ends of any kind and without too long lines."""
    number = 0
    for _, line in lines_of(file):
        parts = [b""] if line is None else line.splitlines()
        for part in parts:
            number += 1
            yield number, part.removeprefix(b"\xef\xbb\xbf") if number == 1 else part


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream copied into a seekable file. `name` is the stream's name; an extension gives the format."""

    name: str
    address: str
    file: BinaryIO
    texts: Texts
    formats: FormatReader | None = None

    def items(self) -> Iterator[Item]:
        """Yield the items, read like those of an explicitly named file. Raise OSError."""
        found = read(self.name, self.file, explicit=True, texts=self.texts, formats=self.formats)
        if found is None:
            yield rejected(self.name, "holds no record in a format that is known")
        else:
            yield from found


def opened_stream(name: str | None, file: BufferedReader, texts: Texts, formats: FormatReader | None = None) -> Stream:
    """Return the stream in a seekable file, identified by name, or by a digest of the content."""
    if name is not None:
        return Stream(name, f"{STREAM}{name}", file, texts, formats)
    digest = file_digest(file, "sha256").hexdigest()[:_DIGITS]
    file.seek(0)
    return Stream("standard input", f"{UNNAMED}{digest}", file, texts)
