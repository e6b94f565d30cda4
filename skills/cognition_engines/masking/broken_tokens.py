"""Tokens broken by Markdown escapes, invisible characters, full-width letters or a line end.

A text with any of these is also read without them; positions are in the original text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

_INVISIBLE: Final = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff"
_WIDE: Final = "\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff3f\uff0d"  # full-width letters, digits, _ and -
_NARROW: Final = {place: place - 0xFEE0 for place in range(0xFF01, 0xFF5F) if re.match(f"[{_WIDE}]", chr(place))}
_SEEN: Final = re.compile(f"[^{_INVISIBLE}]*+")
_WIDE_LETTER: Final = re.compile(f"[{_WIDE}]")
_HIDDEN: Final = re.compile(
    rf"\\{{1,3}}(?=[_.-])|(?<=[A-Za-z0-9_.{_WIDE}-])[{_INVISIBLE}]{{1,8}}(?=[A-Za-z0-9_.\\{_WIDE}-])"
)
_ESCAPES: Final = ("\\_", "\\-", "\\.")
# beginnings of tokens with known shapes, for tokens that continue in the next line
_BEGINNINGS: Final = (
    *("ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "sk-", "sk_", "rk_", "xox", "xapp-", "AKIA"),
    *("ASIA", "AIza", "ya29.", "npm_", "pypi-", "hf_", "dop_v1_", "shpat_", "hvs.", "glsa_", "ntn_", "secret_"),
    *("lin_api_", "figd_", "gsk_", "eyJ", "cstp_", "SG.", "whsec_", "dckr_pat_", "GOCSPX-", "ATATT3", "pplx-", "dapi"),
    *("tskey-", "nfp_", "sntrys_"),
)
_BEGUN: Final = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, _BEGINNINGS))})")
_BACKWARDS: Final = re.compile(r"\r?([\w.\\-]*+)", re.ASCII)
_NEXT: Final = re.compile(r"\n[ \t>]{0,8}(?=[\w-])", re.ASCII)
_INNER: Final = "_.-\r"
_WIDTH: Final = 40  # characters per line in the middle of a token
_PIECE: Final = re.compile(rf"[\w.-]{{{_WIDTH},}}+(?=\r?\n)", re.ASCII)
_LONGEST: Final = 256  # characters of a token in its first line


@dataclass(frozen=True, slots=True)
class PlainText:
    """A text without token breaks: the removed parts with running totals, and the line ends."""

    text: str
    begins: tuple[int, ...]
    removed: tuple[int, ...]
    line_ends: tuple[int, ...]

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return the original range for a range in the plain text."""
        return self._original_position(start), self._original_position(end - 1) + 1

    def is_joined(self, start: int, end: int) -> bool:
        """Return whether an original range spans a removed line end."""
        number = bisect_right(self.line_ends, start)
        return number < len(self.line_ends) and self.line_ends[number] < end

    def _original_position(self, place: int) -> int:
        return place + self.removed[bisect_right(self.begins, place)]


def without_breaks(text: str) -> PlainText | None:
    """Return a text without token breaks; None if it has none."""
    line_ends = list(_line_ends_in_tokens(text))
    is_ascii = text.isascii()
    has_hidden = ("\\" in text and any(one in text for one in _ESCAPES)) or not (is_ascii or _SEEN.fullmatch(text))
    hidden = [match.span() for match in _HIDDEN.finditer(text)] if has_hidden else []
    is_wide = not is_ascii and _WIDE_LETTER.search(text) is not None
    if not (line_ends or hidden or is_wide):
        return None
    cuts = sorted([*hidden, *line_ends])
    parts: list[str] = []
    begins: list[int] = []
    done = length = 0
    for start, end in cuts:
        parts.append(text[done:start])
        length += start - done
        begins.append(length)
        done = end
    parts.append(text[done:])
    removed = accumulate((end - start for start, end in cuts), initial=0)
    plain = "".join(parts)
    return PlainText(
        plain.translate(_NARROW) if is_wide else plain,
        tuple(begins),
        tuple(removed),
        tuple(start for start, _ in line_ends),
    )


def _line_ends_in_tokens(text: str) -> Iterator[tuple[int, int]]:
    """Yield line ends, with quote marks, after which a token may continue."""
    has_tokens: bool | None = None
    following = -1  # the end of a line that ends with the middle of a token
    for line_end in _NEXT.finditer(text):
        start, end = line_end.span()
        if start != following:
            if not (text[start - 1].isalnum() or text[start - 1] in _INNER):
                continue
            if has_tokens is None:
                has_tokens = any(one in text for one in _BEGINNINGS)
            if not has_tokens:
                return
            if not _begins_token(text, start):
                continue
        yield start - (text[start - 1] == "\r"), end
        piece = _PIECE.match(text, end)
        following = -1 if piece is None else piece.end() + (text[piece.end()] == "\r")


def _begins_token(text: str, end: int) -> bool:
    """Return whether a line's last word begins like a token."""
    run = _BACKWARDS.match(text[max(0, end - _LONGEST) : end][::-1])
    return run is not None and _BEGUN.search(run[1][::-1]) is not None
