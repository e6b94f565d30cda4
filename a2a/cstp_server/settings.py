"""Every setting with its default and description. loaded_settings.py loads the values.

The shipped file and `docs/configuration.md` are generated from this module.
"""

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from cognition_engines.indexes.vectors.choice import VectorIndex
from cognition_engines.ingest.collections.addresses import FORMS
from cognition_engines.masking.policy import AGENTS, FILES, SecretPolicy
from cognition_engines.relevance import Language
from cstp_server.source_settings import Section, SourceSettings

Positive = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, le=3600)]
USUAL_LIMIT: Final = "600/minute; 60/second"
USUAL_WRITES: Final = "120/minute; 10000/day"
# a single person's own program in a loop is not slowed
LOCAL_LIMIT: Final = "12000/minute; 1200/second"
LOCAL_WRITES: Final = "1200/minute; 10000/day"
_PUBLIC_URL: Final = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:\d{1,5})?(/[A-Za-z0-9._~/-]*)?")


class ServerSettings(Section):
    """The HTTP server."""

    host: str = Field("127.0.0.1", description="Address to listen on; loopback only by default.")
    port: int = Field(8100, ge=0, le=65535, description="Port to listen on; 0 chooses a free port and prints it.")
    workers: int = Field(
        1,
        ge=1,
        le=64,
        description="Worker processes over one data folder; bounds of requests are divided among them. More than one "
        "need limits.redis_url.",
    )
    ssl_certfile: str | None = Field(None, description="PEM file with the certificate chain; then HTTPS only.")
    ssl_keyfile: str | None = Field(None, description="PEM file with the key, if the certificate file lacks it.")
    public_url: str | None = Field(
        None, description="URL for other machines, as https://host/path without /cstp; shown in the agent card."
    )
    max_body_bytes: Positive = Field(1_048_576, description="Maximum size of a request body; a larger one gets 413.")
    max_header_bytes: Positive = Field(16_384, description="Maximum size of the request headers; larger ones get 400.")
    max_headers: Positive = Field(64, description="Maximum number of request headers; more get 400.")
    max_batch: Positive = Field(100, description="Maximum number of calls in a batch; a longer batch is rejected.")
    batch_concurrency: Positive = Field(8, description="Concurrent calls of the batches of one agent.")
    handler_seconds: Seconds = Field(
        15.0, description="Deadline of a call, and for its start in a batch; then it fails with -32003."
    )
    max_answer_bytes: Positive = Field(5_242_880, description="Maximum size of an answer; then it fails with -32003.")
    max_batch_answer_bytes: Positive = Field(10_485_760, description="Maximum size of all answers to one batch.")
    max_in_flight: Positive = Field(
        64, description="Concurrent requests, at most half of them of one agent; further requests wait."
    )
    max_queue: int = Field(
        64, ge=0, description="Waiting requests, each at most handler_seconds; further requests get 503."
    )
    max_followers: Positive = Field(
        64, description="Calls and streams that wait for changes, at most half of them of one agent; more get 503."
    )
    quiet_seconds: Seconds = Field(15.0, description="Silence before a change stream sends a keep-alive comment.")
    max_connections: Positive = Field(
        1000, description="At this number, a new connection replaces one without a request for a second, or gets 503."
    )
    receive_seconds: Seconds = Field(10.0, description="Time from the first byte of a request to its last; then 408.")
    idle_seconds: Seconds = Field(5.0, description="A connection without a request for this long is closed.")
    send_seconds: Seconds = Field(10.0, description="A client that reads nothing for this long is disconnected.")
    grace_seconds: Seconds = Field(10.0, description="On SIGTERM, total time to finish running calls, close and exit.")
    drain_seconds: float = Field(
        0.0, ge=0, le=3600, description="On SIGTERM, keep listening this long while not ready, for a load balancer."
    )
    trusted_proxies: tuple[str, ...] = Field(
        (), description="Networks (CIDR) whose X-Forwarded-For is trusted; default: none."
    )

    @property
    def loopback(self) -> bool:
        """Return whether only this machine can reach the server."""
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
            raise ValueError("requires server.ssl_certfile")
        return value

    @model_validator(mode="after")
    def _drain_leaves_time(self) -> Self:
        if self.drain_seconds > self.grace_seconds / 2:
            raise ValueError("drain_seconds: must be at most half of grace_seconds, which also covers running calls")
        return self


