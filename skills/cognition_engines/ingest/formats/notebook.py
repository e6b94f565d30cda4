"""Jupyter notebooks: the cells with their text, code or output."""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any, Final

import nbformat
import traitlets.config  # noqa: F401  its log imports it late: later, this process cannot
from nbformat.validator import get_validator

from cognition_engines.ingest.formats.converted import (
    Converted,
    Mark,
    Unreadable,
    clean,
    code_block,
    join_parts,
    members_of,
    split_front,
    text_of,
)

_VERSION: Final = 4
# nbformat reads these schemas to upgrade a notebook; later, this process can open no file
for _library, _schema in product(("fastjsonschema", "jsonschema"), ((3, 0), (4, 5))):
    get_validator(*_schema, name=_library)  # type: ignore[no-untyped-call]
_LONGEST_OUTPUT: Final = 2000  # characters; longer outputs are data


def convert(content: bytes) -> Converted:
    """Return the notebook in a file. Raise Unreadable if it holds none."""
    try:
        book = nbformat.convert(nbformat.reader.reads(text_of(content)), _VERSION)  # type: ignore[no-untyped-call]
        cells, metadata = list(book.cells), dict(book.metadata)
    except (json.JSONDecodeError, nbformat.ValidationError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"is no sound notebook: {type(error).__name__}") from None
    front = ""
    if cells and cells[0].cell_type in ("raw", "markdown"):
        front, rest = split_front(clean(_join_text(cells[0].source)).lstrip("\n"))
        cells[0].source = rest if front else cells[0].source
    language = str(_inner(metadata, "language_info", "name") or _inner(metadata, "kernelspec", "language") or "")
    parts = (("\n\n".join(_cell(cell, language)), Mark(cell=number)) for number, cell in enumerate(cells, 1))
    text, marks = join_parts([(front, Mark()), *parts] if front else parts)
    authors = metadata.get("authors")
    names = (
        [str(one.get("name") or "") for one in authors if isinstance(one, dict)] if isinstance(authors, list) else []
    )
    members = members_of(
        _metadata_text(metadata, "title"),
        names,
        _metadata_text(metadata, "date"),
        project=_metadata_text(metadata, "project"),
        sensitivity=_metadata_text(metadata, "sensitivity"),
    )
    return Converted(text, members, marks, front=bool(front))


def _cell(cell: Any, language: str) -> Iterator[str]:
    source = clean(_join_text(cell.source))
    if cell.cell_type != "code":
        yield source
        return
    if source.strip():
        yield code_block(source, language)
    for output in cell.get("outputs", []):
        text = clean(_output(output))
        if text.strip() and len(text) <= _LONGEST_OUTPUT:
            yield code_block(text)


def _output(output: Any) -> str:
    """Return the plain text of an output."""
    if output.get("output_type") == "stream":
        return _join_text(output.get("text"))
    data = output.get("data")
    return _join_text(data.get("text/plain")) if isinstance(data, dict) else ""


def _join_text(value: object) -> str:
    return value if isinstance(value, str) else "".join(map(str, value)) if isinstance(value, list) else ""


def _inner(metadata: dict[str, Any], name: str, inner: str) -> object:
    found = metadata.get(name)
    return found.get(inner) if isinstance(found, dict) else None


def _metadata_text(metadata: dict[str, Any], name: str) -> str | None:
    """Return a member of the metadata as it stands; an object or a list as JSON: a right is refused, not lost."""
    value = metadata.get(name)
    return None if value is None else value if isinstance(value, str) else json.dumps(value)
