"""One call as a value: what is sent, whether it may be sent twice, and what its result is read as."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar
from uuid import uuid4

from pydantic_core import to_json

from cstp.contract import Method, Wire
from cstp.errors import JsonValue
from cstp.methods.registry import METHODS
from cstp.validation import parse_params

R = TypeVar("R", bound=Wire)
R_co = TypeVar("R_co", covariant=True)
_READS: Final = frozenset(method.name for method in METHODS if not method.writes)
_WRITES: Final = frozenset(method.name for method in METHODS if method.writes)
_OF_CALL: Final = ("timeout", "page_size")
_KEYS: Final = ("idempotencyKey", "idempotency_key")


@dataclass(frozen=True, slots=True)
class Call(Generic[R_co]):
    """A call that is ready to be sent, alone or in a batch. `cstp.calls` makes one for each method.

    `params` are JSON in wire spelling. `repeatable` says that running the call twice does no harm. `read` makes the
    result of what came back, or raises ValueError. `timeout` is how many seconds it may take, if not the client's.
    """

    method: str
    params: Mapping[str, JsonValue]
    repeatable: bool
    read: Callable[[JsonValue], R_co]
    timeout: float | None = None


def typed_call(method: Method[Any, R], members: Mapping[str, object], timeout: float | None = None) -> Call[R]:
    """Return a call with parameters by field name, those that are None left out; a write has a key.

    `members` may be all arguments of a function in `cstp.calls`, `timeout` included.
    Null within a parameter is sent only if it was given: among the members to update, it takes a value away.

    Raises InvalidParams, as the server would.
    """
    given = {name: value for name, value in members.items() if value is not None and name not in _OF_CALL}
    if method.writes:
        given.setdefault("idempotency_key", uuid4().hex)  # so that it may be sent again
    params = parse_params(method.params, given).model_dump(mode="json", exclude_unset=True)

    def read(result: JsonValue) -> R:
        # members that a newer server has in addition to ours are no error
        return method.result.model_validate_json(to_json(result), extra="ignore")

    return Call(method.name, params, True, read, timeout)


def raw_call(
    method: str, params: Mapping[str, JsonValue] | None = None, timeout: float | None = None
) -> Call[JsonValue]:
    """Return a call with parameters as they are sent, and the result as JSON; a write with a key may be repeated."""
    given = params or {}
    keyed = method in _WRITES and any(isinstance(given.get(name), str) for name in _KEYS)
    return Call(method, given, keyed or method in _READS, _as_it_is, timeout)


def _as_it_is(result: JsonValue) -> JsonValue:
    return result
