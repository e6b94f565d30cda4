"""Calls end at the caller's timeout, whatever the server does; for both client kinds."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cstp import ConnectFailed, DeadlineExceeded, TransportError, calls
from tests.dripping import KINDS, dripping_servers
from tests.stores import free_port

TIMEOUT = 0.5
MUCH_LATER = 60.0  # a busy machine may be slow, but not by this


@pytest.fixture
def silent() -> Iterator[Callable[..., str]]:
    """Yield `silent(head, drop)`: the URL of a server that sends `head`, then `drop` every 50 ms."""
    with dripping_servers() as start:
        yield start


@pytest.mark.parametrize(("head", "drop"), KINDS.values(), ids=KINDS)
def test_a_call_ends_at_its_deadline(connect: Any, silent: Callable[..., str], head: bytes, drop: bytes) -> None:
    client = connect(silent(head, drop), "t", timeout=TIMEOUT)
    began = time.monotonic()
    with pytest.raises(DeadlineExceeded, match=r"within 0\.5 s"):
        client.whoami()
    assert TIMEOUT * 0.9 < time.monotonic() - began < MUCH_LATER


def test_a_method_takes_another_deadline_than_the_clients(connect: Any, silent: Callable[..., str]) -> None:
    client = connect(silent(), "t", timeout=60)
    began = time.monotonic()
    with pytest.raises(DeadlineExceeded, match=r"within 0\.5 s"):
        client.query_decisions("x", timeout=TIMEOUT)
    assert time.monotonic() - began < MUCH_LATER


def test_a_batch_ends_at_the_earliest_deadline_of_its_calls(connect: Any, silent: Callable[..., str]) -> None:
    client = connect(silent(), "t", timeout=60)
    began = time.monotonic()
    with pytest.raises(DeadlineExceeded, match=r"within 0\.5 s"):
        client.batch([calls.whoami(), calls.whoami(timeout=TIMEOUT), calls.whoami(timeout=50)], timeout=40)
    assert time.monotonic() - began < MUCH_LATER


@pytest.mark.long("starts a server or a process of its own")
def test_retries_end_before_the_deadline(connect: Any) -> None:
    client = connect(f"http://127.0.0.1:{free_port()}", "t", timeout=1.5, retries=1000)
    began = time.monotonic()
    with pytest.raises(TransportError) as caught:
        client.whoami()
    # the last try may have begun in time and not have ended in it
    assert isinstance(caught.value, ConnectFailed) or isinstance(caught.value.__cause__, ConnectFailed)
    assert time.monotonic() - began < MUCH_LATER


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 1e10])
def test_a_timeout_is_positive_and_within_socket_limits(connect: Any, timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout"):
        connect("http://127.0.0.1:1", "t", timeout=timeout)
    with pytest.raises(ValueError, match="timeout"):
        connect("http://127.0.0.1:1", "t").whoami(timeout=timeout)


def test_the_longest_timeout_is_taken(connect: Any) -> None:
    with pytest.raises(ConnectFailed):
        connect("http://127.0.0.1:1", "t", timeout=1e6, retries=0).whoami()
