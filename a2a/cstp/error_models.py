"""Models of the `data` of each error, for documents, for the client, and for typed access."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, Final

from pydantic import Field, create_model

from cstp.contract import WireResult
from cstp.errors import ERRORS, CstpError, Violation


class ViolationData(WireResult):
    """One invalid parameter: its path in wire spelling, such as `filters.stakes[0]`, and the rule that it breaks."""

    field: str
    message: str


_ON_THE_WIRE: Final[Mapping[object, object]] = {
    tuple[Violation, ...]: Annotated[list[ViolationData], Field(min_length=1)],
}


def _data_model(error: type[CstpError]) -> type[WireResult]:
    members: dict[str, Any] = {one.name: (_ON_THE_WIRE.get(one.type, one.type), ...) for one in fields(error)}  # type: ignore[arg-type]
    return create_model(f"{error.__name__}Data", __base__=WireResult, __doc__=error.about_data, **members)


# Errors that are absent have no data.
DATA: Final[Mapping[type[CstpError], type[WireResult]]] = {
    error: _data_model(error) for error in ERRORS if is_dataclass(error)
}
