"""The speed benchmark over records of all kinds, at sizes too small for speed figures."""

from pathlib import Path

import pytest

from benchmarks.corpus import KINDS, Corpus
from benchmarks.kind_calls import KindRow, measure_kinds, render_kinds
from benchmarks.measure import Timing
from benchmarks.texts import Text
from cognition_engines.kinds.registry import kind_of
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import open_records
from cstp_server.process.model import open_model
from cstp_server.settings import Settings

TEXTS = (
    Text(
        "Keep times in UTC", "A time without a zone means another moment to each reader. Store all of them in UTC.", ""
    ),
    Text("Tides", "The moon pulls at the sea, which rises and falls twice a day along most coasts.", ""),
)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    embedder = open_model(Settings())
    assert embedder is not None
    return Corpus(TEXTS, [embedder.embed_text(text.whole) for text in TEXTS], 60)


def test_a_corpus_is_reproducible_and_has_the_stated_records_of_each_kind(corpus: Corpus, tmp_path: Path) -> None:
    entries = list(corpus.entries())
    assert [entry.record for entry in entries] == [entry.record for entry in corpus.entries()]
    assert [sum(kind_of(entry.record) is kind for entry in entries) for kind in Kind] == [60] * len(KINDS)
    records = open_records(f"sqlite:///{tmp_path / 'records.sqlite3'}")
    records.put(entries, "test")
    assert set(records.counts().values()) == {60}
    assert not records.origins.dangling_references(["/benchmark"])
    records.close()


def test_every_call_finds_something(corpus: Corpus, tmp_path: Path) -> None:
    model = open_model(Settings())
    assert model is not None
    stores, rows = measure_kinds([corpus], model.model, ["why the sea rises"], 1, tmp_path)
    assert "| 60 | 720 |" in stores
    assert [row.name for row in rows if row.results == 0] == ["getChunk, none related"]


def test_growth_beyond_the_logarithm_is_marked() -> None:
    rows = [
        KindRow(name, {1000: Timing(9, 1.0, 2.0), 100_000: Timing(9, slow, 2.0)}, 10, None)
        for name, slow in (("well", 1.66), ("badly", 1.68))
    ]
    page = "\n".join(render_kinds("", rows))
    assert "| well | 1.00 / 2.00 | 1.66 / 2.00 | 1.66 | yes |" in page
    assert "| badly | 1.00 / 2.00 | 1.68 / 2.00 | 1.68 | **no** |" in page
