"""Reads basic-memory notes: Markdown with a permalink in front matter, and observations and relations as list items.

A note is a document, and observations are part of the text. Relations are edges from the note's entity to the
linked entities.
"""

import re
from collections.abc import Iterator
from typing import Final

from cognition_engines.drafts.plain_values import Unacceptable, Value
from cognition_engines.ingest.items import DocumentDraft, Item, RecordDraft, rejected
from cognition_engines.ingest.structured.records import read_other
from cognition_engines.kinds.fields import normal
from cognition_engines.kinds.graph import Edge
from cognition_engines.kinds.spec import Kind
from cognition_engines.markdown.document import Document, Line

# possessive, so that a run of blanks matches in a single way
_RELATION: Final = re.compile(
    r"\s*+[-*+]\s++([^\[\]()\n]{1,64}?)\s*+\[\[([^\[\]\n]{1,300})\]\]\s*+(?:\(([^()\n]{1,500})\))?+\s*+"
)
_QUOTES: Final = "\"'`"
_LINKS_TO: Final = "relates to"  # basic-memory's type for an untyped relation


def with_graph(path: str, document: Document, items: Iterator[Item]) -> Iterator[Item]:
    """Yield a document's items, then the entity and the edges of a basic-memory note.

    They have the rights given to the document by front matter.
    """
    for item in items:
        yield item
        if isinstance(item, DocumentDraft) and any(member.name == "permalink" for member in document.front):
            yield from _graph(path, document, item)


def _graph(path: str, document: Document, draft: DocumentDraft) -> Iterator[Item]:
    relations = list(_relations(document))
    if not relations:
        return
    title = str(draft.head.title)
    rights: dict[str, Value] = {"project": draft.head.project}
    if draft.head.sensitivity is not None:
        rights["sensitivity"] = draft.head.sensitivity.name.lower()
    permalink = draft.head.metadata.get("permalink")
    names = [permalink] if isinstance(permalink, str) and normal(permalink) != normal(title) else []
    found: list[tuple[Kind, int, dict[str, Value]]] = [(Kind.ENTITY, 1, {"name": title, "aliases": [*names]})]
    for line, type, target, context in relations:
        edge: dict[str, Value] = {"source_id": title, "target_id": target, "type": type, "evidence": context}
        if normal(target) != normal(title):
            found.append((Kind.EDGE, line, edge))
    seen = set[tuple[str, str]]()
    for ordinal, (kind, line, members) in enumerate(found, 1):
        try:
            record = read_other(kind, members | rights, named_kind=True).record
        except Unacceptable as error:
            yield rejected(path, f"{kind.label} of a note: {error}", line)
            continue
        if isinstance(record, Edge):
            key = normal(record.target_id), record.type
            if key in seen:
                continue
            seen.add(key)
        yield RecordDraft(record, ordinal, line)


def _relations(document: Document) -> Iterator[tuple[int, str, str, str | None]]:
    """Return line, type, target and context of each relation: list items outside code that end with a link."""
    running = {entry.at for entry in document.entries if isinstance(entry, Line)}
    for at in range(document.body, len(document.lines)):
        match = _RELATION.fullmatch(document.lines[at])
        if match is not None and at in running:
            target = match[2].partition("|")[0].partition("#")[0].strip()
            if target:
                yield at + 1, match[1].strip(_QUOTES + " :") or _LINKS_TO, target, match[3]
