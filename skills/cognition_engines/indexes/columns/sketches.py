"""Vector signs, a bit per dimension: 48 bytes for 384 dimensions.

The share of differing signs between two unit vectors grows with the angle between them (Charikar 2002), so counting
differing bits finds a few thousand candidates among a million in a few milliseconds, under any mask. They are then
ranked by their vectors. Measured with the texts of docs/benchmarks.md, 200,000 vectors: 1,000 candidates hold 99.8 % of
the true ten nearest and, in stores of all kinds, 98.1 % of the true hundred.

If there are many, the first 192 bits choose ten times as many, and the others choose among these: that halves the
reading; with a million vectors 0.4 % of the true hundred are lost and none of the true ten.
"""

from bisect import bisect_left
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Counts = NDArray[np.unsignedinteger[Any]]
Bools = NDArray[np.bool_]

MIN_DIM: Final = 128  # below it the bits distinguish too little
_BITS: Final = 64
_BLOCK: Final = 1 << 15  # sketches compared at a time: their words and sums stay in the processor's cache
_COARSE: Final = 3  # words of the first round, as many as have their bits counted in a byte
_KEPT: Final = 10  # kept by the first round, for each chosen by the second
_SAMPLE: Final = 1 << 14  # sketches from which the distance of the nearest is estimated

# Costs in microseconds; only the proportions matter.
CHOSEN: Final = 0.0015  # to select the sketches to be compared
GATHERED: Final = 0.012  # a word at a place, and to list it
STREAMED: Final = 0.001  # a word of all


def word_count(dim: int) -> int:
    """Return the number of 64-bit words in a vector's sketch; 0 if vectors are too short for sketches."""
    return 0 if dim < MIN_DIM else -(-dim // _BITS)


def sketch(vectors: Floats) -> Words:
    """Return the signs of `vectors` (n, dim) as (n, words)."""
    bits = np.packbits(vectors > 0, axis=1)
    missing = -bits.shape[1] % (_BITS // 8)
    return np.ascontiguousarray(np.pad(bits, ((0, 0), (0, missing)))).view(np.uint64)


def cost(sketches: int, matching: int, count: int) -> float:
    """Estimate the microseconds of `nearest_sketches` for `count` of the `matching` among all sketches."""
    coarse = min(matching * GATHERED, sketches * STREAMED) * _COARSE
    return sketches * CHOSEN + coarse + min(matching, _KEPT * count) * GATHERED * _COARSE


def nearest_sketches(columns: tuple[Words, ...], vector: Floats, accepted: Bools, count: int) -> Ints:
    """Return the ascending indices of about `count` accepted sketches nearest to the sketch of `vector` (dim,).

    Ties with the last are included. The sketches are given word by word as columns.
    """
    wanted = sketch(vector[np.newaxis])[0]
    matching = int(np.count_nonzero(accepted))
    kept = _KEPT * count
    if matching <= kept:
        places = np.flatnonzero(accepted)
        return places[fewest(differing_bits(columns, wanted, places), count)]
    places, coarse = _coarsely(columns[:_COARSE], wanted[:_COARSE], accepted, matching, kept)
    fine = differing_bits(columns[_COARSE:], wanted[_COARSE:], places)
    return places[fewest(np.add(coarse, fine, dtype=np.uint16), count)]


def _coarsely(
    columns: tuple[Words, ...], wanted: Words, accepted: Bools, matching: int, count: int
) -> tuple[Ints, Counts]:
    """Return about `count` accepted indices, at least half, that differ least in these words, and their distances."""
    places = np.flatnonzero(accepted) if matching * GATHERED < len(accepted) * STREAMED else None
    differing = differing_bits(columns, wanted, places)
    # only of accepted sketches: the others must not decide which are chosen
    step = max(1, matching // _SAMPLE)
    sample = differing[::step] if places is not None else differing[np.flatnonzero(accepted)[::step]]
    reached = np.cumsum(np.bincount(sample, minlength=1))
    bound = int(np.searchsorted(reached, len(sample) * count / matching))
    while True:
        near = differing <= bound
        if places is None:
            near &= accepted
        if np.count_nonzero(near) >= count // 2:
            break
        bound += 1  # a sample may have other sketches than most
    chosen = np.flatnonzero(near)
    return chosen if places is None else places[chosen], differing[chosen]


def differing_bits(columns: tuple[Words, ...], wanted: Words, places: Ints | None = None) -> Counts:
    """Count the differing bits between sketches, as columns of words, and `wanted`; for all, or at `places`."""
    count = len(columns[0]) if places is None else len(places)
    total: Counts = np.zeros(count, np.uint8 if len(columns) <= _COARSE else np.uint16)
    words, bits = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint8)
    for start in range(0, len(total), _BLOCK):
        sums = total[start : start + _BLOCK]
        part = slice(start, start + _BLOCK) if places is None else places[start : start + _BLOCK]
        for column, word in zip(columns, wanted, strict=True):
            different = np.bitwise_xor(column[part], word, out=words[: len(sums)])
            np.add(sums, np.bitwise_count(different, out=bits[: len(sums)]), out=sums)
    return total


def fewest(differing: Counts, count: int) -> Ints:
    """Return the indices of the `count` smallest values, including ties with the last."""
    if len(differing) <= count:
        return np.arange(len(differing))
    # a few passes over two bytes per index: faster than a pass over a table of counts
    values = range(int(differing.max()))
    reached = bisect_left(values, count, key=lambda value: int(np.count_nonzero(differing <= value)))
    return np.flatnonzero(differing <= reached)
