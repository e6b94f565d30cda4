"""Abstention: whether a question is near enough to any record, or to what turns say of the speaker that it names.

"What did Ana paint?" is near to what Ben painted, too, so a cosine does not notice a changed name. A sentence counts as
one about its speaker; a question, or a sentence with `you`, as one about the others (decision 0074).
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
from cognition_engines.store.reads.row_reader import RowReader
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord

WEIGHT: Final = 0.6  # of a share of the question's words, in cosines
MOST: Final = 0.1  # of the shares' difference that counts for the named speaker; against, all of it counts
LONGEST: Final = 2000  # characters of a turn that are looked at
_ROLES: Final = ("user", "assistant", "system")  # as the name of a speaker, they name no person
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+")
_YOU: Final = re.compile(r"\byou(?:rs?)?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NearestRow:
    """The row of the best cosine in all spaces."""

    space: SpaceCandidates
    row: int
    cosine: float

    @property
    def key(self) -> int:
        """The key of its record."""
        return int(self.space.snapshot.keys[self.row])

    @property
    def id(self) -> str:
        """The id of its record."""
        return self.space.snapshot.ids[self.row]


def find_nearest(spaces: Sequence[SpaceCandidates]) -> NearestRow | None:
    """Return the nearest row that the semantic legs have found; None if they found none."""
    firsts = [
        NearestRow(each, int(each.semantic.rows[0]), float(each.semantic.scores[0]))
        for each in spaces
        if len(each.semantic.rows)
    ]
    return max(firsts, key=lambda each: each.cosine, default=None)


def near_turns(spaces: Sequence[SpaceCandidates]) -> dict[int, int]:
    """Return the `seq` of each turn that the semantic legs have found, by its key."""
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
    """A turn of a person with the name `speaker`, and the content words of the first name."""

    stored: StoredRecord
    turn: Turn
    speaker: str
    name: frozenset[str]


class SpeakerSupport:
    """Compares what turns say of the speaker that a question names with what they say of others. Any thread may ask."""

    def __init__(self, records: Records, parser: QueryParser, set_aside: SetAside) -> None:
        self._records: Final = records
        self._set_aside: Final = set_aside
        self._texts: Final = make_analyzer(parser.relevance.language)
        self._queries: Final = parser.analyzer

    def support(self, question: QueryText, viewer: Viewer, near: Mapping[int, int]) -> float:
        """Return what to add to the cosine of the nearest record, -WEIGHT to WEIGHT * MOST.

        It is 0 unless the question names exactly one speaker of the turns `near`, the `seq` of each by key. Turns of
        assistants, and of conversations in which the speaker says nothing near, do not count.
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
        found = (attempt(part, each.version, partial(self._spoken_turn, each), None) for each in read)
        return [each for each in found if each is not None]

    def _spoken_turn(self, stored: StoredRecord) -> _SpokenTurn | None:
        """Return the turn of a person with a name; None for any other record."""
        turn = stored.record
        if not isinstance(turn, Turn) or not turn.speaker or not _is_person(turn):
            return None
        return _SpokenTurn(stored, turn, turn.speaker, self._content_words(turn.speaker.split()[0]))

    def _difference(self, asked: Set[str], named: str, turns: Iterable[_SpokenTurn]) -> float:
        """Return the highest share of the words that a turn says of the named speaker, less that of the others."""
        most = {True: 0, False: 0}
        for each in turns:
            work = partial(self._words_of, each.turn.content[:LONGEST])
            no_words: tuple[set[str], set[str]] = (set(), set())
            of_speaker, of_others = self._set_aside.attempt(Part.SNIPPETS, each.stored.version, work, no_words)
            is_named = each.speaker == named
            most[is_named] = max(most[is_named], len(asked & of_speaker))
            most[not is_named] = max(most[not is_named], len(asked & of_others))
        return (most[True] - most[False]) / len(asked)

    def _words_of(self, content: str) -> tuple[set[str], set[str]]:
        """Return the words of the sentences about the speaker of a turn, and of those about the others."""
        sentences: dict[bool, list[str]] = {True: [], False: []}
        for sentence in _SENTENCE_END.split(content):
            sentences[not sentence.endswith("?") and not _YOU.search(sentence)].append(sentence)
        of_speaker, of_others = (set(self._texts.analyze(" ".join(sentences[own]))) for own in (True, False))
        return of_speaker, of_others

    def _content_words(self, text: str) -> frozenset[str]:
        return frozenset(self._queries.weigh(text)[0])


def _is_person(turn: Turn) -> bool:
    """Return whether a turn is of a speaker with a name, and not of an assistant."""
    named = turn.speaker is not None and turn.speaker.casefold() not in _ROLES
    return named and turn.role in (None, "user")
