"""The client's typed methods, from the contracts: `cstp.calls`, and both `*_methods` in `cstp.client`.

The text is as `ruff format` leaves it, so that the files can be compared with what is made here.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from inspect import cleandoc
from textwrap import fill
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import JsonValue
from pydantic.alias_generators import to_snake

from cstp.contract import Method, Wire
from cstp.methods.registry import METHODS
from cstp.reads import ReadParams

WIDTH: Final = 120
_TIMEOUT: Final = "timeout: float | None = None"
_GENERATED: Final = "Generated from `cstp.methods` by `make docs`."
_NAMES: Final = {"cstp.changes": "changes_page"}  # `changes` is what iterates
_CALLS: Final = '"""Every method as a function that makes a call of it, for `Client.send` and `Client.batch`.'
_METHODS: Final = '"""Every method, typed, for `{}`.'


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a method as Python has it; `default` None for one that is required."""

    name: str
    annotation: str
    default: str | None

    def __str__(self) -> str:
        return f"{self.name}: {self.annotation}" + ("" if self.default is None else f" = {self.default}")


@dataclass(frozen=True, slots=True)
class Listing:
    """What a method that answers in pages is as an iterator: its name, and where a result has items and total."""

    name: str
    item: str
    items: str
    total: str
    page_size: str


def calls_module() -> str:
    """`cstp/calls.py`."""
    lines = [_CALLS, "", _GENERATED, '"""', "", *_imports({"cstp.call": {"Call", "typed_call"}}, constants=True)]
    for method in METHODS:
        parameters = _parameters(method)
        lines += ["", "", *_signature(f"def {_name(method)}", [], parameters, f"Call[{_result(method)}]", "")]
        lines += [f'    """{method.summary}"""', *_made(_constant(method), [one.name for one in parameters])]
    return "\n".join(lines) + "\n"


def sync_module() -> str:
    """`cstp/client/sync_methods.py`."""
    return _module("Client", "Methods", "", "Iterator", "each")


def async_module() -> str:
    """`cstp/client/async_methods.py`."""
    return _module("AsyncClient", "AsyncMethods", "async ", "AsyncIterator", "each_async")


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "a2a/cstp/calls.py": calls_module,
    "a2a/cstp/client/sync_methods.py": sync_module,
    "a2a/cstp/client/async_methods.py": async_module,
}


def _module(whom: str, base: str, prefix: str, iterator: str, each: str) -> str:
    own = {"cstp.call": {"Call"}, "cstp.client.pages": {"Page", each}}
    items = {listing.item: method for method in METHODS if (listing := _listing(method))}
    for item, method in items.items():
        own.setdefault(method.result.__module__, set()).add(item)
    lines = [
        _METHODS.format(whom),
        "",
        _GENERATED,
        '"""',
        "",
        "from abc import ABC, abstractmethod",
        *_imports(
            own,
            constants=False,
            after={"collections.abc": {iterator}, "typing": {"TypeVar"}},
            first=["import cstp.calls as calls"],
        ),
        "",
        'R = TypeVar("R")',
        "",
        "",
        f"class {base}(ABC):",
        '    """The methods of the protocol. `timeout` is how many seconds a call may take, if not the client\'s."""',
        "",
        "    @abstractmethod",
        f"    {prefix}def send(self, call: Call[R], *, {_TIMEOUT}) -> R:",
        '        """One call, as `cstp.calls` makes it; its result."""',
    ]
    for method in METHODS:
        lines += ["", *_indented(_method(method, prefix))]
    for method in METHODS:
        if listing := _listing(method):
            lines += ["", *_indented(_iterator(method, listing, prefix, iterator, each))]
    return "\n".join(lines) + "\n"


def _method(method: Method[Any, Any], prefix: str) -> Iterator[str]:
    parameters = _parameters(method)
    name = _name(method)
    yield from _signature(f"{prefix}def {name}", ["self"], parameters, _result(method), _TIMEOUT)
    yield from _docstring(method)
    yield from _call(f"    call = calls.{name}", [f"{one.name}={one.name}" for one in parameters])
    yield f"    return {'await ' if prefix else ''}self.send(call, timeout=timeout)"


