"""What a fault test is given: servers, a folder, the form of the run, and rows for its report."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tests.chaos.process import Served

T = TypeVar("T")


@dataclass(frozen=True)
class Scale:
    """The form of the run: a short one with every test run, a long one with `--chaos long`."""

    long: bool

    def pick(self, short: T, long: T) -> T:
        return long if self.long else short


@dataclass(frozen=True)
class Chaos:
    """The fixtures of this folder in one: processes that `served` starts know the model `chroma:chaos`."""

    served: Callable[..., Served]
    folder: Path
    wait_until: Callable[..., None]
    scale: Scale
    report: Callable[[str, str, int, str], None]


class Breakable(Protocol):
    """A program of the tests that may be killed, frozen and started again."""

    def kill(self) -> Any: ...
    def start(self) -> Any: ...
    def freeze(self) -> Any: ...
    def thaw(self) -> Any: ...


@contextmanager
def killed(program: Breakable) -> Iterator[None]:
    program.kill()
    yield
    program.start()


@contextmanager
def frozen(program: Breakable) -> Iterator[None]:
    program.freeze()
    yield
    program.thaw()
