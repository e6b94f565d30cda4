"""Check results, and a runner in which a failed check cannot stop the others."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

from cognition_engines.errors import ComponentFailed, EngineError, ForeignCalls

T = TypeVar("T")


class Level(StrEnum):
    """Severity of a finding: a warning is worth a look, a problem keeps something from working or being safe."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result for a part, and a remedy; "" if none is needed."""

    part: str
    level: Level
    seen: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class CheckResult(Generic[T]):
    """Findings of a check, and a value for later checks; None if the check could not determine it."""

    findings: list[Finding] = field(default_factory=list)
    learned: T | None = None


def run_within(seconds: float, part: str, remedy: str, check: Callable[[], CheckResult[T]]) -> CheckResult[T]:
    """Run a check. A failure or a timeout of the check is itself a finding, with this remedy."""
    answers: SimpleQueue[CheckResult[T]] = SimpleQueue()

    def run() -> None:
        answers.put(_run_guarded(part, remedy, check))

    Thread(target=run, name=f"doctor-{part}", daemon=True).start()
    try:
        return answers.get(timeout=seconds)
    except Empty:
        return CheckResult([Finding(part, Level.PROBLEM, f"no answer within {seconds:g} s", remedy)])


def _run_guarded(part: str, remedy: str, check: Callable[[], CheckResult[T]]) -> CheckResult[T]:
    try:
        with ForeignCalls(part):
            return _with_place(part, check)
    except ComponentFailed as error:
        return CheckResult([Finding(part, Level.PROBLEM, str(error).removeprefix(f"{error.component}: "), remedy)])
    except EngineError as error:
        return CheckResult([Finding(part, Level.PROBLEM, str(error), remedy)])


def _with_place(part: str, check: Callable[[], CheckResult[T]]) -> CheckResult[T]:
    try:
        return check()
    except OSError as error:
        detail = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise ComponentFailed(part, detail) from error