def _iterator(method: Method[Any, Any], listing: Listing, prefix: str, iterator: str, each: str) -> Iterator[str]:
    parameters = [one for one in _parameters(method) if one.name not in ("limit", "offset")]
    size = Parameter("page_size", "int", listing.page_size)
    given = ["limit=limit", "offset=offset", *(f"{one.name}={one.name}" for one in parameters), "timeout=timeout"]
    yield from _signature(f"def {listing.name}", ["self"], [*parameters, size], f"{iterator}[{listing.item}]", _TIMEOUT)
    yield f'    """Everything that `{_name(method)}` lists, page by page; `timeout` holds for each page."""'
    yield ""
    yield f"    {prefix}def read(offset: int, limit: int) -> Page[{listing.item}]:"
    yield from _call(f"        result = {'await ' if prefix else ''}self.{_name(method)}", given)
    yield f"        return Page(result.{listing.items}, result.{listing.total})"
    yield ""
    yield f"    return {each}(read, page_size)"


def _parameters(method: Method[Any, Any]) -> list[Parameter]:
    """Those that are required come first, those that all reads have last."""
    found = []
    for name, field in method.params.model_fields.items():
        annotation = _spelled(field.annotation)
        default = None if field.is_required() else _literal(field.default)
        if default == "None" and "None" not in annotation:
            annotation += " | None"
        found.append(Parameter(name, annotation, default))
    return sorted(found, key=lambda one: (one.default is not None, one.name in ReadParams.model_fields))


def _listing(method: Method[Any, Any]) -> Listing | None:
    """None for a method without an offset."""
    fields = method.params.model_fields
    if "offset" not in fields:
        return None
    result = method.result.model_fields
    items = next(name for name, field in result.items() if get_origin(field.annotation) is list)
    item = get_args(result[items].annotation)[0].__name__
    total = next((name for name in ("total_count", "total") if name in result), "metadata.total_count")
    verb, _, listed = _name(method).partition("_")
    # getDecisions lists those that were extracted from sources
    both = verb == "list" and any(_name(one) == f"get_{listed}" for one in METHODS)
    name = f"iter_recorded_{listed}" if both else f"iter_{listed}"
    return Listing(name, item, items, total, repr(fields["limit"].default))


def _spelled(annotation: Any) -> str:
    """A type as it is written in a signature: without the rules of the wire, and times as a caller has them."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _spelled(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(_spelled(one) for one in get_args(annotation)))
    if origin is list:
        return f"list[{_spelled(get_args(annotation)[0])}]"
    if origin is dict:
        return f"Mapping[{', '.join(_spelled(one) for one in get_args(annotation))}]"
    if origin is Literal:
        return "Literal[" + ", ".join(f'"{value}"' for value in get_args(annotation)) + "]"
    if annotation is JsonValue:  # an object or a list wherever a parameter takes it
        return "Mapping[str, object] | list[object]"
    if annotation is NoneType:
        return "None"
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        return f"{annotation.__name__} | Mapping[str, object]"
    return "Instant" if annotation is datetime else str(annotation.__name__)


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _name(method: Method[Any, Any]) -> str:
    return _NAMES.get(method.name) or to_snake(method.name.rpartition(".")[2])


def _result(method: Method[Any, Any]) -> str:
    return method.result.__name__


def _constant(method: Method[Any, Any]) -> str:
    """The name of the method's value in its module."""
    members = vars(sys.modules[method.params.__module__])
    return next(name for name, value in members.items() if value is method)


def _imports(
    own: Mapping[str, set[str]],
    *,
    constants: bool,
    after: Mapping[str, set[str]] | None = None,
    first: Sequence[str] = (),
) -> list[str]:
    """The lines that import what signatures and results name, sorted as ruff sorts them."""
    standard: dict[str, set[str]] = {module: set(names) for module, names in (after or {}).items()}
    ours: dict[str, set[str]] = {module: set(names) for module, names in own.items()}
    for method in METHODS:
        names = {_result(method)} | ({_constant(method)} if constants else set())
        ours.setdefault(method.result.__module__, set()).update(names)
        for parameter, field in zip(_parameters_in_order(method), method.params.model_fields.values(), strict=True):
            for inner in _models(field.annotation):
                ours.setdefault(inner.__module__, set()).add(inner.__name__)
            if "Instant" in parameter.annotation:
                ours.setdefault("cstp.fields", set()).add("Instant")
            if "Literal" in parameter.annotation:
                standard.setdefault("typing", set()).add("Literal")
            if "Mapping" in parameter.annotation:
                standard.setdefault("collections.abc", set()).add("Mapping")
    return [*_import_lines(standard), "", *first, *_import_lines(ours)]


