"""Decisions' patterns, found by a required literal part of the path: most patterns are never compared with it."""

from collections.abc import Collection, Sequence
from functools import partial
from itertools import islice
from typing import Final

from cognition_engines.kinds.affects import PATHS
from cognition_engines.path_anchors import Form, anchor_of, anchors_of_form, form_of
from cognition_engines.path_patterns import compile_list
from cognition_engines.path_sets import PathSet
from cognition_engines.set_aside import Raised, try_call
from cognition_engines.wanted import Wanted, always

GOVERNS: Final = "governs"  # the set with the governed texts of decisions


class PathIndex:
    """The path patterns among a set's texts. One thread adds; any may read meanwhile."""

    def __init__(self) -> None:
        self._lists: dict[Form, dict[str, list[str]]] = {}
        self._known = 0
        self._failed: dict[str, BaseException] = {}  # by text
        self._noted = 0  # already returned
        self.patterns = 0  # in all lists

    def learn(self, texts: Collection[str | int]) -> None:
        """Add the new texts, which follow the known texts."""
        for text in islice(texts, self._known, None) if len(texts) > self._known else ():
            if isinstance(text, str) and text.startswith(PATHS):
                added = try_call(partial(self._add, text.removeprefix(PATHS)))
                if isinstance(added, Raised):
                    self._failed[text] = added.error
        self._known = len(texts)

    def matching(self, paths: Sequence[str], wanted: Wanted = always) -> list[str]:
        """Return the texts whose patterns choose any of these files. Raise NotWanted if no caller waits any more."""
        candidates = self._with_anchors_in(paths)
        if not candidates:
            return []
        together = PathSet(paths)
        # in order, texts with a common beginning are adjacent and share steps
        found = [lines for lines in sorted(candidates) if self._chooses(lines, together, wanted)]
        return [f"{PATHS}{lines}" for lines in found]

    def take_failed(self) -> list[tuple[str, BaseException]]:
        """Return texts that raised an unexpected exception, each once, with the error; they match no path."""
        new = [*islice(self._failed.items(), self._noted, None)] if len(self._failed) > self._noted else []
        self._noted += len(new)
        return new

    def _chooses(self, lines: str, paths: PathSet, wanted: Wanted) -> bool:
        text = f"{PATHS}{lines}"
        if text in self._failed:
            return False
        chosen = try_call(lambda: paths.chooses_any(compile_list(lines), wanted))
        if isinstance(chosen, Raised):
            self._failed[text] = chosen.error
            return False
        return chosen

    def _add(self, lines: str) -> None:
        listed = lines.split("\n")
        for anchor in {anchor_of(line) for line in listed if not line.startswith("!")}:
            self._lists.setdefault(form_of(anchor), {}).setdefault(anchor, []).append(lines)
        self.patterns += len(listed)

    def _with_anchors_in(self, paths: Sequence[str]) -> set[str]:
        """Return the lists with a pattern whose anchor is in one of the paths."""
        names = {name for path in paths for name in path.split("/")}
        found: set[str] = set()
        for form, lists in tuple(self._lists.items()):
            for anchor in anchors_of_form(form, paths, names):
                found.update(lists.get(anchor, ()))
        return found
