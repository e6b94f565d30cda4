"""What an ingest asks of the place where its records go: a store, or a server elsewhere."""

from collections.abc import Sequence
from typing import Protocol

from cognition_engines.kinds.kind import Kind
from cognition_engines.models import Viewer
from cognition_engines.store.values import (
    DanglingReferences,
    Entry,
    ExposedRecords,
    GuardedFile,
    KnownRecord,
    Outcome,
    Replaces,
    StoredRecord,
)


class KnownOrigins(Protocol):
    """The methods of `Origins` that an ingest calls, which see."""

    def guarded(self) -> list[GuardedFile]: ...

    def known(self, names: Sequence[tuple[Kind, str]], identities: Sequence[str]) -> list[KnownRecord]: ...

    def of_place(self, place: tuple[str, str]) -> list[KnownRecord]: ...

    def dangling(self, places: Sequence[tuple[str, str]]) -> list[DanglingReferences]: ...

    def exposed(self, places: Sequence[tuple[str, str]]) -> list[ExposedRecords]: ...

    def meant(self, kinds: Sequence[Kind], id: str, viewer: Viewer | None) -> list[tuple[str, StoredRecord]]: ...


class Destination(Protocol):
    """The part of `Records` that an ingest uses, which see."""

    @property
    def origins(self) -> KnownOrigins: ...

    def put(
        self, batch: Sequence[Entry], model: str | None, replaces: Sequence[Replaces] = ()
    ) -> tuple[Outcome, ...]: ...
