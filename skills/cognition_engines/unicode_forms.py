"""Text forms for comparison: a text has several spellings in Unicode. Shown texts stay unchanged.

NFKC makes composed and decomposed letters, full width and ligatures the same. Plain functions.
"""

import re
from typing import Final, Literal
from unicodedata import combining, normalize

JOINER: Final = "\u034f"  # invisible, and marks are not sorted across it
_MOST_MARKS: Final = 30  # per letter, as in Unicode's stream-safe form
_HALF_WIDTH: Final = "\uff9e\uff9f"  # letters that become marks
_STACK: Final = re.compile(rf"[\W{_HALF_WIDTH}]{{{_MOST_MARKS + 1},}}")


def normalize_text(form: Literal["NFC", "NFKC", "NFKD"], text: str) -> str:
    """Normalize `text` to a Unicode form, in linear time: a letter's marks are sorted pair by pair."""
    return normalize(form, _STACK.sub(_cut_stack, text))


def compose_text(text: str) -> str:
    """Return `text` in NFKC."""
    return text if text.isascii() else normalize_text("NFKC", text)


def fold_text(text: str) -> str:
    """Return `text` in NFKC and case folded."""
    if text.isascii():
        return text.lower()
    # folding undoes the composition of a few letters, and composing may bring back capitals
    return normalize_text("NFKC", normalize_text("NFKC", text).casefold())


def fold_letters(text: str) -> str:
    """Return `text` in lower case, without accents and other marks."""
    if text.isascii():
        return text.lower()
    return "".join(each for each in normalize_text("NFKD", text.lower()) if not combining(each))


def keep_text(text: str) -> str:
    """Return `text` itself: ids and projects are compared unchanged."""
    return text


def is_accent(character: str) -> bool:
    """Return whether `character` is a mark over or under letters without which a word is still the same.

    These are accents, Hebrew points and Arabic vowels; not Indian and Thai vowels, nor the mark for another syllable on
    a kana.
    """
    mark_class = combining(character)
    return 10 <= mark_class <= 36 or mark_class >= 200


def remove_accents(text: str) -> str:
    """Return `text` without accents."""
    if text.isascii():
        return text
    return normalize_text("NFC", "".join(each for each in normalize_text("NFKD", text) if not is_accent(each)))


def _cut_stack(found: re.Match[str]) -> str:
    run = found[0]
    if not any(combining(each) or each in _HALF_WIDTH for each in run):
        return run
    return JOINER.join(run[start : start + _MOST_MARKS] for start in range(0, len(run), _MOST_MARKS))
