"""German words in an index whose language is not German: `Gebühren` is found by `Gebühr`, and either in a compound.

A word with an umlaut is German. Of others an ending is cut only where hardly an English word has it.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from cognition_engines.indexes.keywords.words import Words

_UMLAUTS: Final = frozenset("äöüß")
_ENDINGS: Final = ("ern", "en", "em", "er", "es", "e", "n", "s")
_SHORTEST: Final = 3  # letters that are left of a word
_SHORTEST_PLURAL: Final = 7  # letters of one that might be English
_COMPOUND: Final = range(12, 60)  # letters of a word that may be made of others
_FIRST: Final = range(5, 20)  # letters of the first part
_LAST: Final = range(4, 20)  # of the last


def cut_plural(stem: str) -> str:
    """Return a stem without the ending of a German plural."""
    if stem.endswith("eln"):  # which no English word does
        return stem[:-1]
    if len(stem) < _SHORTEST_PLURAL:
        return stem
    return stem[:-2] if stem.endswith("en") else stem[:-1] if stem.endswith("ern") else stem


def cut_endings(words: Sequence[str]) -> list[str]:
    """Return those of the words, in lower case, that have an umlaut, without their endings."""
    return [_without_ending(word) for word in words if _is_german(word)]


def with_german(words: Words) -> Words:
    """Return the words, with German ones also without their endings, and what compounds may be made of."""
    compounds = [word for word in words.plain if len(word) in _COMPOUND and _is_german(word)]
    parts = [part for word in compounds for part in _parts_of(word)]
    return Words(words.plain, [*words.names, *cut_endings(words.plain)], [*words.parts, *parts])


def _is_german(word: str) -> bool:
    return not word.isascii() and not _UMLAUTS.isdisjoint(word)


def _parts_of(compound: str) -> Iterator[str]:
    yield from (compound[:length] for length in _FIRST if length + _LAST[0] <= len(compound))
    for whole in dict.fromkeys((compound, _without_ending(compound))):
        yield from (whole[-length:] for length in _LAST if length + _FIRST[0] <= len(whole))


def _without_ending(word: str) -> str:
    ending = next((each for each in _ENDINGS if word.endswith(each)), "")
    return word.removesuffix(ending) if len(word) - len(ending) >= _SHORTEST else word
