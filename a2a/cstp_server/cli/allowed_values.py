"""The values that a parameter of a method allows, in words, for the help of options."""

from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Le

from cstp.contract import Method


def allowed_values(method: Method[Any, Any], name: str) -> str:
    """Return the choices of a parameter, or the bounds of a number: `low, medium or high`, `1 to 500`."""
    field = method.params.model_fields[name]
    kinds = [kind for kind in (field.annotation, *get_args(field.annotation)) if get_origin(kind) is Literal]
    choices = [str(value) for kind in kinds for value in get_args(kind)]
    if choices:
        return f"{', '.join(choices[:-1])} or {choices[-1]}"
    (low,) = [rule.ge for rule in field.metadata if isinstance(rule, Ge)]
    (high,) = [rule.le for rule in field.metadata if isinstance(rule, Le)]
    return f"{low:g} to {high:g}"
