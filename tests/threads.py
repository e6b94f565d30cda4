"""Check against leftover threads: a fixture's threads end with the fixture, a test's threads with its module.

Otherwise the run fails, and names the thread and the starting place. A thread started by another thread counts as that
thread.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread, current_thread, enumerate, main_thread
from time import monotonic
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import pytest

PATIENCE: Final = 20.0  # seconds for threads asked to end with a call to finish, on a busy machine


# of the program under test, for the life of a process: a log writer, and a signal waiter
LASTING: Final = frozenset({"log", "watchdog"})


class Owner(NamedTuple):
    """Place of a thread's start, and the item, module or session it must end with; None for no end."""

    place: str
    ends_with: str | None


SESSION: Final = ""  # its name in pytest
_OUTSIDE: Final = Owner("an import", None)
_start = Thread.start
_owners: "WeakKeyDictionary[Thread, Owner]" = WeakKeyDictionary()
_active: list[Owner] = [_OUTSIDE]


@contextmanager
def starting(place: str, ends_with: str) -> Iterator[None]:
    """Register threads started by the main thread in this block under `place`; they must end with `ends_with`."""
    _active.append(Owner(place, ends_with))
    try:
        yield
    finally:
        _active.pop()


def _started(thread: Thread) -> None:
    starter = current_thread()
    owner = _active[-1] if starter is main_thread() else _owners.get(starter, _OUTSIDE)
    _owners[thread] = _OUTSIDE if thread.name in LASTING else owner
    _start(thread)


def _left(ended: str) -> list[str]:
    """Return the threads that should have ended with `ended` but did not."""
    deadline = monotonic() + PATIENCE
    left = [(thread, owner) for thread in enumerate() if (owner := _owners.get(thread)) and owner.ends_with == ended]
    for thread, _ in left:
        thread.join(max(0.0, deadline - monotonic()))
    return sorted(f"{thread.name} of {owner.place}" for thread, owner in left if thread.is_alive())


class Threads:
    """Notes of each thread's owner, with a check for threads left when the owner ends."""

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        with starting(f"the fixture {fixturedef.argname} for {request.node.nodeid}", request.node.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        module = item.getparent(pytest.Module)
        with starting(item.nodeid, SESSION if module is None else module.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        try:
            yield
        finally:
            following = set() if nextitem is None else {node.nodeid for node in nextitem.listchain()}
            ended = [node.nodeid for node in item.listchain() if node.nodeid not in following]
            if left := [name for one in dict.fromkeys(ended) for name in _left(one)]:
                pytest.fail(f"threads have not ended: {'; '.join(left)}", pytrace=False)


def watch_threads(config: pytest.Config) -> None:
    """Watch threads from here to the end of the run."""
    Thread.start = _started  # type: ignore[method-assign]
    config.add_cleanup(lambda: setattr(Thread, "start", _start))
    config.pluginmanager.register(Threads())
