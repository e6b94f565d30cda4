"""Notice of commits by any process: a cheap check, and an answer to waiters."""

from collections.abc import Callable, Iterator
from threading import Event

import pytest

from cognition_engines.background import Background
from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.watcher import Watcher
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Decision
from cognition_engines.store.change_feed import ChangeWatch
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Entry
from tests.stores import PostgreSQL


@pytest.fixture
def opened(url: str) -> Iterator[tuple[Records, Records]]:
    """Open the records twice: a watcher and a writer."""
    watching, writing = open_records(url), open_records(url)
    yield watching, writing
    watching.close()
    writing.close()


def put(records: Records, id: str) -> None:
    records.put([Entry(Decision(id, "Use a queue"), Origin("/made/up.md", 0, None, id))], None)


def test_a_commit_is_seen_once_and_nothing_else_is(opened: tuple[Records, Records]) -> None:
    watching, writing = opened
    watch = ChangeWatch(watching.store)
    assert watch.has_changed(), "nothing is known before the first look"
    assert not watch.has_changed()
    for records in (writing, watching):
        put(records, f"one-{id(records)}")
        assert watch.has_changed()
        assert not watch.has_changed()
        assert sum(records.counts().values()) > 0
        assert not watch.has_changed(), "a read is no commit"
    watch.close()
    assert watch.has_changed(), "a new connection knows nothing"
    watch.close()


@pytest.mark.long("restarts a PostgreSQL")
def test_after_an_outage_it_looks_again(own_postgresql: PostgreSQL) -> None:
    records = open_records(own_postgresql.url)
    watch = ChangeWatch(records.store)
    watch.has_changed()
    own_postgresql.stop()
    with pytest.raises(ComponentFailed):
        watch.has_changed()
    own_postgresql.start()
    assert watch.has_changed()
    watch.close()
    records.close()


def test_a_waiter_is_called_by_other_writers(opened: tuple[Records, Records], wait_until: Callable[..., None]) -> None:
    watching, writing = opened
    found = Event()
    watcher = Watcher(ChangeWatch(watching.store), found.set, Background())
    watcher.start()
    wait_until(found.is_set)
    found.clear()
    put(writing, "one")
    wait_until(found.is_set)
    watcher.close(5.0)