class AgentSettings(Section):
    """The agent whose knowledge is served."""

    id: str = Field("cstp", min_length=1, max_length=128, description="Name in the member `agent` of answers.")

    @field_validator("id")
    @classmethod
    def _is_one_line(cls, value: str) -> str:
        if not value.isprintable():
            raise ValueError("must be printable characters")
        return value


class StoreSettings(Section):
    """The database of the records."""

    url: str | None = Field(None, description="postgresql://user:password@host/name; default: SQLite in data_dir.")
    threads: Positive = Field(4, description="Concurrent reads, and as many reads of lists; more do not help SQLite.")
    deadline_seconds: Seconds = Field(5.0, description="Deadline of a read; then the call fails with -32003.")


class VectorSettings(Section):
    """The search for nearest neighbours."""

    index: VectorIndex = Field("auto", description="memory, chroma or auto; auto uses memory while the vectors fit.")
    url: str | None = Field(None, description="http://host:port of a Chroma server; default: Chroma in data_dir.")
    memory_mb: Positive | None = Field(
        None, description="With auto: MB of vectors per search space; default: a quarter of the machine's memory."
    )
    threads: Positive = Field(2, description="Concurrent searches; more than one per core do not help.")
    deadline_seconds: Seconds = Field(5.0, description="Deadline of a search; then the call fails with -32003.")

    @field_validator("url")
    @classmethod
    def _url_needs_an_index(cls, url: str | None, info: ValidationInfo) -> str | None:
        if url is not None and info.data.get("index") == "memory":
            raise ValueError("has no effect with vectors.index: memory; remove one of them")
        return url


class SearchSettings(Section):
    """Settings of search and ranking."""

    language: Language = Field(
        "en",
        description="Language of stop words, stems and months; a change rebuilds the keyword index.",
    )
    least_cosine: float | None = Field(
        None,
        ge=-1,
        le=1,
        description="With abstain: minimum cosine of the nearest record; default: the measured value (minilm).",
    )


class EmbeddingSettings(Section):
    """The embedding model."""

    model: str = Field("minilm", description="minilm (ships with the server), onnx, none or chroma:NAME.")
    path: str | None = Field(None, description="With onnx: folder with model.onnx and tokenizer.json.")
    pooling: Literal["mean", "cls"] = Field("mean", description="With onnx: how token vectors are combined.")
    query_prefix: str = Field("", description="With onnx: prefix of every query, if the model expects one.")
    text_prefix: str = Field("", description="With onnx: prefix of every text, if the model expects one.")
    settings: dict[str, Any] = Field(
        {}, description="With chroma:NAME: settings of the function; its keys come from the environment."
    )
    threads: Positive = Field(2, description="Concurrent embeddings.")
    deadline_seconds: Seconds = Field(5.0, description="Deadline to embed a query; then the call fails with -32003.")
    cache_size: Positive = Field(1024, description="Query texts with cached vectors.")


class LimitSettings(Section):
    """Rate limits of agents."""

    default: str | None = Field(
        None,
        description=f'Windows of each agent. Default: "{USUAL_LIMIT}", or "{LOCAL_LIMIT}" if only '
        "this machine can call: on loopback, without server.public_url and server.trusted_proxies.",
    )
    writes: str | None = Field(
        None,
        description="Additional windows for write calls, per agent. Default: "
        f'"{USUAL_WRITES}", or "{LOCAL_WRITES}" if only this machine can call.',
    )
    agents: dict[str, str] = Field({}, description="Windows of single agents, by name, instead of the default.")
    costs: dict[str, Annotated[int, Field(ge=1)]] = Field(
        {},
        description="Cost in units of a call, by method; default: 1, and 2 for searches. A text costs one "
        "more for each further 1,024 characters, or for each further window of the model, up "
        "to three. A call costs at most the agent's smallest window.",
    )
    redis_url: str | None = Field(None, description="redis://host:port/0, to share limits between servers or workers.")
    redis_timeout_seconds: Seconds = Field(0.1, description="Timeout of Redis; then limits are counted in memory.")
    auth_failures: str = Field("30/minute", description="Allowed wrong tokens per client address; more get 429.")


class AuthSettings(Section):
    """The tokens of callers."""

    tokens_file: str | None = Field(None, description="File of token digests; default: tokens.json in data_dir.")
    reload_seconds: Annotated[float, Field(gt=0, le=5)] = Field(
        1.0, description="Time until a revoked token is rejected; a new token is valid at once."
    )


