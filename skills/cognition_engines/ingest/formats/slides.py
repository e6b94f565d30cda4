"""PPTX: each slide under the slide's title, with lists, tables and notes."""

from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any, Final

from pptx import Presentation

from cognition_engines.ingest.formats.archives import office_members, opened_archive
from cognition_engines.ingest.formats.converted import Converted, Mark, Unreadable, clean, join_parts, literal

_DEEPEST: Final = 20  # groups in each other


def convert(content: bytes) -> Converted:
    """Return the presentation in a file. Raise Unreadable if it is encrypted, broken or a bomb."""
    with opened_archive(content) as archive:
        members = office_members(archive)
    shown = Presentation(BytesIO(content))
    parts = (("\n\n".join(_slide(slide)), Mark(slide=number)) for number, slide in enumerate(shown.slides, 1))
    text, marks = join_parts(parts)
    return Converted(text, members, marks)


def _slide(slide: Any) -> Iterator[str]:
    title = slide.shapes.title
    heading = _line(title.text_frame.text) if title is not None else ""
    if heading:
        yield f"## {heading}"
    of_title = None if title is None else title.shape_id
    yield from _shapes((shape for shape in slide.shapes if shape.shape_id != of_title), 0)
    if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None and frame.text.strip():
        yield "\n".join(["Notes:", *(literal(line) for line in map(_line, clean(frame.text).split("\n")) if line)])


def _shapes(shapes: Iterable[Any], depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        raise Unreadable(f"has groups that are nested deeper than {_DEEPEST}")
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes, depth + 1)
        elif getattr(shape, "has_table", False):
            yield _table(shape.table)
        elif shape.has_text_frame and shape.text_frame.text.strip():
            yield _paragraphs(shape.text_frame.paragraphs)


def _paragraphs(paragraphs: Iterable[Any]) -> str:
    found = [(paragraph.level, _line(paragraph.text)) for paragraph in paragraphs]
    lines = [(level, line) for level, line in found if line]
    if len(lines) == 1:
        return literal(lines[0][1])
    return "\n".join(f"{'  ' * level}- {literal(line)}" for level, line in lines)


def _table(table: Any) -> str:
    rows = [[_line(cell.text).replace("|", "\\|") for cell in row.cells] for row in table.rows]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines[:1], "|" + " --- |" * len(rows[0]), *lines[1:]]) if rows else ""


def _line(text: str) -> str:
    return " ".join(clean(text).split())
