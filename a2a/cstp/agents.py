"""Several servers by name: `AgentRegistry` over a file like `agents.yaml`.

Needs PyYAML, which the extra `agents` brings: `pip install ".[agents]"` in a clone.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from cstp.client.async_client import AsyncClient
from cstp.client.sync_client import Client
from cstp.client.transport import LONGEST_SECONDS, endpoint

try:
    import yaml
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "cstp.agents reads YAML, and PyYAML is not installed: pip install pyyaml", name=error.name
    ) from error

Text = Annotated[str, Field(min_length=1)]
_CONFIG: Final = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def _is_url(url: str) -> str:
    endpoint(url)
    return url


class Agent(BaseModel):
    """A server: local name, address, and environment variable with the token."""

    model_config = _CONFIG

    name: Text
    url: Annotated[str, AfterValidator(_is_url)]
    token_env: Annotated[Text, Field(repr=False)]  # some write the token itself here


class Defaults(BaseModel):
    """Client defaults: see `cstp.Client`."""

    model_config = _CONFIG

    timeout_seconds: Annotated[float, Field(gt=0, le=LONGEST_SECONDS)] = 30.0
    retries: Annotated[int, Field(ge=0)] = 3


class _File(BaseModel):
    model_config = _CONFIG

    agents: list[Agent]
    defaults: Defaults = Defaults()


class AgentRegistry:
    """Agents of a YAML file, and clients for them.

    The file has `agents`, a list of `name`, `url` and `token_env`, and may have `defaults` with `timeout_seconds` (30)
    and `retries` (3). Raises ValueError naming the fault, and OSError for an unreadable file.
    """

    def __init__(self, config_path: str | Path, environment: Mapping[str, str] = os.environ) -> None:
        self._path = Path(config_path)
        self._environment = environment
        del environment  # a traceback of later errors may show this frame's variables
        read = _read_agents(self._path)
        self._defaults = read.defaults
        self._agents = {agent.name: agent for agent in read.agents}
        if len(self._agents) < len(read.agents):
            raise ValueError(f"{self._path}: two agents have the same name")

    def list(self) -> tuple[Agent, ...]:
        """Return all agents, in file order."""
        return tuple(self._agents.values())

    def get(self, name: str) -> Agent:
        """Return a client for the named agent. Raise ValueError for a name not in the file."""
        if name not in self._agents:
            raise ValueError(f"{self._path} has no agent {name!r}; it has {', '.join(self._agents) or 'none'}")
        return self._agents[name]

    def client(self, name: str) -> Client:
        """Return a client, which the caller closes. Raise ValueError for an unknown name, and without a token."""
        agent = self.get(name)
        return Client(agent.url, self._token(agent), self._defaults.timeout_seconds, self._defaults.retries)

    def async_client(self, name: str) -> AsyncClient:
        """Return an asynchronous client, as `client` does."""
        agent = self.get(name)
        return AsyncClient(agent.url, self._token(agent), self._defaults.timeout_seconds, self._defaults.retries)

    def _token(self, agent: Agent) -> str:
        token = self._environment.get(agent.token_env)
        if not token:
            # without the value of token_env, which may be a token in the wrong place
            raise ValueError(f"no token for {agent.name}: set the variable whose name its token_env is")
        return token


def _read_agents(path: Path) -> _File:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError):
        raise ValueError(f"{path} is not YAML in UTF-8") from None
    try:
        return _File.model_validate(document)
    except ValidationError as error:
        # without the file's text: it may be a misplaced token
        wrong = [
            f"{_format_location(one['loc'])}: {one['msg']}"
            for one in error.errors(include_url=False, include_input=False)
        ]
    del document
    raise ValueError(f"{path}: {'; '.join(wrong)}")


def _format_location(location: tuple[int | str, ...]) -> str:
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return path.lstrip(".") or "the file"
