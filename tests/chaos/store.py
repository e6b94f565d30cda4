"""Stores with many records and vectors, made without embedding, and their expected search results."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from cognition_engines.embedding.open import EmbeddingChoice, open_embedder
from cognition_engines.kinds.registry import embedding_text
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Decision
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Entry
from tests.chaos.embedder.chaos_embedder import register, vector_of
from tests.chaos.process import Served
from tests.stored import Upsert, changes_of

EMBEDDER = Path(__file__).parent / "embedder"
MODEL: Mapping[str, object] = {"embedding.model": "chroma:chaos"}
GROUP = 20  # records sharing a word of this group alone
MODES = ("hybrid", "semantic", "keyword")


def use_embedder(patch: pytest.MonkeyPatch, control: Path | None = None) -> None:
    """Make processes started from here on use `chroma:chaos`, controlled by the file `control`."""
    patch.setenv("PYTHONPATH", str(EMBEDDER), prepend=os.pathsep)
    if control is not None:
        patch.setenv("CHAOS_EMBEDDER", str(control))


def model_name(settings: Mapping[str, object]) -> str:
    """Return the identity under which vectors of `chroma:chaos` are stored."""
    register()
    embedder = open_embedder(EmbeddingChoice(model="chroma:chaos", settings=settings))
    assert embedder is not None
    return embedder.model


def decision(id: str, words: str = "") -> Decision:
    """Return a decision with a unique word (`mark...`) and a shared word (`group...`)."""
    name, _, number = id.rpartition("-")
    marks = f"mark{name}{number} group{name}{int(number) // GROUP}"
    return Decision(id, f"Choose {marks}", f"Weighed {words} against others.")


def fill(
    records: Records,
    decisions: Iterable[Decision],
    vectors: Callable[[Decision], Any] | None = None,
    settings: Mapping[str, object] = MappingProxyType({}),
) -> None:
    """Store decisions with vectors of `chroma:chaos` under these settings, or from `vectors`."""
    made = vectors or (lambda one: vector_of(embedding_text(one))[None])
    batch = [Entry(one, Origin("/made/up.md", 0, None, embedding_text(one)), made(one)) for one in decisions]
    model = model_name(settings)
    for start in range(0, len(batch), 1000):
        records.put(batch[start : start + 1000], model)


def store_of(folder: Path, count: int) -> None:
    """Make a data folder with `count` decisions base-0, base-1, ..."""
    records = open_records(f"sqlite:///{folder}/records.sqlite3")
    fill(records, (decision(f"base-{number}") for number in range(count)))
    records.close()


@dataclass
class Known:
    """Committed records seen by a store reader, followed by `seq` as a server does."""

    records: Records
    seq: int = 0
    last: str = ""  # the last written id
    texts: dict[str, str] = field(default_factory=dict)  # searchable text by id
    words: dict[str, str] = field(default_factory=dict)  # title by id

    def read_on(self) -> list[str]:
        """Read newly committed records; return their ids."""
        written = []
        while changes := changes_of(self.records, self.seq, 1000, None):
            for change in changes:
                if isinstance(change, Upsert):
                    one = change.stored.record
                    self.texts[one.id], self.words[one.id] = embedding_text(one), one.title
                    written.append(one.id)
                    self.last = one.id
                else:
                    self.texts.pop(change.id, None)
                    self.words.pop(change.id, None)
            self.seq = changes[-1].seq
        return [id for id in written if id in self.texts]

    def groups(self, random: Random, count: int) -> list[tuple[str, set[str]]]:
        """Return up to `count` shared words, each with the ids of all matching decisions."""
        found: dict[str, set[str]] = {}
        for id, title in self.words.items():
            found.setdefault(title.split()[2], set()).add(id)
        return [(word, found[word]) for word in random.sample(sorted(found), min(count, len(found)))]


def asked(server: Served, query: str, mode: str, limit: int = 10) -> list[Any]:
    """Return the found decisions. An error fails the test."""
    reply = server.call("cstp.queryDecisions", {"query": query, "mode": mode, "limit": limit})
    assert "result" in reply, f"{reply}; {server.last_log()}"
    found: list[Any] = reply["result"]["decisions"]
    return found


def found_in_all_modes(server: Served, known: Known, id: str) -> bool:
    """Return whether a decision is found: by the unique word alone, and first by the whole text, at distance 0."""
    by_word = asked(server, known.words[id].split()[1], "keyword")
    if [one["id"] for one in by_word] != [id] or by_word[0]["title"] != known.words[id]:
        return False
    for mode in ("semantic", "hybrid"):
        first = asked(server, known.texts[id], mode)[0]
        # without a vector yet, it is found in any mode by its unique word, at no known distance
        if first["id"] != id or first["distance"] is None or first["distance"] > 1e-5:
            return False
    return True


def compare_with_brute_force(server: Served, known: Known, random: Random, queries: int) -> None:
    """Fail unless words find exactly the matching decisions, and meaning the nearest ones in order."""
    for word, ids in known.groups(random, queries):
        assert {one["id"] for one in asked(server, word, "keyword", 50)} == ids
        assert ids <= {one["id"] for one in asked(server, word, "hybrid", 50)}
    ids = sorted(known.texts)
    vectors = np.stack([vector_of(known.texts[id]) for id in ids]).astype(np.float64)
    for number in range(queries):
        query = f"question {number} {random.random()}"
        cosines = np.round(vectors @ vector_of(query).astype(np.float64), 6)
        best = sorted(range(len(ids)), key=lambda row: (-cosines[row], ids[row]))[:10]
        found = asked(server, query, "semantic")
        assert [one["id"] for one in found] == [ids[row] for row in best]
        assert np.allclose([one["distance"] for one in found], 1 - cosines[best], atol=2e-6)


def write_jsonl(path: Path, decisions: Iterable[Decision]) -> None:
    """Replace a file for `cstp ingest` as a whole."""
    lines = [
        json.dumps({"kind": "decision", "id": one.id, "title": one.title, "text": one.text}) + "\n" for one in decisions
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    draft.write_text("".join(lines))
    draft.replace(path)


def size_of(folder: Path) -> int:
    """Return file bytes below a folder by apparent size: a sparse file counts in full."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
