"""Records near a new record: decisions with similar texts, and records in force that may contradict it.

Two texts contradict each other by rules over their words, in English: a text chooses an alternative rejected by the
other, or has another word in an otherwise equal sentence; exactly one of them negates; or they state different numbers.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from typing import Final, Literal, TypeAlias

from cognition_engines.indexes.columns.snapshot import Floats
from cognition_engines.indexes.keywords.language import ENGLISH_STOP_WORDS, Analyzer, make_analyzer
from cognition_engines.indexes.keywords.words import compose_words
from cognition_engines.indexes.space import SpaceIndex
from cognition_engines.kinds.artifacts import Artifact, Turn
from cognition_engines.kinds.registry import Record
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Decision, Viewer, one_of
from cognition_engines.search.legs import semantic_leg
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.store.values import StoredRecord

Why: TypeAlias = Literal["alternative", "negation", "number"]
_Compared: TypeAlias = Why | Literal["failed"] | None
Sentences: TypeAlias = "Sequence[Sentence]"

MOST: Final = 3  # duplicates and conflicts in an answer
SIMILAR: Final = 0.12  # cosine distance of a duplicate
_NEIGHBOURS: Final = 20  # compared records
_SAME_SUBJECT: Final = 0.75  # cosine distance, up to which a rejected alternative counts
_NEAR: Final = 0.6  # cosine distance, up to which other rules count
_NEARER: Final = 0.3
_NEAREST: Final = 0.25
_LONGEST: Final = 4000  # read characters of a text
_MOST_SENTENCES: Final = 20
_TITLE: Final = 200  # characters of a memory without a title
_SENTENCE_END: Final = re.compile(r"(?<=[.!?;:])\s+|\n+")
_CLAUSE_END: Final = re.compile(r"(?<=[.!?;:,])\s+|\n+")
_WORD: Final = re.compile(r"\d[\d.,:]*|[^\W\d_]+(?:['’]t\b)?|%")
_THOUSANDS: Final = re.compile(r",(?=\d{3}(?!\d))")
_CLOCK: Final = re.compile(r"\d+:\d+")
_OFTEN: Final = "user always please everything use used also"  # words saying little about the subject
_NEGATING: Final = """
no not never neither nor without cannot stop stops drop drops dropped remove removed delete deleted avoid avoids forbid
forbids forbidden ban bans banned quit reject rejects disable disabled end ends cancel cancelled abandon abandoned
prohibit prohibited
"""
_NAMES_OF_DAYS: Final = """
monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october
november december
"""
_COUNTED: Final = "zero one two three four five six seven eight nine ten eleven twelve"
_MEASURES: Final = {
    "time": "ms s sec second minute min h hour day night week month quarter year",
    "size": "kb mb gb tb byte",
    "share": "% percent",
    "money": "euro dollar pound",
}
_SECONDS: Final = {"ms": 0.001, "minute": 60, "min": 60, "h": 3600, "hour": 3600, "day": 86_400, "week": 604_800}
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
_SIZES: Final = ("byte", "kb", "mb", "gb", "tb")
_STOP_WORDS: Final = frozenset(f"{ENGLISH_STOP_WORDS} {_OFTEN}".split())
_NEGATIONS: Final = frozenset(_NEGATING.split())
_DAYS: Final = frozenset(_NAMES_OF_DAYS.split())
_UNITS: Final = {unit: measure for measure, units in _MEASURES.items() for unit in units.split()}
_NUMBER_WORDS: Final = {word: str(number) for number, word in enumerate(_COUNTED.split())} | {
    "twenty": "20",
    "thirty": "30",
    "forty": "40",
    "sixty": "60",
    "ninety": "90",
}


@dataclass(frozen=True, slots=True)
class Sentence:
    """The stems of a sentence in order, numbers with unit and measure, and whether it negates.

    Stop words, numbers, units and negations are not among the words.
    """

    stems: tuple[str, ...]
    numbers: frozenset[tuple[str, str, str]]
    negates: bool

    @property
    def terms(self) -> frozenset[str]:
        return frozenset([*self.stems, *(number for number, _, _ in self.numbers)])


@dataclass(frozen=True, slots=True)
class Statement:
    """A record's text in compared form: by sentences, by clauses, and the rejected alternatives."""

    sentences: Sentences
    clauses: Sentences
    rejected: Sequence[frozenset[str]]

    @property
    def terms(self) -> frozenset[str]:
        return frozenset().union(*(one.terms for one in self.sentences))


