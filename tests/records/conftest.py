"""A fresh store for each test, on SQLite and on a real PostgreSQL, whatever the stores of the run."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Decision
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.transfer.copy import Watcher
from cognition_engines.store.values import Entry, FloatArray
from tests.stored import Quiet
from tests.stores import DATABASES, PostgreSQL

EntryMaker = Callable[..., Entry]


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store/records.sqlite3"


@pytest.fixture(params=DATABASES)
def new_url(request: pytest.FixtureRequest) -> str:
    """Return a URL without a store."""
    value: str = request.getfixturevalue(f"{request.param}_url")
    return value


@pytest.fixture(params=DATABASES)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield the URL of an empty store; PostgreSQL has the tables already, since creating them takes a while."""
    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite_url")
        return
    server: PostgreSQL = request.getfixturevalue("postgresql")
    name, _ = server.create_store()
    yield server.database_url(name)
    server.drop_database(name)


@pytest.fixture
def records(url: str) -> Iterator[Records]:
    store = open_records(url)
    yield store
    store.close()


@pytest.fixture
def entry() -> EntryMaker:
    """Make an entry; the digest is the text unless given, `windows` is the vector count."""

    def make(
        id: str = "d-1",
        text: str = "text",
        *,
        windows: int = 0,
        first: float = 1.0,
        source: str = "/notes/a.md",
        **decision: object,
    ) -> Entry:
        origin = Origin(source, 0, None, digest=text)
        return Entry(
            Decision(id, "A title", text, **decision),  # type: ignore[arg-type]
            origin,
            array(windows, first) if windows else None,
        )

    return make


@pytest.fixture
def floats() -> Callable[[int, float], FloatArray]:
    """Return an array of this many windows, counting up from a first value."""
    return array


def array(windows: int, first: float) -> FloatArray:
    return (np.arange(windows * 3, dtype=np.float32) + np.float32(first)).reshape(windows, 3)


@pytest.fixture
def quiet() -> Watcher:
    return Quiet()


Row = tuple[dict[str, Any], list[tuple[str, int, bytes]]]


ROWS = sa.text("SELECT * FROM records JOIN decisions USING (key)")


@pytest.fixture
def rows() -> Callable[[str], dict[str, Row]]:
    """Return `rows(url)`: every database row by id, with vectors; without key and seq."""

    def read(url: str) -> dict[str, Row]:
        engine = sa.create_engine(url)
        with engine.connect() as connection:
            found = [dict(row._mapping) for row in connection.execute(ROWS)]
            windows: dict[int, list[tuple[str, int, bytes]]] = {row["key"]: [] for row in found}
            for key, model, window, vector in connection.execute(
                sa.text('SELECT key, model, "window", vector FROM vectors')
            ):
                windows[key].append((model, window, bytes(vector)))
        engine.dispose()
        return {
            row["id"]: (
                {name: value for name, value in row.items() if name not in ("key", "seq", "first_seq")},
                sorted(windows[row["key"]]),
            )
            for row in found
        }

    return read
