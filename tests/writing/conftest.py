"""Fixtures for tests of writing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cognition_engines.engine import Engine
from tests.serving import serve
from tests.stores import Stores

__all__ = ["serve"]


@pytest.fixture
def engine(tmp_path: Path, stores: Stores) -> Iterator[Engine]:
    """Yield an engine without a model."""
    opened = Engine.open(stores.records(tmp_path), tmp_path / "indexes", None)
    yield opened
    opened.close()