class McpSettings(Section):
    """The tools, and Hosts and Origins for `/mcp` and `/ui` in addition to loopback and `server.public_url`."""

    allowed_hosts: tuple[str, ...] = Field(
        (),
        description="Additional Host headers, such as decisions.lan:8100, or decisions.lan:* for any port.",
    )
    allowed_origins: tuple[str, ...] = Field(
        (), description="Additional Origins, such as https://app.example.com; default: none."
    )
    tools: str | tuple[str, ...] = Field(
        "record",
        description="Tools that a client gets, of those that its token's scopes allow: ask, record or all, or a list "
        "of names. See docs/mcp.md.",
    )
    output_schemas: bool = Field(False, description="List the JSON Schemas of the tools' results, which are long.")


class UiSettings(Section):
    """The web page, at `/ui/`. It needs a token, as every client does."""

    enabled: bool | None = Field(
        None, description="true or false; default: true if the server listens on loopback only. If false, /ui is 404."
    )


class LogSettings(Section):
    """The log on standard error; a busy server writes it 50 ms late."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="info has one line per call.")
    format: Literal["auto", "json", "pretty"] = Field("auto", description="auto: pretty on a terminal, else JSON.")
    audit_queries: bool = Field(False, description="Keep texts of queries in the audit; they are never logged.")


class AuditSettings(Section):
    """The audit of reads and writes; see docs/audit.md."""

    reads: bool = Field(True, description="Keep rows of read calls; write calls always have a row.")
    durable: bool = Field(
        False, description="Store the row before the answer is sent; otherwise a kill loses 0.1 s of rows."
    )
    days: Positive | None = Field(365, description="Days until a row is removed; null keeps all rows.")


class SecretSettings(Section):
    """Secrets in texts, such as keys and passwords: refuse, mask, warn or allow; see docs/security.md."""

    agents: SecretPolicy = Field(
        AGENTS,
        description="Writes of agents: mask stores [masked: KIND], refuse rejects the call, warn only reports, "
        "allow does not look.",
    )
    files: SecretPolicy = Field(FILES, description="Records of files, collections and imports: as agents.")


class Settings(Section):
    """All settings."""

    data_dir: Path = Field(
        Path("data"), description="Folder with everything: records, indexes, tokens. Found if none is named."
    )
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
    secrets: SecretSettings = SecretSettings()
    sources: tuple[SourceSettings, ...] = Field(
        (),
        description=f"Sources to follow: a list of url (a collection: {FORMS}) or path (a folder or file, with prune, "
        "include, exclude, kind, bots, system_messages, day_first), map, project, sensitivity, repository.",
    )

    @property
    def store_url(self) -> str:
        return self.store.url or f"sqlite:///{(self.data_dir / 'records.sqlite3').absolute()}"

    @property
    def store_named(self) -> str:
        """Return the name of the setting that locates the records."""
        return "data_dir" if self.store.url is None else "store.url"

    @property
    def tokens_path(self) -> Path:
        return Path(self.auth.tokens_file) if self.auth.tokens_file else self.data_dir / "tokens.json"

    @property
    def ui_links_path(self) -> Path:
        return self.data_dir / "ui-links"

    @property
    def ledger_path(self) -> Path:
        """Return the list of forgotten records outside the database."""
        return self.data_dir / "forgotten.jsonl"

    @property
    def indexes_path(self) -> Path:
        return self.data_dir / "indexes"

    @property
    def ui_enabled(self) -> bool:
        return self.server.loopback if self.ui.enabled is None else self.ui.enabled

    @property
    def default_limit(self) -> str:
        """Return the rate limit of each agent."""
        usual = LOCAL_LIMIT if self._local else USUAL_LIMIT
        return usual if self.limits.default is None else self.limits.default

    @property
    def writes_limit(self) -> str:
        """Return the rate limit for each agent's writes."""
        usual = LOCAL_WRITES if self._local else USUAL_WRITES
        return usual if self.limits.writes is None else self.limits.writes

    @property
    def _local(self) -> bool:
        server = self.server
        return server.loopback and server.public_url is None and not server.trusted_proxies

    def at_port(self, port: int) -> Self:
        """Return these settings with `port`, the bound port."""
        return self.model_copy(update={"server": self.server.model_copy(update={"port": port})})

    @property
    def base_url(self) -> str:
        """Return the URL of a server with these settings, from this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.server.host, self.server.host)
        scheme = "http" if self.server.ssl_certfile is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.server.port}"
