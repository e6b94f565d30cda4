"""Finds secrets in a text by the rules of kingfisher-secret-scanner and of rules.yml.

A text is scanned in windows: within one, the time of the library can grow with the square of the length.
"""

from collections.abc import Iterator
from functools import cache
from importlib.resources import as_file, files
from typing import Final

from kingfisher_sdk import Rules, Scanner

from cognition_engines.masking.key_blocks import find_key_blocks
from cognition_engines.masking.policy import TextSecret

WINDOW: Final = 1024  # bytes; ends at a blank if there is one
OVERLAP: Final = 256  # bytes of the window before, so that a name and its value are seen together
KEY: Final = "private-key"


@cache
def load_scanner() -> Scanner:
    """Return the scanner with all rules, compiled once for the process."""
    with as_file(files("cognition_engines.masking") / "rules.yml") as path:
        return Scanner(Rules([path]))


def find_secrets(text: str) -> tuple[TextSecret, ...]:
    """Return the secrets in a text, in order, none of which overlap; takes time in proportion to the text."""
    data = text.encode()
    spans = [(start, end, KEY) for start, end in find_key_blocks(data)]
    scanner = load_scanner()
    for begin, window in _windows(data):
        for finding in scanner.scan(window):
            if finding.visible:
                location = finding.location
                span = begin + location["start_offset"], begin + location["end_offset"]
                spans.append((*span, _kind(finding.rule_id)))
    if not spans:
        return ()
    return tuple(_in_characters(data, _merge(spans)))


def _windows(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the windows of a text with their positions."""
    start = 0
    while True:
        end = start + WINDOW
        if end >= len(data):
            yield start, data[start:]
            return
        end = _blank_before(data, start + WINDOW // 2, end)
        yield start, data[start:end]
        start = _blank_before(data, end - 2 * OVERLAP, end - OVERLAP)


def _blank_before(data: bytes, low: int, high: int) -> int:
    """Return the position after the last blank of a range; the end of a range without one."""
    return max(data.rfind(b"\n", low, high), data.rfind(b" ", low, high), data.rfind(b"\t", low, high)) + 1 or high


def _kind(rule: str) -> str:
    """Return the kind of a rule: `aws-access-token` of `betterleaks.aws-access-token`, without a variant."""
    return rule.partition(".")[2].partition(".")[0] or rule


def _merge(spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return spans that do not overlap; overlapping ones become one of the kind of the longest."""
    merged: list[tuple[int, int, str]] = []
    longest = 0
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if merged and start < merged[-1][1]:
            before = merged[-1]
            name = kind if end - start > longest else before[2]
            longest = max(longest, end - start)
            merged[-1] = before[0], max(before[1], end), name
        else:
            merged.append((start, end, kind))
            longest = end - start
    return merged


def _in_characters(data: bytes, spans: list[tuple[int, int, str]]) -> Iterator[TextSecret]:
    """Yield spans of bytes as spans of characters."""
    done = characters = 0
    for start, end, kind in spans:
        characters += _count(data[done:start])
        length = _count(data[start:end])
        yield TextSecret(characters, characters + length, kind)
        characters += length
        done = end


def _count(data: bytes) -> int:
    """Count the characters that begin in a part of a text."""
    return len(data) - sum(0x80 <= byte < 0xC0 for byte in data)
