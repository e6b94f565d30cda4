"""Secrets in a run's input: masked, refused or reported before a record gets its id, a digest or vectors."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

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
_LONGEST_BEFORE: Final = 1000  # characters of a line in which the name of a field is looked for


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
            field = _field(item, one.field)
            line = next(lines.of(item, field, one.kind, text, frozenset()))
            yield rejected(source, f"{field} {reason}", line)
            return
    done = "which was masked" if policy == "mask" else "which is stored as it is"
    seen: set[tuple[str, int | None]] = set()
    for one, text in zip(found.secrets, found.texts, strict=True):
        field = _field(item, one.field)
        for line in lines.of(item, field, one.kind, text, {line for other, line in seen if other != field}):
            if (field, line) not in seen:
                seen.add((field, line))
                yield warned(source, f"{field} has a secret ({one.kind}), {done}", line)
    masked = found.value if policy == "mask" else item
    yield replace(masked, vectors=None) if masked is not item and isinstance(masked, RecordDraft) else masked


def _field(item: RecordDraft | DocumentDraft, field: str) -> str:
    """Return a field's path, without the piece's number for a document's text."""
    return field.partition("[")[0] if isinstance(item, DocumentDraft) else field


class _SecretLine(NamedTuple):
    """A secret in a file: the number of the line, the secret, and the text of the line before the secret."""

    number: int
    secret: str
    before: str


class _Lines:
    """The lines of a file that have secrets, by kind; read once, when they are first needed."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._found: dict[str, list[_SecretLine]] | None = None

    def of(
        self, item: RecordDraft | DocumentDraft, field: str, kind: str, text: str, others: Set[int | None]
    ) -> Iterator[int]:
        """Yield the lines of the kind in a document, or that of a record; the first of an item if unknown.

        The line of a record has the same secret, names the field, and is none of the `others`, those of the other
        fields, if possible.
        """
        if self._found is None:
            self._found = self._read()
        lines = [each for each in self._found.get(kind, ()) if each.number >= item.line]
        if isinstance(item, DocumentDraft):
            yield from dict.fromkeys(each.number for each in lines) or [item.line]
            return
        name = field[max(field.rfind("."), field.rfind("]")) + 1 :]  # of the member with the secret
        nearest = min(
            lines,
            key=lambda each: (each.secret != text, name not in each.before, each.number in others, each.number),
            default=None,
        )
        yield item.line if nearest is None else nearest.number

    def _read(self) -> dict[str, list[_SecretLine]]:
        found: dict[str, list[_SecretLine]] = {}
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
            before = text[max(text.rfind("\n", 0, secret.start) + 1, secret.start - _LONGEST_BEFORE) : secret.start]
            found.setdefault(secret.kind, []).append(_SecretLine(line, text[secret.start : secret.end], before))
        return found
