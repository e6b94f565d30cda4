"""A server under load with Redis frozen, killed, emptied, locked or full: no call fails and the limits hold."""

import re
import socket
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from itertools import pairwise
from threading import Event, Thread
from typing import Any

import pytest

from cstp_server.tokens import create_token
from tests.chaos.asking import Answer, Request, again_and_again, callers, most_within
from tests.chaos.chaos import Chaos, frozen, killed
from tests.chaos.process import Served

WHOAMI = {"method": "cstp.whoami"}
LIMIT, WINDOW = 200, 4.0
BACK_WITHIN = 6.0
MARGIN = 0.1  # of the limit
CLOCKS = 0.3  # seconds between a server's decision and its arrival here, on a busy machine
CONNECTIONS = 4


class Control:
    """A Redis connection that stays open through a fault."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 5)
        self._reader = self._socket.makefile("rb")

    def send(self, words: str) -> None:
        self._socket.sendall(words.encode() + b"\r\n")
        answer = self._reader.readline()
        assert answer.startswith((b"+OK", b":")), answer

    def close(self) -> None:
        self._reader.close()
        self._socket.close()


@contextmanager
def full(redis: Any) -> Iterator[None]:
    redis.command("CONFIG", "SET", "maxmemory", "1")
    yield
    redis.command("CONFIG", "SET", "maxmemory", "0")


@contextmanager
def another_password(redis: Any) -> Iterator[None]:
    control = Control(redis.port)
    control.send("CONFIG SET requirepass changed")
    control.send("CLIENT KILL TYPE normal SKIPME yes")
    yield
    control.send('CONFIG SET requirepass ""')
    control.close()


@contextmanager
def no_connection_left(redis: Any) -> Iterator[None]:
    control = Control(redis.port)
    control.send("CONFIG SET maxclients 1")
    control.send("CLIENT KILL TYPE normal SKIPME yes")
    yield
    control.send("CONFIG SET maxclients 10000")
    control.close()


OUTAGES = (frozen, killed, full, another_password, no_connection_left)
EMPTYINGS = ("FLUSHALL", "SCRIPT FLUSH")


def changes(server: Served) -> list[str]:
    """Return log events: `limits_local` when Redis is given up, `limits_shared` when it is used again."""
    return re.findall(r'"event":"(limits_local|limits_shared)"', server.log_path.read_text(errors="replace"))


def test_limits_hold_and_no_call_fails_during_redis_outages(chaos: Chaos, redis_server: Callable[..., Any]) -> None:
    redis = redis_server()
    each = {"greedy": f"{LIMIT}/{WINDOW:g} second", "modest": f"{LIMIT}/{WINDOW:g} second"}
    server = chaos.served({"limits.redis_url": redis.url, "limits.agents": each}, start=False)
    greedy, modest = server.new_token("greedy"), server.new_token("modest")
    server.start()
    rounds, calls_under = chaos.scale.pick((1, 16), (6, 250))
    back: dict[str, list[float]] = {}
    began = time.monotonic()
    with (
        callers(server, CONNECTIONS, again_and_again(WHOAMI), token=greedy) as wanting,
        callers(server, 1, again_and_again(WHOAMI), token=modest, pause=WINDOW / LIMIT * 2) as content,
    ):

        def more_calls(count: int) -> None:
            target = len(content.answers) + count
            chaos.wait_until(lambda: len(content.answers) >= target)

        chaos.wait_until(lambda: len(wanting.answers) > LIMIT)
        for _ in range(rounds):
            for outage in OUTAGES:
                with outage(redis):
                    chaos.wait_until(lambda: changes(server)[-1:] == ["limits_local"])
                    more_calls(calls_under)
                restored = time.monotonic()
                chaos.wait_until(lambda: changes(server)[-1:] == ["limits_shared"], BACK_WITHIN + 5)
                back.setdefault(outage.__name__, []).append(time.monotonic() - restored)
            for words in EMPTYINGS:
                redis.command(*words.split())
                more_calls(calls_under)
        chaos.wait_until(lambda: time.monotonic() - began > 2 * WINDOW)
    log = changes(server)
    assert all(one != next for one, next in pairwise(["limits_shared", *log])), "one line for each change"

    everything = [*wanting.answers, *content.answers]
    assert {answer.status for answer in everything} <= {200, 429}
    assert {answer.status for answer in content.answers} == {200}, "who keeps the limit never meets it"
    admitted = sorted(answer.at for answer in wanting.answers if answer.status == 200)
    denied = [answer for answer in wanting.answers if answer.status == 429]
    most = most_within(admitted, WINDOW)
    least = min(admitted_before(answer, admitted) for answer in denied)
    assert most <= LIMIT * (1 + MARGIN)
    assert least >= LIMIT * (1 - MARGIN), "nobody is denied before having spent the limit"
    assert max(max(times) for times in back.values()) <= BACK_WITHIN
    slowest = max(answer.seconds for answer in everything)
    assert slowest < 2
    seen = ", ".join(f"{name.replace('_', ' ')} {max(times):.1f} s" for name, times in back.items())
    chaos.report(
        "2",
        "Redis frozen, killed and restarted, full, with another password, out of connections; emptied of keys and of "
        f"scripts; {CONNECTIONS + 1} connections calling",
        rounds * (len(OUTAGES) + len(EMPTYINGS)),
        f"{len(everything)} calls, none failed; at most {most} admitted in any {WINDOW:g} s, at least {least} before "
        f"a denial, of {LIMIT}; back on Redis after at most: {seen}; {delayed(everything)}",
    )


def admitted_before(denial: Answer, admitted: Sequence[float]) -> int:
    """Return the calls admitted in the window that ended with a denial; clocks of both sides differ slightly."""
    start = denial.at - denial.seconds - WINDOW - CLOCKS
    return bisect_right(admitted, denial.at) - bisect_left(admitted, start)


def delayed(answers: list[Answer]) -> str:
    late = [answer.seconds for answer in answers if answer.seconds > 0.05]
    return f"{len(late)} calls took over 50 ms, the slowest {max(late, default=0) * 1000:.0f} ms"


@contextmanager
def late_now_and_then(redis: Any, late: float, punctual: float) -> Iterator[None]:
    """Alternate Redis between `late` seconds without and `punctual` seconds with answers."""
    stop = Event()

    def run() -> None:
        while not stop.wait(punctual):
            redis.freeze()
            stop.wait(late)
            redis.thaw()

    thread = Thread(target=run)
    thread.start()
    yield
    stop.set()
    thread.join()


@pytest.mark.parametrize(("count", "most"), [(1, 330), (3, 400)])
def test_late_answers_let_few_more_pass(chaos: Chaos, redis_server: Callable[..., Any], count: int, most: int) -> None:
    redis = redis_server()
    names = {"limits.redis_url": redis.url, "limits.default": "300/minute"}
    names |= {"auth.tokens_file": str(chaos.folder / "tokens.json")}
    _, token = create_token(chaos.folder / "tokens.json", "greedy", lifetime=timedelta(hours=1))
    running = [chaos.served(names) for _ in range(count)]

    def some(connection: int) -> Iterator[Request]:  # as many for each server, or a share would be left
        return iter([WHOAMI] * (100 // count))

    with late_now_and_then(redis, 0.2, 0.4), ExitStack() as asking:
        pause = 0.03 * count
        noted = [asking.enter_context(callers(server, 6, some, token=token, pause=pause)) for server in running]
        chaos.wait_until(lambda: sum(len(each.answers) for each in noted) == 6 * count * (100 // count))
    assert any("limits_local" in changes(server) for server in running)
    answers = [answer.status for each in noted for answer in each.answers]
    assert set(answers) == {200, 429}
    assert 270 <= answers.count(200) <= most


@pytest.mark.parametrize("password", ["right", None])
def test_a_redis_restarted_with_a_password_is_used_again(
    served: Callable[..., Served],
    redis_server: Callable[..., Any],
    wait_until: Callable[..., None],
    password: str | None,
) -> None:
    """Keep the server process, whose URL has a password; restart Redis with the same, or without a password."""
    redis = redis_server("right")
    server = served({"limits.redis_url": redis.url})
    assert "result" in server.call("cstp.whoami")
    redis.kill()
    assert "result" in server.call("cstp.whoami")
    redis.password = password
    redis.start()
    wait_until(lambda: changes(server) == ["limits_local", "limits_shared"][: 2 if password else 1], BACK_WITHIN)
    assert "result" in server.call("cstp.whoami")
