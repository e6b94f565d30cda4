"""Timing that survives a noisy machine: all variants take turns within one run, and medians are compared."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from time import perf_counter
from typing import Final, Generic, TypeVar

import numpy as np

T = TypeVar("T")

WARM_UP: Final = 5  # rounds; they have negative numbers


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds of a number of calls."""

    calls: int
    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class Variant(Generic[T]):
    """Something to be timed. `run` is given the number of the round; one in `every` rounds includes it."""

    name: str
    run: Callable[[int], T]
    every: int = 1


@dataclass(frozen=True, slots=True)
class Measured(Generic[T]):
    """The time of a variant, and its result in each of its rounds."""

    timing: Timing
    rounds: Sequence[int]
    results: Sequence[T]


def timing(milliseconds: Sequence[float]) -> Timing:
    p50, p95 = np.percentile(milliseconds, (50, 95))
    return Timing(len(milliseconds), float(p50), float(p95))


def take_turns(variants: Sequence[Variant[T]], rounds: int) -> dict[str, Measured[T]]:
    """Time every variant once a round, in another order each round, after WARM_UP rounds that do not count."""
    taken: dict[str, list[float]] = {variant.name: [] for variant in variants}
    kept: dict[str, list[T]] = {variant.name: [] for variant in variants}
    order = list(variants)
    turn = Random(0)
    for number in range(-WARM_UP, rounds):
        turn.shuffle(order)
        for variant in order:
            if number % variant.every:
                continue
            began = perf_counter()
            result = variant.run(number)
            elapsed = (perf_counter() - began) * 1000
            if number >= 0:
                taken[variant.name].append(elapsed)
                kept[variant.name].append(result)
    return {
        variant.name: Measured(timing(taken[variant.name]), range(0, rounds, variant.every), tuple(kept[variant.name]))
        for variant in variants
    }
