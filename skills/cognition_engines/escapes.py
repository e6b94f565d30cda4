r"""Texts by others made fit to show: active characters, obeyed by a terminal or reordering a line, are written out.

The notation is as in JSON, so JSON keeps its meaning: ESC is `\u001b`, a newline within a line `\n`.
"""

import re
from typing import Final

# C0 except tab and newline, DEL, C1; bidirectional marks, embeddings, overrides and isolates; line and paragraph
# separators; interlinear annotations; surrogates; tags
_ACTIVE: Final = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb\ud800-\udfff"
    r"\U000e0000-\U000e007f"
)
_IN_LINES: Final = re.compile(f"[{_ACTIVE}]")
_IN_ONE: Final = re.compile(f"[\\t\\n{_ACTIVE}]")
_SHORT: Final = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def one_line(text: str) -> str:
    """Return the text on a single line; newlines and tabs are also written out."""
    return _IN_ONE.sub(_written_out, text)


def several_lines(text: str) -> str:
    """Return the text with newlines and tabs; other active characters are written out."""
    return _IN_LINES.sub(_written_out, text)


def _written_out(match: re.Match[str]) -> str:
    character = match[0]
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