def _parameters_in_order(method: Method[Any, Any]) -> list[Parameter]:
    order = list(method.params.model_fields)
    return sorted(_parameters(method), key=lambda one: order.index(one.name))


def _models(annotation: Any) -> Iterator[type[Wire]]:
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def _import_lines(names: Mapping[str, set[str]]) -> Iterator[str]:
    for module in sorted(names):
        ordered = sorted(names[module], key=lambda name: (not name.isupper(), not name[0].isupper(), name.lower()))
        line = f"from {module} import {', '.join(ordered)}"
        if len(line) <= WIDTH:
            yield line
        else:
            yield from (f"from {module} import (", *(f"    {name}," for name in ordered), ")")


def _signature(
    head: str, first: Sequence[str], parameters: Sequence[Parameter], result: str, last: str
) -> Iterator[str]:
    """`def`, on one line where it fits; what is optional is by keyword only."""
    required = [str(one) for one in parameters if one.default is None]
    optional = [str(one) for one in parameters if one.default is not None] + ([last] if last else [])
    words = [*first, *required, *(["*", *optional] if optional else [])]
    line = f"{head}({', '.join(words)}) -> {result}:"
    # one more level of indent in a class
    if len(line) + 4 * bool(first) <= WIDTH:
        yield line
    else:
        yield f"{head}("
        for word in words:
            yield from _wrapped(word, WIDTH - 4 * bool(first))
        yield f") -> {result}:"


def _wrapped(word: str, width: int) -> Iterator[str]:
    """A parameter on a line of this width; a list of many names, or null, takes several."""
    line = f"    {word},"
    if len(line) <= width:
        yield line
        return
    kinds, rest = line.split(" | ", 1)
    if len(kinds) <= width:
        yield kinds
    else:
        name, inner = kinds.split("[", 1)
        yield from (f"{name}[", f"        {inner.removesuffix(']')}", "    ]")
    yield f"    | {rest}"


def _call(head: str, arguments: Sequence[str]) -> Iterator[str]:
    """A call, on one line where it fits."""
    indent = " " * (len(head) - len(head.lstrip()))
    line = f"{head}({', '.join(arguments)})"
    # in a class there is one more level of indent, which is left free everywhere
    if len(line) + 4 <= WIDTH:
        yield line
    else:
        yield from (f"{head}(", *(f"{indent}    {one}," for one in arguments), f"{indent})")


def _made(constant: str, names: Sequence[str]) -> Iterator[str]:
    members = [f'"{name}": {name}' for name in names]
    line = f"    return typed_call({constant}, {{{', '.join(members)}}})"
    if len(line) <= WIDTH:
        yield line
    else:
        yield from ("    return typed_call(", f"        {constant},", "        {")
        yield from (f"            {member}," for member in members)
        yield from ("        },", "    )")


def _docstring(method: Method[Any, Any]) -> Iterator[str]:
    """The summary and what the parameters' model says, with names as Python has them."""
    said = cleandoc(str(method.params.__doc__))
    if not method.params.model_fields:
        yield f'    """{method.summary}"""'
        return
    yield f'    """{method.summary}'
    for paragraph in said.split("\n\n"):
        yield ""
        yield from (f"    {line}" for line in fill(_in_python(paragraph), WIDTH - 8).splitlines())
    yield '    """'


def _in_python(text: str) -> str:
    words = " ".join(text.split()).split("`")
    return "`".join(to_snake(word) if number % 2 and word.isalpha() else word for number, word in enumerate(words))


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"    {line}" if line else "" for line in lines)
