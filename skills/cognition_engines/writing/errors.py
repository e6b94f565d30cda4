"""Why a write is refused. Nothing was written then."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from cognition_engines.errors import EngineError

ConflictReason: TypeAlias = Literal["idempotency", "revision", "fileOwned", "state"]


class WriteRefused(EngineError):
    """A member of a request cannot be as it is; `member` is its path in snake_case."""

    def __init__(self, member: str, message: str) -> None:
        super().__init__(f"{member}: {message}")
        self.member = member
        self.message = message


class WritesRefused(EngineError):
    """Members of a request cannot be as they are; `faults` has their paths, as they were sent, with the reasons."""

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path}: {reason}" for path, reason in faults))
        self.faults = tuple(faults)


class WriteConflict(EngineError):
    """A request contradicts what is stored; `expected` and `found` say in which way."""

    def __init__(
        self, id: str | None, reason: ConflictReason, expected: str | None = None, found: str | None = None
    ) -> None:
        super().__init__(f"{reason}: expected {expected}, found {found}")
        self.id = id
        self.reason: ConflictReason = reason
        self.expected = expected
        self.found = found


class RecordNotFound(EngineError):
    """There is no record of this id that the author sees."""

    def __init__(self, id: str) -> None:
        super().__init__(f"{id}: not found")
        self.id = id


class ScopeNeeded(EngineError):
    """The author lacks a scope that this write needs."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"needs the scope {scope}")
        self.scope = scope
