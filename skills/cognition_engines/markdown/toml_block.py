"""Front matter in TOML, as the members of a block: each value becomes JSON, which is YAML."""

import json
import re
import tomllib
from collections.abc import Sequence
from typing import Final

_LARGEST: Final = 2**16  # characters of a block
_MOST_DOTS: Final = 200  # in a line, for the parser's time grows with the square of a key's parts
_AT_LINE: Final = re.compile(r"at line (\d{1,9})")
_BEHIND_NAME: Final = re.compile(r"""["'\s=.\]]""")
_UNPRINTABLE: Final = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")  # in YAML, which JSON allows


class BrokenToml(ValueError):
    """A text that is no TOML, at a `line` (0-based) of it; the message is the reason."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.line = line


def toml_members(lines: Sequence[str]) -> list[tuple[str, str, int]]:
    """Return the names, values as JSON, and lines (0-based) of a table's members. Raise BrokenToml."""
    text = "\n".join(lines)
    if len(text) > _LARGEST or max((line.count(".") for line in lines), default=0) > _MOST_DOTS:
        most = f"at most {_LARGEST:,} characters, and {_MOST_DOTS} dots in a line"
        raise BrokenToml(f"front matter in TOML must have {most}", 0)
    try:
        table = tomllib.loads(text)
        values = {name: json.dumps(value, ensure_ascii=False, default=str) for name, value in table.items()}
    except ValueError as error:
        found = _AT_LINE.search(str(error))
        at = int(found[1]) - 1 if found is not None else len(lines) - 1
        raise BrokenToml("the front matter cannot be read here: it must be TOML", max(at, 0)) from None
    except RecursionError:
        raise BrokenToml("the front matter is nested too deeply", 0) from None
    at_line: dict[str, int] = {}
    for at, line in enumerate(lines):
        at_line.setdefault(_BEHIND_NAME.split(line.lstrip("[\"' \t"), 1)[0], at)
    return [(name, _UNPRINTABLE.sub(_escape, value), at_line.get(name, 0)) for name, value in values.items()]


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
