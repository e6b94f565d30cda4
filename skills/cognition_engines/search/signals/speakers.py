"""The speakers in question: their turns gain.

"Where has Ana camped?" is answered by Ana's turns, and "What did I plan for June?" by the user's. A speaker's name then
has no part in the question's meaning: it would bring every turn by that speaker near.
"""

from functools import partial
from typing import Final

import numpy as np

from cognition_engines.indexes.columns.snapshot import ABSENT, Bools, Ints, Snapshot
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import OneOf
from cognition_engines.relevance import Relevance
from cognition_engines.search.candidates import RowBoost
from cognition_engines.search.query import PossibleName, QueryText, cut_names
from cognition_engines.search.signals.signal import RowSignal, SearchedViews

AUTHOR: Final = "author"
USERS: Final = ("human", "user")
ROLES: Final = frozenset({*USERS, "assistant", "system"})  # these are no names of people


def may_name_speaker(query: QueryText, searched: SearchedViews, relevance: Relevance) -> bool:
    """Return whether a query has the name of a snapshot's author, whose turns may be hidden."""
    authors = [snapshot.codes[AUTHOR] for snapshot, _ in searched.views]
    weighed = bool(relevance.speaker_weight)
    return weighed and any(name.text in known for name in _names_in(query) for known in authors)


def _mark_speakers(query: QueryText, searched: SearchedViews, relevance: Relevance) -> RowBoost | None:
    """Return the boost for turns by the speakers named in the question, or by the user if it is in the first person.

    Return None without a speaker. A speaker counts only if the viewer sees a turn by the speaker that meets the
    conditions in a snapshot.
    """
    weight = relevance.speaker_weight
    if not weight:
        return None
    if names := _without_overlaps([name for name in _names_in(query) if _is_speaker(name.text, searched)]):
        authors = tuple(dict.fromkeys(name.text for name in names))
        question = cut_names(query.text, names)
        return RowBoost(SIGNAL.name, weight, partial(_turns_of, authors, unnamed=False), question=question)
    if relevance.language == "en" and query.is_about_user:
        return RowBoost(SIGNAL.name, weight, partial(_turns_of, USERS, unnamed=True), question=query.text)
    return None


def _turns_of(authors: tuple[str, ...], snapshot: Snapshot, rows: Ints, *, unnamed: bool) -> Bools:
    """Return a mask of the authors' turns; with `unnamed` also of turns without an author."""
    known = snapshot.codes[AUTHOR]
    codes = [known[author] for author in authors if author in known]
    said: Bools = snapshot.labels["kind"][rows] == snapshot.codes["kind"].get(Kind.TURN.label, ABSENT)
    said &= np.isin(snapshot.labels[AUTHOR][rows], [*codes, ABSENT] if unnamed else codes)
    return said


def _is_speaker(name: str, searched: SearchedViews) -> bool:
    said = (OneOf((AUTHOR,), (name,)), OneOf(("kind",), (Kind.TURN.label,)))
    return any(
        name in snapshot.codes[AUTHOR] and snapshot.count((*conditions, *said), searched.viewer)
        for snapshot, conditions in searched.views
    )


def _names_in(query: QueryText) -> list[PossibleName]:
    return [name for name in query.names if name.text not in ROLES]


def _without_overlaps(names: list[PossibleName]) -> list[PossibleName]:
    """Return the names, given in order, without those that begin inside the previous name."""
    kept: list[PossibleName] = []
    for name in names:
        if not kept or name.start >= kept[-1].end:
            kept.append(name)
    return kept


SIGNAL: Final = RowSignal(
    name="speaker", setting="speaker_weight", mark=_mark_speakers, rewrites=True, counts=may_name_speaker
)
