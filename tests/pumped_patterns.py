"""Inputs that slow down a regular expression: repetitions matched by pattern parts."""

import ast
import importlib
import pkgutil
import re
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import islice, product
from pathlib import Path
from re import (
    _constants as op,  # type: ignore[attr-defined]
    _parser as parser,  # type: ignore[attr-defined]
)
from time import thread_time
from types import ModuleType
from typing import Any, Final

LENGTH: Final = 20_000  # characters of an input
_LEAST: Final = 0.03  # processor seconds below which a time is not judged
_MOST: Final = 0.25  # seconds before a match of a part is given up
_PARTS: Final = 16
_BOUND: Final = 48  # times the time of a part; 16 for linear growth, 256 for quadratic growth
_COSTLY: Final = 0.002  # seconds of a part from which a text of four parts shows the growth: 4 times, or 16
_FEW_PARTS: Final = 4
_FEW_BOUND: Final = 9
_TRIES: Final = 2  # both must be slow
_AT_THE_BEGINNING: Final = ("match", "fullmatch", "pattern", "flags", "groups")
_DEEPEST: Final = 6  # levels of values in values
_ENDS: Final = ("", "\0", "\n!")
_MOST_PIECES: Final = 12


@dataclass(frozen=True, slots=True)
class UsedPattern:
    """A pattern, the module, and names of methods used to search anywhere in a text."""

    pattern: re.Pattern[Any]
    module: str
    searched: bool


def used_patterns(packages: Iterable[str]) -> dict[re.Pattern[Any], UsedPattern]:
    """Return the patterns held by modules of these packages, in any values, or written out in a call."""
    modules = [module for package in packages for module in _modules_of(package)]
    trees = {module.__name__: _tree_of(module) for module in modules}
    searched = {name: set(_searched_names(tree)) for name, tree in trees.items()}
    public = {each for names in searched.values() for each in names if not each.startswith("_")}
    found: dict[re.Pattern[Any], UsedPattern] = {}
    for module in modules:
        held = [
            UsedPattern(
                pattern,
                module.__name__,
                not isinstance(value, re.Pattern) or name in searched[module.__name__] | public,
            )
            for name, value in vars(module).items()
            for pattern in _patterns_in(value, module.__name__, set(), 0)
        ]
        for each in (*held, *_written_in(module.__name__, trees[module.__name__])):
            before = found.setdefault(each.pattern, each)
            found[each.pattern] = replace(before, searched=before.searched or each.searched)
    return found


def _modules_of(package: str) -> Iterator[ModuleType]:
    root = importlib.import_module(package)
    yield root
    for found in pkgutil.walk_packages(root.__path__, f"{package}."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def _searched_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr not in _AT_THE_BEGINNING:
            yield node.value.id


def _tree_of(module: ModuleType) -> ast.Module:
    return ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))


