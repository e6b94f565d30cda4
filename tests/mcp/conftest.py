"""A server over a small world of records, and the SDK's own client in front of it."""

import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from cognition_engines.ingest.options import Options, Silent
from cognition_engines.ingest.run import ingest
from cognition_engines.store.records import open_records
from cstp_server.settings import Settings
from cstp_server.tokens import create_token
from tests.isolation.world import World, make_world, put
from tests.quick_starts import ENTRY
from tests.serving import SeededEmbedder, Serving, serve, start
from tests.stores import Stores

__all__ = ["serve"]
ROOT = Path(__file__).parents[2]
ALL_TOOLS = {"CSTP_EMBEDDING__MODEL": "none", "CSTP_MCP__TOOLS": "all"}
Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(scope="session")
def world() -> World:
    return make_world(Random(11))


@pytest.fixture(scope="session")
def knowing(tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores, world: World) -> Iterator[Serving]:
    """Start a server over the world, for tests that leave it unchanged."""
    serving, stop = start(tmp_path_factory.mktemp("mcp") / "data", lasting_stores, SeededEmbedder(), None)
    put(serving.records, SeededEmbedder(), world.entries)
    serving.caught_up()
    yield serving
    stop()


def mcp_url(serving: Serving, tools: str = "all") -> str:
    return serving.url.removesuffix("/cstp") + f"/mcp?tools={tools}"


@asynccontextmanager
async def over_http(url: str, token: str, mode: str = "auto") -> AsyncIterator[Client]:
    """Connect the SDK's client by streamable HTTP; `legacy` begins with initialize, `auto` with server/discover."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.fixture
def over_stdio(tmp_path: Path) -> Connect:
    """Return `over_stdio("--data-dir", folder, "--agent", name)`: the SDK's client for `cstp mcp`, with all tools."""

    @asynccontextmanager
    async def connect(*words: object, mode: str = "auto", **environment: str) -> AsyncIterator[Client]:
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-c", ENTRY, "mcp", *map(str, words)],
            # the SDK passes on only required variables, without the code under test
            env={"PYTHONPATH": os.environ.get("PYTHONPATH", ""), **ALL_TOOLS, **environment},
        )
        with (tmp_path / "stderr.log").open("w") as log:
            async with Client(stdio_client(parameters, errlog=log), mode=mode) as client:
                yield client

    return connect


def body_of(result: Any) -> Any:
    """Return the JSON in a tool result's only text."""
    (content,) = result.content
    return json.loads(content.text)


@pytest.fixture(scope="session")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a data folder with the project's sample and decisions, and a token of agent `reader`; without a model."""
    folder = tmp_path_factory.mktemp("sampled") / "data"
    settings = Settings.model_validate({"data_dir": folder, "embedding": {"model": "none"}})
    folder.mkdir()
    with closing(open_records(settings.store_url)) as records:
        ingest([ROOT / "docs" / "sample", ROOT / "docs" / "decisions"], Options(), records, None, Silent(), 1)
    create_token(settings.tokens_path, "reader", lifetime=timedelta(hours=1))
    return folder
