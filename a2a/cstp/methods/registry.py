"""All protocol methods in one tuple, in the definition order of the modules in `cstp.methods`."""

from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from cstp.contract import Method
from cstp.methods import decisions, episodes, everything, extractions, knowledge, memories, records, system


def _methods(*families: ModuleType) -> Iterator[Method[Any, Any]]:
    """Yield the methods of families in definition order."""
    return (value for family in families for value in vars(family).values() if isinstance(value, Method))


def _reads(*families: ModuleType) -> Iterator[Method[Any, Any]]:
    return (method for method in _methods(*families) if not method.writes)


def _writes(*families: ModuleType) -> Iterator[Method[Any, Any]]:
    return (method for method in _methods(*families) if method.writes)


# clients and documents show the methods in this order
METHODS: tuple[Method[Any, Any], ...] = (
    *_reads(everything, decisions, extractions, episodes, knowledge, memories),
    *_writes(decisions),
    *_reads(records),
    *_writes(episodes, memories, knowledge, records),
    *_reads(system),
)

# by the name of the module that defines them
FAMILIES: Mapping[str, Sequence[Method[Any, Any]]] = {
    family.__name__.rpartition(".")[2]: tuple(_methods(family))
    for family in (everything, decisions, extractions, episodes, knowledge, memories, records, system)
}
