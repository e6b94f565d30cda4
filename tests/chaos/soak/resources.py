"""Memory, threads, descriptors and child processes over time, and whether they grew."""

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median
from threading import Event
from time import monotonic

SAMPLES = 10  # samples of a process in the compared median
WARM = 60.0  # uncompared first seconds of a process
GROWTH = 1.05

Key = tuple[str, int]  # the role and id of a process


@dataclass(frozen=True)
class Usage:
    """Resource use of a process: own and proportional shared memory in MiB, and counts."""

    own: float
    proportional: float
    threads: float
    descriptors: float
    children: float


def usage(pid: int) -> Usage:
    """Return the resource use. Raises OSError if the process has ended."""
    memory: dict[str, float] = defaultdict(float)
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, amount, _ = line.split()
        memory[name] = int(amount) / 1024
    tasks = os.listdir(f"/proc/{pid}/task")
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = memory["Private_Clean:"] + memory["Private_Dirty:"]
    return Usage(own, memory["Pss:"], len(tasks), len(os.listdir(f"/proc/{pid}/fd")), len(children))


class History:
    """Samples of processes by role and id; a process that acquires the folder starts over, in another role."""

    def __init__(self, processes: Callable[[], Mapping[int, str]], every: float) -> None:
        self._processes = processes
        self._every = every
        self.samples: dict[Key, list[tuple[float, Usage]]] = defaultdict(list)

    def work(self, stop: Event) -> None:
        began: dict[Key, float] = {}
        while not stop.wait(self._every):
            for pid, role in self._processes().items():
                now = monotonic()
                age = now - began.setdefault((role, pid), now)
                try:
                    self.samples[role, pid].append((age, usage(pid)))
                except OSError:
                    continue  # it has just ended

    def growths(self, warm: float) -> list["Growth"]:
        """Compare each process's first samples after `warm` seconds with the last samples."""
        found = []
        for (role, pid), samples in self.samples.items():
            later = [sample for age, sample in samples if age >= warm]
            if len(later) >= 2 * SAMPLES:
                age = samples[-1][0]
                found.append(Growth(f"{role} {pid}", age, typical(later[:SAMPLES]), typical(later[-SAMPLES:])))
        return found

    def peers(self, role: str, warm: float) -> list["Growth"]:
        """Compare the first and last process of a role at the same age, after `warm` seconds."""
        at_age = []
        for (other, pid), samples in self.samples.items():
            later = [sample for age, sample in samples if age >= warm][:SAMPLES]
            if other == role and len(later) == SAMPLES:
                at_age.append((pid, typical(later)))
        if len(at_age) < 2:
            return []
        (first, before), *_, (last, after) = at_age
        return [Growth(f"{role} {last} after {first}", warm, before, after)]


@dataclass(frozen=True)
class Growth:
    """Resource use of a process before and after; `age` belongs to the last sample, in seconds."""

    name: str
    age: float
    before: Usage
    after: Usage

    def too_large(self, bound: float = GROWTH) -> list[str]:
        """Return the members that grew beyond the bound."""
        return [
            f"{self.name}: {each.name} {getattr(self.before, each.name):g} and {getattr(self.after, each.name):g}"
            for each in fields(Usage)
            if getattr(self.after, each.name) > getattr(self.before, each.name) * bound
        ]

    def __str__(self) -> str:
        values = ", ".join(
            f"{each.name} {getattr(self.before, each.name):.4g} -> {getattr(self.after, each.name):.4g}"
            for each in fields(Usage)
        )
        return f"{self.name} ({self.age:.0f} s): {values}"


def typical(samples: Sequence[Usage]) -> Usage:
    """Return the median of each member."""
    return Usage(*(median(getattr(one, each.name) for one in samples) for each in fields(Usage)))
