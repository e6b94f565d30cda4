"""What the reader of a format returns, as a document that Markdown gives."""

import json
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import attrgetter

from cognition_engines.drafts.chunking import Piece
from cognition_engines.ingest.formats.converted import Converted, Mark
from cognition_engines.ingest.formats.suffixes import Format
from cognition_engines.ingest.parse.front_matter import plain_name
from cognition_engines.markdown.document import Document, read_markdown
from cognition_engines.markdown.front_block import Member


def as_document(converted: Converted, format: Format) -> Document:
    """The document, with what its metadata say as front matter; what its front matter gives itself comes first.

    Only where the converter found front matter is the beginning of the text looked at as such.
    """
    document = read_markdown(converted.text, indented_code=False, front_matter=converted.front)
    given = {plain_name(member.name) for member in document.front}
    given |= {"authors"} if "author" in given else {"date"} if given & {"created", "createdat"} else set()
    given -= {"project", "sensitivity"}  # two of these are refused as given twice
    kept = (each for each in converted.members if each.name not in given)
    said = [Member(each.name, _source(each.name, each.values), 1) for each in kept]
    typed = [] if "type" in given else [Member("type", json.dumps(format.value), 1)]
    return replace(document, front=(*document.front, *said, *typed))


def placed(pieces: Iterable[Piece], marks: Sequence[Mark]) -> list[Piece]:
    """The pieces with the page, slide or cell where each begins. `marks` are in the order of their characters."""
    if not marks:
        return list(pieces)
    found: list[Piece] = []
    for piece in pieces:
        at = bisect_right(marks, piece.start, key=attrgetter("at")) - 1
        mark = marks[at] if at >= 0 else Mark(0)
        found.append(replace(piece, page=mark.page, slide=mark.slide, cell=mark.cell))
    return found


def _source(name: str, values: Sequence[str]) -> str:
    """The value as YAML: JSON is that."""
    return json.dumps(list(values) if name in ("authors", "tags") else values[0], ensure_ascii=False)
