"""Which records a line says it supersedes, or is superseded by."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from cognition_engines.ingest.markdown.inline import LONGEST_LINE

_BY: Final = re.compile(
    r"\b(?:super(?:s|c|sc)eded(?:[ _-]by)?|(?:replaced|obsoleted)[ _-]by)(?![a-z])[\s:*_]{0,6}", re.IGNORECASE
)
_OVER: Final = re.compile(r"\b(?:super(?:s|c|sc)ed(?:es|ing)|replaces|obsoletes)(?![a-z])[\s:*_]{0,6}", re.IGNORECASE)
_UNSURE: Final = re.compile(r"\b(?:in part|part(?:ly|ially|ial)|mostly|largely|not|be|no)\s+$", re.IGNORECASE)
_LINK: Final = re.compile(r"\[([^\[\]\n]{0,300})\](?:\(([^()\s]{0,1000})[^()\n]{0,300}\)|\[[^\[\]\n]{0,300}\])?")
_FILE: Final = re.compile(r"[\w.+-]{1,200}\.(?:md|markdown|mdx|rst|adoc|txt)\b", re.IGNORECASE)
# "ADR 23" is a name; "Redis 3" is not, so a blank is allowed after words for a record only.
_NAME: Final = re.compile(
    r"(?:[A-Za-z]{1,10}[-_]?\d{1,6}|(?:ADR|DR|AD|RFC|decision|record|number|no\.?)[ #-]{1,2}\d{1,6})(?![\w/]|-\d)",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"#?(\d{1,6})(?![\w/]|-\d)")
_BETWEEN: Final = re.compile(r"\s*(?:,\s*and\b|,|;|&|\+|\band\b(?:\s+by\b)?)\s*", re.IGNORECASE)
_DOCUMENT: Final = (".md", ".markdown", ".mdx", ".rst", ".adoc", ".txt")


@dataclass(frozen=True, slots=True)
class References:
    """What a record supersedes and what supersedes it, as written: a number, an id or a file name each."""

    supersedes: tuple[str, ...] = ()
    superseded_by: tuple[str, ...] = ()


def _of_target(target: str) -> str | None:
    parts = [part for part in target.partition("#")[0].partition("?")[0].split("/") if part not in {"", ".", ".."}]
    if not parts or not parts[-1].lower().endswith(_DOCUMENT):
        return None
    if parts[-1].lower().startswith(("readme.", "index.")):
        return parts[-2] if len(parts) > 1 else None
    return parts[-1]


def _of_text(text: str) -> str | None:
    for pattern in (_FILE, _NAME):
        match = pattern.match(text)
        if match is not None:
            return match[0]
    number = _NUMBER.match(text)
    return number[1] if number is not None else None


def _tokens(text: str, at: int) -> Iterator[str]:
    while at < len(text):
        link = _LINK.match(text, at)
        if link is not None:
            token = _of_target(link[2] or "") or _of_text(link[1].strip())
            at = link.end()
        else:
            token, at = _bare(text, at)
            if token is None:
                return
        if token is not None:
            yield token
        between = _BETWEEN.match(text, at)
        if between is None or between.end() == at:
            return
        at = between.end()


def _bare(text: str, at: int) -> tuple[str | None, int]:
    for pattern in (_FILE, _NAME):
        match = pattern.match(text, at)
        if match is not None:
            return match[0], match.end()
    number = _NUMBER.match(text, at)
    return (number[1], number.end()) if number is not None else (None, at)


def _after(phrase: re.Pattern[str], text: str) -> Iterator[str]:
    for match in phrase.finditer(text):
        if not _UNSURE.search(text[max(0, match.start() - 12) : match.start()]):
            yield from _tokens(text, match.end())


def references_in(text: str) -> References:
    """The references after "superseded by", "replaced by", "supersedes" or "replaces" in one line."""
    if len(text) > LONGEST_LINE:
        return References()
    return References(tuple(dict.fromkeys(_after(_OVER, text))), tuple(dict.fromkeys(_after(_BY, text))))


def listed_references(text: str) -> tuple[str, ...]:
    """The references of a field that holds nothing else; a single other word is one as it stands."""
    text = text.strip()[:LONGEST_LINE]
    found = tuple(dict.fromkeys(_tokens(text, 0)))
    if found or not text or len(text) > 200 or any(character.isspace() for character in text):
        return found
    return (text,) if any(character.isalnum() for character in text) and text.lower() not in _NONE else ()


_NONE: Final = frozenset({"none", "n/a", "na", "no", "null", "nothing", "tbd"})
