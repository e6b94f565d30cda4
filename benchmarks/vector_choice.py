"""`python -m benchmarks.vector_choice`: what each `vectors.index` costs and finds, written to docs/vectors.md.

Every figure is of a process of its own over the same store, whose index an earlier process has built.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, sleep
from typing import Any, Final

import numpy as np

from benchmarks.controls import recall
from benchmarks.corpus import ALL_SIX, NONE, Decisions, make_decisions
from benchmarks.embedding import embed_texts, packaged_model
from benchmarks.options import default_texts, sizes
from benchmarks.page import RIGHT, describe_machine, describe_versions, resident_bytes, table
from benchmarks.serving import other_server, write_entries
from benchmarks.texts import read_queries, read_texts
from cognition_engines.engine import EngineOptions
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import EVERYTHING, Decision
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.records import open_records
from cognition_engines.store.values import Entry, FloatArray
from cognition_engines.sync_engine import SyncEngine
from cognition_engines.wanted import Wanted, always
from cstp.values.decision_searches import QueryDecisionsParams, QueryFilters

TEXTS: Final = 2000
QUERIES: Final = 200
WRITTEN: Final = 1000  # records, one batch each, into a running engine
LIMIT: Final = 10
FILTERS: Final = {"none": NONE.filters, "half": QueryFilters(max_confidence=0.5), "six": ALL_SIX.filters}
PAGE: Final = Path(__file__).parents[1] / "docs" / "vectors.md"
BEGIN: Final = "<!-- figures: written by python -m benchmarks.vector_choice -->"
END: Final = "<!-- end of figures -->"
HEADS: Final = (
    "decisions", "index", "memory", "start", "first build", "no filter", "half match", "six filters", "recall@10",
    "written",
)  # fmt: skip
INDEXES: Final = ("memory", "chroma", "server")
NAMES: Final = {"memory": "`memory`", "chroma": "`chroma`, in the data folder", "server": "`chroma`, on a server"}


@dataclass(frozen=True)
class KnownTexts:
    """An embedder of texts whose vectors are known: a query costs what the search costs."""

    model: str
    vectors: dict[str, FloatArray]

    @property
    def dim(self) -> int:
        return len(next(iter(self.vectors.values())))

    def expect(self, dim: int) -> None:
        assert dim == self.dim

    def embed_query(self, text: str, wanted: Wanted = always) -> FloatArray:
        return self.vectors[text]

    def embed_text(self, text: str) -> FloatArray:
        return self.vectors.get(text, next(iter(self.vectors.values())))[np.newaxis]

    def windows(self, text: str) -> int:
        return 1

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        return [(0, len(text))]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vector_choice", description=__doc__)
    parser.add_argument("--texts", type=Path, default=default_texts(), help="folder with real texts")
    parser.add_argument("--sizes", type=sizes, default="100k", help="numbers of decisions, such as 100k,1m")
    parser.add_argument("--one", nargs=3, metavar=("INDEX", "URL", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        sys.stdout.write(json.dumps(_measure(*options.one)))
        return 0
    texts = read_texts(options.texts, TEXTS)
    embedder = packaged_model()
    embedded = embed_texts(embedder, texts)
    queries = read_queries(texts, QUERIES)
    asked = np.stack([embedder.embed_query(query) for query in queries])
    rows: list[dict[str, Any]] = []
    for count in options.sizes:
        corpus = make_decisions(texts, embedded, count)
        with TemporaryDirectory(prefix="cstp-benchmark-") as folder:
            rows += _of_size(Path(folder), corpus, embedder.model, queries, asked)
    _write(rows, ",".join(map(str, options.sizes)))
    return 0


def _of_size(
    folder: Path, corpus: Decisions, model: str, queries: Sequence[str], asked: FloatArray
) -> Iterator[dict[str, Any]]:
    write_entries(f"sqlite:///{folder}/records.sqlite", corpus, model)
    np.savez(folder / "asked.npz", queries=np.array(queries), vectors=asked, model=np.array(model))
    wanted = [np.argsort(-(corpus.vectors @ vector), kind="stable")[:LIMIT].tolist() for vector in asked]
    for index in INDEXES:
        with _url_of(index, folder / "server") as url:
            built, row = (_process(index, url, folder) for _ in range(2))
        found = [[int(id[4:]) for id in ids] for ids in row.pop("ids")]
        row |= {"size": len(corpus.counts), "built": built["start"], "recall": recall(found, wanted)}
        sys.stderr.write(f"{json.dumps(row)}\n")
        yield row


def _process(index: str, url: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.vector_choice", "--one", index, url, str(folder)]
    seen: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return seen


def _measure(index: str, url: str, folder: str) -> dict[str, Any]:
    """Measure one start, the searches and the writes."""
    with np.load(Path(folder) / "asked.npz") as kept:
        queries, vectors, model = kept["queries"].tolist(), kept["vectors"], str(kept["model"])
    embedder = KnownTexts(model, dict(zip(queries, vectors, strict=True)))
    choice = VectorChoice("memory" if index == "memory" else "chroma", url or None)
    store, began = f"sqlite:///{folder}/records.sqlite", perf_counter()
    with SyncEngine.open(store, Path(folder) / index, embedder, EngineOptions(vector_index=choice)) as engine:
        opened = perf_counter() - began
        if not engine.engine.indexes.wait_until_vectors_are_ready():
            raise SystemExit("the vector index did not become ready")
        row: dict[str, Any] = {"index": index, "opened": opened, "start": perf_counter() - began, "ids": []}
        row["resident"] = resident_bytes(os.getpid()) / 1e6
        for name, filters in FILTERS.items():
            took = []
            for query in queries:
                asked = QueryDecisionsParams(query=query, filters=filters, limit=LIMIT, mode="semantic")
                began = perf_counter()
                found = engine.query_decisions(asked, EVERYTHING)
                took.append((perf_counter() - began) * 1000)
                if name == "none":
                    row["ids"].append([match.id for match in found.decisions])
            row[name] = float(np.median(took))
        return row | _written(engine, store, model, vectors)


def _written(engine: SyncEngine, url: str, model: str, vectors: FloatArray) -> dict[str, float]:
    """Return records a second from the first write until all are indexed, and the processor time, in seconds."""
    records, began, cpu = open_records(url), perf_counter(), process_time()
    for start in range(0, WRITTEN, 50):
        places = range(start, start + 50)
        given = np.resize(vectors, (50, 1, vectors.shape[1]))
        batch = [
            Entry(Decision(f"new_{place}", f"new {place}"), Origin("/new.md", place, None, f"{place}"), vector)
            for place, vector in zip(places, given, strict=True)
        ]
        records.put(batch, model)
    last = records.last_seq()
    index = engine.engine.indexes[DECISIONS]
    while index.snapshot.seq < last or (index.vectors is not None and index.vectors.seq < last):
        sleep(0.01)
    seen = {"written": WRITTEN / (perf_counter() - began), "written_cpu": process_time() - cpu}
    records.delete(Kind.DECISION, [f"new_{place}" for place in range(WRITTEN)])
    records.close()
    return seen


@contextmanager
def _url_of(index: str, folder: Path) -> Iterator[str]:
    """Run a Chroma server of this environment, for its address, if `index` is `server`; otherwise return nothing."""
    if index != "server":
        yield ""
        return
    chroma = str(Path(sys.executable).parent / "chroma")
    with other_server(chroma, "run", "--path", str(folder), "--port", "PORT") as port:
        yield f"http://127.0.0.1:{port}"


def _write(rows: Sequence[dict[str, Any]], sizes: str) -> None:
    """Put the table between its marks in docs/vectors.md."""
    versions = describe_versions()
    said = f"`python -m benchmarks.vector_choice --sizes {sizes}`; {describe_machine()}; Chroma {versions['chromadb']}."
    cells = [
        [
            *(f"{row['size']:,}", NAMES[row["index"]], f"{row['resident']:,.0f} MB", f"{row['start']:.1f} s"),
            *(f"{row['built']:.1f} s", *(f"{row[name]:.1f} ms" for name in FILTERS)),
            *(f"{row['recall']:.3f}", f"{row['written']:,.0f}/s"),
        ]
        for row in rows
    ]
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text("\n\n".join([before + BEGIN, said, table(HEADS, cells, RIGHT), END + after]), encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
