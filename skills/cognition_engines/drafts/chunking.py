"""Document text cut at headings and paragraphs into pieces, and the chunks made of these."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from cognition_engines.drafts.ids import part_id
from cognition_engines.drafts.plain_values import Unacceptable
from cognition_engines.kinds.artifacts import Artifact, ArtifactChunk
from cognition_engines.kinds.knowledge import Chunk, Place, Source
from cognition_engines.markdown.blobs import Shortened, without_blobs
from cognition_engines.markdown.document import Block, blocks

SIZE: Final = 900  # tokens
OVERLAP: Final = 100  # tokens
LONGEST: Final = 1_000_000  # characters per piece, as for a given chunk

# Each letter of a script without blanks between words is a token, and so are 24 letters without a blank.
_DENSE: Final = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN: Final = re.compile(rf"[{_DENSE}]|[^\W{_DENSE}]{{1,24}}|[^\w\s]")
_SENTENCE: Final = re.compile(
    r"[.!?…][\"'”’»)\]*_]{0,4}\s+|[。！？][」』）]{0,2}\s*|\n[ \t]*\n\s*|\n[ \t]*(?=(?:[-*+]|\d{1,9}[.)])[ \t])"
)
_CUTS: Final = (_SENTENCE, re.compile(r"\n\s*"), re.compile(r"\s+"))  # places to cut a text, best first
_OPENS_CHUNK: Final = range(1, 4)  # the heading levels that begin a chunk
_LONG: Final = 1200  # tokens in an artifact above which its text is cut
_AUTHOR: Final = 200


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a document: `text[start:end]`, under the heading `section`.

    `headings` are that heading and those above it, the outermost first. It begins on this page, slide or cell, from 1.
    """

    text: str
    start: int
    end: int
    section: str | None = None
    headings: tuple[str, ...] = ()
    page: int | None = None
    slide: int | None = None
    cell: int | None = None

    @property
    def place(self) -> Place | None:
        """Return the place where the chunk begins; None if unknown."""
        place = Place(section=self.section, page=self.page, slide=self.slide, cell=self.cell, headings=self.headings)
        return None if place == Place() else place


@dataclass(frozen=True, slots=True)
class _Unit:
    """A unit never split by chunks: headings with the next block, a table, a paragraph, or part of a long one.

    The next chunk may begin again within `text[open_from:end]`. `level` is the first heading's level, 0 without
    headings.
    """

    start: int
    end: int
    tokens: int
    open_from: int
    headings: tuple[str, ...]
    level: int


@dataclass(slots=True)
class _Chunk:
    """A chunk being filled."""

    start: int
    end: int
    tokens: int
    open_from: int
    headings: tuple[str, ...]

    def add(self, unit: _Unit) -> None:
        self.end = unit.end
        self.tokens += unit.tokens
        if unit.open_from > unit.start:
            self.open_from = unit.open_from


def count_tokens(text: str) -> int:
    """Count the tokens in a text: words and marks, roughly as a model would count."""
    return sum(1 for _ in _TOKEN.finditer(text))


def split(text: str, size: int = SIZE, overlap: int = OVERLAP, *, indented_code: bool = True) -> list[Piece]:
    """Cut a text with LF line ends into pieces of up to `size` tokens, each a slice of the text without blobs.

    A heading with level 1 to 3 begins a piece when the previous piece is at least a third full. Code blocks and tables
    are never cut, so their pieces may be longer; in plain text indented lines are no code (`indented_code` False). A
    piece that continues the previous section repeats the last sentences of the previous piece, up to `overlap` tokens,
    unless that piece ends in code or a table. All characters but blanks are in some piece, and each piece has
    characters absent from the previous piece; a text of blanks has no pieces.

    Raise ValueError unless 0 <= overlap < size.
    """
    shortened = without_blobs(text)
    pieces = cut(shortened.text, blocks(shortened.text, indented_code=indented_code), size, overlap)
    return [in_whole(piece, shortened) for piece in pieces]


def in_whole(piece: Piece, shortened: Shortened) -> Piece:
    """Return a piece of a text without blobs, moved to the position in the whole text."""
    return replace(piece, start=shortened.in_whole(piece.start), end=shortened.in_whole(piece.end))


def cut(text: str, found: Sequence[Block], size: int = SIZE, overlap: int = OVERLAP) -> list[Piece]:
    """Cut a text with known blocks, as `split` does."""
    if not 0 <= overlap < size:
        raise ValueError("split: 0 <= overlap < size must hold")
    pieces: list[Piece] = []
    chunk: _Chunk | None = None
    for unit in _units(text, found, size):
        full = chunk is not None and (
            chunk.tokens + unit.tokens > size or (unit.level in _OPENS_CHUNK and chunk.tokens * 3 >= size)
        )
        if chunk is not None and not full:
            chunk.add(unit)
            continue
        room = 0 if chunk is None or unit.level else min(overlap, size - unit.tokens)
        start, repeated = unit.start, 0
        if chunk is not None:
            pieces.append(_piece(text, chunk))
            start, repeated = _find_overlap(text, chunk, room) or (start, 0)
        open_from = unit.open_from if unit.open_from > unit.start else start
        chunk = _Chunk(start, unit.end, repeated + unit.tokens, open_from, unit.headings)
    return pieces if chunk is None else [*pieces, _piece(text, chunk)]