def _written_in(module: str, tree: ast.Module) -> Iterator[UsedPattern]:
    """Yield patterns given as text to calls such as `re.split(r"...", text)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re.") and node.args:
            written = node.args[0]
            if isinstance(written, ast.Constant) and isinstance(written.value, str | bytes):
                method = ast.unparse(node.func).removeprefix("re.")
                if method not in ("compile", "escape"):
                    yield UsedPattern(re.compile(written.value), module, method not in _AT_THE_BEGINNING)


def _patterns_in(value: object, module: str, seen: set[int], depth: int) -> Iterator[re.Pattern[Any]]:
    if id(value) in seen or depth > _DEEPEST:
        return
    seen.add(id(value))
    inner: list[object] = []
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, type):
        inner = list(vars(value).values()) if value.__module__ == module else []
    elif isinstance(value, Mapping):
        inner = [*value.keys(), *value.values()]
    elif isinstance(value, tuple | list | Set):
        inner = list(value)
    elif is_dataclass(value):
        inner = [getattr(value, each.name, None) for each in fields(value)]
    for each in inner:
        yield from _patterns_in(each, module, seen, depth + 1)


def attacks_on(pattern: re.Pattern[Any]) -> Iterator[str]:
    """Yield texts of about LENGTH characters: a repeated part, and an end that may not match."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    found: dict[tuple[str, str], None] = {}
    bodies: dict[str, None] = {}
    for before, body in _repetitions(list(tree), ""):
        for piece in body:
            found[before, piece] = None
            found["", piece] = None
            found["", before + piece] = None
            bodies[piece] = None
    joined = [one + other for one, other in product(islice(bodies, _MOST_PIECES), repeat=2) if one != other]
    found |= dict.fromkeys(("", each) for each in islice(joined, _MOST_PIECES))
    for (before, piece), end in product(found, _ENDS):
        if piece:
            yield before + piece * (LENGTH // len(piece)) + end


def _repetitions(tree: list[Any], before: str) -> Iterator[tuple[str, list[str]]]:
    """Yield an example text before each repetition without a small bound, and body examples."""
    for code, argument in tree:
        match code:
            case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
                _, most, body = argument
                if most > 8:
                    yield before, [*_examples(list(body))]
                yield from _repetitions(list(body), before)
            case op.SUBPATTERN:
                yield from _repetitions(list(argument[-1]), before)
            case op.ATOMIC_GROUP:
                yield from _repetitions(list(argument), before)
            case op.ASSERT | op.ASSERT_NOT:
                yield from _repetitions(list(argument[1]), before)
            case op.BRANCH:
                for branch in argument[1]:
                    yield from _repetitions(list(branch), before)
        before += _example([(code, argument)])


def _examples(body: list[Any]) -> Iterator[str]:
    """Yield a text for each initial character class and branch of a body, and a whole body text."""
    yield _example(body)
    for code, argument in body:
        match code:
            case op.IN:
                yield from _characters(argument)
            case op.BRANCH:
                yield from (_example(list(branch)) for branch in argument[1])
            case op.SUBPATTERN:
                yield from _examples(list(argument[-1]))
            case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
                yield from _examples(list(argument[2]))
            case op.ANY | op.NOT_LITERAL:
                yield from ("a", " ")


def _example(tree: list[Any]) -> str:
    """Return a text probably matched by the parts."""
    made = ""
    for code, argument in tree:
        match code:
            case op.LITERAL:
                made += chr(argument)
            case op.NOT_LITERAL:
                made += "b" if argument == ord("a") else "a"
            case op.ANY:
                made += "a"
            case op.IN:
                made += next(_characters(argument), "a")
            case op.BRANCH:
                made += _example(list(argument[1][0]))
            case op.SUBPATTERN:
                made += _example(list(argument[-1]))
            case op.ATOMIC_GROUP:
                made += _example(list(argument))
            case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
                made += _example(list(argument[2])) * max(argument[0], min(argument[1], 1))
    return made


_OF_CATEGORIES: Final = {
    op.CATEGORY_DIGIT: "0", op.CATEGORY_NOT_DIGIT: "a", op.CATEGORY_SPACE: " ", op.CATEGORY_NOT_SPACE: "a",
    op.CATEGORY_WORD: "a", op.CATEGORY_NOT_WORD: "-",
}  # fmt: skip


def _characters(parts: list[Any]) -> Iterator[str]:
    """Yield a character of each part of a class; for a negated class, characters outside it."""
    if parts and parts[0][0] is op.NEGATE:
        rule = re.compile("|".join(re.escape(one) for one in _characters(parts[1:])) or "(?!)")
        yield from (one for one in "a \n-x" if not rule.fullmatch(one))
        return
    for code, argument in parts:
        match code:
            case op.LITERAL:
                yield chr(argument)
            case op.RANGE:
                yield chr(argument[0])
            case op.CATEGORY:
                yield _OF_CATEGORIES[argument]


class _Late(Exception):
    pass


@contextmanager
def alarm() -> Iterator[None]:
    """Allow giving up a long match: the library checks signals."""

    def raise_late(*_: object) -> None:
        raise _Late

    before = signal.signal(signal.SIGVTALRM, raise_late)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def grows_too_fast(used: UsedPattern) -> str | None:
    """Return the beginning of a text with time growing faster than the length; None if not found."""
    for attack in dict.fromkeys(attacks_on(used.pattern)):
        if all(_is_slow(used, attack) for _ in range(_TRIES)):
            return attack[:60]
    return None


def _is_slow(used: UsedPattern, attack: str) -> bool:
    """Return whether the full text, or four parts of it, takes far longer than in proportion to a part."""
    part = _seconds(used, attack[: LENGTH // _PARTS] + attack[-2:], _MOST)  # with the failing end
    if part < _LEAST / _PARTS**2:
        return False
    many, bound = (_PARTS, _BOUND) if part < _COSTLY else (_FEW_PARTS, _FEW_BOUND)
    limit = max(_LEAST, bound * part)
    return part >= _MOST or _seconds(used, attack[: LENGTH * many // _PARTS] + attack[-2:], limit) >= limit


def _seconds(used: UsedPattern, text: str, limit: float) -> float:
    """Return the pattern's processor seconds in this thread, or `limit`."""
    pattern = used.pattern
    content: Any = text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text
    began = thread_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        pattern.match(content)
        pattern.fullmatch(content)
        deque(pattern.finditer(content) if used.searched else (), maxlen=0)
    except _Late:
        return limit
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return min(limit, thread_time() - began)