def find_nearest(index: SpaceIndex, kinds: Sequence[Kind], vector: Floats, viewer: Viewer) -> dict[int, float]:
    """Return the cosine distances of the nearest records of these kinds that the viewer sees, by key, nearest first.

    Records farther than _SAME_SUBJECT are left out: no rule applies to them.
    """
    snapshot = index.snapshot
    mask = snapshot.mask(one_of("kind", [kind.label for kind in kinds]), viewer)
    ranked = semantic_leg(snapshot, mask, vector, _NEIGHBOURS, index.vectors, viewer)
    places = zip(ranked.rows.tolist(), ranked.scores.tolist(), strict=True)
    distances = {int(snapshot.keys[row]): 1.0 - cosine for row, cosine in places}
    return {key: distance for key, distance in distances.items() if distance <= _SAME_SUBJECT}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The records that may contradict a new record, and why; `failed` is the number of incomparable records."""

    conflicts: Sequence[tuple[StoredRecord, Why]]
    failed: int


def find_conflicts(
    new: Record, near: Sequence[tuple[StoredRecord, float]], now: datetime, set_aside: SetAside
) -> Comparison:
    """Compare a new record with the records in force near it; `near` has their cosine distances.

    Only records of the same project count, or decisions about the same file or path.
    """
    compared = [(stored, distance) for stored, distance in near if _is_comparable(new, stored, now)]
    statement = set_aside.attempt(Part.SNIPPETS, None, partial(read_statement, new), None)
    if statement is None:
        return Comparison((), len(compared))
    conflicts: list[tuple[StoredRecord, Why]] = []
    failed = 0
    for stored, distance in compared:
        work = partial(_compare, stored.record, statement, distance)
        failure: _Compared = "failed"
        why = set_aside.attempt(Part.SNIPPETS, stored, work, failure)
        if why == "failed":
            failed += 1
        elif why is not None:
            conflicts.append((stored, why))
    return Comparison(conflicts, failed)


def _is_comparable(new: Record, stored: StoredRecord, now: datetime) -> bool:
    until = stored.facets.until
    return (until is None or until > now) and _share_subject(new, stored.record)


def _compare(old: Record, new: Statement, distance: float) -> _Compared:
    return contradiction(read_statement(old), new, distance)


def title_of(record: Record) -> str:
    """Return the title of a decision or a memory, or the beginning of the text."""
    if isinstance(record, Decision):
        return record.title
    assert isinstance(record, Artifact | Turn)
    title = record.title if isinstance(record, Artifact) else None
    return title or record.content[:_TITLE]


def _share_subject(new: Record, old: Record) -> bool:
    if new.project == old.project:
        return True
    return isinstance(new, Decision) and isinstance(old, Decision) and bool(_files_of(new) & _files_of(old))


def _files_of(decision: Decision) -> set[str]:
    paths = {one.pattern for one in decision.affects if one.type == "path"}
    file = None if decision.details is None else decision.details.file
    return paths if file is None else paths | {file}


def read_statement(record: Record) -> Statement:
    """Return the statement of a decision or a memory, from the first _LONGEST characters."""
    details = record.details if isinstance(record, Decision) else None
    if isinstance(record, Decision):
        text = record.title if details is None else details.statement
    else:
        assert isinstance(record, Artifact | Turn)
        text = record.content
    rejected = [_read_sentence(one.option[:_TITLE]).terms for one in details.alternatives] if details else []
    cut = text[:_LONGEST]
    return Statement(
        _read_sentences(cut, _SENTENCE_END), _read_sentences(cut, _CLAUSE_END), [one for one in rejected if one]
    )


def _read_sentences(text: str, end: re.Pattern[str]) -> Sentences:
    return [_read_sentence(part) for part in end.split(text, _MOST_SENTENCES)[:_MOST_SENTENCES]]


@cache
def _english() -> Analyzer:
    return make_analyzer("en")


def _read_sentence(text: str) -> Sentence:
    words = [word.lower().strip(".,:") for word in _WORD.findall(compose_words(text))]
    stem_of = _english().stem_of
    kept: list[str] = []
    numbers = set[tuple[str, str, str]]()
    negates = False
    for place, word in enumerate(words):
        number = word if word[:1].isdigit() else _NUMBER_WORDS.get(word)
        day = word.removesuffix("s")
        if number is not None:
            unit = _unit_of(words[place + 1]) if place + 1 < len(words) else ""
            measure = _UNITS.get(unit)
            numbers.add((*_amount(number, unit), measure or ("clock" if _CLOCK.match(word) else "count")))
        elif day in _DAYS:
            numbers.add((day, "", "day"))
        elif word in _NEGATIONS or word.endswith(("'t", "’t")):
            negates = True
        elif word not in _STOP_WORDS and not _unit_of(word) and (stem := stem_of(word)):
            kept.append(stem)
    return Sentence(tuple(kept), frozenset(numbers), negates)


def _amount(number: str, unit: str) -> tuple[str, str]:
    """Return a number with a unit in a common form for equal amounts: 1,000 ms is 1 second, 1024 MB are 1 GB."""
    try:
        value = float(_THOUSANDS.sub("", number))
    except ValueError:  # a time of day, or a version
        return number, unit
    if unit in _SIZES:
        place = _SIZES.index(unit)
        while (
            value >= 1000 and place + 1 < len(_SIZES) and (step := next((s for s in (1024, 1000) if not value % s), 0))
        ):
            value, place = value / step, place + 1
        return f"{value:g}", _SIZES[place]
    if unit in _MONTHS:
        return f"{value * _MONTHS[unit]:g}", "month"
    if _UNITS.get(unit) == "time" and unit != "night":
        return f"{value * _SECONDS.get(unit, 1):g}", "second"
    return f"{value:g}", unit


def _unit_of(word: str) -> str:
    """Return the unit named by a word, in the singular; an empty text if it names none."""
    singular = word.removesuffix("s")
    return word if word in _UNITS else singular if singular in _UNITS else ""


def contradiction(old: Statement, new: Statement, distance: float) -> Why | None:
    """Return why two statements at this cosine distance may contradict each other; None without a reason."""
    if _chooses(new, old.rejected, old) or _chooses(old, new.rejected, new):
        return "alternative"
    if distance > _NEAR:
        return None
    pairs = [(one, other) for one in old.sentences for other in new.sentences]
    if any(_differ_in_number(one, other, distance) for one, other in pairs):
        return "number"
    if any(_differ_in_polarity(one, other) for one in old.clauses for other in new.clauses):
        return "negation"
    return "alternative" if any(_differ_in_a_word(one, other) for one, other in pairs) else None


def _chooses(one: Statement, rejected: Sequence[frozenset[str]], other: Statement) -> bool:
    """Return whether a statement has all words of an alternative that the other rejects and does not state."""
    return any(option <= one.terms and not option <= other.terms for option in rejected)


def _differ_in_number(one: Sentence, other: Sentence, distance: float) -> bool:
    shared = len({*one.stems} & {*other.stems})
    fewest = min(len({*one.stems}), len({*other.stems})) or 1
    enough = shared >= 2 or (shared == 1 and (fewest == 1 or distance <= _NEARER))
    if not (enough or distance <= _NEAREST) or 2 * shared < fewest:
        return False
    measures = {measure for _, _, measure in one.numbers} & {measure for _, _, measure in other.numbers}
    return any(not _of(one, measure) & _of(other, measure) for measure in measures)


def _of(sentence: Sentence, measure: str) -> set[tuple[str, str]]:
    return {(number, unit) for number, unit, each in sentence.numbers if each == measure}


def _differ_in_polarity(one: Sentence, other: Sentence) -> bool:
    """Return whether exactly one clause negates, and the other contains most words of the negating clause."""
    if one.negates == other.negates:
        return False
    negated = {*(one if one.negates else other).stems}
    shared = {*one.stems} & {*other.stems}
    return len(shared) >= 2 and 5 * len(shared) >= 3 * len(negated)


def _differ_in_a_word(one: Sentence, other: Sentence) -> bool:
    """Return whether two sentences differ only in one or two words at a single place, with at least two equal words."""
    if one.negates != other.negates or one.numbers != other.numbers:
        return False
    fewest = min(len(one.stems), len(other.stems))
    start = next((at for at in range(fewest) if one.stems[at] != other.stems[at]), fewest)
    end = next((at for at in range(fewest - start) if one.stems[-1 - at] != other.stems[-1 - at]), fewest - start)
    return start + end >= 2 and all(1 <= len(each.stems) - start - end <= 2 for each in (one, other))