def too_long(text: str, pieces: Sequence[Piece]) -> str | None:
    """Return the reason if no chunk can hold some piece, with the line in the text; None if all fit."""
    long = next((piece for piece in pieces if len(piece.text) > LONGEST), None)
    if long is None:
        return None
    line = text.count("\n", 0, long.start) + 1
    return f"the code block or table in line {line} must have at most {LONGEST:,} characters"


def _piece(text: str, chunk: _Chunk) -> Piece:
    words = text[chunk.start : chunk.end].rstrip()
    section = chunk.headings[-1] if chunk.headings else None
    return Piece(words, chunk.start, chunk.start + len(words), section, chunk.headings)


def _units(text: str, found: Sequence[Block], size: int) -> Iterator[_Unit]:
    above: list[Block] = []  # the headings above the text
    heading: Block | None = None  # the first waiting for the next unit
    for place, block in enumerate(found):
        if block.level and block.title:
            above = [*(one for one in above if one.level < block.level), block]
        first = heading or block
        if block.level and place + 1 < len(found) and count_tokens(text[first.start : block.end]) * 3 < size:
            heading = first
            continue
        before = count_tokens(text[first.start : block.start]) if heading else 0
        spans = [(block.start, block.end)] if block.whole else list(_spans(text, block, size - before))
        headings = tuple(one.title for one in above)
        for start, end in spans:
            begin = first.start if start == block.start else start
            open_from = end if block.whole or block.level else start
            level = first.level if start == block.start else 0
            tokens = count_tokens(text[start:end]) + (before if start == block.start else 0)
            yield _Unit(begin, end, tokens, open_from, headings, level)
        heading = None


def _spans(text: str, block: Block, size: int) -> Iterator[tuple[int, int]]:
    """Yield the block, or, if it exceeds `size` tokens, the sentences, lines, words or word parts."""
    waiting = [(block.start, block.end, 0)]
    while waiting:
        start, end, depth = waiting.pop()
        if count_tokens(text[start:end]) <= size:
            yield start, end
            continue
        if depth < len(_CUTS):
            bounds = [start, *(cut.end() for cut in _CUTS[depth].finditer(text, start, end)), end]
        else:
            tokens = [token.start() for token in _TOKEN.finditer(text, start, end)]
            bounds = [start, *tokens[size::size], end]
        parts = [(first, last, depth + 1) for first, last in pairwise(bounds) if first < last]
        waiting += reversed(parts)


def _find_overlap(text: str, chunk: _Chunk, room: int) -> tuple[int, int] | None:
    """Find a chunk's last whole sentences within `room` tokens; return their start and number of tokens.

    Use the last words if the sentences have less than half of `room`; return None if there is no room.
    """
    starts = [token.start() for token in _TOKEN.finditer(text, chunk.open_from, chunk.end)][-room:] if room > 0 else []
    if not starts:
        return None
    ends = (cut.end() for cut in _SENTENCE.finditer(text, chunk.open_from, chunk.end))
    sentences = {chunk.open_from, *ends}
    for place, start in enumerate(starts):
        if start in sentences and (len(starts) - place) * 2 >= room:
            return start, len(starts) - place
    words = (place for place, start in enumerate(starts) if start == 0 or text[start - 1].isspace())
    place = next(words, 0)
    return starts[place], len(starts) - place


def pieces_of(content: str) -> tuple[Piece, ...]:
    """Cut a document's text. Raise `Unacceptable` for a piece that no chunk can hold."""
    pieces = split(content)
    if (reason := too_long(content, pieces)) is not None:
        raise Unacceptable(f"content: {reason}")
    return tuple(pieces)


def is_long(artifact: Artifact) -> bool:
    """Return whether an artifact's text must still be cut."""
    return not artifact.chunked and count_tokens(artifact.content) > _LONG


def chunks_of(head: Source | Artifact, pieces: Sequence[Piece], repository: str) -> list[Chunk | ArtifactChunk]:
    """Make a document's chunks, with ids."""
    chunks = [_chunk(head, piece, place, len(pieces)) for place, piece in enumerate(pieces)]
    return [replace(one, id=part_id(one, repository)) for one in chunks]


def _chunk(head: Source | Artifact, piece: Piece, place: int, total: int) -> Chunk | ArtifactChunk:
    common: dict[str, Any] = {
        "content": piece.text,
        "title": head.title,
        "chunk_index": place,
        "total_chunks": total,
        "start_char": piece.start,
        "end_char": piece.end,
        "project": head.project,
        "sensitivity": head.sensitivity,
    }
    if isinstance(head, Artifact):
        return ArtifactChunk(artifact_id=str(head.id), **common)
    authors = ", ".join(head.authors)
    return Chunk(
        source_id=head.id,
        author=authors if 0 < len(authors) <= _AUTHOR else None,  # answers read a longer author from the source
        category=head.category,
        tags=head.tags,
        place=piece.place,
        source_url=head.url,
        created_at=head.created_at,
        **common,
    )
