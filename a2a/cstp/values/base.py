"""Base of all values: wire names, and marks of record ids."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict


@dataclass(frozen=True, slots=True)
class PublishedNames:
    """Differences between a model's names and the names of the published CSTP server.

    `also` are other member names, `instead` hints for names without a meaning here, and `without` hints for missing or
    empty members, by wire name.
    """

    also: Mapping[str, str] = field(default_factory=dict)
    instead: Mapping[str, str] = field(default_factory=dict)
    without: Mapping[str, str] = field(default_factory=dict)


@cache
def _to_wire_name(name: str) -> str:
    """Return a name in camel case, without pydantic's `to_camel`: it takes a part of an import."""
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


class Wire(BaseModel):
    """A value on the wire: camelCase names, or snake_case as in Python, no unknown members, no coercion, immutable."""

    if TYPE_CHECKING:
        published: ClassVar[PublishedNames]

    model_config = ConfigDict(
        alias_generator=_to_wire_name,
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
        protected_namespaces=(),  # no method of pydantic is a name on the wire; the check takes a part of an import
        defer_build=True,  # so an import is quick; safe for threads from pydantic 2.14 on
    )


Wire.published = PublishedNames()  # an annotation would be evaluated again for each model of an import


class NullClears:
    """Mark of models in which null deletes the member's value; in other models null means absent."""


@dataclass(frozen=True, slots=True)
class Names:
    """Mark of a member with a record id, or a list of ids, in `Annotated`.

    `kind` is the record kind, such as `decision`, or a function returning the kind for the owning model; None is no
    record.
    """

    kind: str | Callable[[Any], str | None]


DecisionId: TypeAlias = Annotated[str, Names("decision")]
DecisionIds: TypeAlias = Annotated[list[str], Names("decision")]


def by_type(owner: Any) -> str:
    """Return the kind of a record whose `type` is also the kind."""
    kind: str = owner.type
    return kind


def models_in(annotation: Any) -> Iterator[type[Wire]]:
    """Yield the models within a type."""
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        yield annotation
    for inner in get_args(annotation):
        yield from models_in(inner)
