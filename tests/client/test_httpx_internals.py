"""Internals of httpx and httpcore used by `cstp.client.connections` exist in the permitted versions."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import create_server
from threading import Thread
from tomllib import loads

import httpcore
import httpx
import pytest

from cstp.client.connections import BoundedTransport, RemainingTime, TimeLeft
from cstp.client.transport import deadline_after

PROJECT = loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_a_transport_of_httpx_has_a_pool_with_a_network_backend_to_be_replaced() -> None:
    pool = httpx.HTTPTransport()._pool
    assert isinstance(pool, httpcore.ConnectionPool)
    assert isinstance(pool._network_backend, httpcore.NetworkBackend)


def test_a_network_backend_has_the_wrapped_stream_methods() -> None:
    backend = {name for name in vars(httpcore.NetworkBackend) if not name.startswith("_")}
    stream = {name for name in vars(httpcore.NetworkStream) if not name.startswith("_")}
    assert backend == {"connect_tcp", "connect_unix_socket", "sleep"}
    assert stream == {"read", "write", "close", "start_tls", "get_extra_info"}


def test_each_step_of_a_request_asks_the_time_limits_when_it_begins() -> None:
    steps: list[str] = []

    class Steps(TimeLeft):
        def get(self, step: str, default: object = None) -> RemainingTime:
            steps.append(step)
            return super().get(step, default)

    with answering() as url, httpx.Client(transport=BoundedTransport(), trust_env=False) as client:
        client.get(url, extensions={"timeout": Steps(deadline_after(5))})
    assert {"connect", "write", "read"} <= set(steps)


def test_a_read_through_the_replaced_backend_ends_at_the_deadline() -> None:
    with create_server(("127.0.0.1", 0)) as silent, httpx.Client(transport=BoundedTransport()) as client:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(httpx.ReadTimeout):
            client.get(url, extensions={"timeout": TimeLeft(deadline_after(0.2))})


@pytest.mark.parametrize(("package", "cap"), [("httpx", "<0.29"), ("httpcore", "<1.1")])
def test_the_version_is_capped(package: str, cap: str) -> None:
    assert any(each.startswith(f"{package}>=") and each.endswith(cap) for each in PROJECT["dependencies"])


@contextmanager
def answering() -> Iterator[str]:
    def answer() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

    with create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join(5)
