"""Every setting, with its default and the reason for it. Where values come from: see loaded_settings.py.

The shipped file and `docs/configuration.md` are generated from this module.
"""

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from cognition_engines.errors import ConfigurationError
from cognition_engines.indexes.vectors.choice import VectorIndex
from cognition_engines.ingest.collections.addresses import FORMS, is_address, parsed_address
from cognition_engines.ingest.options import TextKind
from cognition_engines.ingest.parse.patterns import parse_patterns
from cognition_engines.ingest.structured.decision_rules import RULES
from cognition_engines.relevance import Language

T = TypeVar("T")
Positive = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, le=3600)]
USUAL_LIMIT: Final = "600/minute; 60/second"
USUAL_WRITES: Final = "120/minute; 10000/day"
# a loop of one person's own program is not slowed
LOCAL_LIMIT: Final = "12000/minute; 1200/second"
LOCAL_WRITES: Final = "1200/minute; 10000/day"
_PUBLIC_URL: Final = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:\d{1,5})?(/[A-Za-z0-9._~/-]*)?")


class Section(BaseModel):
    """A group of settings; an unknown name in it is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class ServerSettings(Section):
    """The HTTP side."""

    host: str = Field("127.0.0.1", description="Loopback only by default.")
    port: int = Field(8100, ge=0, le=65535, description="0 takes any free port and prints it.")
    workers: int = Field(
        1,
        ge=1,
        le=64,
        description="Processes that answer, over one data folder; each has its share of the bounds below.",
    )
    ssl_certfile: str | None = Field(None, description="PEM file with the certificate chain: then HTTPS only.")
    ssl_keyfile: str | None = Field(None, description="Its key, in PEM; not needed if the certificate file holds it.")
    public_url: str | None = Field(
        None, description="Where others reach it, as https://host/path without /cstp; the agent card names it."
    )
    max_body_bytes: Positive = Field(1_048_576, description="A larger request is refused with 413.")
    max_header_bytes: Positive = Field(16_384, description="Larger request headers are refused with 400.")
    max_headers: Positive = Field(64, description="More request headers than this are refused with 400.")
    max_batch: Positive = Field(100, description="A longer batch is refused as a whole.")
    batch_concurrency: Positive = Field(8, description="Elements of an agent's batches that run concurrently.")
    handler_seconds: Seconds = Field(
        15.0, description="A call that takes longer, or starts later in its batch, fails as -32003."
    )
    max_answer_bytes: Positive = Field(5_242_880, description="A larger answer fails as -32003; ask for less.")
    max_batch_answer_bytes: Positive = Field(10_485_760, description="The same for all answers to one batch.")
    max_in_flight: Positive = Field(
        64, description="Requests that run concurrently, at most half of them for one agent; further ones wait."
    )
    max_queue: int = Field(
        64,
        ge=0,
        description="Requests that may wait, as long as a call may take; beyond that they get 503.",
    )
    max_followers: Positive = Field(
        64, description="Calls and streams that wait for changes, at most half of them for one agent; then 503."
    )
    quiet_seconds: Seconds = Field(15.0, description="A stream of changes without one has a comment after so long.")
    max_connections: Positive = Field(
        1000, description="Above this, a new connection evicts one that has sent no request for a second, or gets 503."
    )
    receive_seconds: Seconds = Field(10.0, description="From a request's first byte to its last; then 408.")
    idle_seconds: Seconds = Field(5.0, description="A connection that starts no request for this long is closed.")
    send_seconds: Seconds = Field(10.0, description="A client that reads none of its answer for this long is cut off.")
    grace_seconds: Seconds = Field(10.0, description="On SIGTERM, total time for running calls, closing and exit.")
    drain_seconds: float = Field(
        0.0, ge=0, le=3600, description="On SIGTERM, keep listening this long, not ready; for a load balancer."
    )
    trusted_proxies: tuple[str, ...] = Field(
        (), description="Networks (CIDR) whose X-Forwarded-For is trusted; default: none."
    )

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @field_validator("public_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is not None and not _PUBLIC_URL.fullmatch(value):
            raise ValueError("must read like https://host:port/path, without credentials, a query or a fragment")
        return None if value is None else value.rstrip("/").removesuffix("/cstp")

    @field_validator("ssl_keyfile")
    @classmethod
    def _key_has_a_certificate(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("ssl_certfile") is None:
            raise ValueError("needs server.ssl_certfile, too")
        return value

    @model_validator(mode="after")
    def _drain_leaves_time(self) -> Self:
        if self.drain_seconds > self.grace_seconds / 2:
            raise ValueError("drain_seconds: must be at most half of grace_seconds, which is for the calls, too")
        return self


class AgentSettings(Section):
    """The agent whose knowledge is served."""

    id: str = Field("cstp", min_length=1, max_length=128, description="The name that answers carry as `agent`.")

    @field_validator("id")
    @classmethod
    def _is_one_line(cls, value: str) -> str:
        if not value.isprintable():
            raise ValueError("must be printable characters")
        return value


class StoreSettings(Section):
    """The records."""

    url: str | None = Field(None, description="SQLite in the data folder, or postgresql://user:password@host/name.")
    threads: Positive = Field(4, description="Concurrent reads, and as many of lists; SQLite gains nothing from more.")
    deadline_seconds: Seconds = Field(5.0, description="A read that takes longer fails as -32003.")


class VectorSettings(Section):
    """Nearest neighbours."""

    index: VectorIndex = Field("auto", description="memory, chroma, or auto: memory while the vectors fit into it.")
    url: str | None = Field(None, description="Chroma in the data folder, or http://host:port of a Chroma server.")
    memory_mb: Positive | None = Field(
        None, description="For auto: MB of vectors in a search space; a quarter of the machine by default."
    )
    threads: Positive = Field(2, description="Concurrent searches; one per core is as fast as it gets.")
    deadline_seconds: Seconds = Field(5.0, description="A search that takes longer fails as -32003.")

    @field_validator("url")
    @classmethod
    def _url_needs_an_index(cls, url: str | None, info: ValidationInfo) -> str | None:
        if url is not None and info.data.get("index") == "memory":
            raise ValueError("means nothing with vectors.index: memory, which keeps no index")
        return url


class SearchSettings(Section):
    """How texts and queries are weighed."""

    language: Language = Field(
        "en", description="Of stop words, stems and months; another one rebuilds the keyword index at the next start."
    )
    least_cosine: float | None = Field(
        None,
        ge=-1,
        le=1,
        description="For abstain: how near the nearest record must be; by default what is known of the model (minilm).",
    )


class EmbeddingSettings(Section):
    """From text to vector."""

    model: str = Field("minilm", description="minilm (ships with the server), onnx, none, or chroma:NAME.")
    path: str | None = Field(None, description="For onnx: the folder with model.onnx and tokenizer.json.")
    pooling: Literal["mean", "cls"] = Field("mean", description="For onnx: how token vectors become one.")
    query_prefix: str = Field("", description="For onnx: put before every query, where the model wants it.")
    text_prefix: str = Field("", description="For onnx: put before every text, where the model wants it.")
    settings: dict[str, Any] = Field(
        {}, description="For chroma:NAME: the function's own settings; keys from the environment."
    )
    threads: Positive = Field(2, description="Texts embedded at a time.")
    deadline_seconds: Seconds = Field(5.0, description="A query that takes longer to embed fails as -32003.")
    cache_size: Positive = Field(1024, description="Query texts whose vectors are cached.")


class LimitSettings(Section):
    """What each agent may spend."""

    default: str | None = Field(
        None,
        description=f'One or more windows for every agent. Default: "{USUAL_LIMIT}", and "{LOCAL_LIMIT}" if only '
        "this machine can call: on loopback, without server.public_url and server.trusted_proxies.",
    )
    writes: str | None = Field(
        None,
        description="Additional windows for write calls, for every agent. Default: "
        f'"{USUAL_WRITES}", and "{LOCAL_WRITES}" if only this machine can call.',
    )
    agents: dict[str, str] = Field({}, description="Other windows for single agents, by name.")
    costs: dict[str, Annotated[int, Field(ge=1)]] = Field(
        {},
        description="Units that a call of a method costs; default: 1, and 2 for searches. A text costs one "
        "more for each 1,024 characters beyond its first, or for each further window of the model that it fills, up "
        "to three; no call more than its agent's smallest window holds.",
    )
    redis_url: str | None = Field(None, description="redis://host:port/0 shares the limits between servers.")
    redis_timeout_seconds: Seconds = Field(0.1, description="After this, fall back to the local limiter.")
    auth_failures: str = Field("30/minute", description="Wrong tokens per client address; then 429.")


class AuthSettings(Section):
    """Tokens."""

    tokens_file: str | None = Field(None, description="Default: tokens.json in the data folder. It holds digests only.")
    reload_seconds: Annotated[float, Field(gt=0, le=5)] = Field(
        1.0, description="A revoked token ends within this time; a new one counts at once."
    )


class McpSettings(Section):
    """Hosts of `/mcp`, `/ui`, `/metrics`, `/readyz`, origins of the first two. Loopback and `server.public_url` may."""

    allowed_hosts: tuple[str, ...] = Field(
        (),
        description="Further values of the Host header, such as decisions.lan:8100, or decisions.lan:* for any port.",
    )
    allowed_origins: tuple[str, ...] = Field(
        (), description="Further web pages that may ask, such as https://app.example.com; default: none."
    )


class UiSettings(Section):
    """The page for people, at `/ui/`. It asks with a token, as every client does."""

    enabled: bool | None = Field(
        None, description="true or false; null: where the server listens on loopback only. Off, all of /ui is a 404."
    )


class LogSettings(Section):
    """One line per call, on standard error, 50 ms late where the server is busy."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="info has one line per call.")
    format: Literal["auto", "json", "pretty"] = Field("auto", description="auto is pretty on a terminal, else JSON.")
    audit_queries: bool = Field(False, description="Keeps the texts of queries in the audit; no log has them.")


