"""Anchors: literal texts required in a path by a pattern, which exclude most patterns without a comparison."""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final, TypeAlias

LONGEST_START: Final = 48  # characters of an anchor
LONGEST_END: Final = 16
LONGEST_INNER: Final = 3
_WILD: Final = re.compile(r"[*?\[\]]")
_TAME: Final = re.compile(r"[^*?\[\]]*")

Form: TypeAlias = tuple[str, int]  # an anchor's first character, and the length of the rest, 1 for a whole name


def anchor_of(pattern: str) -> str:
    """Return an anchor of every matching path (see `anchors_in`); "" if there is none."""
    if "\\" in pattern:
        return ""
    body = pattern.rstrip(" ").rstrip("/")
    names = body.removeprefix("/").split("/")
    start = _TAME.match(body.removeprefix("/"))
    if "/" in body and start is not None and start[0]:
        return f"^{start[0][:LONGEST_START]}"
    tame = [name for name in names if name and not _WILD.search(name)]
    if tame:
        return f"={max(tame, key=len)}"
    begin, *inner, end = _WILD.split(names[-1])
    if len(begin) < len(end):
        return f"${end[-LONGEST_END:]}"
    if begin:
        return f"<{begin[:LONGEST_END]}"
    longest = "" if "[" in names[-1] else max(inner, default="", key=len)
    return f"*{longest[:LONGEST_INNER]}" if longest else ""


def by_anchor(paths: Iterable[str]) -> dict[str, list[str]]:
    """Group paths by their possible anchors, each path once per anchor."""
    found: dict[str, list[str]] = {}
    for path in dict.fromkeys(paths):
        for anchor in anchors_in(path):
            found.setdefault(anchor, []).append(path)
    return found


def anchors_in(path: str) -> Iterator[str]:
    """Yield all anchors possible in a pattern for this path, or for a folder above it."""
    sizes = {"": 1, "^": LONGEST_START, "=": 1, "<": LONGEST_END, "$": LONGEST_END, "*": LONGEST_INNER}
    for kind, most in sizes.items():
        for size in range(1, most + 1):
            yield from anchors_of_form((kind, size), (path,), dict.fromkeys(path.split("/")))


def form_of(anchor: str) -> Form:
    """Return the anchor's form."""
    return (anchor[:1], len(anchor) - 1) if anchor[:1] in {"^", "<", "$", "*"} else (anchor[:1], 1)


def anchors_of_form(form: Form, paths: Collection[str], names: Collection[str]) -> set[str]:
    """Return the anchors with this form that patterns for these paths can have; `names` are the names in the paths."""
    kind, size = form
    match kind:
        case "^":
            return {f"^{path[:size]}" for path in paths if len(path) >= size}
        case "=":
            return {f"={name}" for name in names}
        case "<":
            return {f"<{name[:size]}" for name in names if len(name) >= size}
        case "$":
            return {f"${name[-size:]}" for name in names if len(name) >= size}
        case "*":
            inner = {name[at : at + size] for name in names for at in range(len(name) - size + 1)}
            return {f"*{each}" for each in inner}
    return {""}
