"""A text without blobs: embedded pictures become their alternative text, other data without words are removed."""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_URI: Final = r"data:[\w.+-]{0,100}(?:/[\w.+-]{1,100})?(?:;[\w=.+-]{1,100}){0,5},"
_ALT: Final = r"(?:[^\[\]\n]|\n(?![ \t]*\n)|\[[^\[\]\n]{0,300}\]){0,1000}"
_FLAGS: Final = re.MULTILINE | re.IGNORECASE
_GAP: Final = r"[ \t]{0,9}(?:\n[ \t]{0,9})?<?"  # before an address, which may be on the next line
_DEFINED: Final = re.compile(rf"^[ ]{{0,3}}\[([^\[\]\n]{{1,300}})\]:{_GAP}{_URI}[^\n]*+", _FLAGS)
_BLOB: Final = re.compile(
    rf"(?P<definition>^[ ]{{0,3}}\[[^\[\]\n]{{1,300}}\]:{_GAP}{_URI}[^\n]*+)"
    rf"|(?P<link>!?\[(?P<alt>{_ALT})\]\({_GAP}{_URI}[^\s<>()]*+>?(?:[ \t]{{1,3}}[^()\n]{{0,300}})?\))"
    r"|(?P<picture>!\[(?P<words>(?:[^\[\]\n]|\n(?![ \t]*\n)){0,1000})\](?:\[(?P<name>[^\[\]\n]{0,300})\])?)(?!\()"
    r"|(?P<tag><img\b(?:[^<>\"']|\"[^\"]*+\"|'[^']*+')*+>)"
    rf"|(?P<quoted>(?<==)[ \t]{{0,3}}(?:\"{_URI}[^\"\n]*+\"|'{_URI}[^'\n]*+'))"
    rf"|(?P<type>{_URI})(?P<data>[^\s<>()\"'`]{{48,}}+)"
    r"|(?P<curve>(?<=[\s\"'])(?:d|points)=(?:\"[\dA-Za-z \t.,+-]{200,}+\"|'[\dA-Za-z \t.,+-]{200,}+'))"
    r"|(?P<lines>(?:^[ \t>]{0,20}[A-Za-z0-9+/]{56,100}={0,2}[ \t]*+(?:\n|\Z)){4,}+"
    r"(?:^[ \t>]{0,20}(?=[A-Za-z+/]{0,99}[\d=])[A-Za-z0-9+/]{1,99}={0,2}[ \t]*+(?:\n|\Z))?+)"
    r"|(?P<run>(?<![A-Za-z0-9+/_=%-])[A-Za-z0-9+/_=%-]{200,}+)",
    _FLAGS,
)
_ALT_OF_TAG: Final = re.compile(
    r"\balt\s{0,3}=\s{0,3}(?:\"([^\"]{0,1000})\"|'([^']{0,1000})'|([^\s\"'<>=`]{1,1000}))", re.IGNORECASE
)
_WORD: Final = re.compile(r"[A-Za-z]?[a-z]{3,}|(?:([A-Z])(?!\1\1)){4,}")
_MAY_BE: Final = re.compile(r"data:|[A-Za-z0-9+/_=%-]{56}|\b(?:d|points)=", re.IGNORECASE)
_FEWEST_WORDS: Final = 0.3  # share of a text's characters, in texts without blanks


@dataclass(frozen=True, slots=True)
class Shortened:
    """A text without blobs. `ends` has, for each blob, the replacement's end, and the blob's end in the whole text.

    With `before`, the whole text was itself shortened.
    """

    text: str = ""
    ends: tuple[tuple[int, int], ...] = ()
    before: "Shortened | None" = None

    def in_whole(self, at: int) -> int:
        """Return the position in the whole text for a character in the shortened text."""
        place = bisect_right(self.ends, at, key=lambda pair: pair[0]) - 1
        short, whole = self.ends[place] if place >= 0 else (0, 0)
        return whole + at - short if self.before is None else self.before.in_whole(whole + at - short)


def without_blobs(text: str) -> Shortened:
    """Replace each blob by the alternative text, or by nothing. The number of lines does not change.

    Blobs are `data:` addresses, long curves in drawings, and 200 characters or more without blanks or words, such as
    Base64; a shorter run, such as a hash, is kept.
    """
    if _MAY_BE.search(text) is None:
        return Shortened(text)
    names = {_normalize_label(match[1]) for match in _DEFINED.finditer(text)}
    return without(text, _BLOB, lambda match: _replacement(match, names))


def without(text: str, pattern: re.Pattern[str], replaced: Callable[[re.Match[str]], str | None]) -> Shortened:
    """Return the text with each match replaced, unless by None. The number of lines does not change."""
    kept: list[str] = []
    ends: list[tuple[int, int]] = []
    at = length = 0
    for match in pattern.finditer(text):
        said = replaced(match)
        if said is None:
            continue
        said += "\n" * (match[0].count("\n") - said.count("\n"))
        kept += [text[at : match.start()], said]
        length += match.start() - at + len(said)
        at = match.end()
        ends.append((length, at))
    return Shortened("".join([*kept, text[at:]]), tuple(ends))


def _replacement(match: re.Match[str], names: set[str]) -> str | None:
    """Return a blob's replacement; None for a text that is no blob."""
    if match["link"] is not None:
        return match["alt"]
    if match["picture"] is not None:
        return match["words"] if _normalize_label(match["name"] or match["words"]) in names else None
    if match["tag"] is not None:
        alt = _ALT_OF_TAG.search(match["tag"])
        return (alt[1] or alt[2] or alt[3] or "" if alt is not None else "") if "data:" in match["tag"] else None
    if match["type"] is not None:
        return match["type"].partition(";")[0].rstrip(",")
    if match["quoted"] is not None:
        return '""'
    found = match["lines"] or match["run"]
    return None if found is not None and _says_something(found) else ""


def _normalize_label(text: str) -> str:
    return " ".join(text.split()).casefold()


def _says_something(run: str) -> bool:
    """Return whether a text without blanks is mostly words, or has few letters and digits, as in a rule."""
    words = sum(len(match[0]) for match in _WORD.finditer(run))
    return words >= _FEWEST_WORDS * len(run) or sum(map(str.isalnum, run)) * 2 < len(run)
