"""Counts limited by the house rules, read from the source code.

A place that lists a decision's members is the innermost definition (a function, a class without its methods, or a
module statement) in handwritten code that names at least MANY members of `Decision` and `DecisionDetails`, as
identifiers, attributes, arguments, keywords or strings, in any case. Members shared with other record kinds (`id`,
`title`, `date`) are left out, so that no other kind reaches MANY.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Final

from cognition_engines.models import Decision, DecisionDetails

ROOT: Final = Path(__file__).parents[2]
MANY: Final = 8
SHARED_MEMBERS: Final = {
    *("context", "date", "details", "file", "id", "line", "metadata", "project"),
    *("sensitivity", "sources", "status", "tags", "text", "title"),
}
MEMBERS: Final = {each.name for kind in (Decision, DecisionDetails) for each in fields(kind)} - SHARED_MEMBERS
GENERATED: Final = "by `make docs`."  # in the docstring of a generated module
METHOD: Final = "list_memories"  # a reading method, representing any new method
# `cut`, `left`, `put` and `read` are verbs, too
PARTICIPLES: Final = re.compile(
    "[a-z]{2,}(?:ed|ing)|again|ahead|alike|all|alone|apart|around|away|before|below|broken|chosen|doomed|drawn|elsewhere"
    "|forgotten|found|given|gone|grown|held|hidden|instead|kept|known|lately|lost|made|meant|met|now|once|outgrown"
    "|rewritten|said|seen|sent|shown|since|sought|spent|spoken|taken|then|there|thrown|together|told|within|without"
    "|written|wrong"
)
NO_PARTICIPLES: Final = re.compile(
    "embed|exceed|feed|heading|heed|listing|need|proceed|ring|seed|something|speed|spelling|string|warning"
)
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def sources(folders: Iterable[Path]) -> dict[str, str]:
    """Return each Python module's text below `folders`, by path from the project root."""
    found = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in found}


def by_hand(modules: Mapping[str, str]) -> dict[str, str]:
    """Return the handwritten modules."""
    return {path: text for path, text in modules.items() if GENERATED not in text[:300]}


def lines(modules: Mapping[str, str]) -> int:
    return sum(text.count("\n") for text in modules.values())


def member_places(modules: Mapping[str, str]) -> list[str]:
    """Return `path:line` of each place that lists a decision's members."""
    places: list[str] = []
    for path, text in modules.items():
        tree = _parse(text)
        definitions = [node for node in ast.walk(tree) if isinstance(node, Definition)]
        places += [
            f"{path}:{node.lineno}"
            for node in dict.fromkeys([*tree.body, *definitions])
            if len({snake(name) for name in _names(node)} & MEMBERS) >= MANY
        ]
    return places


def method_files(modules: Mapping[str, str]) -> list[str]:
    """Return the handwritten product files that name METHOD, as a new method's files would."""
    spellings = re.compile(rf"{METHOD}|{METHOD.title().replace('_', '')}", re.IGNORECASE)
    return [path for path, text in by_hand(modules).items() if spellings.search(text)]


def hand_written(patch: str) -> list[str]:
    """Return the handwritten files changed by a worked patch: code, tests and documents."""
    changed = re.findall(r"^\+\+\+ b/(\S+)", patch, re.MULTILINE)
    return [path for path in changed if not path.startswith("docs/methods/") and path != "docs/openrpc.json"]


def patched_files(patch: str) -> list[str]:
    """Return the handwritten product files changed by a worked patch of `docs/`."""
    changed = re.findall(r"^\+\+\+ b/((?:a2a|skills)/\S+\.py)", patch, re.MULTILINE)
    texts = {path: (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).exists() else "" for path in changed}
    return list(by_hand(texts))


def participles(modules: Mapping[str, str]) -> tuple[list[str], int]:
    """Return function names that are a bare participle or adverb, and the function count."""
    names = [
        node.name
        for text in modules.values()
        for node in ast.walk(_parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return [name for name in names if _is_participle(name.strip("_"))], len(names)


@cache
def _parse(text: str) -> ast.Module:
    return ast.parse(text)


def _is_participle(name: str) -> bool:
    return bool(PARTICIPLES.fullmatch(name)) and not NO_PARTICIPLES.fullmatch(name)


def _names(place: ast.AST) -> Iterator[str]:
    """Yield a place's names, without nested definitions."""
    match place:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.Constant(value=str(name)):
            yield name
        case ast.keyword(arg=str(name)):
            yield name
    for child in ast.iter_child_nodes(place):
        if not isinstance(child, Definition):
            yield from _names(child)


def snake(name: str) -> str:
    """Return a name in Python spelling."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
