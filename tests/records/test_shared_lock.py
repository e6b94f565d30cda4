"""The lock shared by processes over a PostgreSQL: a single holder, passed on however the holder ends."""

import os
from collections.abc import Callable, Iterator
from time import monotonic

import psycopg
import pytest

from cognition_engines.errors import ComponentFailed
from cognition_engines.store.database import Store
from cognition_engines.store.opening import SharedLock, open_store, shared_lock
from cognition_engines.store.records import open_records
from tests.stores import PostgreSQL

LEASE = 0.5


@pytest.fixture
def store(postgresql_url: str) -> Iterator[Store]:
    opened = open_store(postgresql_url)
    yield opened
    opened.reader.dispose()


@pytest.fixture
def lock(store: Store) -> Iterator[Callable[..., SharedLock]]:
    """Yield `lock()`: an additional process's view of the lock."""
    made: list[SharedLock] = []

    def another(name: str = "index", lease: float = 60) -> SharedLock:
        made.append(SharedLock(store.writer, name, lease))
        return made[-1]

    yield another
    for one in made:
        one.close()


def test_the_holder_keeps_it_until_it_ends(lock: Callable[..., SharedLock], wait_until: Callable[..., None]) -> None:
    first, second = lock(), lock()
    assert [first.is_held(), second.is_held(), first.is_held(), second.is_held()] == [True, False, True, False]
    first.close()
    wait_until(second.is_held)
    assert not first.is_held()


def test_locks_with_different_names_are_independent(lock: Callable[..., SharedLock]) -> None:
    assert lock("one").is_held()
    assert lock("two").is_held()


def test_the_holder_is_named(lock: Callable[..., SharedLock], postgresql: PostgreSQL, store: Store) -> None:
    assert lock().is_held()
    (name,) = postgresql.lock_holders(str(store.writer.url.database))
    assert name.startswith(f"cstp {os.getpid()} ")


def test_a_holder_with_an_ended_connection_has_lost_it_and_retakes_it_only_when_free(
    lock: Callable[..., SharedLock], postgresql_url: str, store: Store, wait_until: Callable[..., None]
) -> None:
    first, second = lock(), lock()
    assert first.is_held()
    with psycopg.connect(postgresql_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
    wait_until(second.is_held)
    assert not first.is_held()
    assert not first.is_held()
    second.close()
    wait_until(first.is_held)


def test_an_expired_lease_loses_it(lock: Callable[..., SharedLock], wait_until: Callable[..., None]) -> None:
    first, second = lock(lease=LEASE), lock()
    assert first.is_held()
    wait_until(second.is_held)
    assert not first.is_held()


def test_renewals_keep_it_beyond_its_lease(lock: Callable[..., SharedLock], wait_until: Callable[..., None]) -> None:
    first, second = lock(lease=LEASE), lock()
    assert first.is_held()
    end = monotonic() + 3 * LEASE
    wait_until(lambda: not first.is_held() or monotonic() > end)
    assert not second.is_held()
    assert first.is_held()


@pytest.mark.long("restarts a PostgreSQL")
def test_the_lock_has_no_holder_during_an_outage_and_one_afterwards(
    own_postgresql: PostgreSQL, wait_until: Callable[..., None]
) -> None:
    records = open_records(own_postgresql.url)
    lock = shared_lock(records.store, "index")
    assert lock is not None
    assert lock.is_held()
    own_postgresql.stop()
    assert not lock.is_held()
    with pytest.raises(ComponentFailed, match="records: the database"):
        lock.is_held()
    own_postgresql.start()
    wait_until(lock.is_held)
    lock.close()
    records.close()


def test_sqlite_has_no_shared_lock(sqlite_url: str) -> None:
    records = open_records(sqlite_url)
    assert shared_lock(records.store, "index") is None
    records.close()
