"""The client's typed methods, from the contracts: `cstp.calls` and `cstp.client.methods`."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from inspect import cleandoc
from pathlib import Path
from textwrap import fill
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import JsonValue
from pydantic.alias_generators import to_snake

from cstp import methods
from cstp.contract import Method
from cstp.methods import registry
from cstp.methods.registry import METHODS
from cstp.values.base import Wire, models_in
from cstp.values.reads import ReadParams

WIDTH: Final = 120
CALLS: Final = "a2a/cstp/calls.py"
BINDINGS: Final = "a2a/cstp/client/methods.py"
_ROOT: Final = Path(__file__).parents[3]
_GENERATED: Final = "Generated from `cstp.methods` by `make docs`."
_NAMES: Final = {"cstp.changes": "changes_page"}  # `changes` is the iterator
_CALLS: Final = '''"""One function for each method, which makes a call for `Client.send` and `Client.batch`; and lists.

`timeout` is how many seconds a call may take, if not the client's.'''
_METHODS: Final = '"""Every method, typed, for `Client` and `AsyncClient`.'
_BOUND: Final = {
    "cstp.client.binding": {"AsyncSender", "Sender", "bind", "bind_async", "bind_listing", "bind_listing_async"}
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A method's parameter in Python; `default` is None for a required parameter."""

    name: str
    annotation: str
    default: str | None

    def __str__(self) -> str:
        return f"{self.name}: {self.annotation}" + ("" if self.default is None else f" = {self.default}")


_TIMEOUT: Final = Parameter("timeout", "float | None", "None")


@dataclass(frozen=True, slots=True)
class Listing:
    """The iterator of a paged method: the name, and the members of a result with the items and the total."""

    name: str
    item: str
    items: str
    total: str
    page_size: str


def calls_module() -> str:
    """Return the text of `cstp/calls.py`."""
    ours = {"cstp.call": {"Call", "Listing", "Page", "listing", "typed_call"}}
    for method in METHODS:
        if found := _listing(method):
            ours.setdefault(method.result.__module__, set()).add(found.item)
    lines = [_CALLS, "", _GENERATED, '"""', "", *_imports(ours)]
    for method in METHODS:
        lines += ["", "", *_call(method)]
    for method in METHODS:
        if found := _listing(method):
            lines += ["", "", *_list(method, found)]
    return _format(lines, CALLS)


def methods_module() -> str:
    """Return the text of `cstp/client/methods.py`."""
    lines = [_METHODS, "", _GENERATED, '"""', "", "import cstp.calls as calls", *_import_lines(_BOUND)]
    for prefix, end, results in (("", "", "returned"), ("Async", "_async", "awaited")):
        lines += ["", "", f"class {prefix}Methods({prefix}Sender):"]
        lines += [f'    """The methods of the protocol; results are {results}."""', ""]
        lines += [f"    {client_name(one)} = bind{end}(calls.{client_name(one)})" for one in METHODS]
        names = [found.name for one in METHODS if (found := _listing(one))]
        lines += [f"    {name} = bind_listing{end}(calls.{name})" for name in names]
    return _format(lines, BINDINGS)


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    CALLS: calls_module,
    BINDINGS: methods_module,
}


def _call(method: Method[Any, Any]) -> Iterator[str]:
    yield _signature(client_name(method), [*_parameters(method), _TIMEOUT], f"Call[{_result(method)}]")
    yield from _docstring_lines(method)
    yield f"    return typed_call({_constant(method)[1]}, locals(), timeout)"


def _list(method: Method[Any, Any], found: Listing) -> Iterator[str]:
    parameters = [one for one in _parameters(method) if one.name not in ("limit", "offset")]
    size = Parameter("page_size", "int", found.page_size)
    yield _signature(found.name, [*parameters, size, _TIMEOUT], f"Listing[{found.item}]")
    yield f'    """Iterate over all that `{client_name(method)}` lists, page by page; `timeout` holds for each page."""'
    page = f"lambda found: Page(found.{found.items}, found.{found.total})"
    arguments = f"{_constant(method)[1]}, locals(), page_size, timeout, {page}"
    yield f"    return listing({arguments})"


def _parameters(method: Method[Any, Any]) -> list[Parameter]:
    """Return a method's parameters: required parameters first, those common to all reads last."""
    found = []
    for name, field in method.params.model_fields.items():
        annotation = _spell_type(field.annotation)
        default = None if field.is_required() else _literal(field.default)
        if default == "None" and "None" not in annotation:
            annotation += " | None"
        found.append(Parameter(name, annotation, default))
    return sorted(found, key=lambda one: (one.default is not None, one.name in ReadParams.model_fields))


