"""Secrets longer than scan windows or beyond the rules: private keys, web tokens, key pairs, encoded passwords."""

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import Final

from cognition_engines.masking.policy import BARRIER

Span = tuple[int, int, str]
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
_KEY_RUN: Final = re.compile(rb"[A-Za-z0-9+/=]{40,}+")
WEB_TOKEN: Final = "jwt"
PASSWORD: Final = "password"
_WEB_TOKEN: Final = re.compile(
    rb"(?<![\w-])eyJ[\w-]{8,}+(?:(?:\.[\w-]{8,}+){2,4}|\.eyJ[\w-]{8,}+|\.\.[\w-]{8,}+(?:\.[\w-]{8,}+){2})"
)
_DOCKER: Final = re.compile(rb"\"auth\"[ \t]{0,4}:[ \t]{0,4}\"([A-Za-z0-9+/]{8,4096}+={0,2})\"")
_LOGIN: Final = re.compile(rb"[!-~]{1,256}:[ -~]{3,}")
_TOKEN_RUN: Final = re.compile(rb"[\w-]*+")
_AWS_KEY: Final = "aws-access"
_AWS_SECRET: Final = re.compile(
    rb"(?<![\w+/=])(?=[^\s]{0,39}[0-9])(?=[^\s]{0,39}[a-z])(?=[^\s]{0,39}[A-Z])[A-Za-z0-9+/]{40}(?![\w+/=])"
)
_NEAR: Final = 256  # bytes between the two halves of a pair


def without_prose(data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a block's position; for a block with prose, only the long runs, so no prose is masked.

    Texts that mention a key's first or last line are no key, and a key may have a comment.
    """
    if _PROSE.search(_END.sub(b"", _BEGIN.sub(b"", data[start:end]))) is None:
        yield start, end
        return
    yield from (match.span() for match in _KEY_RUN.finditer(data, start, end))


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


def find_long_tokens(data: bytes) -> Iterator[Span]:
    """Yield web tokens with any length, and base64 registry logins."""
    if b"eyJ" in data:
        yield from ((*match.span(), WEB_TOKEN) for match in _WEB_TOKEN.finditer(data))
    if b'"auth"' in data:
        for match in _DOCKER.finditer(data):
            if _is_login(match[1]):
                yield *match.span(1), PASSWORD


def _is_login(encoded: bytes) -> bool:
    try:
        return _LOGIN.fullmatch(b64decode(encoded, validate=True)) is not None
    except ValueError:
        return False


def whole_tokens(data: bytes, spans: Iterable[Span], general: frozenset[str]) -> Iterator[Span]:
    """Yield tokens of known shapes with all following characters up to a break, and both halves of AWS keys."""
    done = 0
    for start, end, kind in sorted(set(spans)):
        if kind in general:
            yield start, end, kind
            continue
        if end > done and data[end - 1 : end].isalnum():
            run = _TOKEN_RUN.match(data, end)
            done = end if run is None else run.end()
        yield start, max(end, done) if start < done else end, kind
        if kind.startswith(_AWS_KEY):
            for low, high in ((max(0, start - _NEAR), start), (end, end + _NEAR)):
                yield from ((*half.span(), kind) for half in _AWS_SECRET.finditer(data, low, high))
