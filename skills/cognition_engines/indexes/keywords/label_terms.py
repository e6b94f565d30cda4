"""The labels and sets of a record as numbers, so that a keyword index can be asked for the texts that have them.

A number stands for one text in one column, read as the column compares texts. Two texts hardly ever share one, and if
they do, more is found than was asked for: the caller's mask decides.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TypeAlias, assert_never

from cognition_engines.filters import AtLeast, AtMost, Condition, Conditions, HasAll, HasAny, Not, OneOf
from cognition_engines.indexes.columns.snapshot import Readers
from cognition_engines.spaces import Space
from cognition_engines.store.values import Page, Text

Marks: TypeAlias = tuple[tuple[int, ...], ...]  # a text must have one of each


def mark(column: str, text: str) -> int:
    """What stands for `text` in `column`: 0 to 2^63 - 1."""
    return int.from_bytes(blake2b(f"{column}\0{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 1


def columns_of(space: Space) -> str:
    """A digest of what the texts of a space are marked with: an index that was written under another one is rebuilt."""
    columns = [(column.name, column.read.__name__) for column in (*space.labels, *space.sets)]
    return blake2b(repr(([int(kind) for kind in space.kinds], columns)).encode(), digest_size=8).hexdigest()


def marked(texts: Sequence[Text], page: Page, readers: Readers) -> list[Text]:
    """The texts with the marks of their records, which are in the page."""
    columns: dict[str, Sequence[Sequence[str]]] = {
        name: [() if text is None else (text,) for text in column] for name, column in page.labels.items()
    }
    columns |= page.sets
    place_of = {key: place for place, key in enumerate(page.keys.tolist())}
    return [text._replace(marks=_marks_at(place_of[text.key], columns, readers)) for text in texts]


def _marks_at(place: int, columns: Mapping[str, Sequence[Sequence[str]]], readers: Readers) -> tuple[int, ...]:
    return tuple({mark(name, readers[name](text)) for name, column in columns.items() for text in column[place]})


def textual(conditions: Conditions) -> Conditions:
    """What of the conditions is about labels and sets."""
    return tuple(each for each in conditions if isinstance(each, OneOf | HasAll | HasAny))


def marks_for(condition: Condition, readers: Readers) -> Marks:
    """What a text must have for its record to meet the condition; nothing for one on numbers or on what is not."""
    match condition:
        case OneOf(columns, texts):
            return (tuple(mark(column, readers[column](text)) for column in columns for text in texts),)
        case HasAny(name, texts):
            return (tuple(mark(name, readers[name](text)) for text in texts),)
        case HasAll(name, texts):
            return tuple((mark(name, readers[name](text)),) for text in texts)
        case AtLeast() | AtMost() | Not():
            return ()
        case _:
            assert_never(condition)
