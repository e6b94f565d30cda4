"""Clients of a soak: each repeats a call until answered, over HTTP or through an MCP window."""

import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http.client import HTTPConnection
from itertools import count
from math import inf
from pathlib import Path
from random import Random
from threading import Event, Lock
from time import monotonic
from typing import Any

from pydantic.alias_generators import to_snake

from tests.chaos.asking import Answer, ask
from tests.mcp.windows import Window, WindowClosed

UNANSWERED = 20.0  # seconds before a client gives a call up
PATIENCE = 150.0  # seconds for a call's result, including retries
TEMPORARY = (-32003, -32010)  # errors of retryable calls
TEMPORARY_IN_WINDOWS = ("INTERNAL_ERROR", "OVERLOADED")
ENDED = {None: 0, signal.SIGTERM: 0, signal.SIGKILL: -signal.SIGKILL}


class Refused(Exception):
    """A call was answered by an error that a retry would not change."""


class Outcomes:
    """Answer and error counts of all clients."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.counts: Counter[str] = Counter()

    def add(self, name: str) -> None:
        with self._lock:
            self.counts[name] += 1

    @property
    def results(self) -> int:
        return self.counts["result"] + self.counts["result in a window"]


class HttpCaller:
    """Caller over two ports; after an error it uses the other port."""

    def __init__(self, ports: Sequence[int], token: str, outcomes: Outcomes) -> None:
        self._ports = ports
        self._turns = count()
        self._token = token
        self._outcomes = outcomes
        self._connection: HTTPConnection | None = None

    def send(self, method: str, params: Mapping[str, Any]) -> Any:
        """Return the result. Raise Refused."""
        until = monotonic() + PATIENCE
        while (answer := self.ask(method, params)).result is None:
            self.require_temporary(answer)
            if monotonic() > until:
                raise Refused(f"not answered within {PATIENCE:g} s: {answer}")
            Event().wait(0.2)
        return answer.result

    def require_temporary(self, answer: Answer) -> None:
        """Raise Refused unless the call may be retried."""
        code = answer.body["error"]["code"] if isinstance(answer.body, dict) and "error" in answer.body else 0
        if answer.result is None and code not in (0, *TEMPORARY):
            raise Refused(f"{answer.request}: {answer.body}")

    def ask(self, method: str, params: Mapping[str, Any]) -> Answer:
        """Return the answer of a single try."""
        if self._connection is None:
            port = self._ports[next(self._turns) % len(self._ports)]
            self._connection = HTTPConnection("127.0.0.1", port, timeout=UNANSWERED)
        answer = ask(self._connection, {"method": f"cstp.{method}", "params": params}, self._token)
        if answer.result is None:
            self.close()
        self._outcomes.add(named(answer))
        return answer

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def named(answer: Answer) -> str:
    """Return the outcome in a word: result, none, or the error code with the failed part."""
    if answer.result is not None:
        return "result"
    if answer.status == 0:
        return "none"
    error = answer.body["error"]
    return " ".join(filter(None, (str(error["code"]), answer.failed_part)))


class WindowCaller:
    """Caller through a `cstp mcp`, which it ends after a while and restarts."""

    def __init__(
        self, open_window: Callable[[], Window], lifetimes: tuple[float, float], outcomes: Outcomes, number: int
    ) -> None:
        self._open = open_window
        self._lifetimes = lifetimes
        self._outcomes = outcomes
        self._random = Random(number)
        self._window: Window | None = None
        self._until = 0.0
        self.killed: set[int] = set()  # processes killed by another thread
        self.ended: Counter[str] = Counter()

    @property
    def pid(self) -> int | None:
        """Return the process id, once the process has answered."""
        window = self._window
        return None if window is None or not window.ready else window.process.pid

    def send(self, method: str, params: Mapping[str, Any]) -> Any:
        """Return the result. Raise Refused."""
        arguments, until = {to_snake(name): value for name, value in params.items()}, monotonic() + PATIENCE
        result: Any = None
        while monotonic() < until:
            window = self._current()
            try:
                result = window.call(to_snake(method), **arguments)
            except WindowClosed:
                self._check_killed(window)
                continue
            if self._until == inf:  # a start takes long on a busy machine
                self._until = monotonic() + self._random.uniform(*self._lifetimes)
            if "error" not in result:
                self._outcomes.add("result in a window")
                return result
            code = result["error"]["code"]
            self._outcomes.add(f"{code} in a window")
            if code not in TEMPORARY_IN_WINDOWS:
                raise Refused(f"{method} {params}: {result}")
            Event().wait(0.2)
        raise Refused(f"not answered within {PATIENCE:g} s, at last {result}: {method} {params}")

    def kill(self) -> None:
        """Kill the process at once, if there is one."""
        if self._window is not None:
            self._window.process.kill()
            self._window.process.wait()
            close_pipes(self._window)

    def _current(self) -> Window:
        if self._window is not None and monotonic() > self._until:
            self.end(self._random.choice((None, signal.SIGTERM, signal.SIGKILL)))
        if self._window is None:
            self._window = self._open()
            self._until = inf
        return self._window

    def end(self, way: signal.Signals | None) -> None:
        """End the process by closing the input, or by a signal."""
        window, self._window = self._window, None
        if window is None:
            return
        if way is None:
            with suppress(BrokenPipeError):
                code = window.close()
        else:
            window.process.send_signal(way)
            code = window.process.wait(60)
        close_pipes(window)
        self.ended["end of input" if way is None else way.name] += 1
        if window.process.pid not in self.killed and code != ENDED[way]:
            raise Refused(f"a window ended with {code} after {way}")

    def _check_killed(self, window: Window) -> None:
        code = window.process.wait(60)
        close_pipes(window)
        self._window = None
        if window.process.pid not in self.killed:
            raise Refused(f"a window ended with {code}, and nobody had killed it")
        self.ended["killed as the holder"] += 1


def close_pipes(window: Window) -> None:
    for pipe in (window.process.stdin, window.process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


class WatchedNotes:
    """Folder files followed by `cstp watch`: written, changed and removed; `words` by present file name."""

    def __init__(self, folder: Path, most: int) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self._most = most
        self._random = Random(77)
        self._numbers = count(1)
        self.words: dict[str, str] = {}
        self.former: list[str] = []

    def work(self, stop: Event) -> None:
        while not stop.wait(self._random.uniform(0.5, 2.0)):
            self._step()

    def _step(self) -> None:
        name = f"note{next(self._numbers)}.md"
        if len(self.words) > self._most or (self.words and self._random.random() < 0.5):
            name = self._random.choice(list(self.words))
            self.former.append(self.words.pop(name))
            if self._random.random() < 0.4:
                (self._folder / name).unlink()
                return
        self.words[name] = f"note{next(self._numbers)}y"
        draft = self._folder.parent / "draft.md"
        draft.write_text(f"# Notes of {name}\n\nWritten of {self.words[name]} here.\n")
        draft.replace(self._folder / name)


def watching(command: Sequence[str], folder: Path, data: Path, environment: Mapping[str, str], log: Path) -> Any:
    """Start `cstp watch --prune` of a folder."""
    with log.open("ab") as file:
        words = [*command, "watch", str(folder), "--prune", "--yes", "--json", "--data-dir", str(data)]
        return subprocess.Popen(
            words, cwd=folder.parent, env=dict(environment), stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
