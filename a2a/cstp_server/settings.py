"""Every setting, with its default and the reason for it; and where each value came from.

A value is taken from the first that has it: flags, `CSTP_*` environment variables (`__` between section and name),
the file given with --config, else the one that CSTP_CONFIG names, else the file that ships with the server. A file in
the working folder is used only when it is named. The shipped file and `docs/configuration.md` are generated from this
module.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsError

from cognition_engines.errors import ConfigurationError
from cognition_engines.indexes.vectors.choice import VectorIndex
from cstp_server.variables import CONFIG_VARIABLE, check_names, variable_of

Positive = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, le=3600)]
_PUBLIC_URL: Final = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:\d{1,5})?(/[A-Za-z0-9._~/-]*)?")


class Section(BaseModel):
    """A group of settings; an unknown name in it is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class ServerSettings(Section):
    """The HTTP side."""

    host: str = Field("127.0.0.1", description="Loopback only by default.")
    port: int = Field(8100, ge=0, le=65535, description="0 takes any free port and prints it.")
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

    default: str = Field(
        "600/minute; 60/second", description='One or more windows for every agent: "600/minute; 60/second".'
    )
    agents: dict[str, str] = Field({}, description="Other windows for single agents, by name.")
    costs: dict[str, Annotated[int, Field(ge=1)]] = Field(
        {},
        description="Units that a call of a method costs; default: 1, and 2 for searches. A text costs one "
        "more for each 1,024 characters beyond its first; no call more than its agent's smallest window holds.",
    )
    redis_url: str | None = Field(None, description="redis://host:port/0 shares the limits between servers.")
    redis_timeout_seconds: Seconds = Field(0.1, description="After this, fall back to the local limiter.")
    auth_failures: str = Field("30/minute", description="Wrong tokens per client address; then 429.")


class AuthSettings(Section):
    """Tokens."""

    tokens_file: str | None = Field(None, description="Default: tokens.json in the data folder. It holds digests only.")
    reload_seconds: Annotated[float, Field(gt=0, le=5)] = Field(
        1.0, description="A new or revoked token takes effect within this time."
    )


class McpSettings(Section):
    """Hosts of `/mcp`, `/metrics` and `/readyz`, origins of `/mcp`. Loopback and `server.public_url` are let in."""

    allowed_hosts: tuple[str, ...] = Field(
        (),
        description="Further values of the Host header, such as decisions.lan:8100, or decisions.lan:* for any port.",
    )
    allowed_origins: tuple[str, ...] = Field(
        (), description="Further web pages that may ask, such as https://app.example.com; default: none."
    )


class LogSettings(Section):
    """One line per call, on standard error, 50 ms late where the server is busy."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="info has one line per call.")
    format: Literal["auto", "json", "pretty"] = Field("auto", description="auto is pretty on a terminal, else JSON.")


class Settings(Section):
    """All settings."""

    data_dir: Path = Field(Path("data"), description="One folder holds everything: records, indexes, tokens.")
    server: ServerSettings = ServerSettings()
    agent: AgentSettings = AgentSettings()
    store: StoreSettings = StoreSettings()
    vectors: VectorSettings = VectorSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    limits: LimitSettings = LimitSettings()
    auth: AuthSettings = AuthSettings()
    mcp: McpSettings = McpSettings()
    log: LogSettings = LogSettings()

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
    def indexes_path(self) -> Path:
        return self.data_dir / "indexes"

    def at_port(self, port: int) -> Self:
        """The same with the port that was taken, where any free one was asked for."""
        return self.model_copy(update={"server": self.server.model_copy(update={"port": port})})

    @property
    def base_url(self) -> str:
        """Where a server with these settings can be reached from this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.server.host, self.server.host)
        scheme = "http" if self.server.ssl_certfile is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.server.port}"


