"""Models of each error's `data`, for documents, for the client, and for typed access."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, Final

from pydantic import Field, create_model

from cstp.errors import ERRORS, CstpError, Violation
from cstp.values.base import Wire


class ViolationData(Wire):
    """An invalid parameter: path in wire spelling, such as `filters.stakes[0]`, and broken rule."""

    field: str
    message: str


_ON_THE_WIRE: Final[Mapping[object, object]] = {
    tuple[Violation, ...]: Annotated[list[ViolationData], Field(min_length=1)],
}


_made: dict[type[CstpError], type[Wire]] = {}


def data_model(error: type[CstpError]) -> type[Wire] | None:
    """Return the model of an error's `data`, made at first use since imports should be quick; None without data."""
    if error not in _made and is_dataclass(error):
        members: dict[str, Any] = {
            one.name: (_ON_THE_WIRE.get(one.type, one.type), None if one.default is None else ...)
            for one in fields(error)
        }
        name, about = f"{error.__name__}Data", error.about_data
        _made[error] = create_model(name, __base__=Wire, __doc__=about, **members)
    return _made.get(error)


def data_models() -> dict[type[CstpError], type[Wire]]:
    """Return the models of all errors with data."""
    return {error: model for error in ERRORS if (model := data_model(error)) is not None}
