"""What a program that reads files elsewhere has to know of the store before it puts their records."""

from collections.abc import Sequence
from dataclasses import dataclass

from cognition_engines.kinds.kind import Kind
from cognition_engines.queries.pools import Pools
from cognition_engines.queries.turns import Agent
from cognition_engines.store.records import Records
from cognition_engines.store.values import GuardedFile, KnownRecord


@dataclass(frozen=True, slots=True)
class LookUp:
    """What is asked: what is stored under ids, identities and places (repository and path), and the guards."""

    names: Sequence[tuple[Kind, str]] = ()
    identities: Sequence[str] = ()
    places: Sequence[tuple[str, str]] = ()
    guards: bool = False


@dataclass(frozen=True, slots=True)
class FoundBefore:
    """What is stored already, and the levels that options of earlier runs gave, as of `seq`."""

    known: Sequence[KnownRecord]
    guarded: Sequence[GuardedFile]
    seq: int


class Imports:
    """Answers for the operator, whatever a viewer may see. Raises ComponentFailed when the records do not answer."""

    def __init__(self, records: Records, pools: Pools) -> None:
        self._records = records
        self._pools = pools

    async def look_up(self, asked: LookUp, agent: Agent = None) -> FoundBefore:
        """All that is asked, in one call of the pool."""
        return await self._pools.records.run(self._pools.caller(agent), self._found, asked)

    def _found(self, asked: LookUp) -> FoundBefore:
        seq = self._records.last_seq()
        origins = self._records.origins
        known = origins.known(asked.names, asked.identities) if asked.names or asked.identities else []
        for place in asked.places:
            known += origins.of_place(place)
        return FoundBefore(known, origins.guarded() if asked.guards else [], seq)
