"""The engine: the stored records, everything derived from them, and all queries.

`Engine` is for programs with an event loop, `SyncEngine` for notebooks and scripts.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from math import inf
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final, Protocol

from cognition_engines.background import Background, BackgroundThread
from cognition_engines.embedding.base import Embedder
from cognition_engines.embedding.cache import QueryCache
from cognition_engines.embedding.open import EmbeddingChoice, open_embedder
from cognition_engines.indexes.index_folder import ALONE, FolderLock, WorkerNumber
from cognition_engines.indexes.indexes import Indexes, open_indexes
from cognition_engines.indexes.published import OtherWorkers, PublishedSeq
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.ingest.formats.reader import FormatReader
from cognition_engines.ingest.options import FollowedSource, Options, Progress, Silent, Summary
from cognition_engines.masking.masked_values import load_rules
from cognition_engines.masking.policy import POLICIES, SecretPolicies
from cognition_engines.queries.briefing.session_context import Sessions
from cognition_engines.queries.decision_context import DecisionContexts, Governing
from cognition_engines.queries.decision_reads import DecisionReader
from cognition_engines.queries.decisions import Decisions
from cognition_engines.queries.episodes import Episodes
from cognition_engines.queries.everything import Everything
from cognition_engines.queries.extractions import Extractions
from cognition_engines.queries.following import Following, ReachedSeq
from cognition_engines.queries.knowledge import Knowledge
from cognition_engines.queries.lists import Listings
from cognition_engines.queries.memories import Memories
from cognition_engines.queries.operator_reads import OperatorReads
from cognition_engines.queries.passages import Passages
from cognition_engines.queries.pools import Caller, Pool, Pools, Threads
from cognition_engines.queries.recall.recall import Recall
from cognition_engines.queries.search import Search
from cognition_engines.relevance import RELEVANCE, Relevance, least_cosine_of
from cognition_engines.search.abstention import SpeakerSupport
from cognition_engines.search.calibration import calibration_of
from cognition_engines.search.query import QueryParser
from cognition_engines.search.record_texts import RecordTexts
from cognition_engines.search.signals.signal import TextSignal
from cognition_engines.search.signals.table import SIGNALS
from cognition_engines.store.audit.trail import AuditOptions, AuditTrail
from cognition_engines.store.opening import SETTING
from cognition_engines.store.records import Records, open_records
from cognition_engines.writing.decisions import LINK, RECORD, REVIEW, SET_STATUS, UNLINK, UPDATE
from cognition_engines.writing.erasing import LedgerFile, Retention
from cognition_engines.writing.imports import bind_put_records
from cognition_engines.writing.memories import REMEMBER, STORE_EPISODE
from cognition_engines.writing.writer import Writer

if TYPE_CHECKING:
    from cognition_engines.ingest.follow import SourceFollower


@dataclass(frozen=True, slots=True)
class PartBounds:
    """A part's number of threads, at least 1, and its calls' limit in seconds."""

    threads: int
    seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Limits of the engine's parts, and its other settings.

    `call_seconds` bounds a call over all its parts, `waiting_reads` is the number of reads that may wait for a write at
    a time. Lists have as many threads as `store`. `vector_index` is the index of nearest neighbours. `cache_size` is
    the number of query texts with cached vectors. `store_named` names the origin of the store's URL, for errors.
    `sources` are collections followed by the engine: it reads them `source_seconds` after the last read, or later if
    that took longer. `ledger` is the file that notes forgotten records, in addition to the database. `worker` numbers
    this process among several over one folder of indexes: only the first follows sources and forgets expired records. A
    write also waits for the indexes of `others` before it is answered. `relevance` has the weights of texts and
    queries. `lock` is the folder's lock if the caller has taken it; the engine closes it. `secrets` are the policies
    for secrets in texts, `name` is the engine's name in answers.
    """

    call_seconds: float = 15.0
    waiting_reads: int = 16
    store: PartBounds = PartBounds(4)
    vectors: PartBounds = PartBounds(2)
    embedding: PartBounds = PartBounds(2)
    vector_index: VectorChoice = VectorChoice()
    cache_size: int = 1024
    store_named: str = SETTING
    sources: tuple[FollowedSource, ...] = ()
    source_seconds: float = 15.0
    ledger: Path | None = None
    audit: AuditOptions = AuditOptions()
    relevance: Relevance = RELEVANCE
    worker: WorkerNumber = ALONE
    others: OtherWorkers | None = None
    lock: FolderLock | None = None
    secrets: SecretPolicies = POLICIES
    name: str = "cstp"


WRITE_THREADS: Final = 2  # a batch is written while the next is prepared; the store takes one writer at a time
DEFAULTS: Final = EngineOptions()
_RUN: Final = "cognition_engines.ingest.run"  # loaded by name: the readers of files take a tenth of a start
_FOLLOW: Final = "cognition_engines.ingest.follow"  # loads Chroma
_FOLLOW_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.01


