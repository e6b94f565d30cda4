"""Secrets in a run's input: masked, refused or reported before a record gets its id, a digest or vectors."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from cognition_engines.drafts.chunking import Piece
from cognition_engines.ingest.items import DocumentDraft, Item, RecordDraft, RejectedRecord, Warned, rejected, warned
from cognition_engines.masking.masked_values import Masked, mask_values
from cognition_engines.masking.policy import SecretPolicy, name_refusal, refusal
from cognition_engines.open_file import LARGEST_WHOLE, NotAFile, open_file

_NAMES: Final[Mapping[tuple[type[Any], str], str]] = {
    (RecordDraft, "record"): "",
    (DocumentDraft, "head"): "",
    (DocumentDraft, "pieces"): "content",
    (Piece, "text"): "",
}
_SCANNER: Final = "cognition_engines.masking.scanner"


def check_items(
    items: Iterator[tuple[Item, int]], source: str, policy: SecretPolicy, path: Path | None = None
) -> Iterator[tuple[Item, int]]:
    """Yield the items of a source as they may be stored, with a warning or a refusal for each secret.

    `path` is the file in which lines are looked up; None if there is none.
    """
    if policy == "allow":
        yield from items
        return
    lines = _Lines(path)
    for item, position in items:
        if isinstance(item, RejectedRecord | Warned):
            yield item, position
            continue
        found = mask_values(item, _NAMES)
        for checked in _checked(item, found, source, policy, lines) if found.secrets else (item,):
            yield checked, position


def _checked(
    item: RecordDraft | DocumentDraft, found: Masked, source: str, policy: SecretPolicy, lines: "_Lines"
) -> Iterator[Item]:
    """Yield the problems of an item with secrets, and the item itself unless it is refused."""
    for one, text in zip(found.secrets, found.texts, strict=True):
        if policy == "refuse" or (policy == "mask" and one.is_name):
            reason = name_refusal(one.kind) if policy == "mask" else refusal(one.kind)
            line = next(lines.of(item, one.kind, text, frozenset()))
            yield rejected(source, f"{_field(item, one.field)} {reason}", line)
            return
    done = "which was masked" if policy == "mask" else "which is stored as it is"
    seen: set[tuple[str, int | None]] = set()
    for one, text in zip(found.secrets, found.texts, strict=True):
        field = _field(item, one.field)
        for line in lines.of(item, one.kind, text, {line for other, line in seen if other != field}):
            if (field, line) not in seen:
                seen.add((field, line))
                yield warned(source, f"{field} has a secret ({one.kind}), {done}", line)
    masked = found.value if policy == "mask" else item
    yield replace(masked, vectors=None) if masked is not item and isinstance(masked, RecordDraft) else masked


def _field(item: RecordDraft | DocumentDraft, field: str) -> str:
    """Return a field's path, without the piece's number for a document's text."""
    return field.partition("[")[0] if isinstance(item, DocumentDraft) else field


class _Lines:
    """A file's lines with secrets, by kind and by text; read once, when first needed."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._found: dict[str, list[tuple[int, str]]] | None = None

    def of(self, item: RecordDraft | DocumentDraft, kind: str, text: str, others: Set[int | None]) -> Iterator[int]:
        """Yield the lines of the kind in a document, or that of a record; an item's first line if unknown.

        A record's line has the same secret and is none of the `others`, those of its other fields, if possible.
        """
        if self._found is None:
            self._found = self._read_report()
        lines = [(line, each) for line, each in self._found.get(kind, ()) if line >= item.line]
        if isinstance(item, DocumentDraft):
            yield from dict.fromkeys(line for line, _ in lines) or [item.line]
        else:
            yield min(lines, key=lambda one: (one[1] != text, one[0] in others, one[0]), default=(item.line, ""))[0]

    def _read_report(self) -> dict[str, list[tuple[int, str]]]:
        found: dict[str, list[tuple[int, str]]] = {}
        if self._path is None:
            return found
        try:
            with open_file(self._path, self._path.parent) as file:
                text = file.read(LARGEST_WHOLE).decode(errors="replace")
        except (NotAFile, OSError):
            return found
        line, done = 1, 0
        for secret in import_module(_SCANNER).find_secrets(text):
            line += text.count("\n", done, secret.start)
            done = secret.start
            found.setdefault(secret.kind, []).append((line, text[secret.start : secret.end]))
        return found
