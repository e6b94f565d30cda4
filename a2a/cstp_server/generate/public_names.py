"""The list of public names of `cstp`: the models of all methods, and the names listed by hand."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, get_args

import cstp
from cstp import values
from cstp.methods.registry import METHODS
from cstp.values.base import Wire

_PACKAGE: Final = Path(cstp.__file__)
_LIST: Final = re.compile(r"^__all__ = \[\n.*?^\]$", re.MULTILINE | re.DOTALL)


def package_module() -> str:
    """Return the text of `cstp/__init__.py` with the current methods' models in `__all__`."""
    ordered = sorted({*_names_by_hand(), *_model_names()}, key=lambda name: (not name.isupper(), name[0] == "_", name))
    listed = "\n".join(["__all__ = [", *(f'    "{name}",' for name in ordered), "]"])
    return _LIST.sub(lambda _: listed, _PACKAGE.read_text(encoding="utf-8"))


PAGES: Final[Mapping[str, Callable[[], str]]] = {"a2a/cstp/__init__.py": package_module}


def _names_by_hand() -> Iterator[str]:
    """Yield the listed names other than models: clients, errors and constants."""
    for name in cstp.__all__:
        value = getattr(cstp, name, None)
        if value is not None and not _is_model(value):
            yield name


def _model_names() -> Iterator[str]:
    """Yield the names of models in results and inside parameters."""
    for method in METHODS:
        yield from _names_in(method.result)
        for field in method.params.model_fields.values():
            yield from _names_in(field.annotation)


def _names_in(annotation: object) -> Iterator[str]:
    if _is_model(annotation):
        assert isinstance(annotation, type)
        yield annotation.__name__
        for inner in getattr(annotation, "__pydantic_fields__", {}).values():
            yield from _names_in(inner.annotation)
    for part in get_args(annotation):
        yield from _names_in(part)


def _is_model(value: object) -> bool:
    """Return whether it is a value of the protocol; `Wire` is their base."""
    return isinstance(value, type) and value.__module__.startswith(f"{values.__name__}.") and value is not Wire
