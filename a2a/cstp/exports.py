"""The client and the models of what it takes and gives: those in `cstp.__all__` can be imported from `cstp`."""

from cstp.abstention import *
from cstp.call import Call as Call
from cstp.client.sync_client import Client as Client
from cstp.explained import *
from cstp.filters import *
from cstp.methods.audit import *
from cstp.methods.bulk import *
from cstp.methods.changes import *
from cstp.methods.contents import *
from cstp.methods.decision_graph import *
from cstp.methods.decision_links import *
from cstp.methods.decision_reads import *
from cstp.methods.decision_records import *
from cstp.methods.decisions import (
    DecisionLinks as DecisionLinks,
)
from cstp.methods.decisions import (
    DecisionSummary as DecisionSummary,
)
from cstp.methods.decisions import (
    Provenance as Provenance,
)
from cstp.methods.decisions import (
    QueryDecisionsResult as QueryDecisionsResult,
)
from cstp.methods.episode_records import *
from cstp.methods.episodes import *
from cstp.methods.everything import *
from cstp.methods.extractions import *
from cstp.methods.forgetting import *
from cstp.methods.knowledge import (
    ChunkCluster as ChunkCluster,
)
from cstp.methods.knowledge import (
    GetChunkResult as GetChunkResult,
)
from cstp.methods.knowledge import (
    KnowledgeCard as KnowledgeCard,
)
from cstp.methods.knowledge import (
    KnowledgeFound as KnowledgeFound,
)
from cstp.methods.knowledge import (
    RelatedChunk as RelatedChunk,
)
from cstp.methods.knowledge import (
    SearchKnowledgeResult as SearchKnowledgeResult,
)
from cstp.methods.knowledge import (
    SearchMetadata as SearchMetadata,
)
from cstp.methods.knowledge import (
    SourceReference as SourceReference,
)
from cstp.methods.knowledge_records import *
from cstp.methods.memory_lists import *
from cstp.methods.memory_records import *
from cstp.methods.recall import *
from cstp.methods.statistics import *
from cstp.methods.system import *
from cstp.passage_place import *
from cstp.writes import *
