"""Tokens beyond scan windows or rules: web tokens, key pairs, and encoded passwords."""

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import Final

Span = tuple[int, int, str]
WEB_TOKEN: Final = "jwt"
PASSWORD: Final = "password"
_WEB_TOKEN: Final = re.compile(
    rb"(?<![\w-])eyJ[\w-]{8,}+(?:(?:\.[\w-]{8,}+){2,4}|\.eyJ[\w-]{8,}+|\.\.[\w-]{8,}+(?:\.[\w-]{8,}+){2})"
)
_DOCKER: Final = re.compile(rb"\"auth\"[ \t]{0,4}:[ \t]{0,4}\"([A-Za-z0-9+/]{8,4096}+={0,2})\"")
_LOGIN: Final = re.compile(rb"[!-~]{1,256}:[ -~]{3,}")
_RUN: Final = re.compile(rb"[\w-]*+")
_AWS_KEY: Final = "aws-access"
_AWS_SECRET: Final = re.compile(
    rb"(?<![\w+/=])(?=[^\s]{0,39}[0-9])(?=[^\s]{0,39}[a-z])(?=[^\s]{0,39}[A-Z])[A-Za-z0-9+/]{40}(?![\w+/=])"
)
_NEAR: Final = 256  # bytes between the two halves of a pair


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
            run = _RUN.match(data, end)
            done = end if run is None else run.end()
        yield start, max(end, done) if start < done else end, kind
        if kind.startswith(_AWS_KEY):
            for low, high in ((max(0, start - _NEAR), start), (end, end + _NEAR)):
                yield from ((*half.span(), kind) for half in _AWS_SECRET.finditer(data, low, high))
