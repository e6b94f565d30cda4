"""Private keys in PEM form and similar blocks, which are longer than scan windows."""

import re
from collections.abc import Iterator
from typing import Final

from cognition_engines.masking.policy import BARRIER

_BEGIN: Final = re.compile(rb"-{4,5} ?BEGIN[ A-Z0-9_-]{0,64}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END: Final = re.compile(rb"-{4,5} ?END[ A-Z0-9_-]{0,64}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_PUTTY: Final = re.compile(rb"Private-Lines:[ \t]{0,4}[0-9]{1,4}")
_BARRIER: Final = BARRIER.encode()
_BETWEEN: Final = rb"(?:\\{1,2}[nr]|[\s>|'\"`#+,;\[\]-])*+"
_LINES: Final = re.compile(
    rb"(?:" + _BETWEEN + rb"[A-Za-z]{3,12}-[A-Za-z]{3,12}: [^\n\\]{1,100})*+"  # headers such as Proc-Type
    rb"(?:" + _BETWEEN + rb"[A-Za-z0-9+/=]{16,}+)++"
    # the last line is short: with a digit, or at the end
    rb"(?:" + _BETWEEN + rb"(?:(?=[^\s]{0,15}[0-9+/=])[A-Za-z0-9+/=]{1,15}(?![\w:])"
    rb"|[A-Za-z0-9+/=]{1,15}(?=\.\.|\xe2\x80\xa6|['\"`]|\s*\Z)))?"
)
_BODY: Final = re.compile(rb"[A-Za-z0-9+/=]{16}")

_PROSE: Final = re.compile(rb"(?:\b[A-Za-z]{1,15}[,.:;]? ){4}")  # four words with single blanks
_RUN: Final = re.compile(rb"[A-Za-z0-9+/=]{40,}+")


def without_prose(data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a block's position; for a block with prose, only the long runs, so no prose is masked.

    Texts that mention a key's first or last line are no key, and a key may have a comment.
    """
    if _PROSE.search(_END.sub(b"", _BEGIN.sub(b"", data[start:end]))) is None:
        yield start, end
        return
    yield from (match.span() for match in _RUN.finditer(data, start, end))


def find_key_blocks(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the positions of private keys, even if truncated, quoted, or with escaped line ends."""
    if b"Private-Lines:" in data:
        counts = list(_PUTTY.finditer(data))
        for count, limit in zip(counts, [*(one.start() for one in counts), len(data)][1:], strict=True):
            if (lines := _LINES.match(data, count.end(), limit)) is not None:
                yield lines.span()
    if b"PRIVATE KEY" not in data:
        return
    begins = list(_BEGIN.finditer(data))
    ends = [match.span() for match in _END.finditer(data)]
    place = 0
    for number, begin in enumerate(begins):
        limit = begins[number + 1].start() if number + 1 < len(begins) else len(data)
        while place < len(ends) and ends[place][0] < begin.end():
            place += 1
        barrier = data.find(_BARRIER, begin.end(), limit)
        limit = limit if barrier < 0 else barrier
        if place < len(ends) and ends[place][1] <= limit:
            if _BODY.search(data, begin.end(), ends[place][0]):
                yield begin.start(), ends[place][1]
        elif (lines := _LINES.match(data, begin.end(), limit)) is not None:
            yield begin.start(), lines.end()