Layer = Mapping[str, Any]
_VARIABLE: Final = "environment "  # before a variable's name, among origins


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings in force, for each dotted name the place its value came from, and the file among these places."""

    settings: Settings
    origins: Mapping[str, str]
    file: Path

    @property
    def sources(self) -> tuple[str, ...]:
        """What was given: a file, by its path, and environment variables, by their names. Empty for none."""
        named = {origin.removeprefix(_VARIABLE) for origin in self.origins.values() if origin.startswith(_VARIABLE)}
        return (*(() if self.file == shipped_file() else (str(self.file.absolute()),)), *sorted(named))


def shipped_file() -> Path:
    """The settings file that comes with the server: in the wheel, or in the checkout of an editable install."""
    packaged = Path(str(files("cstp_server"))) / "config" / "server.yaml"
    return packaged if packaged.is_file() else Path(__file__).parents[2] / "config" / "server.yaml"


def settings_file(config: Path | None) -> Path:
    """The settings file in force: the one given, the one CSTP_CONFIG names, or the one that ships with the server.

    Raises ConfigurationError for one that is not there.
    """
    named = os.environ.get(CONFIG_VARIABLE) or None
    chosen = config or (named and Path(named))
    if chosen is None:
        return shipped_file()
    if not chosen.is_file():
        place = "" if config else f"{CONFIG_VARIABLE}: "
        raise ConfigurationError(f"{place}{chosen}: no such settings file")
    return chosen


def _read_file(path: Path) -> Layer:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigurationError(f"{path}:{line}: is not YAML from here on") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigurationError(f"{path}: cannot be read as YAML ({type(error).__name__})") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigurationError(f"{path}: must hold sections such as `server:`, not a {type(content).__name__}")
    return content


_SECTIONS: Final = frozenset(name for name in Settings.model_fields if name != "data_dir")


def _leaves(layer: Layer) -> dict[str, object]:
    """Dotted names to values; a section without entries, as when all are commented out, gives none."""
    found: dict[str, object] = {}
    for section, value in layer.items():
        if section in _SECTIONS and isinstance(value, Mapping):
            found |= {f"{section}.{name}": inner for name, inner in value.items()}
        elif section not in _SECTIONS or value is not None:
            found[str(section)] = value
    return found


def _nest(leaves: Mapping[str, object]) -> dict[str, object]:
    tree: dict[str, Any] = {name: value for name, value in leaves.items() if "." not in name}
    for name, value in leaves.items():
        section, _, key = name.partition(".")
        # a section that is not a mapping stays, so that validation refuses it
        if key and isinstance(inner := tree.setdefault(section, {}), dict):
            inner[key] = value
    return tree


def _environment_leaves() -> dict[str, object]:
    """The values of CSTP_* variables. Raises ConfigurationError for those that name no setting or hold no JSON."""
    check_names(os.environ, (*_leaves(Settings().model_dump()), *_SECTIONS))
    try:
        # the source needs nothing of BaseSettings but the names and types of the fields
        source = EnvSettingsSource(
            cast(type[BaseSettings], Settings), env_prefix="CSTP_", env_nested_delimiter="__", env_ignore_empty=True
        )
        return _leaves(source())
    except SettingsError:
        raise ConfigurationError(f"{_not_json()}: must hold JSON, such as {{}} or []") from None


def _not_json() -> str:
    """The variables whose settings are lists or mappings and whose values are not JSON."""
    wanted = {name for name, value in _leaves(Settings().model_dump()).items() if isinstance(value, dict | tuple)}
    names = []
    for variable, value in os.environ.items():
        if variable.upper().removeprefix("CSTP_").lower().replace("__", ".") in wanted:
            try:
                json.loads(value)
            except ValueError:
                names.append(variable)
    return ", ".join(names) or "CSTP_* environment"


def load_settings(flags: Mapping[str, object], config: Path | None = None) -> LoadedSettings:
    """Merges the layers. `flags` has dotted names (`server.port`); None values count as not given.

    Raises ConfigurationError naming each wrong setting and the place it came from.
    """
    path = settings_file(config)
    leaves: dict[str, object] = {}
    origins: dict[str, str] = dict.fromkeys(_leaves(Settings().model_dump()), "default")
    environment = _environment_leaves()
    given = {name: value for name, value in flags.items() if value is not None}
    for layer, origin in ((_leaves(_read_file(path)), str(path)), (environment, "environment"), (given, "flag")):
        leaves |= layer
        for name in layer:
            origins[name] = _VARIABLE + variable_of(name) if origin == "environment" else origin
    try:
        return LoadedSettings(Settings.model_validate(_nest(leaves)), origins, path)
    except ValidationError as error:
        lines = []
        for details in error.errors(include_url=False, include_input=False):
            name = ".".join(str(step) for step in details["loc"])
            setting = ".".join(str(step) for step in details["loc"][:2])
            reason = (
                "there is no such setting"
                if details["type"] == "extra_forbidden"
                else details["msg"].removeprefix("Value error, ")
            )
            lines.append(f"{name}: {reason} (from {origins.get(setting, path)})")
        raise ConfigurationError(*lines) from None
