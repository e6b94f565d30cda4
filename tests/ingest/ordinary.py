"""Ordinary texts without decisions, in usual forms: paths and contents."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True)
class _Subject:
    """Subject of a text."""

    slug: str
    name: str
    part: str
    person: str
    other: str
    day: str


_SUBJECTS: Final = (
    _Subject("mail-queue", "Mail queue", "retry worker", "Ana", "Ben", "2024-03-21"),
    _Subject("billing", "Billing", "invoice printer", "Chidi", "Dana", "2023-11-02"),
    _Subject("map-tiles", "Map tiles", "tile cache", "Emil", "Fatou", "2025-01-30"),
    _Subject("login", "Login", "session store", "Grace", "Hugo", "2022-07-14"),
)


def ordinary_texts() -> Iterator[tuple[str, str]]:
    """Yield path and text of every form of `ordinary.txt` (a path after `===`, then the text) for every subject."""
    forms = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").split("=== ")[1:]
    for subject in _SUBJECTS:
        for form in forms:
            path, _, text = form.format(**vars(subject)).partition("\n")
            yield path, text