def _listing(method: Method[Any, Any]) -> Listing | None:
    """Return the iterator over the items of a method; None for a method without an offset."""
    fields = method.params.model_fields
    if "offset" not in fields:
        return None
    result = method.result.model_fields
    items = next(name for name, field in result.items() if get_origin(field.annotation) is list)
    item = get_args(result[items].annotation)[0].__name__
    total = next((name for name in ("total_count", "total") if name in result), "metadata.total_count")
    verb, _, listed = client_name(method).partition("_")
    # getDecisions lists decisions extracted from sources
    both = verb == "list" and any(client_name(one) == f"get_{listed}" for one in METHODS)
    name = f"iter_recorded_{listed}" if both else f"iter_{listed}"
    return Listing(name, item, items, total, repr(fields["limit"].default))


def _spell_type(annotation: Any) -> str:
    """Spell a type as in a signature: without the rules of the wire, and times as a caller has them."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _spell_type(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(_spell_type(one) for one in get_args(annotation)))
    if origin is list:
        return f"list[{_spell_type(get_args(annotation)[0])}]"
    if origin is dict:
        return f"Mapping[{', '.join(_spell_type(one) for one in get_args(annotation))}]"
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


def client_name(method: Method[Any, Any]) -> str:
    return _NAMES.get(method.name) or to_snake(method.name.rpartition(".")[2])


def _result(method: Method[Any, Any]) -> str:
    return method.result.__name__


def _constant(method: Method[Any, Any]) -> tuple[str, str]:
    """Return the module of the method's value, and the value's name there."""
    families = [name for name in sys.modules if name.startswith(f"{methods.__name__}.") and name != registry.__name__]
    members = ((family, vars(sys.modules[family]).items()) for family in families)
    return next((family, name) for family, values in members for name, value in values if value is method)


def _imports(own: Mapping[str, set[str]]) -> list[str]:
    """Return the lines that import `own` and the names in signatures and results, in ruff's order."""
    standard: dict[str, set[str]] = {}
    ours: dict[str, set[str]] = {module: set(names) for module, names in own.items()}
    for method in METHODS:
        family, constant = _constant(method)
        ours.setdefault(family, set()).add(constant)
        ours.setdefault(method.result.__module__, set()).add(_result(method))
        for field in method.params.model_fields.values():
            for inner in models_in(field.annotation):
                ours.setdefault(inner.__module__, set()).add(inner.__name__)
            for names, module, name in (
                (ours, "cstp.values.fields", "Instant"),
                (standard, "typing", "Literal"),
                (standard, "collections.abc", "Mapping"),
            ):
                if name in _spell_type(field.annotation):
                    names.setdefault(module, set()).add(name)
    return [*_import_lines(standard), "", *_import_lines(ours)]


def _import_lines(names: Mapping[str, set[str]]) -> list[str]:
    return [f"from {module} import {', '.join(sorted(names[module]))}" for module in sorted(names)]


def _format(lines: Sequence[str], file: str) -> str:
    """Return a module's text with its imports sorted and its lines broken, as `ruff` leaves them."""
    text = "\n".join(lines) + "\n"
    for words in (("check", "--quiet", "--select=I", "--fix"), ("format",)):
        command = [sys.executable, "-m", "ruff", *words, f"--stdin-filename={file}", "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=_ROOT).stdout
    return text


def _signature(name: str, parameters: Sequence[Parameter], result: str) -> str:
    """Return the `def`; optional parameters are keyword-only."""
    required = [str(one) for one in parameters if one.default is None]
    words = [*required, "*", *(str(one) for one in parameters if one.default is not None)]
    return f"def {name}({', '.join(words)}) -> {result}:"


def _docstring_lines(method: Method[Any, Any]) -> Iterator[str]:
    """Yield the summary and the docstring of the parameters' model, with names as Python has them."""
    said = cleandoc(str(method.params.__doc__))
    if not method.params.model_fields:
        yield f'    """{method.summary}"""'
        return
    yield f'    """{method.summary}'
    for paragraph in said.split("\n\n"):
        yield ""
        yield from (f"    {line}" for line in fill(_in_python(paragraph), WIDTH - 4).splitlines())
    yield '    """'


def _in_python(text: str) -> str:
    words = " ".join(text.split()).split("`")
    return "`".join(to_snake(word) if number % 2 and word.isalpha() else word for number, word in enumerate(words))
