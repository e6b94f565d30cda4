"""Opens the engine chosen by the settings."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from cognition_engines.embedding.base import Embedder
from cognition_engines.engine import Engine, EngineOptions, PartBounds
from cognition_engines.indexes.index_folder import ALONE, FolderLock
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.ingest.maps.map_files import opened_map
from cognition_engines.ingest.options import FollowedSource, Options, Selection, Texts
from cognition_engines.masking.policy import SecretPolicies, SecretPolicy
from cognition_engines.models import SENSITIVITIES
from cognition_engines.relevance import Relevance
from cognition_engines.store.audit.trail import AuditOptions
from cstp_server.process.model import LOCAL_MODELS, open_model
from cstp_server.settings import SearchSettings, Settings, VectorSettings
from cstp_server.source_settings import SourceSettings
from cstp_server.workers.membership import Membership, OtherIndexes


def open_engine(
    settings: Settings,
    model: Callable[[], Embedder | None] | None = None,
    member: Membership | None = None,
    lock: FolderLock | None = None,
) -> Engine:
    """Open everything and catch up with the records.

    `model` returns the result of `open_model`, if the model is loaded already. `member` is set in a process with
    several workers. `lock` is the folder's lock, if taken already. Raise ConfigurationError, FolderInUse or
    ComponentFailed, with nothing left open.
    """
    with ExitStack() as undo:
        if lock is not None:
            undo.callback(lock.close)
        embedder = open_model(settings) if model is None else model()
        if embedder is not None and settings.embedding.model in LOCAL_MODELS:
            embedder.embed_query("warm")  # the first run of a local model allocates, and shows whether it works
        options = replace(engine_options(settings, member), lock=lock)
        engine = Engine.open(settings.store_url, settings.indexes_path, embedder, options)
        undo.pop_all()
    return engine


def engine_options(settings: Settings, member: Membership | None = None) -> EngineOptions:
    """Return the threads and deadlines in the settings."""
    store, vectors, embedding = settings.store, settings.vectors, settings.embedding
    audit = settings.audit
    return EngineOptions(
        call_seconds=settings.server.handler_seconds,
        waiting_reads=max(1, settings.server.max_in_flight // 4),
        store=PartBounds(store.threads, store.deadline_seconds),
        vectors=PartBounds(vectors.threads, vectors.deadline_seconds),
        embedding=PartBounds(embedding.threads, embedding.deadline_seconds),
        vector_index=vector_choice(vectors),
        cache_size=embedding.cache_size,
        relevance=relevance(settings.search),
        store_named=settings.store_named,
        ledger=settings.ledger_path,
        sources=tuple(_to_followed_source(one, settings.secrets.files) for one in settings.sources),
        audit=AuditOptions(audit.reads, audit.durable, audit.days, settings.log.audit_queries),
        worker=ALONE if member is None else member.worker,
        secrets=SecretPolicies(settings.secrets.agents, settings.secrets.files),
        name=settings.agent.id,
        others=None if member is None else OtherIndexes(member),
    )


def relevance(search: SearchSettings) -> Relevance:
    """Return the configured weights for texts and queries."""
    return Relevance(language=search.language, least_cosine=search.least_cosine)


def _to_followed_source(source: SourceSettings, secrets: SecretPolicy) -> FollowedSource:
    level = None if source.sensitivity is None else SENSITIVITIES[source.sensitivity]
    by = None if source.map is None else opened_map(source.map)
    texts = Texts(
        source.kind, bots=source.bots, system_messages=source.system_messages, day_first=source.day_first, map=by
    )
    selection = Selection(source.include, source.exclude, any_extension=source.kind is not None)
    options = Options(
        source.project,
        level,
        source.repository,
        prune=source.prune,
        texts=texts,
        selection=selection,
        secrets=secrets,
    )
    return FollowedSource(source.address, options)


def vector_choice(vectors: VectorSettings) -> VectorChoice:
    """Return the configured nearest-neighbour index."""
    return VectorChoice(vectors.index, vectors.url, vectors.deadline_seconds, vectors.memory_mb)
