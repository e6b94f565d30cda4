"""Model, records, sources and limits: parts that a call needs, each checked by itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final

from cognition_engines.drafts.refusal_messages import kinds
from cognition_engines.errors import EngineError
from cognition_engines.ingest.collections.addresses import checked_address, shown_address
from cognition_engines.ingest.collections.open_collection import open_collection
from cognition_engines.ingest.follow import file_states
from cognition_engines.ingest.formats.converted import Unreadable
from cognition_engines.ingest.formats.reader import FormatReader
from cognition_engines.ingest.options import Selection
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.inspection import StoreContents, StoreState, inspect_store, other_schema
from cognition_engines.store.read_only import sqlite_file
from cognition_engines.store.schema import HEAD
from cstp.methods.registry import METHODS
from cstp_server.doctor.environment import MB, mode_findings
from cstp_server.doctor.finding import CheckResult, Finding, Level
from cstp_server.limits.limiter import require_redis, try_redis
from cstp_server.limits.prices import make_plan, parse_windows
from cstp_server.process.model import open_model
from cstp_server.settings import Settings
from cstp_server.source_settings import SourceSettings

_LARGE_LOG: Final = 256 * MB  # SQLite releases all but 64 MiB of the memory of one transaction
_SOURCE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Model:
    """The configured embedding model, as it answered."""

    identity: str
    dimension: int


def check_model(settings: Settings) -> CheckResult[Model]:
    """Check whether the model loads, is the one expected, and turns a text into a vector."""
    if settings.embedding.model == "none":
        return CheckResult([Finding("model", Level.OK, "none is configured: searches use words only")])
    embedder = open_model(settings)
    assert embedder is not None
    start = monotonic()
    vector = embedder.embed_query("What was decided, and why?")
    took = (monotonic() - start) * 1000
    model = Model(embedder.model, len(vector))
    seen = f"{model.identity} has its files and embedded a text in {took:.0f} ms ({model.dimension} dimensions)"
    return CheckResult([Finding("model", Level.OK, seen)], model)


def check_store(settings: Settings, model: Model | None) -> CheckResult[StoreContents]:
    """Check whether the database answers, is undamaged and has the schema that this version of the program reads."""
    state = inspect_store(settings.store_url, model.identity if model else None)
    if state is None:
        return CheckResult([Finding("store", Level.OK, "there are no records yet; run cstp ingest PATH")])
    file = sqlite_file(settings.store_url)
    findings = _store_findings(state, file)
    if file is not None and file.parent != settings.data_dir.absolute():
        findings += mode_findings("store", file)
    if state.held is not None and not findings:
        seen = f"{state.engine}, schema {state.schema}, {count_text(state.held.kinds)}"
        findings = [Finding("store", Level.OK, seen)]
    return CheckResult(findings, state.held)


def _store_findings(state: StoreState, file: Path | None) -> list[Finding]:
    findings = []
    if state.damage is not None:
        seen = f"the database is damaged: {state.damage}"
        away = (
            "set store.url to an empty database" if file is None else f"move {file} away with its -wal and -shm files"
        )
        remedy = f"stop the server, {away}, and restore a backup: cstp restore FILE"
        findings.append(Finding("store", Level.PROBLEM, seen, remedy))
    elif state.schema is None:
        seen = "the database has no CSTP tables"
        findings.append(Finding("store", Level.WARNING, seen, "cstp ingest or cstp serve creates them"))
    elif state.schema != HEAD:
        findings.append(Finding("store", Level.PROBLEM, *other_schema(state.schema)))
    if state.encoding not in ("UTF8", "UTF-8"):
        seen = f"the database has the encoding {state.encoding}"
        remedy = "set store.url to a database with the encoding UTF8"
        findings.append(Finding("store", Level.PROBLEM, seen, remedy))
    if state.log_bytes > _LARGE_LOG:
        seen = f"SQLite's write-ahead log has {state.log_bytes // MB:,} MB: a reader never ends"
        remedy = "end long-running readers; the log is removed when the last process closes the database"
        findings.append(Finding("store", Level.WARNING, seen, remedy))
    return findings


def count_text(counts: Mapping[Kind, int]) -> str:
    """Return a text such as `3 decisions, 12 chunks`."""
    return ", ".join(f"{count:,} {kinds(kind, count)}" for kind, count in sorted(counts.items())) or "empty"


def check_records(held: StoreContents, model: Model | None) -> CheckResult[None]:
    """Check whether every record with a text can be found by meaning, and which vectors are unused."""
    if model is None:
        return CheckResult([Finding("records", Level.OK, "without a model, no record needs a vector")])
    findings = []
    if held.dimension is not None and held.dimension != model.dimension:
        seen = f"stored vectors of {model.identity} have {held.dimension} dimensions, the model {model.dimension}"
        findings.append(Finding("records", Level.PROBLEM, seen, "configure the model of these vectors (embedding.*)"))
    if held.lacking:
        seen = f"{held.lacking:,} of {held.embedded:,} records with a text have no vectors of {model.identity}"
        remedy = "a running server embeds them in the background; to do it now: cstp reindex"
        findings.append(Finding("records", Level.WARNING, seen, remedy))
    for other, count in held.models.items():
        if other != model.identity:
            seen = f"{count:,} records have vectors of {other}, which is not configured"
            findings.append(Finding("records", Level.WARNING, seen, "cstp reindex deletes them"))
    seen = f"all {held.embedded:,} records with a text have vectors of {model.identity}"
    return CheckResult(findings or [Finding("records", Level.OK, seen)])


def check_documents() -> CheckResult[None]:
    """Check whether this system sets every limit of the process that reads documents of other formats."""
    try:
        missing = FormatReader().missing_limits()
    except Unreadable as error:
        seen = f"a document of another format {error}"
        return CheckResult([Finding("documents", Level.PROBLEM, seen, "check that this Python starts and can import")])
    if not missing:
        seen = "the process that reads them cannot open files or connections, nor start processes"
        return CheckResult([Finding("documents", Level.OK, seen)])
    seen = f"this system cannot limit the process that reads them by {', '.join(missing)}"
    remedy = "read documents of other formats only from people you trust, or run on Linux with seccomp"
    return CheckResult([Finding("documents", Level.WARNING, seen, remedy)])


def check_limits(settings: Settings) -> CheckResult[None]:
    """Check whether the limits fit each other, and Redis counts within its timeout."""
    limits = settings.limits
    make_plan(settings, {method.name: method for method in METHODS})
    require_redis(settings)
    parse_windows(limits.auth_failures, "limits.auth_failures")
    if limits.redis_url is None:
        return CheckResult([Finding("limits", Level.OK, f"{settings.default_limit} for each agent, counted in memory")])
    took = try_redis(limits)
    return CheckResult(
        [Finding("limits", Level.OK, f"{settings.default_limit}, and Redis counted a hit in {took * 1000:.1f} ms")]
    )


def check_sources(settings: Settings) -> CheckResult[None]:
    """Check whether each followed collection exists and answers, and each folder and file can be read."""
    findings = []
    for source in settings.sources:
        try:
            seen = _files(source.path, source) if source.path is not None else _items(source.address)
            findings.append(Finding("sources", Level.OK, f"{shown_address(source.address)}: {seen}"))
        except FileNotFoundError:
            remedy = "mount it, or change sources; its records stay as last read"
            findings.append(Finding("sources", Level.PROBLEM, f"{source.address} not found", remedy))
        except (EngineError, OSError) as error:
            remedy = "check that it is running, and its address (sources); its records stay as last read"
            findings.append(Finding("sources", Level.PROBLEM, str(error), remedy))
    return CheckResult(findings)


def _files(path: Path, source: SourceSettings) -> str:
    """Count the files of a source. Raise OSError if they cannot be listed."""
    selection = Selection(source.include, source.exclude, any_extension=source.kind is not None)
    return f"{len(file_states([path], selection)):,} files"


def _items(address: str) -> str:
    """Count the items of a collection. Raise EngineError if it cannot be read."""
    checked_address(address)
    with open_collection(address, None, _SOURCE_SECONDS) as collection:
        return f"{collection.count():,} items"
