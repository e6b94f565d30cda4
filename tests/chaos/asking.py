"""Callers that keep sending requests while a test breaks something, and note every answer."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from threading import Event, Thread
from typing import Any

from tests.chaos.process import CALL_TIMEOUT, Served

Request = Mapping[str, object]


@dataclass(frozen=True)
class Answer:
    """An answer: arrival time, duration, HTTP status (0 without an answer), body, and the request."""

    at: float  # time.monotonic()
    seconds: float
    status: int
    body: Any
    request: Request

    @property
    def result(self) -> Any:
        """Return the result; None for an error."""
        return self.body.get("result") if isinstance(self.body, dict) else None

    @property
    def failed_part(self) -> str | None:
        """Return the component named by a -32003 error; None otherwise."""
        error = self.body.get("error", {}) if isinstance(self.body, dict) else {}
        return error["data"]["component"] if error.get("code") == -32003 else None

    @property
    def overloaded(self) -> bool:
        """Return whether the call was refused because earlier calls held every slot until the deadline."""
        return isinstance(self.body, dict) and self.body.get("error", {}).get("code") == -32010


@dataclass
class Noted:
    """Answers seen by the callers so far; complete once the callers have stopped."""

    answers: list[Answer] = field(default_factory=list)

    def since(self, moment: float) -> list[Answer]:
        return [answer for answer in self.answers if answer.at >= moment]


@contextmanager
def callers(
    server: Served,
    count: int,
    requests: Callable[[int], Iterator[Request]],
    *,
    token: str | None = None,
    pause: float = 0.005,
) -> Iterator[Noted]:
    """Run `count` connections, each sending the requests of `requests(number)` in order, until the block ends.

    A failed connection is noted as status 0 and reopened.
    """
    noted, stop = Noted(), Event()

    def work(number: int) -> None:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=CALL_TIMEOUT)
        for request in requests(number):
            if stop.is_set():
                break
            noted.answers.append(ask(connection, request, token or server.token))
            if noted.answers[-1].status == 0:
                connection.close()
                connection = HTTPConnection("127.0.0.1", server.port, timeout=CALL_TIMEOUT)
            stop.wait(pause)
        connection.close()

    threads = [Thread(target=work, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield noted
    finally:
        stop.set()
        for thread in threads:
            thread.join(CALL_TIMEOUT + 5)
    assert not any(thread.is_alive() for thread in threads)


def ask(connection: HTTPConnection, request: Request, token: str) -> Answer:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, **request}).encode()
    began = time.monotonic()
    try:
        connection.request("POST", "/cstp", body, headers)
        reply = connection.getresponse()
        status, content = reply.status, json.loads(reply.read())
    except (OSError, HTTPException):
        status, content = 0, None
    ended = time.monotonic()
    return Answer(ended, ended - began, status, content, request)


def again_and_again(*requests: Request) -> Callable[[int], Iterator[Request]]:
    """Cycle through these requests; each connection starts at a different request."""

    def endless(number: int) -> Iterator[Request]:
        while True:
            yield requests[number % len(requests)]
            number += 1

    return endless


def most_within(times: Sequence[float], seconds: float) -> int:
    """Return the highest number of `times` (ascending) within any `seconds`."""
    most = start = 0
    for end, moment in enumerate(times):
        while moment - times[start] >= seconds:
            start += 1
        most = max(most, end - start + 1)
    return most
