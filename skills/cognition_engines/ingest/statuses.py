"""What a stated status means, and which records it points to."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from cognition_engines.ingest.markdown.inline import without_links

# Phrases that mean a status wherever they stand, longest first by construction of the search below.
_STRONG: Final[Mapping[str, str]] = MappingProxyType(
    {
        phrase: status
        for status, phrases in (
            ("proposed", "proposed, proposal, under discussion, in discussion, under consideration, provisional"),
            ("accepted", "accepted, approved, adopted, implemented, implementable, ratified, agreed, in force"),
            ("rejected", "rejected, declined, withdrawn, abandoned, denied, cancelled, canceled"),
            ("deprecated", "deprecated, obsolete, obsoleted, retired, removed, outdated"),
            ("superseded", "superseded, superceded, supersceded, replaced"),
            ("draft", "draft, wip, work in progress, in progress, in draft"),
            ("decided", "decided"),
            ("reviewed", "reviewed"),
            ("pending", "pending, in review, under review, for review, on hold, deferred, postponed, awaiting"),
        )
        for phrase in phrases.split(", ")
    }
)
# Words too common in prose to mean a status unless they come first.
_WEAK: Final[Mapping[str, str]] = MappingProxyType(
    {
        "active": "accepted",
        "final": "accepted",
        "finalised": "accepted",
        "finalized": "accepted",
        "done": "accepted",
        "completed": "accepted",
        "current": "accepted",
        "merged": "accepted",
        "open": "proposed",
        "rfc": "proposed",
        "review": "pending",
    }
)
_OF_DECISIONS: Final = frozenset({"proposed", "accepted", "rejected", "deprecated", "superseded", "decided"})
_WORD: Final = re.compile(r"[a-z]+")
_STRUCK: Final = re.compile(r"~~[^~\n]{1,200}~~")
_PARTLY: Final = frozenset({"partly", "partially", "partial", "mostly", "largely"})
_NEGATIONS: Final = frozenset({"not", "no", "never", "non", "without", "be"})
_UNDONE: Final = frozenset({"superseded", "deprecated", "rejected"})
_OPENING: Final = {"[": "]", "{": "}", "(": ")", "<": ">"}
_CLOSING: Final = frozenset(_OPENING.values())
_ALTERNATIVES: Final = re.compile(r"\||/|\bor\b", re.IGNORECASE)
_LISTED: Final = re.compile(r"[,|/]|\bor\b", re.IGNORECASE)
_LONGEST: Final = 4000


@dataclass(frozen=True, slots=True)
class _Meaning:
    status: str
    first: int
    words: int
    partly: bool
    strong: bool
    followed_by_by: bool


def _meanings(text: str) -> Iterator[_Meaning]:
    words = _WORD.findall(_STRUCK.sub(" ", text[:_LONGEST].lower()))
    at = 0
    while at < len(words):
        for length in (3, 2, 1):
            phrase = " ".join(words[at : at + length])
            status = _STRONG.get(phrase) or (_WEAK.get(phrase) if at == 0 else None)
            if status is not None and at + length <= len(words):
                break
        else:
            at += 1
            continue
        before = words[max(0, at - 2) : at]
        negated = bool(before) and (before[-1] in _NEGATIONS or before == ["not", "yet"])
        if not negated:
            partly = bool(before) and (before[-1] in _PARTLY or before == ["in", "part"])
            yield _Meaning(
                status, at, length, partly, phrase in _STRONG, words[at + length : at + length + 1] == ["by"]
            )
        at += length


def normalise_status(text: str) -> str:
    """One of `models.STATUSES` for a stated status; "other" for what is none of them.

    The first word that means a status decides, except that "superseded by" anywhere wins. Partly superseded,
    deprecated or rejected is "other".
    """
    found = list(_meanings(without_links(text)))
    if not found:
        return "other"
    if any(each.status == "superseded" and each.followed_by_by and not each.partly for each in found):
        return "superseded"
    first = found[0]
    return "other" if first.partly and first.status in _UNDONE else first.status


def is_of_decisions(text: str) -> bool:
    """Whether a stated status is one that few texts but decisions have: `accepted`, but not `done` or `draft`."""
    first = next(_meanings(without_links(text)), None)
    return first is not None and first.status in _OF_DECISIONS and first.strong


def _kinds(text: str) -> set[str]:
    return {each.status for each in _meanings(text)}


def _groups(text: str) -> Iterator[tuple[bool, str]]:
    """The text in pieces: (inside outermost brackets or not, piece)."""
    depth, start = 0, 0
    for at, character in enumerate(text):
        if character in _OPENING:
            if depth == 0:
                yield False, text[start:at]
                start = at
            depth += 1
        elif character in _CLOSING and depth:
            depth -= 1
            if depth == 0:
                yield True, text[start : at + 1]
                start = at + 1
    yield False, text[start:]


def chosen(text: str) -> str | None:
    """The text without lists of choices; None when it is such a list, or a placeholder, with nothing chosen."""
    text = text[:_LONGEST]
    plain = without_links(text)
    kept: list[str] = []
    lists = False
    for inside, piece in _groups(plain):
        if inside and len(_kinds(piece)) >= 2 and _LISTED.search(piece):
            lists = True
        else:
            kept.append(piece)
    rest = "".join(kept).strip(" \t\"'.:;,-*")
    if not rest and lists:
        return None
    kinds = _kinds(rest)
    if lists:
        return rest if len(kinds) == 1 else None
    parts = _ALTERNATIVES.split(rest)
    listed = len(parts) > 1 and all(_is_bare(part) for part in parts) and len(kinds) >= 2
    if listed or len(kinds) >= 3 or rest.strip("{}[]<> ").lower() == "status":
        return None
    return text


def _is_bare(part: str) -> bool:
    words = _WORD.findall(part.lower())
    return " ".join(words) in _STRONG or " ".join(words) in _WEAK
