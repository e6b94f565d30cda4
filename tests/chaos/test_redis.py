"""A server under load whose Redis is frozen, killed, emptied, locked or full: no call fails and the limits hold."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.chaos.asking import Answer, again_and_again, callers, least_within, most_within
from tests.chaos.process import Served

WHOAMI = {"method": "cstp.whoami"}
LIMIT, WINDOW = 200, 4.0
BACK_WITHIN = 6.0
MARGIN = 0.1  # of the limit
CONNECTIONS = 4


class Control:
    """One connection to Redis that stays open through a fault."""

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
def frozen(redis: Any) -> Iterator[None]:
    redis.freeze()
    yield
    redis.thaw()


@contextmanager
def killed(redis: Any) -> Iterator[None]:
    redis.kill()
    yield
    redis.start()


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


def changes(server: Served) -> tuple[int, int]:
    """How often the log says that limits are counted locally, and that Redis is used again."""
    log = server.log_path.read_text(errors="replace")
    return log.count('"event":"limits_local"'), log.count('"event":"limits_shared"')


def test_limits_hold_and_no_call_fails_whatever_happens_to_redis(
    served: Callable[..., Served],
    redis_server: Callable[..., Any],
    wait_until: Callable[..., None],
    chaos_scale: Any,
    chaos_report: Callable[..., None],
) -> None:
    redis = redis_server()
    each = {"greedy": f"{LIMIT}/{WINDOW:g} second", "modest": f"{LIMIT}/{WINDOW:g} second"}
    server = served({"limits.redis_url": redis.url, "limits.agents": each}, start=False)
    greedy, modest = server.new_token("greedy"), server.new_token("modest")
    server.start()
    rounds, calls_under = chaos_scale.pick((1, 16), (6, 250))
    back: dict[str, list[float]] = {}
    began = time.monotonic()
    with (
        callers(server, CONNECTIONS, again_and_again(WHOAMI), token=greedy) as wanting,
        callers(server, 1, again_and_again(WHOAMI), token=modest, pause=WINDOW / LIMIT * 2) as content,
    ):

        def more_calls(count: int) -> None:
            target = len(content.answers) + count
            wait_until(lambda: len(content.answers) >= target, 60)

        wait_until(lambda: len(wanting.answers) > LIMIT)
        for _ in range(rounds):
            for outage in OUTAGES:
                local, shared = changes(server)
                with outage(redis):
                    wait_until(lambda local=local: changes(server)[0] > local, 5)
                    more_calls(calls_under)
                restored = time.monotonic()
                wait_until(lambda shared=shared: changes(server)[1] > shared, BACK_WITHIN + 5)
                back.setdefault(outage.__name__, []).append(time.monotonic() - restored)
                assert changes(server) == (local + 1, shared + 1), "one line for each change"
            for words in EMPTYINGS:
                redis.command(*words.split())
                more_calls(calls_under)
        wait_until(lambda: time.monotonic() - began > 2 * WINDOW)
        ended = time.monotonic()

    everything = [*wanting.answers, *content.answers]
    assert {answer.status for answer in everything} <= {200, 429}
    assert {answer.status for answer in content.answers} == {200}, "who keeps the limit never meets it"
    admitted = sorted(answer.at for answer in wanting.answers if answer.status == 200)
    most, least = most_within(admitted, WINDOW), least_within(admitted, WINDOW, began + 1, ended)
    assert most <= LIMIT * (1 + MARGIN)
    assert least >= LIMIT * (1 - MARGIN)
    assert max(max(times) for times in back.values()) <= BACK_WITHIN
    slowest = max(answer.seconds for answer in everything)
    assert slowest < 2
    seen = ", ".join(f"{name.replace('_', ' ')} {max(times):.1f} s" for name, times in back.items())
    chaos_report(
        "2",
        "Redis frozen, killed and restarted, full, with another password, out of connections; emptied of keys and of "
        f"scripts; {CONNECTIONS + 1} connections calling",
        rounds * (len(OUTAGES) + len(EMPTYINGS)),
        f"{len(everything)} calls, none failed; {least} to {most} admitted of {LIMIT} in any {WINDOW:g} s; back on "
        f"Redis after at most: {seen}; {delayed(everything)}",
    )


def delayed(answers: list[Answer]) -> str:
    late = [answer.seconds for answer in answers if answer.seconds > 0.05]
    return f"{len(late)} calls took over 50 ms, the slowest {max(late, default=0) * 1000:.0f} ms"


@pytest.mark.parametrize("password", ["right", None])
def test_a_redis_that_is_restarted_with_a_password_of_its_own_is_used_again(
    served: Callable[..., Served],
    redis_server: Callable[..., Any],
    wait_until: Callable[..., None],
    password: str | None,
) -> None:
    """The same server process, whose URL has a password; Redis comes back with it, or with none."""
    redis = redis_server("right")
    server = served({"limits.redis_url": redis.url})
    assert "result" in server.call("cstp.whoami")
    redis.kill()
    assert "result" in server.call("cstp.whoami")
    redis.password = password
    redis.start()
    wait_until(lambda: changes(server)[0] == 1 and changes(server)[1] == (1 if password else 0), BACK_WITHIN)
    assert "result" in server.call("cstp.whoami")