class _Ingest(Protocol):
    def __call__(
        self,
        paths: Sequence[Path],
        options: Options,
        records: Records,
        embedder: Embedder | None,
        progress: Progress,
        threads: int,
        *,
        formats: FormatReader,
    ) -> Summary: ...


class Engine:
    """All queries over the records, and ingest. The caller closes it in the end.

    Calls name the asking agent: agents are served in turn. None is the program itself. Each function of a method takes
    the method's parameters and returns its result, also if the call abstains; it raises the method's errors, and
    ComponentFailed naming the part that did not answer. `modes` are the search modes, the default first.
    """

    audit_rows_lost = 0  # rows not stored before the engine was closed

    def __init__(
        self, records: Records, indexes: Indexes, embedder: Embedder | None, options: EngineOptions = DEFAULTS
    ) -> None:
        """Take open records and indexes; the engine closes them."""
        self.records: Final = records
        self.indexes: Final = indexes
        self.listings: Final = Listings(records, indexes.set_aside, indexes.background)
        cache = QueryCache(embedder, options.cache_size, options.embedding.seconds) if embedder else None
        self.embeddings: Final = cache
        self.pools: Final = _pools(options)
        self._embedder, self._threads = embedder, options.embedding.threads
        self.sources: Final = _follower(options, records, embedder, indexes.background)
        parser, model = QueryParser(options.relevance), None if embedder is None else embedder.model
        searching = _search(records, indexes, cache, self.pools, parser, model)
        passages = Passages(cache, self.pools, parser, indexes.set_aside)
        read = records, self.listings, self.pools, indexes.set_aside
        governing = Governing(*read)
        self.modes: Final = searching.modes
        decisions = Decisions(records, searching, passages, self.pools, options.name)
        self.query_decisions: Final = decisions.query
        decision_reads = DecisionReader(*read)
        self.get_decision, self.decision_graph = decision_reads.get, decision_reads.graph
        self.list_decisions, self.count_decisions = decision_reads.list, decision_reads.count
        knowledge = Knowledge(records, indexes, searching, passages, self.pools)
        self.search_knowledge, self.get_chunk = knowledge.search, knowledge.chunk
        episodes = Episodes(records, self.listings, searching, self.pools)
        self.get_episode, self.list_episodes, self.find_episodes = episodes.get, episodes.list, episodes.find
        self.decision_context: Final = DecisionContexts(governing, indexes.set_aside).read
        self.list_memories: Final = Memories(*read).list
        extractions = Extractions(*read)
        self.list_extracted_decisions: Final = extractions.decisions
        self.list_patterns, self.list_warnings = extractions.patterns, extractions.warnings
        self.recall: Final = Recall(records, self.listings.timeline, indexes, searching, passages, self.pools).answer
        everything = Everything(records, searching, passages, self.pools, indexes.set_aside)
        self.search, self.fetch = everything.search, everything.fetch
        self.audit: Final = AuditTrail(records.audit, options.audit, options.call_seconds, indexes.background)
        of_operator = OperatorReads(records, self.audit, self.pools)
        self.list_audit: Final = of_operator.list_audit
        published = PublishedSeq(indexes, options.others)
        self.following: Final = Following(records, self.pools, published)
        self.reached: Final = ReachedSeq(records, self.pools, published, options.waiting_reads).wait
        briefed = records, self.listings, searching, passages, self.following, governing, self.pools, indexes.set_aside
        self.session_context: Final = Sessions(*briefed).read
        ledger = LedgerFile(options.ledger)
        self.retention: Final = Retention(records, indexes, ledger, options.worker)
        written = records, indexes, embedder, self.pools, published, ledger, self.audit, options.secrets
        self._bind_writes(Writer(*written), of_operator)

    def _bind_writes(self, writes: Writer, of_operator: OperatorReads) -> None:
        self.record_decision, self.update_decision = writes.bind(RECORD), writes.bind(UPDATE)
        self.review_decision, self.set_status = writes.bind(REVIEW), writes.bind(SET_STATUS)
        self.link_decisions, self.unlink_decisions = writes.bind(LINK), writes.bind(UNLINK)
        self.remember, self.store_episode = writes.bind(REMEMBER), writes.bind(STORE_EPISODE)
        self.store_knowledge, self.forget = writes.store_knowledge, writes.forget
        self.put_records = bind_put_records(writes, of_operator, self.pools)

    @classmethod
    def open(
        cls,
        store: str,
        folder: Path | str,
        embedder: Embedder | EmbeddingChoice | None = EmbeddingChoice(),
        options: EngineOptions = DEFAULTS,
    ) -> "Engine":
        """Open everything and catch up with the records.

        `store` is the URL of a database, `sqlite:////folder/file` or `postgresql://user:password@host/name`; `folder`
        holds the indexes, for a single process at a time, or for several numbered by `options.worker`. `embedder` None
        is search by words alone; by default it is the package's model. Raise ConfigurationError, FolderInUse or
        ComponentFailed on failure, with nothing left open.
        """
        model = open_embedder(embedder) if isinstance(embedder, EmbeddingChoice) else embedder
        with ExitStack() as undo:
            bounds = options.store  # it has two pools, for records and for lists; vectors may be read, too
            calls = 2 * bounds.threads + options.vectors.threads + WRITE_THREADS
            records = open_records(store, bounds.seconds, options.store_named, calls)
            undo.callback(records.close)
            if model is not None and (dim := records.dimension(model.model)) is not None:
                model.expect(dim)  # so that an unavailable model need not be asked
            chosen = options.vector_index, options.worker, options.relevance, options.lock
            indexes = open_indexes(Path(folder), records, model, *chosen)
            undo.callback(indexes.close)
            indexes.start()
            engine = cls(records, indexes, model, options)
            engine.listings.start()
            engine.retention.start()
            engine.audit.start()
            if engine.sources is not None:
                engine.sources.start()
            if options.secrets.agents != "allow":
                failing = "the rules for secrets cannot be loaded; writes try again"
                BackgroundThread("mask-rules", load_rules, indexes.background, failing).start()
            undo.pop_all()
        return engine

    async def ingest(
        self, paths: Sequence[Path | str], options: Options = Options(), progress: Progress = Silent()
    ) -> Summary:
        """Read files and folders, and update the store from them; see `cognition_engines.ingest.run`.

        Searches find the new records when it returns. It continues in its thread if the caller is cancelled.
        """
        pool, caller = Pool("ingest", 1, inf), Caller(None, inf)
        try:
            return await pool.run(caller, self._ingest, [Path(path) for path in paths], options, progress)
        finally:
            pool.close()

    def _ingest(self, files: Sequence[Path], options: Options, progress: Progress) -> Summary:
        run: _Ingest = import_module(_RUN).ingest
        with FormatReader() as formats:
            summary = run(files, options, self.records, self._embedder, progress, self._threads, formats=formats)
        last, until = self.records.last_seq(), monotonic() + _FOLLOW_SECONDS
        self.indexes.follow_now()
        while min(index.snapshot.seq for index in self.indexes.all_spaces) < last and monotonic() < until:
            sleep(_LOOK_SECONDS)
        self.indexes.save_columns()
        return summary

    def close(self, wait_seconds: float = 5.0) -> None:
        """Close everything; leave index threads that do not end in `wait_seconds` to the next start."""
        deadline = monotonic() + wait_seconds
        self.pools.close()
        self.audit_rows_lost = self.audit.close(wait_seconds / 2)
        if self.sources is not None:
            self.sources.close(wait_seconds)
        self.retention.close(max(0.0, deadline - monotonic()))
        self.indexes.close(wait_seconds)
        self.listings.close(max(0.0, deadline - monotonic()))
        self.records.close()


