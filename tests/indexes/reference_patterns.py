"""A matcher of `.gitignore` patterns: name by name, trying each reading of a star in turn."""

import re
from collections.abc import Sequence

_TOKEN = re.compile(r"\\.|\[[!^]?\]?[^\]]*\]|.", re.DOTALL)


def reference_includes(lines: Sequence[str], path: str) -> bool:
    """Return whether patterns choose a file: by the last match for it, else by the last for a folder above it."""
    names = path.split("/")
    own = [line for line in lines if not line.endswith("/") and _matches_itself(line, names)]
    folders = [names[:count] for count in range(1, len(names))]
    above = [line for line in lines if any(_matches_itself(line, folder) for folder in folders)]
    deciding = own or above
    return bool(deciding) and not deciding[-1].startswith("!")


def _matches_itself(line: str, names: Sequence[str]) -> bool:
    body = line.removeprefix("!").removesuffix("/")
    if "/" not in body:
        return _matches_names([body], names[-1:])
    return _matches_names(body.removeprefix("/").split("/"), names)


def _matches_names(patterns: Sequence[str], names: Sequence[str]) -> bool:
    if not patterns:
        return not names
    first, *others = patterns
    if re.fullmatch(r"\*\*+", first):
        if not others:
            return len(names) > 0
        return any(_matches_names(others, names[count:]) for count in range(len(names) + 1))
    return bool(names) and _matches_name(_TOKEN.findall(first), names[0]) and _matches_names(others, names[1:])


def _matches_name(tokens: Sequence[str], name: str) -> bool:
    if not tokens:
        return not name
    token, *others = tokens
    if token == "*":
        return any(_matches_name(others, name[count:]) for count in range(len(name) + 1))
    return bool(name) and _matches_character(token, name[0]) and _matches_name(others, name[1:])


def _matches_character(token: str, character: str) -> bool:
    if token == "?":
        return True
    if len(token) == 2:
        return token[1] == character
    if len(token) == 1:
        return token == character
    negated = token[1] in "!^"
    ranges = re.findall(r"(.)-(.)|(.)", token[1 + negated : -1])
    listed = any(low <= character <= high if low else character == alone for low, high, alone in ranges)
    return listed != negated
