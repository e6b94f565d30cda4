"""The definition of a method: one frozen value that the server, the documents and the clients all read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Generic, Literal, TypeAlias, TypeVar, get_args

from pydantic import BaseModel, ConfigDict

from cstp.errors import ERRORS, CstpError, Forbidden, JsonValue, QueryFailed

Scope = Literal["read", "write", "review", "ratify", "admin"]


@dataclass(frozen=True, slots=True)
class PublishedNames:
    """Names of the published CSTP server that differ from those of a model.

    `also` are other names of its members, `instead` the hints for names without a meaning here, and `without` the hints
    for missing or empty members, by their name on the wire.
    """

    also: Mapping[str, str] = field(default_factory=dict)
    instead: Mapping[str, str] = field(default_factory=dict)
    without: Mapping[str, str] = field(default_factory=dict)


@cache
def _to_wire_name(name: str) -> str:
    """Return a name in camel case; pydantic's `to_camel` takes a part of an import for it."""
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


class Wire(BaseModel):
    """A value on the wire: camelCase names, no unknown members, no coercion, immutable."""

    if TYPE_CHECKING:
        published: ClassVar[PublishedNames]

    model_config = ConfigDict(
        alias_generator=_to_wire_name,
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        validate_by_alias=True,
        validate_by_name=False,
        serialize_by_alias=True,
        protected_namespaces=(),  # no method of pydantic is a name on the wire; the check takes a part of an import
        defer_build=True,  # so that an import is quick; safe for threads from pydantic 2.14 on
    )


Wire.published = PublishedNames()  # an annotation would be evaluated again for each model of an import


class NullTakesAway:
    """A mark of models in which null deletes the member's value; in other models null means absent."""


class WireResult(Wire):
    """A value that a server makes: it accepts field names, too, and is validated like a received one."""

    model_config = ConfigDict(validate_by_name=True)


P = TypeVar("P", bound=Wire)
R = TypeVar("R", bound=Wire)


@dataclass(frozen=True, slots=True)
class ToolText:
    """A method as a tool of MCP: the text by which a model chooses it, and hints for its client.

    `name` is absent unless it is another than the method's. `defaults` are values of absent parameters that differ from
    the method's, and `naming` members of the result whose value is the name of a parameter. `adds` says that a call
    that writes takes nothing away, `repeatable` that the same one again changes nothing more, `quotes` that answers
    have stored texts: by default, those of methods that read have. `view` names the page that a client may show for an
    answer.
    """

    title: str
    description: str
    name: str | None = None
    defaults: Mapping[str, JsonValue] = field(default_factory=dict)
    naming: tuple[str, ...] = ()
    adds: bool = True
    repeatable: bool = False
    quotes: bool | None = None
    view: Literal["decision"] | None = None


ANSWER_TOKENS: Final = 8000  # of a tool's answer: common clients cut at 25,000


@dataclass(frozen=True, slots=True)
class Method(Generic[P, R]):
    """One method of the protocol.

    `scope` None means any live token may call it; one of `other_scopes` does as well. `cost` is its units in the
    agent's limits, unless the server's settings differ. A method `from_records` reads the records themselves, others
    may answer from indexes, which follow them. `paths` is the parameter, such as `filters.paths`, whose paths are
    matched with the patterns of decisions, None without one: the price grows with both. A method that `stores` changes
    records, whatever its scope. Calls of a method that is not `audited` leave no row in the audit: its results name no
    record. A method without a `tool` is not available over MCP.
    """

    name: str
    summary: str
    params: type[P]
    result: type[R]
    errors: tuple[type[CstpError], ...] = (QueryFailed,)
    scope: Scope | None = "read"
    cost: int = 1
    other_scopes: tuple[Scope, ...] = ()
    from_records: bool = False
    paths: str | None = None
    stores: bool = False
    audited: bool = True
    tool: ToolText | None = None

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Scopes, any of which lets a token call it; empty if every token may."""
        return () if self.scope is None else (self.scope, *self.other_scopes)

    @property
    def writes(self) -> bool:
        """True if a call changes records."""
        return self.stores or self.scope in ("write", "review", "ratify")

    @property
    def common_errors(self) -> tuple[type[CstpError], ...]:
        """Errors of every method, in addition to `errors`."""
        common = tuple(error for error in ERRORS if error.any_method)
        return common if self.scope is None else (*common, Forbidden)


@dataclass(frozen=True, slots=True)
class Names:
    """Marks a member that is the id of a record, or a list of ids, in `Annotated`.

    `kind` is the kind of the records, such as `decision`, or a function of the model that has the member; None is no
    record.
    """

    kind: str | Callable[[Any], str | None]

    def of(self, owner: Wire) -> str | None:
        """Return the kind of the records that the member of `owner` names."""
        return self.kind if isinstance(self.kind, str) else self.kind(owner)


DecisionId: TypeAlias = Annotated[str, Names("decision")]
DecisionIds: TypeAlias = Annotated[list[str], Names("decision")]


def by_type(owner: Any) -> str:
    """Return the kind of a record whose `type` is its kind."""
    kind: str = owner.type
    return kind


def named_records(result: Wire) -> Iterator[tuple[str, str]]:
    """Yield the kind and the id of each record that the members of a result name, in their order."""
    for name, mark in _naming_members(type(result)):
        member = getattr(result, name)
        values = member if isinstance(member, list) else [member]
        if mark is None:
            for value in values:
                if isinstance(value, Wire):
                    yield from named_records(value)
        elif (kind := mark.of(result)) is not None:
            yield from ((kind, str(id)) for id in values if id is not None)


@cache
def _naming_members(model: type[Wire]) -> Sequence[tuple[str, Names | None]]:
    """Return the members that name records, and with None those that have models with such members."""
    found: list[tuple[str, Names | None]] = []
    for name, info in model.model_fields.items():
        mark = next((one for one in info.metadata if isinstance(one, Names)), None)
        if mark is not None or any(map(_naming_members, models_in(info.annotation))):
            found.append((name, mark))
    return found


def models_in(annotation: Any) -> Iterator[type[Wire]]:
    """Yield the models that a type names."""
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        yield annotation
    for inner in get_args(annotation):
        yield from models_in(inner)
