"""Methods over knowledge: searches, and writes of sources with chunks and extractions."""

from cstp.contract import ANSWER_TOKENS, Method, ToolText
from cstp.errors import Conflict, NotFound, QueryFailed
from cstp.values.knowledge import (
    SearchKnowledgeParams,
    SearchKnowledgeResult,
    StoreKnowledgeParams,
    StoreKnowledgeResult,
)

SEARCH_KNOWLEDGE = Method(
    name="cstp.searchKnowledge",
    summary="Search chunks and extractions by meaning and by words, with filters.",
    params=SearchKnowledgeParams,
    result=SearchKnowledgeResult,
    cost=2,
    tool=ToolText(
        title="Search documents",
        description=(
            "Use for questions about what documents say: it searches passages and what was extracted from them, "
            "filtered by type, topic and source. Passages are cut to the sentences that fit (truncated); get_chunk "
            "with the chunk_id gives the whole."
        ),
        defaults={"snippets": True, "max_tokens": ANSWER_TOKENS},
    ),
)


STORE_KNOWLEDGE = Method(
    name="cstp.storeKnowledge",
    summary="Store sources, chunks and extractions, all of a call or none.",
    params=StoreKnowledgeParams,
    result=StoreKnowledgeResult,
    errors=(QueryFailed, NotFound, Conflict),
    scope="write",
    cost=3,
    tool=ToolText(
        title="Store knowledge",
        description=(
            "Use to keep what was read and learned, up to 100 records in a call, all or none: sources with their "
            "text, passages (chunk), and extractions such as patterns and warnings. The same id again changes a "
            "record."
        ),
        adds=False,
        repeatable=True,
    ),
)
