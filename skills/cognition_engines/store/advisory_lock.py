"""A lock that processes on several machines share, and that passes on when its holder is gone."""

import os
import socket
from hashlib import sha256
from typing import Final

import sqlalchemy as sa

from cognition_engines.store.database import Store
from cognition_engines.store.transactions import failures

LEASE_SECONDS: Final = 10.0  # a holder that asks less often than this, as one that is paused does, loses the lock
_LONGEST_NAME: Final = 63  # of an application, in bytes
_ALIVE: Final = sa.select(sa.true())


class SharedLock:
    """An advisory lock of PostgreSQL on its own connection, which it is lost with. For one thread.

    The connection carries the process and host as its `application_name`, so that the database shows who has the lock.
    """

    def __init__(self, engine: sa.Engine, name: str, lease_seconds: float = LEASE_SECONDS) -> None:
        self._engine = engine
        self._lease = f"{round(lease_seconds * 1000)}ms"
        self._key = int.from_bytes(sha256(name.encode()).digest()[:8], "big", signed=True)
        self._connection: sa.Connection | None = None
        self._held = False

    def held(self) -> bool:
        """Whether this process has the lock, which is taken when it is free; one short statement.

        Raises ComponentFailed when the database cannot be reached.
        """
        with failures():
            if self._connection is None:
                self._connection = self._connect()
            try:
                # a session has its lock until it ends
                statement = _ALIVE if self._held else sa.select(sa.func.pg_try_advisory_lock(self._key))
                self._held = bool(self._connection.execute(statement).scalar_one())
            except sa.exc.DBAPIError:
                self.close()
        return self._held

    def close(self) -> None:
        """Gives the lock back with its connection; `held` starts over."""
        self._held = False
        connection, self._connection = self._connection, None
        if connection is not None:
            with failures():
                connection.close()

    def _connect(self) -> sa.Connection:
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        connection.detach()  # closed at the end, and not given back to the pool
        try:
            name = f"cstp {os.getpid()} {socket.gethostname()}".encode()[:_LONGEST_NAME].decode(errors="ignore")
            for setting, value in (("application_name", name), ("idle_session_timeout", self._lease)):
                connection.execute(sa.select(sa.func.set_config(setting, value, False)))
        except sa.exc.DBAPIError:
            connection.close()
            raise
        return connection


def shared_lock(store: Store, name: str) -> SharedLock | None:
    """Return the lock `name` among all processes that have this database open, not yet taken; None on SQLite."""
    return SharedLock(store.writer, name) if store.writer.dialect.name == "postgresql" else None
