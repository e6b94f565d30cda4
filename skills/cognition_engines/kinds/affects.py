"""The parts of a project governed by a decision: their rules, and the texts that find the decision."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from cognition_engines.kinds.fields import Line, Model, OrText
from cognition_engines.models import Decision
from cognition_engines.path_patterns import (
    LONGEST_GOVERNING,
    BadPattern,
    check_governing,
    compile_list,
    count_names,
    count_wildcards,
)
from cognition_engines.path_sets import PathSet
from cognition_engines.wanted import Wanted, always
from cstp.values.decisions import AffectedPart, AffectedType

PATH: Final = "path"
MOST_PARTS: Final = 100  # of a decision
MOST_WILDCARDS: Final = 200  # of a decision's patterns together
MOST_NAMED: Final = 64  # paths in a decision's text
_MOST_NAMES: Final = 21  # of a path in a text
_NAMED: Final = re.compile(
    r"(?<![\w/.:-])(?:[\w.@+-]{1,100}/){1,20}[\w.@+-]{1,100}(?![\w/])|`([\w@+-][\w.@+-]{0,100}\.\w{1,10})`"
)
PATHS: Final = f"{PATH}:"  # before a list of path patterns


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenPart(Model):
    """A part in a file: paths by a pattern relative to the repository root, or anything else by name."""

    type: AffectedType = "path"
    pattern: Annotated[str, Line(LONGEST_GOVERNING)]


def check_part(type: str, pattern: str) -> None:
    """Raise BadPattern for an invalid path pattern; the message continues after the pattern's name."""
    if type == PATH:
        check_governing(pattern)


def _check_given_part(part: GivenPart) -> GivenPart:
    try:
        check_part(part.type, part.pattern)
    except BadPattern as error:
        raise PydanticCustomError("pattern", "{reason}", {"reason": str(error)}) from None
    return part


def check_together(parts: Iterable[tuple[str, str]]) -> None:
    """Raise BadPattern for too many wildcards in a decision's patterns; `parts` are checked types and patterns."""
    if count_wildcards(pattern for type, pattern in parts if type == PATH) > MOST_WILDCARDS:
        raise BadPattern(f"must have at most {MOST_WILDCARDS} wildcards in all patterns together")


def _check_together(parts: tuple[GivenPart, ...]) -> tuple[GivenPart, ...]:
    try:
        check_together((one.type, one.pattern) for one in parts)
    except BadPattern as error:
        raise PydanticCustomError("patterns", "{reason}", {"reason": str(error)}) from None
    return parts


GivenParts: TypeAlias = Annotated[
    tuple[
        Annotated[
            GivenPart,
            OrText(lambda text: GivenPart(pattern=text), LONGEST_GOVERNING),
            AfterValidator(_check_given_part),
        ],
        ...,
    ],
    Field(
        max_length=MOST_PARTS,
        description=f"a list of at most {MOST_PARTS} patterns of paths as in a .gitignore, each of at most "
        f"{LONGEST_GOVERNING} characters, or of objects with type (path, package, api or data) and pattern",
    ),
    AfterValidator(_check_together),
]


def refused_part(given: object) -> str | None:
    """Return the rule broken by a file's list, with the first bad pattern's number; None for a valid list."""
    parts: list[tuple[str, str]] = []
    for number, item in enumerate(given if isinstance(given, list) else [given], start=1):
        kind, pattern = (item.get("type", PATH), item.get("pattern")) if isinstance(item, dict) else (PATH, item)
        if isinstance(pattern, str):
            parts.append((kind, pattern))
            try:
                check_part(kind, pattern)
            except BadPattern as error:
                return f"pattern {number} {error}: {pattern[:LONGEST_GOVERNING]!r}"
    return None if len(parts) > MOST_PARTS else _refused_together(parts)


def _refused_together(parts: Iterable[tuple[str, str]]) -> str | None:
    try:
        check_together(parts)
    except BadPattern as error:
        return str(error)
    return None


def parts_of(given: Iterable[GivenPart]) -> tuple[AffectedPart, ...]:
    """Return the parts as records hold them."""
    return tuple(AffectedPart(one.type, one.pattern) for one in given)


def governed_texts(parts: Iterable[AffectedPart]) -> tuple[str, ...]:
    """Return the texts for a decision's parts: the type and the name, or the pattern for paths.

    Patterns in a list with a negated pattern count together, so they are a single text, one per line.
    """
    paths = [one.pattern for one in parts if one.type == PATH]
    lists = ["\n".join(paths)] if any(path.startswith("!") for path in paths) else paths
    others = [f"{one.type}:{one.pattern}" for one in parts if one.type != PATH]
    return tuple(dict.fromkeys([*(f"{PATHS}{lines}" for lines in lists), *others]))


def named_paths(decision: Decision) -> tuple[str, ...]:
    """Return the first paths in title and text: names with slashes between them, and a file between backticks."""
    found: dict[str, None] = {}
    for token in _NAMED.finditer(f"{decision.title}\n{decision.text}"):
        found[(token[1] or token[0]).rstrip(".-")] = None
        if len(found) == MOST_NAMED:
            break
    return tuple(found)


def endings_of(path: str) -> list[str]:
    """Return the names of a file in a text: its path, and the path's ends with several names."""
    names = path.split("/")
    return [path, *("/".join(names[start:]) for start in range(max(1, len(names) - _MOST_NAMES), len(names) - 1))]


def matched_parts(
    parts: Sequence[AffectedPart], files: PathSet, names: Collection[str], wanted: Wanted = always
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the part texts that choose a file or equal a name, the most specific first; and the files.

    Raise NotWanted if no caller waits any more.
    """
    paths = [one.pattern for one in parts if one.type == PATH]
    negated = any(path.startswith("!") for path in paths)
    whole = frozenset(files.choose(compile_list("\n".join(paths)), wanted)) if negated else None
    found: dict[str, None] = {}
    chosen: dict[str, None] = {}
    for pattern in (path for path in paths if not path.startswith("!")):
        for file in files.choose(compile_list(pattern), wanted):
            if whole is None or file in whole:
                found[f"{PATHS}{pattern}"] = chosen[file] = None
    found |= dict.fromkeys(f"{one.type}:{one.pattern}" for one in parts if one.type != PATH and one.pattern in names)
    return tuple(sorted(found, key=specificity, reverse=True)), tuple(chosen)


def specificity(text: str) -> int:
    """Return a part text's specificity: the names without a wildcard, 1 for a plain name."""
    if not text.startswith(PATHS):
        return 1
    return max(0 if line.startswith("!") else count_names(line) for line in text.removeprefix(PATHS).split("\n"))
