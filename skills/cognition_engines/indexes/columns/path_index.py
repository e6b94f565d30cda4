"""The patterns of decisions, found by a literal part that a path must have: most are never compared with it."""

from collections.abc import Collection, Iterable
from itertools import islice
from typing import Final

from cognition_engines.kinds.affects import PATHS
from cognition_engines.path_patterns import anchor_of, by_anchor, compile_list, includes

GOVERNS: Final = "governs"  # the set of the texts of what a decision governs


class PathIndex:
    """The texts of a set that are patterns of paths. One thread adds; any may ask meanwhile."""

    def __init__(self) -> None:
        self._lists: dict[str, list[str]] = {}
        self._known = 0

    def learn(self, texts: Collection[str | int]) -> None:
        """Add the texts that are new, which follow the known ones."""
        for text in islice(texts, self._known, None) if len(texts) > self._known else ():
            if isinstance(text, str) and text.startswith(PATHS):
                lines = text.removeprefix(PATHS)
                for anchor in {anchor_of(line) for line in lines.split("\n") if not line.startswith("!")}:
                    self._lists.setdefault(anchor, []).append(lines)
        self._known = len(texts)

    def matching(self, paths: Iterable[str]) -> list[str]:
        """Return the texts whose patterns choose one of these files."""
        found: dict[str, None] = {}
        for anchor, files in by_anchor(paths).items():
            for lines in tuple(self._lists.get(anchor, ())):
                if lines not in found and any(includes(compile_list(lines), file) for file in files):
                    found[lines] = None
        return [f"{PATHS}{lines}" for lines in found]
