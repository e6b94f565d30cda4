"""The speakers that a question asks about, in its ranking: their turns get a boost.

"Where has Ana camped?" is answered by what Ana said, and "What did I plan for June?" by what the user said. The name of
a speaker then has no part in the meaning of the question, for it would bring near every turn of that speaker.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cognition_engines.indexes.columns.snapshot import ABSENT, Bools, Ints, Snapshot
from cognition_engines.kinds.fields import normal
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Conditions, OneOf, Viewer
from cognition_engines.relevance import Relevance

AUTHOR: Final = "author"
USERS: Final = ("human", "user")
ROLES: Final = frozenset({*USERS, "assistant", "system"})  # these are no names of people
LONGEST: Final = 3  # words of a name
LONGEST_QUESTION: Final = 1 << 10  # characters that are looked at
_WORD: Final = re.compile(r"\w[^\s,;:!?()\[\]{}\"“”«»]*")
_AFTER: Final = ".'’"  # after a word
_POSSESSIVES: Final = ("'s", "’s")
_FIRST_PERSON: Final = re.compile(r"(?<![\w/.])(?:i(?![\w/.])|(?:me|my|mine)\b)", re.IGNORECASE)
# a question such as `What did you recommend for my essay?`
_ADDRESSED: Final = re.compile(
    r"\b(?:did|have|had) you\b"
    r"|\byou (?:said|recommended|suggested|mentioned|gave|advised|explained|described|proposed|listed|provided)\b"
    r"|\byour (?:advice|recommendation|suggestion|answer|explanation|reply|response)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SpeakerBoost:
    """The authors of whom a question asks, folded, and the weight that is added to the score, 0 to 1, of their turns.

    With `unnamed`, turns without an author are meant, too. `question` is the question without the names.
    """

    authors: tuple[str, ...]
    unnamed: bool
    weight: float
    question: str

    def holds(self, snapshot: Snapshot, rows: Ints) -> Bools:
        """Return a mask of the rows that are turns of the authors."""
        known = snapshot.codes[AUTHOR]
        codes = [known[author] for author in self.authors if author in known]
        said: Bools = snapshot.labels["kind"][rows] == snapshot.codes["kind"].get(Kind.TURN.label, ABSENT)
        said &= np.isin(snapshot.labels[AUTHOR][rows], [*codes, ABSENT] if self.unnamed else codes)
        return said


@dataclass(frozen=True, slots=True)
class _Name:
    """A name in a question, as names are compared, and the characters that it takes up, with an `'s`."""

    text: str
    start: int
    end: int


class QuestionSpeakers:
    """A reader of the speakers that questions name."""

    def __init__(self, relevance: Relevance) -> None:
        self._weight: Final = relevance.speaker_weight
        self._english: Final = relevance.language == "en"

    def may_name(self, question: str, views: Sequence[tuple[Snapshot, Conditions]]) -> bool:
        """Return whether a question has the name of an author of a snapshot; what the author said may be hidden."""
        authors = [snapshot.codes[AUTHOR] for snapshot, _ in views]
        return bool(self._weight) and any(name.text in known for name in _names_in(question) for known in authors)

    def boost(self, question: str, views: Sequence[tuple[Snapshot, Conditions]], viewer: Viewer) -> SpeakerBoost | None:
        """Return the boost for turns of the speakers that the question names, or else of the user if it is asked as I.

        Return None if it asks about no speaker. Only those count of whom the viewer sees a turn that meets the
        conditions in one of the snapshots.
        """
        if not self._weight:
            return None
        names = _without_overlaps([name for name in _names_in(question) if _is_speaker(name.text, views, viewer)])
        if names:
            authors = tuple(dict.fromkeys(name.text for name in names))
            return SpeakerBoost(authors, False, self._weight, _cut(question, names))
        looked_at = question[:LONGEST_QUESTION]
        if self._english and _FIRST_PERSON.search(looked_at) and not _ADDRESSED.search(looked_at):
            return SpeakerBoost(USERS, True, self._weight, question)
        return None


def _is_speaker(name: str, views: Sequence[tuple[Snapshot, Conditions]], viewer: Viewer) -> bool:
    said = (OneOf((AUTHOR,), (name,)), OneOf(("kind",), (Kind.TURN.label,)))
    return any(
        name in snapshot.codes[AUTHOR] and snapshot.count((*conditions, *said), viewer)
        for snapshot, conditions in views
    )


def _names_in(question: str) -> Iterator[_Name]:
    """Yield possible names, the longest first at each place: words with a capital, or in a script without case."""
    words = [(match.group().rstrip(_AFTER), match.start()) for match in _WORD.finditer(question[:LONGEST_QUESTION])]
    for first, (word, start) in enumerate(words):
        if word[0].islower() and word.isalpha():
            continue
        for last in range(min(first + LONGEST, len(words)) - 1, first - 1, -1):
            end = words[last][1] + len(words[last][0])
            written = question[start:end]
            bare = next((written[: -len(each)] for each in _POSSESSIVES if written.endswith(each)), written)
            if (name := normal(bare)) not in ROLES:
                yield _Name(name, start, end)


def _without_overlaps(names: list[_Name]) -> list[_Name]:
    """Return the names, which are in order, without those that begin inside the one before."""
    kept: list[_Name] = []
    for name in names:
        if not kept or name.start >= kept[-1].end:
            kept.append(name)
    return kept


def _cut(question: str, names: list[_Name]) -> str:
    """Return the question without the names; the whole question if no word is left."""
    starts, ends = [0, *(name.end for name in names)], [*(name.start for name in names), len(question)]
    left = " ".join("".join(question[start:end] for start, end in zip(starts, ends, strict=True)).split())
    return left if _WORD.search(left) else question