class AuditSettings(Section):
    """Who has read and written which records: see docs/audit.md."""

    reads: bool = Field(True, description="False leaves out calls that read; writes always have a row.")
    durable: bool = Field(
        False, description="True lets no answer leave before its row is stored; else a kill loses 0.1 s of them."
    )
    days: Positive | None = Field(365, description="Older rows are removed; null keeps all.")


class SourceSettings(Section):
    """A collection, folder or file that is followed. The names are those of the options of `cstp ingest`."""

    path: Path | None = None
    url: str | None = Field(None, validate_default=True)
    prune: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    kind: TextKind | None = None
    bots: bool = False
    system_messages: bool = False
    day_first: bool | None = None
    map: str | None = None
    project: str | None = None
    sensitivity: Literal["normal", "sensitive", "highly_sensitive"] | None = None
    repository: str | None = None

    @field_validator("path")
    @classmethod
    def _is_absolute(cls, value: Path | None) -> Path | None:
        return None if value is None else value.absolute()

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, value: str | None, info: ValidationInfo) -> str | None:
        has_path = info.data.get("path") is not None
        if value is None:
            if not has_path:
                raise ValueError("must be given where there is no path")
            return None
        if has_path:
            raise ValueError("must not be given next to a path")
        if not is_address(value):
            raise ValueError(f"must read like {FORMS}")
        try:
            return parsed_address(value)
        except ConfigurationError as error:
            raise ValueError(str(error)) from None

    @field_validator("prune", "include", "exclude", "kind", "bots", "system_messages", "day_first")
    @classmethod
    def _is_of_a_path(cls, value: T, info: ValidationInfo) -> T:
        if value not in (None, False, ()) and info.data.get("url") is not None:
            raise ValueError("must not be given next to a url: a collection is followed whole")
        if isinstance(value, tuple):
            parse_patterns(value)
        return value

    @property
    def address(self) -> str:
        """The url, or the absolute path."""
        return self.url or str(self.path)

    @field_validator("project", "repository")
    @classmethod
    def _is_a_name(cls, value: str | None) -> str | None:
        if value is not None and not RULES["project"].allows(value):
            raise ValueError(f"must be {RULES['project'].says}")
        return value


