"""Runs that read documents of all formats."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.ingest.formats.reader import FormatReader
from cognition_engines.ingest.options import Options, Summary
from cognition_engines.ingest.run import ingest
from cognition_engines.store.records import Records
from tests.ingest.conftest import CountingEmbedder, Silent


@pytest.fixture
def run(records: Records, embedder: CountingEmbedder, formats: FormatReader) -> Callable[..., Summary]:
    """Return `run(path, prune=True)`: a single run, with the usual reader or `reader`."""

    def once(*paths: Path, reader: FormatReader | None = formats, **options: Any) -> Summary:
        return ingest(paths, Options(**options), records, embedder, Silent(), formats=reader)

    return once
