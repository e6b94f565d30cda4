"""Abstention: whether a question is near enough to any record, or to turns about the speaker it names.

"What did Ana paint?" is also near to Ben's paintings, so a cosine does not notice a changed name. A sentence counts as
about the speaker; a question, or a sentence with `you`, as about the others (decision 0074).
"""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Final

from cognition_engines.indexes.keywords.language import make_analyzer
from cognition_engines.kinds.artifacts import Turn
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Viewer
from cognition_engines.search.candidates import SpaceCandidates
from cognition_engines.search.query import QueryParser, QueryText
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.store.reads.by_key import RowReader
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord

WEIGHT: Final = 0.6  # per share of the question's words, in cosines
MOST: Final = 0.1  # limit for the shares' difference in favour of the named speaker; against, all counts
LONGEST: Final = 2000  # characters read per turn
_ROLES: Final = ("user", "assistant", "system")  # as the name of a speaker, they name no person
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+")
_YOU: Final = re.compile(r"\byou(?:rs?)?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NearestRow:
    """The row with the best cosine in all spaces."""

    space: SpaceCandidates
    row: int
    cosine: float

    @property
    def key(self) -> int:
        """Return the record's key."""
        return int(self.space.snapshot.keys[self.row])

    @property
    def id(self) -> str:
        """Return the record's id."""
        return self.space.snapshot.ids[self.row]


def find_nearest(spaces: Sequence[SpaceCandidates]) -> NearestRow | None:
    """Return the nearest row in the semantic legs; None if they are empty."""
    firsts = [
        NearestRow(each, int(each.semantic.rows[0]), float(each.semantic.scores[0]))
        for each in spaces
        if len(each.semantic.rows)
    ]
    return max(firsts, key=lambda each: each.cosine, default=None)


def near_turns(spaces: Sequence[SpaceCandidates]) -> dict[int, int]:
    """Return the `seq` of each turn in the semantic legs, by key."""
    found: dict[int, int] = {}
    for space in spaces:
        snapshot, rows = space.snapshot, space.semantic.rows
        code = snapshot.codes["kind"].get(Kind.TURN.label)
        if code is not None:
            rows = rows[snapshot.labels["kind"][rows] == code]
            found |= zip(snapshot.keys[rows].tolist(), snapshot.seqs[rows].tolist(), strict=True)
    return found


@dataclass(frozen=True, slots=True)
class _SpokenTurn:
    """A turn by a person with the name `speaker`, and the content words of the first name."""

    stored: StoredRecord
    turn: Turn
    speaker: str
    name: frozenset[str]


class SpeakerSupport:
    """A comparison of turns about the speaker named in a question with turns about others. Thread-safe."""

    def __init__(self, records: Records, parser: QueryParser, set_aside: SetAside) -> None:
        self._records: Final = records
        self._set_aside: Final = set_aside
        self._texts: Final = make_analyzer(parser.relevance.language)
        self._queries: Final = parser.analyzer

    def support(self, question: QueryText, viewer: Viewer, near: Mapping[int, int]) -> float:
        """Return the addition to the nearest record's cosine, -WEIGHT to WEIGHT * MOST.

        It is 0 unless the question names exactly one speaker in the turns `near`, given as `seq` by key. Turns by
        assistants, and from conversations in which the speaker says nothing near, do not count.
        """
        read = self._records.reads.as_of(near, viewer, RowReader(self._set_aside))
        spoken = self._spoken_turns(read.values())
        names = {each.speaker: each.name for each in spoken}
        words = question.content_words
        named = [speaker for speaker, its in names.items() if its and its <= words]
        asked = words.difference(*names.values())
        if len(named) != 1 or not asked:
            return 0.0
        conversations = {each.turn.conversation_id for each in spoken if each.speaker == named[0]}
        compared = [each for each in spoken if each.turn.conversation_id in conversations]
        return WEIGHT * min(MOST, self._difference(asked, named[0], compared))

    def _spoken_turns(self, read: Iterable[StoredRecord]) -> list[_SpokenTurn]:
        attempt, part = self._set_aside.attempt, Part.SNIPPETS
        found = (attempt(part, each, partial(self._spoken_turn, each), None) for each in read)
        return [each for each in found if each is not None]

    def _spoken_turn(self, stored: StoredRecord) -> _SpokenTurn | None:
        """Return a turn by a person with a name; None for any other record."""
        turn = stored.record
        if not isinstance(turn, Turn) or not turn.speaker or not _is_person(turn):
            return None
        return _SpokenTurn(stored, turn, turn.speaker, self._content_words(turn.speaker.split()[0]))

    def _difference(self, asked: Set[str], named: str, turns: Iterable[_SpokenTurn]) -> float:
        """Return the highest share of the words in a turn about the named speaker, minus the same for the others."""
        most = {True: 0, False: 0}
        for each in turns:
            work = partial(self._words_of, each.turn.content[:LONGEST])
            no_words: tuple[set[str], set[str]] = (set(), set())
            of_speaker, of_others = self._set_aside.attempt(Part.SNIPPETS, each.stored, work, no_words)
            is_named = each.speaker == named
            most[is_named] = max(most[is_named], len(asked & of_speaker))
            most[not is_named] = max(most[not is_named], len(asked & of_others))
        return (most[True] - most[False]) / len(asked)

    def _words_of(self, content: str) -> tuple[set[str], set[str]]:
        """Return the words in sentences about a turn's speaker, and the words in sentences about the others."""
        sentences: dict[bool, list[str]] = {True: [], False: []}
        for sentence in _SENTENCE_END.split(content):
            sentences[not sentence.endswith("?") and not _YOU.search(sentence)].append(sentence)
        of_speaker, of_others = (set(self._texts.analyze(" ".join(sentences[own]))) for own in (True, False))
        return of_speaker, of_others

    def _content_words(self, text: str) -> frozenset[str]:
        return frozenset(self._queries.weigh(text)[0])


def _is_person(turn: Turn) -> bool:
    """Return whether a turn is by a speaker with a name, and not by an assistant."""
    named = turn.speaker is not None and turn.speaker.casefold() not in _ROLES
    return named and turn.role in (None, "user")
