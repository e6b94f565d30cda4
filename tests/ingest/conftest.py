"""A store, folders like checkouts, and an instant embedding model."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from cognition_engines.errors import ComponentFailed
from cognition_engines.ingest.collections.addresses import checked_address
from cognition_engines.ingest.collections.open_collection import open_collection
from cognition_engines.ingest.formats.reader import FormatReader
from cognition_engines.ingest.maps.map_files import parsed_map
from cognition_engines.ingest.options import Amount, Options, Summary
from cognition_engines.ingest.run import ingest
from cognition_engines.store.records import Records, open_records
from cognition_engines.wanted import Wanted, always
from tests.ingest.chroma_places import Place, client_of
from tests.stores import ChromaProgram, Stores


@dataclass
class CountingEmbedder:
    """Embedder of seeded vectors; notes every text, and fails from the text with `fails_at` on, until that is None."""

    model: str = "counting-4"
    dim: int = 4
    fails_at: str | None = None
    down: bool = False
    longest: int = 1_000_000  # characters of one window
    texts: list[str] = field(default_factory=list)

    def embed_query(self, text: str, wanted: Wanted = always) -> Any:
        seed = int.from_bytes(sha256(text.encode()).digest()[:8], "big")
        vector = np.random.default_rng(seed).normal(size=self.dim)
        return (vector / np.linalg.norm(vector)).astype(np.float32)

    def embed_text(self, text: str) -> Any:
        self.down = self.fails_at is not None and (self.down or self.fails_at in text)
        if self.down:
            raise ComponentFailed("embedder", "cannot")
        self.texts.append(text)
        return self.embed_query(text)[None]

    def windows(self, text: str) -> int:
        return 1 + len(text) // (self.longest + 1)


@dataclass
class Silent:
    """Progress, only counted."""

    total: Amount = field(default_factory=lambda: Amount(0))
    done: Amount = field(default_factory=lambda: Amount(0))

    def start(self, total: Amount) -> None:
        self.total = total

    def advance(self, done: Amount) -> None:
        self.done = Amount(self.done.size + done.size, self.done.files + done.files, self.done.records + done.records)


@pytest.fixture(scope="module")
def formats() -> Iterator[FormatReader]:
    with FormatReader() as reader:
        yield reader


@pytest.fixture
def embedder() -> CountingEmbedder:
    return CountingEmbedder()


@pytest.fixture
def records(stores: Stores, tmp_path: Path) -> Iterator[Records]:
    store = open_records(stores.records(tmp_path / "store"))
    yield store
    store.close()


@pytest.fixture
def run(records: Records, embedder: CountingEmbedder) -> Callable[..., Summary]:
    """Return `run(path, prune=True)`: a single run, whose progress must end at the announced total."""

    def once(*paths: Path, **options: Any) -> Summary:
        progress = Silent()
        summary = ingest(paths, Options(**{"sure": True, **options}), records, embedder, progress)
        assert (progress.done.size, progress.done.files) == (progress.total.size, progress.total.files)
        return summary

    return once


@pytest.fixture
def take(records: Records, embedder: CountingEmbedder) -> Callable[..., Summary]:
    """Return `take(address, prune=True)`: reads a collection; `map` is the text of a map, `model=None` no model."""

    def once(
        address: str, model: CountingEmbedder | None = embedder, map: str | None = None, **options: Any
    ) -> Summary:
        by = None if map is None else parsed_map(map, "m.yaml")
        with open_collection(checked_address(address), model, map=by) as collection:
            return ingest([], Options(**options), records, model, Silent(), collections=[collection])

    return once


@pytest.fixture
def adr() -> Callable[..., Path]:
    """Return `adr(path, title, body)`: writes a decision record."""

    def write(path: Path, title: str, body: str = "We had to choose.") -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {title}\n\nDate: 2024-02-03\n\n## Status\n\nAccepted\n\n## Decision\n\n{body}\n")
        return path

    return write


@pytest.fixture
def checkout(tmp_path: Path) -> Callable[..., Path]:
    """Return `checkout(name, remote)`: an empty folder with a `.git` in it that names a given remote."""

    def make(name: str, remote: str | None = None) -> Path:
        folder = tmp_path / name
        (folder / ".git").mkdir(parents=True)
        if remote is not None:
            (folder / ".git/config").write_text(f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {remote}\n')
        return folder

    return make


@pytest.fixture(params=["folder", pytest.param("server", marks=pytest.mark.long("starts a Chroma server"))])
def place(request: pytest.FixtureRequest, tmp_path: Path, embedder: CountingEmbedder) -> Place:
    if request.param == "server":
        server: ChromaProgram = request.getfixturevalue("chroma_server")
        return Place(server.url, embedder, server, uuid4().hex)
    with client_of(str(tmp_path / "chroma")):
        return Place(str(tmp_path / "chroma"), embedder)
