"""The definition of a method: one frozen value that the server, the documents and the clients all read."""

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
