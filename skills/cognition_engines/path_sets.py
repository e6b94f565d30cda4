"""Matching paths and patterns in bulk: each pattern is an automaton whose states for all paths are a single number.

A bit in the number is a position in a path, set if the pattern can match up to there. Each pattern step takes a few
operations on the number, whatever it matches, so the time grows only with the pattern and the paths.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, lru_cache, reduce
from itertools import accumulate
from operator import or_
from typing import Final

import numpy as np

from cognition_engines.path_patterns import CharacterSet, Glob, Pattern, Step, compile_list
from cognition_engines.wanted import Wanted, always, check_wanted

_END: Final = "\0"  # follows each path in the joined text
_FEW: Final = 2_000  # positions of a character, marked singly
_REMEMBERED: Final = 1 << 27  # bits of text positions
_SAMPLES: Final = (32, 16, 8, 4)  # lengths
_MOST_TRIED: Final = 600  # places of samples at which a text is compared
_SMALL: Final = 4_000  # positions of a text whose parts are searched singly
_MOST_LETTERS: Final = 128
_MOST_PAIRS: Final = 1_024
_MOST_JOINED: Final = 128  # characters with joined positions; those of more characters are marked singly
_GROUP: Final = 4  # bytes per lookup
_SHORT: Final = 12  # characters; longer parts are found by their samples
_BITS: Final = 5  # of each byte, by which letters differ
_LOW_BITS: Final = (1 << _BITS) - 1
_AWAITED: Final = "the files that patterns choose"


class PathSet:
    """Paths without empty names, joined to a text. Each position in the text, and each path's end, is a bit."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths: Final = tuple(paths)
        self._text: Final = "".join(f"{path}{_END}" for path in self.paths)
        self._small: Final = len(self._text) < _SMALL
        self._ends_at: Final = [end - 1 for end in accumulate(len(path) + 1 for path in self.paths)]
        self._ends: Final = self._mark(self._ends_at)
        self._all: Final = ((1 << len(self._text)) - 1) ^ self._ends  # places with a character
        self._places: dict[str | CharacterSet, int] = {}
        self._letters: dict[str, int] = {}  # the places of characters, for which to look again takes the longest
        self._pairs: dict[str, int] = {}  # pairs of characters, the parts of longer texts
        self._samples: dict[int, dict[str, list[int]]] = {}
        self._remembered = 0
        slashes = self._places_of("/")
        self._in_name: Final = self._all ^ slashes
        self._starts: Final = ((self._ends << 1) | 1) & ~(1 << len(self._text)) if self.paths else 0
        self._name_starts: Final = self._starts | (slashes << 1)
        self._name_ends: Final = self._ends | slashes
        self._last: tuple[bool, Glob, list[int]] = (False, (), [])  # a pattern, and the positions after each step

    def choose(self, patterns: Sequence[Pattern], wanted: Wanted = always) -> tuple[str, ...]:
        """Return the file paths chosen by the patterns: the last match decides, else the last match on a folder above.

        Raise NotWanted if no caller waits any more.
        """
        chosen = self._choose(patterns, wanted)
        return self._paths_with(chosen) if chosen else ()

    def chooses_any(self, patterns: Sequence[Pattern], wanted: Wanted = always) -> bool:
        """Return whether the patterns choose any file. Raise NotWanted if no caller waits any more."""
        return self._choose(patterns, wanted) != 0

    def matches_any(self, pattern: Pattern, *, folders: bool) -> bool:
        """Return whether a pattern matches any path itself; the paths are `folders` or files."""
        return (folders or not pattern.folders_only) and self._matching(pattern)[0] != 0

    def _choose(self, patterns: Sequence[Pattern], wanted: Wanted) -> int:
        """Return the ends of the chosen paths."""
        chosen, open_ = 0, self._ends  # files for which no pattern has decided yet
        above: list[tuple[Pattern, int]] = []
        for pattern in reversed(patterns):
            check_wanted(wanted, _AWAITED)
            files, folders = self._matching(pattern)
            above.append((pattern, folders))
            if not pattern.folders_only:
                chosen |= 0 if pattern.negated else files & open_
                open_ &= ~files
        for pattern, folders in above:
            chosen |= 0 if pattern.negated else folders & open_
            open_ &= ~folders
        return chosen

    def _matching(self, pattern: Pattern) -> tuple[int, int]:
        """Return the ends of the paths matched by a pattern, and of the paths in a matched folder."""
        if pattern.glob is None or self._lacks_part(pattern.glob):
            return 0, 0
        found = self._match_glob(pattern, pattern.glob) & self._name_ends
        if not found:
            return 0, 0
        files = found & self._ends
        folders = found ^ files
        return files, _spread(folders, self._all) & self._ends if folders else 0

    def _lacks_part(self, glob: Glob) -> bool:
        """Return whether the text certainly lacks a literal part of a pattern, before any step is taken."""
        if self._small:
            return any(isinstance(step, str) and step not in self._text for step in glob)
        short = (step for step in glob if isinstance(step, str) and _GROUP <= len(step) <= _SHORT)
        return not all(map(self._may_have, short))

    def _may_have(self, part: str) -> bool:
        """Return whether the text may have the first and the last byte group of a part."""
        given, groups = part.encode(errors="surrogatepass"), self._groups
        return groups[_place_of_group(given[:_GROUP])] != 0 and groups[_place_of_group(given[-_GROUP:])] != 0

    @cached_property
    def _groups(self) -> bytes:
        """Build a table with a 1 at the position of each group of _GROUP bytes in the text."""
        text = np.frombuffer(self._text.encode(errors="surrogatepass"), np.uint8).astype(np.int32) & _LOW_BITS
        table = np.zeros(1 << (_GROUP * _BITS), np.uint8)
        table[(text[:-3] << 15) | (text[1:-2] << 10) | (text[2:-1] << 5) | text[3:]] = 1
        return table.tobytes()

    def _match_glob(self, pattern: Pattern, glob: Glob) -> int:
        """Return the positions reached by a pattern; reuse the steps it shares with the previous pattern."""
        anywhere, last, known = self._last
        shared = 0
        if anywhere == pattern.anywhere:
            while shared < min(len(known), len(glob)) and glob[shared] == last[shared]:
                shared += 1
        states = known[:shared]
        places = states[-1] if states else self._name_starts if pattern.anywhere else self._starts
        for step in glob[shared:]:
            if not places:
                break
            places = self._advance(places, step)
            states.append(places)
        self._last = pattern.anywhere, glob, states  # a single assignment: another thread reads all or nothing
        return places

    def _advance(self, places: int, step: str | Step | CharacterSet) -> int:
        if isinstance(step, str):
            found = places & self._places_of(step)
            return found << len(step) if found else 0
        if isinstance(step, CharacterSet):
            return (places & self._places_in(step)) << 1
        if step is Step.ANY:
            return (places & self._in_name) << 1
        if step is Step.STAR:
            return _spread(places, self._in_name)
        return _spread(places, self._all) & (self._name_starts if step is Step.FOLDERS else self._name_ends)

    def _places_of(self, text: str) -> int:
        """Return the positions of a text: the positions of a part followed by the other part."""
        if len(text) == 1:
            return self._places_of_character(text)
        if len(text) == 2 and not self._small:
            return self._places_of_pair(text)
        found = self._places.get(text)
        if found is None:
            if self._small:
                found = self._mark(_find_all(self._text, text))
            elif (few := self._find_few(text)) is not None:
                found = self._mark(few) if few else 0
            else:
                size = 1 << ((len(text) - 1).bit_length() - 1)  # two parts of the same length may overlap
                found = self._places_of(text[:size])
                found = found and found & (self._places_of(text[-size:]) >> (len(text) - size))
            self._remember(text, found)
        return found

    def _places_of_pair(self, pair: str) -> int:
        found = self._pairs.get(pair)
        if found is None:
            if len(self._pairs) == _MOST_PAIRS:
                self._pairs.clear()
            found = self._places_of_character(pair[0])
            found = self._pairs[pair] = found and found & (self._places_of_character(pair[1]) >> 1)
        return found

    def _places_of_character(self, character: str) -> int:
        found = self._letters.get(character)
        if found is None:
            if len(self._letters) == _MOST_LETTERS:
                self._letters.clear()
            found = self._letters[character] = self._marked(character) & self._all
        return found

    def _find_few(self, text: str) -> list[int] | None:
        """Return the positions of a text if they are few; None if they may be many, or the text is short.

        A long enough text contains a sample wherever it stands.
        """
        size = next((each for each in _SAMPLES if 2 * each - 1 <= len(text)), None)
        if size is None:
            return None
        samples = self._samples.get(size) or self._take_samples(size)
        tried: list[int] = []
        for start in range(size):
            tried += [place - start for place in samples.get(text[start : start + size], ())[:_MOST_TRIED]]
            if len(tried) >= _MOST_TRIED:
                return None
        return [place for place in tried if self._text.startswith(text, place)]

    def _take_samples(self, size: int) -> dict[str, list[int]]:
        """Return the positions of all parts with this size, by part."""
        samples: dict[str, list[int]] = {}
        for place in range(0, len(self._text) - size + 1, size):
            samples.setdefault(self._text[place : place + size], []).append(place)
        self._samples[size] = samples
        return samples

    def _places_in(self, step: CharacterSet) -> int:
        """Return the positions of all characters in a set."""
        found = self._places.get(step)
        if found is None:
            listed = self._places_of_any(frozenset(filter(step.lists, self._characters)))
            found = self._in_name & (~listed if step.negated else listed)
            self._remember(step, found)
        return found

    def _places_of_any(self, characters: Collection[str]) -> int:
        """Return the positions of any of these characters."""
        if len(characters) > _MOST_JOINED:
            return self._mark(place for place, each in enumerate(self._text) if each in characters)
        return reduce(or_, map(self._places_of, characters), 0)

    @cached_property
    def _reversed(self) -> bytes:
        return self._text[::-1].encode()

    @cached_property
    def _characters(self) -> frozenset[str]:
        return frozenset(self._text)

    def _remember(self, text: str | CharacterSet, places: int) -> None:
        if self._remembered > _REMEMBERED:
            self._places, self._remembered = {}, 0
        self._remembered += places.bit_length() + 1_000
        self._places[text] = places

    def _marked(self, character: str) -> int:
        """Return the positions of a character."""
        if self._text.count(character) > _FEW and self._text.isascii():
            table = bytearray(b"0") * 256
            table[ord(character)] = ord("1")
            return int(self._reversed.translate(table), 2)
        return self._mark(_find_all(self._text, character))

    def _mark(self, places: Iterable[int]) -> int:
        """Return a number with these bits."""
        if self._small:
            return reduce(or_, [1 << place for place in places], 0)
        marks = bytearray(len(self._text) // 8 + 1)
        for place in places:
            marks[place >> 3] |= 1 << (place & 7)
        return int.from_bytes(marks, "little")

    def _paths_with(self, ends: int) -> tuple[str, ...]:
        marks = ends.to_bytes(len(self._text) // 8 + 1, "little")
        at = zip(self.paths, self._ends_at, strict=True)
        return tuple(path for path, end in at if marks[end >> 3] >> (end & 7) & 1)


def _place_of_group(group: bytes) -> int:
    """Return a group's position in the group table, which groups may share."""
    first, second, third, fourth = group
    low = _LOW_BITS
    return ((first & low) << 15) | ((second & low) << 10) | ((third & low) << 5) | (fourth & low)


def _spread(places: int, through: int) -> int:
    """Return the positions and those behind them, as far as positions in `through` follow without a gap.

    An addition carries to the end of each run of positions.
    """
    return ((through + (places & through)) ^ through) | places


def _find_all(text: str, part: str) -> Iterable[int]:
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + 1)


def last_match(patterns: Sequence[Pattern], path: str, *, folder: bool) -> bool | None:
    """Return whether the last pattern that matches the path itself is not negated; None without a match.

    Patterns that match a folder above it do not count.
    """
    if not patterns:
        return None
    paths = PathSet((path,))
    last = next((each for each in reversed(patterns) if paths.matches_any(each, folders=folder)), None)
    return None if last is None else not last.negated


def includes(patterns: Sequence[Pattern], path: str) -> bool:
    """Return whether the patterns choose a file: the last match decides, else the last match on a folder above."""
    return PathSet((path,)).chooses_any(patterns)


@lru_cache(maxsize=2)
def _recent(paths: tuple[str, ...]) -> PathSet:
    return PathSet(paths)


@lru_cache(maxsize=1 << 12)
def includes_any(lines: str, paths: tuple[str, ...]) -> bool:
    """Return whether a pattern list, one per line, chooses any of these files."""
    return _recent(paths).chooses_any(compile_list(lines))
