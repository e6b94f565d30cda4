"""What a stated status means."""

import re
from collections.abc import Iterator
from typing import Final

from cognition_engines.ingest.parse.foreign_statuses import in_english
from cognition_engines.ingest.parse.status_words import (
    LONGEST,
    STRONG,
    WEAK,
    hide_titles,
    meanings,
    phrase_at,
    tokens_of,
)

_OF_DECISIONS: Final = frozenset({"proposed", "accepted", "rejected", "deprecated", "superseded", "decided"})
_WORD: Final = re.compile(r"[a-z]+")
_UNDONE: Final = frozenset({"superseded", "deprecated", "rejected"})
_OPENING: Final = {"[": "]", "{": "}", "(": ")", "<": ">"}
_CLOSING: Final = frozenset(_OPENING.values())
_OR: Final = r"\b(?:or|oder|ou|o|eller|lub|или)\b|または|或"
_ALTERNATIVES: Final = re.compile(rf"\||/|{_OR}", re.IGNORECASE)
_LISTED: Final = re.compile(rf"[,|/]|{_OR}", re.IGNORECASE)
_CHOSEN: Final = re.compile(r"(\*\*|__|`)[^*_`\n]{1,100}\1")


def normalise_status(text: str) -> str:
    """One of `models.STATUSES` for a stated status; "other" for what is none of them.

    The first word that means a status decides, except that "superseded by" anywhere wins if the record itself is meant.
    Partly superseded, deprecated or rejected is "other". The titles of linked records mean nothing.
    """
    found = list(meanings(text))
    if not found:
        return "other"
    if any(each.status == "superseded" and each.followed_by_by and not each.partly for each in found):
        return "superseded"
    first = found[0]
    return "other" if first.partly and first.status in _UNDONE else first.status


def is_of_decisions(text: str) -> bool:
    """Whether a stated status is one that few texts but decisions have: `accepted`, but not `done` or `draft`."""
    first = next(meanings(text), None)
    return first is not None and first.status in _OF_DECISIONS and first.strong


def begins_with_status(text: str) -> bool:
    """Whether the first words of a text mean a status."""
    return phrase_at([token for token in tokens_of(text) if token.isalnum()], 0, first=True) is not None


def is_status_alone(text: str) -> bool:
    """Whether a text says a status, and nothing else but dates."""
    tokens = [token for token in tokens_of(text) if token.isalnum()]
    at = 0
    while at < len(tokens):
        found = phrase_at(tokens, at, first=at == 0)
        if found is None:
            return False
        at += found[1]
    return at > 0


def _kinds(text: str) -> set[str]:
    return {each.status for each in meanings(text)}


def _groups(text: str) -> Iterator[tuple[bool, slice]]:
    """The pieces of a text, each with whether it is inside outermost brackets."""
    depth, start = 0, 0
    for at, character in enumerate(text):
        if character in _OPENING:
            if depth == 0:
                yield False, slice(start, at)
                start = at
            depth += 1
        elif character in _CLOSING and depth:
            depth -= 1
            if depth == 0:
                yield True, slice(start, at + 1)
                start = at + 1
    yield False, slice(start, len(text))


def chosen(text: str) -> str | None:
    """The text without lists of choices; None when it is such a list, or a placeholder, with nothing chosen.

    A choice in bold or code is chosen.
    """
    text = text[:LONGEST]
    kept: list[str] = []
    lists = False
    for inside, piece in _groups(hide_titles(text)):
        if inside and len(_kinds(text[piece])) >= 2 and _LISTED.search(text[piece]):
            lists = True
        else:
            kept.append(text[piece])
    rest = "".join(kept).strip(" \t\"'.:;,-*" if lists else " \t\"'.:;,-")
    if not rest and lists:
        return None
    kinds = _kinds(rest)
    if lists:
        return rest if len(kinds) == 1 else None
    parts = [part.strip() for part in _ALTERNATIVES.split(rest)]
    listed = len(parts) > 1 and all(_is_bare(part) for part in parts) and len(kinds) >= 2
    marked = [part for part in parts if _CHOSEN.fullmatch(part)] if listed else []
    if len(marked) == 1:
        return marked[0]
    if listed or len(kinds) >= 3 or rest.strip("{}[]<>* ").lower() == "status":
        return None
    return text


def _is_bare(part: str) -> bool:
    words = " ".join(_WORD.findall(in_english(part).lower()))
    return words in STRONG or words in WEAK
