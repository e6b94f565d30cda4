"""Markdown inside a line: links, emphasis, code spans. Every expression is bounded, so time is linear."""

import re
from typing import Final
from unicodedata import category

_LINK: Final = re.compile(
    r"!?\[([^\[\]\n]{0,1000})\](?:\([^()\s]{0,2000}(?:[ \t][^()\n]{0,300})?\)|\[[^\[\]\n]{0,300}\])"
)
_AUTOLINK: Final = re.compile(r"<(https?://[^<>\s]{1,2000})>")
_CODE: Final = re.compile(r"(`{1,3})([^`\n]{1,1000})\1")
_STRONG: Final = re.compile(r"\*\*(?=\S)([^*\n]{1,1000})(?<=\S)\*\*|(?<!\w)__(?=\S)([^_\n]{1,1000})(?<=\S)__(?!\w)")
_EMPHASIS: Final = re.compile(r"\*(?=\S)([^*\n]{1,1000})(?<=\S)\*|(?<!\w)_(?=\S)([^_\n]{1,1000})(?<=\S)_(?!\w)")
_ESCAPED: Final = re.compile(r"\\([\\`*_{}\[\]()#+.!|<>~-])")
# Beyond this a line is prose or an attack, not a heading or a field.
LONGEST_LINE: Final = 4000
_EXCERPT: Final = 80
_EDGES: Final = str.maketrans(dict.fromkeys("*_`{}[]()\"'", " "))


def without_links(text: str) -> str:
    """Replace links and images by their text; longer lines are unchanged."""
    if "[" not in text or len(text) > LONGEST_LINE:
        return text
    return _LINK.sub(r"\1", text)


def _inner(match: re.Match[str]) -> str:
    return match[1] if match[1] is not None else match[2]


def _without_emphasis(text: str) -> str:
    text = _AUTOLINK.sub(r"\1", text)
    text = _EMPHASIS.sub(_inner, _STRONG.sub(_inner, text))
    return _ESCAPED.sub(r"\1", text)


def plain_text(text: str) -> str:
    """Return the words of a Markdown line: with link texts, without emphasis and backticks."""
    text = text.strip()
    if len(text) > LONGEST_LINE:
        return text
    text = without_links(text)
    pieces: list[str] = []
    at = 0
    for match in _CODE.finditer(text):
        pieces += [_without_emphasis(text[at : match.start()]), match[2].strip()]
        at = match.end()
    pieces.append(_without_emphasis(text[at:]))
    return "".join(pieces).strip()


def without_marks(line: str) -> str:
    """Return a line without quote and bullet marks."""
    line = line.strip()
    while line[:1] == ">":
        line = line[1:].lstrip()
    if line[:2] in {"- ", "* ", "+ "}:
        line = line[2:].lstrip()
    return line


def one_line(text: str) -> str:
    """Return the text on a single line, with single blanks."""
    return " ".join(text.split())


def is_title(text: str) -> bool:
    """Return whether a line is fit as a name: without controls, and with visible characters.

    Joiners, soft hyphens, direction marks and private letters are parts of words.
    """
    kinds = {category(character) for character in text}
    return kinds.isdisjoint({"Cc", "Cs", "Zl", "Zp"}) and not kinds <= {"Cf", "Cn", "Zs"}


def excerpt(text: str) -> str:
    """Return at most 80 characters of a line, to be shown in a warning."""
    line = one_line(text)
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 1] + "…"


def bare(text: str) -> str:
    """Return the text with emphasis, quotes and brackets blanked, to find a date in them."""
    return text.translate(_EDGES).strip()
