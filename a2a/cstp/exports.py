"""The client, and models of parameters and results: names in `cstp.__all__` can be imported from `cstp`.

Filters equal the methods' filters, but raise InvalidParams when a caller creates them.
"""

from functools import cache
from typing import TYPE_CHECKING, Final, get_args

from cstp import errors, values
from cstp.call import Call as Call
from cstp.client.sync_client import Client as Client
from cstp.contract import Method as Method
from cstp.methods.registry import METHODS
from cstp.validation import parse_params
from cstp.values import decision_searches as decisions, knowledge
from cstp.values.decision_context import *
from cstp.values.decision_links import *
from cstp.values.decision_reads import *
from cstp.values.decision_searches import (
    DecisionLinks as DecisionLinks,
    DecisionSummary as DecisionSummary,
    Provenance as Provenance,
    QueryDecisionsResult as QueryDecisionsResult,
)
from cstp.values.decision_writes import *
from cstp.values.decisions import *
from cstp.values.episodes import *
from cstp.values.everything import *
from cstp.values.extractions import *
from cstp.values.knowledge import (
    ChunkCluster as ChunkCluster,
    GetChunkResult as GetChunkResult,
    KnowledgeCard as KnowledgeCard,
    KnowledgeFound as KnowledgeFound,
    RelatedChunk as RelatedChunk,
    SearchKnowledgeResult as SearchKnowledgeResult,
    SearchMetadata as SearchMetadata,
    SourceReference as SourceReference,
    StoredRecordState as StoredRecordState,
    StoreKnowledgeResult as StoreKnowledgeResult,
)
from cstp.values.memories import *
from cstp.values.reads import *
from cstp.values.recall import *
from cstp.values.records import *
from cstp.values.session_context import *
from cstp.values.system import *
from cstp.values.writes import *

BY_HAND: Final = ("Call", "Client", "Filters", "KnowledgeFilters", "Method")
_FAULTS: Final = (errors.CstpError, errors.TransportError)
_VALUES: Final = f"{values.__name__}."


class Filters(decisions.QueryFilters):
    __doc__ = decisions.QueryFilters.__doc__

    if not TYPE_CHECKING:  # so type checkers see the members

        def __init__(self, **members: object) -> None:
            """Check the members. Raise InvalidParams with every violation, in wire spelling."""
            parse_params(decisions.QueryFilters, members)
            super().__init__(**members)


class KnowledgeFilters(knowledge.KnowledgeFilters):
    __doc__ = knowledge.KnowledgeFilters.__doc__

    if not TYPE_CHECKING:

        def __init__(self, **members: object) -> None:
            """Check the members. Raise InvalidParams with every violation, in wire spelling."""
            parse_params(knowledge.KnowledgeFilters, members)
            super().__init__(**members)


QueryFilters = Filters


@cache
def public_names() -> list[str]:
    """Return the names that `cstp` offers: clients, errors, and the models in results and inside parameters."""
    found = {*BY_HAND, "AsyncClient", "DEFAULT_URL", "Violation", "Wire", "__version__"}
    found |= {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, _FAULTS)}
    for method in METHODS:
        _add_models(method.result, found)
        for field in method.params.model_fields.values():
            _add_models(field.annotation, found)
    return sorted(found, key=lambda name: (not name.isupper(), name[0] == "_", name))


def _add_models(annotation: object, found: set[str]) -> None:
    """Add the names of the protocol's values in a type."""
    for part in get_args(annotation):
        _add_models(part, found)
    if isinstance(annotation, type) and annotation.__module__.startswith(_VALUES) and annotation.__name__ not in found:
        found.add(annotation.__name__)
        for inner in getattr(annotation, "__pydantic_fields__", {}).values():
            _add_models(inner.annotation, found)
