"""Reading clients of a soak: searches and lists with known answers, mistakes, disconnects, and changes."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from random import Random
from threading import Event
from time import monotonic
from typing import Any

import httpx

from tests.chaos.asking import Answer, Request
from tests.chaos.clients import call_bytes, vanish
from tests.chaos.questions import Questions
from tests.chaos.soak.callers import HttpCaller, Outcomes
from tests.chaos.soak.written import pause_after
from tests.chaos.wire import Pipe, check_answer, expected, request

MODES = ("keyword", "semantic", "hybrid")
QUIET = 1.0  # seconds before an idle stream has a comment, as set on the servers
STREAM_TIMEOUT = 30.0
GONE = (OSError, asyncio.IncompleteReadError)  # a connection of a killed process
ERRORS = (
    call_bytes("cstp.nothing"),
    call_bytes("cstp.queryDecisions", {"limit": 0, "filters": {"stakes": [], "more": 1}}),
    call_bytes("cstp.whoami", [1]),
    b'{"jsonrpc": "2.0", "method":',
    b"[]",
    b"[1, 2, 3]",
    b'{"jsonrpc": "1.0", "method": "cstp.whoami", "id": "a"}',
)


class Reader:
    """Sequential searches in all modes and lists; found initial records must be complete."""

    def __init__(self, caller: HttpCaller, questions: Questions, pause: float, number: int) -> None:
        self._caller = caller
        self._questions = questions
        self._pause = pause
        self._random = Random(number)
        self.slowest = 0.0

    def work(self, stop: Event) -> None:
        for asked in self._requests():
            if stop.is_set():
                return
            answer = self._caller.ask(str(asked["method"]).removeprefix("cstp."), asked["params"])  # type: ignore[arg-type]
            self._caller.require_temporary(answer)
            self._check(answer)
            stop.wait(pause_after(answer.seconds, self._pause))

    def _check(self, answer: Answer) -> None:
        if answer.result is not None:
            self.slowest = max(self.slowest, answer.seconds)
            if answer.request["method"] == "cstp.queryDecisions":
                assert self._questions.whole(answer), answer

    def _requests(self) -> Iterator[Request]:
        known = self._questions.requests()
        while True:
            yield self._random.choice(known)
            mode, number = self._random.choice(MODES), self._random.randrange(10_000)
            query = {"query": f"option {number} weighed against others", "mode": mode}
            yield from (
                {"method": f"cstp.{name}", "params": params}
                for name, params in self._random.sample(
                    [
                        ("search", query),
                        ("recall", query),
                        ("findEpisodes", query),
                        ("searchKnowledge", query),
                        ("listDecisions", {"limit": 50, "offset": number % 500}),
                        ("listEpisodes", {"limit": 20}),
                        ("listMemories", {"limit": 20}),
                        ("getWarnings", {}),
                        ("getStats", {}),
                        ("getSessionContext", {}),
                    ],
                    2,
                )
            )


class Mistakes:
    """Sequential connections with batches, errors, notifications and searches, then a vanishing connection."""

    def __init__(self, ports: Sequence[int], token: str, outcomes: Outcomes, pause: float) -> None:
        self._ports = ports
        self._token = token
        self._outcomes = outcomes
        self._pause = pause
        self._random = Random(8)
        self._numbers = count()

    def work(self, stop: Event) -> None:
        asyncio.run(self._work(stop))

    async def _work(self, stop: Event) -> None:
        while not stop.is_set():
            port = self._random.choice(self._ports)
            try:
                await self._connection(port, stop)
                await vanish(port, request(self._body(), self._token), self._random)
                self._outcomes.add("disconnect")
            except GONE:
                await asyncio.sleep(0.2)

    async def _connection(self, port: int, stop: Event) -> None:
        pipe = await Pipe.open(port)
        try:
            for _ in range(self._random.randrange(1, 20)):
                if not stop.is_set():
                    await self._exchange(pipe)
        finally:
            await pipe.close()

    async def _exchange(self, pipe: Pipe) -> None:
        body, began = self._body(), monotonic()
        (answer,) = await pipe.exchange([request(body, self._token)])
        if b'"code":-32003' in answer.body.replace(b" ", b""):  # a failed part, not included in `expected`
            self._outcomes.add("-32003")
        else:
            for code in check_answer(answer, body, expected(body)):
                self._outcomes.add(str(code) if code else "result")
        await asyncio.sleep(pause_after(monotonic() - began, self._pause))

    def _query(self) -> bytes:
        text = f"which option{next(self._numbers)} for the case"
        params = {"query": text, "limit": self._random.choice((1, 10, 50)), "mode": self._random.choice(MODES)}
        return call_bytes("cstp.queryDecisions", params)

    def _body(self) -> bytes:
        return self._random.choices(
            (
                self._query,
                lambda: b"[" + b",".join(self._query() for _ in range(4)) + b"]",
                lambda: self._random.choice(ERRORS),
                lambda: b'{"jsonrpc":"2.0","method":"cstp.whoami"}',
            ),
            (30, 10, 40, 20),
        )[0]()


class Follower:
    """A change reader. `known` has the number of each record's last change, by kind and id."""

    def __init__(self) -> None:
        self.cursor = 0
        self.known: dict[tuple[str, str], int] = {}
        self.count = 0

    def note(self, change: Any) -> None:
        """Note a change, asserting that it is later than all others."""
        assert change["seq"] > self.cursor, f"{change} after {self.cursor}"
        self.cursor = change["seq"]
        self.count += 1
        if change["op"] == "put":
            self.known[change["kind"], change["id"]] = change["seq"]
        else:
            self.known.pop((change["kind"], change["id"]), None)


class PageFollower(Follower):
    """Follower by calls of cstp.changes."""

    def __init__(self, caller: HttpCaller) -> None:
        super().__init__()
        self._caller = caller

    def work(self, stop: Event) -> None:
        while not stop.is_set():
            self.read_on(500)
            stop.wait(0.2)

    def read_on(self, wait_ms: int = 0) -> bool:
        """Read the next page; return whether there is more."""
        params = {"since": self.cursor, "limit": 1000, "waitMs": wait_ms}
        answer = self._caller.ask("changes", params)
        self._caller.require_temporary(answer)
        if answer.result is None:
            return True
        for change in answer.result["changes"]:
            self.note(change)
        more: bool = answer.result["more"]
        return more


class StreamFollower(Follower):
    """Follower by the stream of changes; an ended stream is reopened, on the other port."""

    def __init__(self, ports: Sequence[int], token: str) -> None:
        super().__init__()
        self._ports = ports
        self._headers = {"Authorization": f"Bearer {token}"}

    def work(self, stop: Event) -> None:
        for number in count():
            if stop.is_set():
                return
            url = f"http://127.0.0.1:{self._ports[number % len(self._ports)]}/cstp/changes"
            with suppress(httpx.TransportError):
                self._read(url, stop)
            stop.wait(0.2)

    def _read(self, url: str, stop: Event) -> None:
        params = {"since": str(self.cursor)}
        with httpx.stream(
            "GET", url, params=params, headers=self._headers, timeout=httpx.Timeout(10, read=1)
        ) as events:
            for line in events.iter_lines():
                if line.startswith("data: {"):
                    self.note(json.loads(line.removeprefix("data: ")))
                if stop.is_set():
                    return