def _follower(
    options: EngineOptions, records: Records, embedder: Embedder | None, background: Background
) -> "SourceFollower | None":
    if not options.sources or not options.worker.writes:
        return None
    make: type[SourceFollower] = import_module(_FOLLOW).SourceFollower
    return make(options.sources, records, embedder, options.embedding.threads, options.source_seconds, background)


def _search(
    records: Records,
    indexes: Indexes,
    cache: QueryCache | None,
    pools: Pools,
    parser: QueryParser,
    model: str | None,
) -> Search:
    set_aside, least = indexes.set_aside, least_cosine_of(parser.relevance, model)
    texts = RecordTexts(records, set_aside, [each.share for each in SIGNALS if isinstance(each, TextSignal)])
    support = SpeakerSupport(records, parser, set_aside)
    return Search(indexes, cache, pools, parser, texts, SIGNALS, least, calibration_of(model, least), support)


def _pools(options: EngineOptions) -> Pools:
    store, vectors, embedding = options.store, options.vectors, options.embedding
    shared = Threads(embedding.threads + 2 * vectors.threads + 2 * store.threads + WRITE_THREADS)
    return Pools(
        call_seconds=options.call_seconds,
        embedder=Pool("embedder", embedding.threads, embedding.seconds, shared=shared),
        keywords=Pool("keywords", vectors.threads, vectors.seconds, shared=shared),
        vectors=Pool("vectors", vectors.threads, vectors.seconds, shared=shared),
        records=Pool("records", store.threads, store.seconds, shared=shared),
        lists=Pool("records", store.threads, store.seconds, "lists", shared),
        writes=Pool("records", WRITE_THREADS, store.seconds, "writes", shared),
    )
