"""Ingest measurement next to the embedding model."""

from pathlib import Path

from benchmarks.ingesting import measure_ingest
from benchmarks.texts import read_texts

ROOT = Path(__file__).parents[2]


def test_an_ingest_and_its_control_are_run_and_measured() -> None:
    row = measure_ingest(read_texts(ROOT / "docs" / "decisions", 3), 6, slices=1)
    # six texts take less time than two process starts differ by, so the rates are meaningless here
    assert row.decisions == 6
    assert row.megabytes > 100
