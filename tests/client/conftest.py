"""Clients of both kinds under a common interface, and a server over docs/sample and the documented decisions."""

import asyncio
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.ingest.options import Options, Silent
from cognition_engines.ingest.run import ingest
from cstp import AsyncClient, Client
from tests.serving import Serving, start
from tests.stores import Stores

ROOT = Path(__file__).parents[2]


@dataclass
class Driver:
    """A client whose methods are called by name, and awaited for the async kind."""

    client: Any
    runner: asyncio.Runner | None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            made = getattr(self.client, name)(*arguments, **named)
            return made if self.runner is None else self.runner.run(made)

        return call

    def all_of(self, name: str, **named: Any) -> list[Any]:
        """Return all items of a client iterator."""
        made = getattr(self.client, name)(**named)
        return list(made) if self.runner is None else self.runner.run(_collected(made))


async def _collected(items: Any) -> list[Any]:
    return [item async for item in items]


@dataclass
class Drivers:
    """A maker of a kind's clients."""

    kind: str
    opened: list[Driver] = field(default_factory=list)

    def __call__(self, *arguments: Any, **named: Any) -> Driver:
        made = (Client if self.kind == "sync" else AsyncClient)(*arguments, **named)
        self.opened.append(Driver(made, None if self.kind == "sync" else asyncio.Runner()))
        return self.opened[-1]

    def close(self) -> None:
        for driver in self.opened:
            driver.close()
            if driver.runner is not None:
                driver.runner.close()


@pytest.fixture(params=["sync", "async"])
def connect(request: pytest.FixtureRequest) -> Iterator[Drivers]:
    """Yield `connect(url, token, ...)`: makes a client, for each of both kinds."""
    drivers = Drivers(request.param)
    yield drivers
    drivers.close()


@pytest.fixture(autouse=True)
def no_token_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CSTP_TOKEN", raising=False)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores) -> Iterator[Serving]:
    """Start a server without a model, over records of all kinds."""
    serving, stop = start(tmp_path_factory.mktemp("sample"), lasting_stores, None, None)
    paths = [ROOT / "docs" / name for name in ("sample", "decisions")]
    ingest(paths, Options(), serving.records, None, Silent(), 1)
    serving.caught_up()
    yield serving
    stop()


@pytest.fixture
def shown() -> Callable[[BaseException], str]:
    """Return everything a traceback of an error can show from the client inwards: the chain, and all frame locals."""

    def text(error: BaseException) -> str:
        frames = error.__traceback__
        while frames is not None and "/a2a/cstp/" not in frames.tb_frame.f_code.co_filename:
            frames = frames.tb_next
        assert frames is not None
        told = traceback.TracebackException(type(error), error, frames, capture_locals=True)
        return "".join(told.format()) + repr(error)

    return text
