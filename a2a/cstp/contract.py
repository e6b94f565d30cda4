"""Method definitions: frozen values shared by the server, the documents and the clients."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, Literal, TypeVar

from cstp.errors import ERRORS, CstpError, Forbidden, JsonValue, QueryFailed
from cstp.values.base import Wire

Scope = Literal["read", "write", "review", "ratify", "admin"]


P = TypeVar("P", bound=Wire)
R = TypeVar("R", bound=Wire)


@dataclass(frozen=True, slots=True)
class ToolText:
    """A method as MCP tool: the text for a choosing model, and hints for the client.

    `name` is absent unless it differs from the method's. `defaults` are values of absent parameters if different from
    the method's, and `naming` are result members with a parameter name as value. `adds` is true if a write removes
    nothing, `repeatable` if repeating a call changes nothing more, `quotes` if answers contain stored texts: the
    default for read methods. `view` names a page for showing an answer in the client.
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
    """A protocol method.

    `scope` None means any live token may call it; each of `other_scopes` also suffices. `cost` is in units of the
    agent's limits, unless the server's settings differ. A method `from_records` reads records, others may answer from
    indexes, which follow the records. `paths` is the parameter, such as `filters.paths`, with paths to match with
    decision patterns, None without such a parameter: the price grows with both. With `stores`, the method changes
    records, whatever the scope. Calls of a method not `audited` leave no audit row: results name no record. A method
    without a `tool` is not available over MCP.
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
        """Return scopes, each sufficient for a call; empty if every token may call."""
        return () if self.scope is None else (self.scope, *self.other_scopes)

    @property
    def writes(self) -> bool:
        """Return whether a call changes records."""
        return self.stores or self.scope in ("write", "review", "ratify")

    @property
    def common_errors(self) -> tuple[type[CstpError], ...]:
        """Return the errors common to all methods, in addition to `errors`."""
        common = tuple(error for error in ERRORS if error.any_method)
        return common if self.scope is None else (*common, Forbidden)