class Settings(Section):
    """All settings."""

    data_dir: Path = Field(Path("data"), description="One folder holds everything: records, indexes, tokens.")
    server: ServerSettings = ServerSettings()
    agent: AgentSettings = AgentSettings()
    store: StoreSettings = StoreSettings()
    vectors: VectorSettings = VectorSettings()
    search: SearchSettings = SearchSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    limits: LimitSettings = LimitSettings()
    auth: AuthSettings = AuthSettings()
    mcp: McpSettings = McpSettings()
    ui: UiSettings = UiSettings()
    log: LogSettings = LogSettings()
    audit: AuditSettings = AuditSettings()
    sources: tuple[SourceSettings, ...] = Field(
        (),
        description=f"What to follow: a list of url (a collection: {FORMS}) or path (a folder or file, with prune, "
        "include, exclude, kind, bots, system_messages, day_first), map, project, sensitivity, repository.",
    )

    @property
    def store_url(self) -> str:
        return self.store.url or f"sqlite:///{(self.data_dir / 'records.sqlite3').absolute()}"

    @property
    def store_named(self) -> str:
        """The setting that locates the records."""
        return "data_dir" if self.store.url is None else "store.url"

    @property
    def tokens_path(self) -> Path:
        return Path(self.auth.tokens_file) if self.auth.tokens_file else self.data_dir / "tokens.json"

    @property
    def ui_links_path(self) -> Path:
        return self.data_dir / "ui-links"

    @property
    def ledger_path(self) -> Path:
        """Notes what was forgotten, besides the database."""
        return self.data_dir / "forgotten.jsonl"

    @property
    def indexes_path(self) -> Path:
        return self.data_dir / "indexes"

    @property
    def ui_enabled(self) -> bool:
        return self.server.loopback if self.ui.enabled is None else self.ui.enabled

    @property
    def default_limit(self) -> str:
        """The windows of every agent."""
        usual = LOCAL_LIMIT if self._local else USUAL_LIMIT
        return usual if self.limits.default is None else self.limits.default

    @property
    def writes_limit(self) -> str:
        """The windows of an agent's writes."""
        usual = LOCAL_WRITES if self._local else USUAL_WRITES
        return usual if self.limits.writes is None else self.limits.writes

    @property
    def _local(self) -> bool:
        server = self.server
        return server.loopback and server.public_url is None and not server.trusted_proxies

    def at_port(self, port: int) -> Self:
        """The same with the port that was taken, where any free one was asked for."""
        return self.model_copy(update={"server": self.server.model_copy(update={"port": port})})

    @property
    def base_url(self) -> str:
        """Where a server with these settings can be reached from this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.server.host, self.server.host)
        scheme = "http" if self.server.ssl_certfile is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.server.port}"
