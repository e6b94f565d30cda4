"""The client and the models of what it takes and gives: those in `cstp.__all__` can be imported from `cstp`."""

from cstp.call import Call as Call
from cstp.client.sync_client import Client as Client
from cstp.filters import *
from cstp.methods.decision_links import *
from cstp.methods.decision_reads import *
from cstp.methods.decision_records import *
from cstp.methods.decisions import (
    DecisionLinks as DecisionLinks,
    DecisionSummary as DecisionSummary,
    Provenance as Provenance,
    QueryDecisionsResult as QueryDecisionsResult,
)
from cstp.methods.episodes import *
from cstp.methods.everything import *
from cstp.methods.extractions import *
from cstp.methods.knowledge import (
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
from cstp.methods.memories import *
from cstp.methods.recall import *
from cstp.methods.records import *
from cstp.methods.system import *
from cstp.reads import *
from cstp.writes import *
