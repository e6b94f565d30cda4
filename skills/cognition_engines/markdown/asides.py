"""Parts of a Markdown file that are no text: the comments of Obsidian's notes, the code and comments of MDX."""

import re
from typing import Final

from cognition_engines.markdown.blobs import Shortened, without

# code stays: a fenced block up to its end or the end of the text, and a code span
_CODE: Final = (
    r"(?P<code>^[ \t>]{0,20}(?P<mark>`{3,}|~{3,})[^\n]*+(?:\n(?![ \t>]{0,20}(?P=mark))[^\n]*+)*+(?:\n[^\n]*+)?"
    r"|`[^`\n]{1,1000}+`)"
)
_LINES: Final = r"(?:\n+(?=[ \t}\])])[^\n]*+)*+"  # of a statement: indented ones, and those that close a bracket
_IMPORTED: Final = r"(?:[\w*$][\w*$, \t]{0,300})?(?:\{[^{}\"';]{0,5000}\}[ \t]*)?from[ \t]*"
_DEFAULT: Final = r"default[ \t]++(?:(?:function|class|async)\b|[\w$.]{0,100}+[ \t]*+(?:[;({]|$))"
_EXPORTED: Final = rf"(?:{_DEFAULT}|(?:const|let|var|function|class|async|type|interface)[ \t]+[\w$\[{{]|[*{{])"
NOTE: Final = re.compile(
    rf"{_CODE}|^[ \t]*+%%(?:[^%]++|%(?!%))*+%%[ \t]*+$|(?<![^\s(>*_])%%(?:[^%\n]++|%(?!%))++%%(?!\w)", re.MULTILINE
)
MDX: Final = re.compile(
    rf"{_CODE}|\{{/\*(?:[^*{{]++|\*(?!/)|\{{(?!/\*))*+\*/\}}"
    rf"|^import[ \t]+(?:{_IMPORTED})?[\"'][^\"'\n]++[\"'][^\n]*+|^export[ \t]+{_EXPORTED}[^\n]*+{_LINES}",
    re.MULTILINE,
)


def without_asides(text: str, asides: re.Pattern[str]) -> Shortened:
    """Return the text without the parts that match `NOTE` or `MDX`. The number of lines does not change."""
    return without(text, asides, lambda match: None if match["code"] else "")
