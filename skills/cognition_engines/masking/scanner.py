"""Secret scan with the rules from kingfisher-secret-scanner and rules.yml.

A text is scanned in windows: the library's time can grow with the square of a window's length.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import as_file, files
from threading import Lock
from typing import Final

from kingfisher_sdk import Rules, Scanner

from cognition_engines.masking.broken_tokens import without_breaks
from cognition_engines.masking.long_secrets import Span, find_key_blocks, find_long_tokens, whole_tokens, without_prose
from cognition_engines.masking.named_values import find_named_values
from cognition_engines.masking.policy import MARK, TextSecret, mask_of, with_masks
from cognition_engines.masking.value_shapes import can_be_secret

WINDOW: Final = 1024  # bytes; ends at a blank if there is one
LONGEST_WINDOW: Final = 8192  # of a text without blanks
ROUNDS: Final = 4  # scans of a text with masks; in nearly all texts the second finds nothing
OVERLAP: Final = 256  # bytes from the previous window, so that a name and its value are seen together
KEY: Final = "private-key"
_COMPILING: Final = Lock()
_ENDS: Final = bytes.maketrans(b",)&<>]}|", b";;;;;;;;")
_BLANK: Final = re.compile(rb"\s")
# kinds by a name or a place
_GENERAL: Final = frozenset({"secret", "password", "authorization", "bearer-token", "generic-credential-uri"})
# rules for several services' keys with the same shape
_SK: Final = frozenset({"kimi-api-key", "deepseek-api-key"})
_BRANCH: Final = re.compile(rb"ssh://[\w.-]*:$")  # a password is in no such address


def load_scanner() -> Scanner:
    """Return the scanner with all rules, compiled once per process: other threads wait for the first."""
    with _COMPILING:
        return _compile()


@cache
def _compile() -> Scanner:
    with as_file(files("cognition_engines.masking") / "rules.yml") as path:
        return Scanner(Rules([path]))


def find_secrets(text: str) -> tuple[TextSecret, ...]:
    """Return the secrets in a text, in order and without overlaps; takes time in proportion to the text.

    A text with masks is scanned again, since a mask can bring a name and a value together.
    """
    found = _find_broken(text)
    for _ in range(ROUNDS):
        if not found or not (more := _find_broken(with_masks(text, found))):
            break
        spans = [(one.start, one.end, one.kind) for one in found]
        found = tuple(TextSecret(*one) for one in _merge([*spans, *_in_original(found, more)]))
    return found


def _in_original(masked: Sequence[TextSecret], found: Sequence[TextSecret]) -> Iterator[Span]:
    """Yield secrets found in a masked text with their positions in the original text."""
    begins: list[int] = []  # of the masks
    longer = 0
    for one in masked:
        begins.append(one.start + longer)
        longer += len(mask_of(one.kind)) - (one.end - one.start)

    def original(place: int, *, is_end: bool) -> int:
        number = (bisect_left if is_end else bisect_right)(begins, place) - 1
        if number < 0:
            return place
        mask = masked[number]
        after = place - begins[number] - len(mask_of(mask.kind))
        return mask.end + after if after > 0 or (after == 0 and not is_end) else mask.end if is_end else mask.start

    for one in found:
        yield original(one.start, is_end=False), original(one.end, is_end=True), one.kind


def _find_broken(text: str) -> tuple[TextSecret, ...]:
    """Return the secrets from a single scan, including secrets broken by escapes, odd characters or line ends."""
    found = _find_once(text)
    plain = without_breaks(text)
    if plain is None:
        return found
    spans = [(one.start, one.end, one.kind) for one in found]
    ends = [one.end for one in found]
    more: list[Span] = []
    for one in _find_once(plain.text):
        start, end = plain.original(one.start, one.end)
        if plain.is_joined(start, end):
            number = bisect_right(ends, start)
            if one.kind in _GENERAL or (number < len(spans) and spans[number][0] < end):
                continue
        more.append((start, end, one.kind))
    return tuple(TextSecret(*one) for one in _merge([*spans, *more]))


def _find_once(text: str) -> tuple[TextSecret, ...]:
    """Return the secrets from a single scan."""
    data = text.encode()
    spans = [(start, end, KEY) for start, end in find_key_blocks(data)]
    spans += find_long_tokens(data)
    for begin, window in _windows(data):
        found = list(_scan(window))
        spans += ((begin + start, begin + end, kind) for start, end, kind in found)
        if (ended := _with_ends(window, found)) != window:
            spans += ((begin + start, begin + end, kind) for start, end, kind in _scan(ended))
    spans = [
        (*place, kind)
        for start, end, kind in spans
        for place in (without_prose(data, start, end) if kind == KEY else ((start, end),))
    ]
    named = [(one.start, one.end, one.kind) for one in find_named_values(text)]
    if not spans and not named:
        return ()
    known = _in_characters(data, _merge(list(set(whole_tokens(data, spans, _GENERAL)))))
    return tuple(TextSecret(*one) for one in _merge([*known, *named]))


def _scan(window: bytes) -> Iterator[Span]:
    """Yield the positions and kinds of secrets in a window."""
    for finding in load_scanner().scan(window):
        if finding.visible:
            location, kind = finding.location, kind_of_rule(finding.rule_id)
            start = location["start_offset"]
            if not _is_placeholder(finding.secret, kind) and not _BRANCH.search(window, max(0, start - 64), start):
                yield start, location["end_offset"], kind


def _is_placeholder(secret: str, kind: str) -> bool:
    """Return whether a value stands for a secret: a mask, only marks, or, if no shape says more, words."""
    if MARK.match(secret) or not any(map(str.isalnum, secret)):
        return True
    return kind in _GENERAL and not can_be_secret(secret)


def _with_ends(window: bytes, found: list[Span]) -> bytes:
    """Return a window of equal length whose punctuation ends tokens: many rules expect a blank or a quote there.

    Found secrets are overwritten, so no rule finds them again.
    """
    parts: list[bytes] = []
    done = 0
    for start, end, _ in sorted(found):
        if start >= done:
            parts += (window[done:start], b";" * (end - start))
            done = end
    window = b"".join((*parts, window[done:]))
    ended = window.translate(_ENDS).replace(b". ", b"; ").replace(b".\n", b";\n")
    return ended[:-1] + b";" if ended.endswith(b".") else ended


def _windows(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield a text's windows with their positions."""
    start = 0
    while True:
        if start + WINDOW >= len(data):
            yield start, data[start:]
            return
        end = _end_of_window(data, start)
        yield start, data[start:end]
        if end == len(data):
            return
        blank = _after_blank(data, end - 2 * OVERLAP, end - OVERLAP)
        start = _whole_character(data, end - OVERLAP if blank is None else blank)


def _end_of_window(data: bytes, start: int) -> int:
    """Return a window's end: after the last blank, else after the next, else at the maximum length."""
    end = _after_blank(data, start + WINDOW // 2 + OVERLAP, start + WINDOW)
    if end is None:
        blank = _BLANK.search(data, start + WINDOW, start + LONGEST_WINDOW)
        end = min(len(data), start + LONGEST_WINDOW) if blank is None else blank.end()
    return _whole_character(data, end)


def _after_blank(data: bytes, low: int, high: int) -> int | None:
    """Return the position after a range's last blank."""
    return max(data.rfind(b"\n", low, high), data.rfind(b" ", low, high), data.rfind(b"\t", low, high)) + 1 or None


def _whole_character(data: bytes, place: int) -> int:
    """Return the position, moved to the start of its character."""
    while place < len(data) and 0x80 <= data[place] < 0xC0:
        place -= 1
    return place


def kind_of_rule(rule: str) -> str:
    """Return a rule's kind: `aws-access-token` for `betterleaks.aws-access-token`, without a variant."""
    kind = rule.partition(".")[2].partition(".")[0].rpartition("/")[2] or rule
    return "sk-api-key" if kind in _SK else kind


def _merge(spans: list[Span]) -> list[Span]:
    """Merge overlapping spans into spans with the most specific kind."""
    merged: list[Span] = []
    best = (False, 0)
    for start, end, kind in sorted(spans):
        rank = kind in _GENERAL, end - start
        if merged and start < merged[-1][1]:
            first, last, name = merged.pop()
            merged.append((first, max(last, end), kind if rank < best else name))
            best = min(best, rank)
        else:
            merged.append((start, end, kind))
            best = rank
    return merged


def _in_characters(data: bytes, spans: list[Span]) -> Iterator[Span]:
    """Convert byte spans to character spans."""
    done = characters = 0
    for start, end, kind in spans:
        begin, until = max(done, _whole_character(data, start)), end
        while until < len(data) and 0x80 <= data[until] < 0xC0:
            until += 1
        characters += len(data[done:begin].decode())
        length = len(data[begin:until].decode())
        yield characters, characters + length, kind
        characters += length
        done = until
