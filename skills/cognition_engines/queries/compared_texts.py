"""Statements to be compared: the words of a text, in English, with its numbers, negations and choices."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, TypeAlias

from cognition_engines.indexes.keywords.language import Analyzer, make_analyzer
from cognition_engines.indexes.keywords.words import compose_words
from cognition_engines.queries import vocabulary

Stems: TypeAlias = frozenset[str]
Answers: TypeAlias = frozenset[tuple[str, str]]
Number: TypeAlias = tuple[str, str, str]

_LONGEST: Final = 4000  # read characters of a text
_LONGEST_WORD: Final = 40
_MOST_SENTENCES: Final = 20
_MOST_SLOTS: Final = 4
_ENDS: Final = (re.compile(r"(?<=[.!?;:])\s+|\n+"), re.compile(r"(?<=[.!?;:,])\s+|\n+"))  # of sentences, of clauses
_WORD: Final = re.compile(r"\d[\d.,:]*|[^\W\d_][^\W_]*(?:['’]t\b)?|%")
_THOUSANDS: Final = re.compile(r",(?=\d{3}(?!\d))")
_CLOCK: Final = re.compile(r"\d+:\d+")
_NAMES_OF_DAYS: Final = """
monday tuesday wednesday thursday friday saturday sunday weekday weekend january february march april may june july
august september october november december
"""
_COUNTED: Final = "zero one two three four five six seven eight nine ten eleven twelve"
_TENS: Final = {"twenty": "20", "thirty": "30", "forty": "40", "sixty": "60", "ninety": "90"}
_MEASURES: Final = {
    "time": "ms s sec second minute min h hour day night week month quarter year",
    "size": "kb mb gb tb byte",
    "share": "% percent",
    "money": "euro dollar pound",
}
_SECONDS: Final = {"ms": 0.001, "minute": 60, "min": 60, "h": 3600, "hour": 3600, "day": 86_400, "week": 604_800}
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
_SIZES: Final = ("byte", "kb", "mb", "gb", "tb")
_DAYS: Final = frozenset(_NAMES_OF_DAYS.split())
_COPULA: Final = ("is", "are")
_UNITS: Final = {unit: measure for measure, units in _MEASURES.items() for unit in units.split()}
_NUMBER_WORDS: Final = {word: str(number) for number, word in enumerate(_COUNTED.split())} | _TENS


def _by_name(table: str) -> dict[str, list[tuple[str, str]]]:
    """Return the questions with the answers of a table, by the answers' names; a question is its first answer."""
    found: dict[str, list[tuple[str, str]]] = {}
    for question in table.split(";"):
        answers = question.split()
        for names in (answer.split("=") for answer in answers):
            for name in names:
                found.setdefault(name, []).append((answers[0], names[0]))
    return found


_DENYING: Final = vocabulary.NO | vocabulary.DENIALS
_NOT: Final = ("'t", "’t")
_ANSWERS: Final = _by_name(vocabulary.ANSWERS)
_SCOPES: Final = _by_name(vocabulary.SCOPES)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence or clause.

    `terms` are its numbers, and the stems of words that are no stop words, units or negations; `subject` are the stems
    without general words, `stated` those that the sentence does not reject, `named` those in names of answers only, and
    `slots` those behind a word like "by" or "in".
    """

    terms: Stems
    stated: Stems
    subject: Stems
    named: Stems
    numbers: frozenset[Number]
    negates: bool
    limits: bool
    chosen: Answers
    rejected: Answers
    scopes: Answers
    slots: Sequence[Stems]
    names: Sequence[Stems]


@dataclass(frozen=True, slots=True)
class Statement:
    """A text in compared form: by sentences, by clauses, and the rejected alternatives."""

    sentences: Sequence[Sentence]
    clauses: Sequence[Sentence]
    rejected: Sequence[Stems]
    terms: Stems
    stated: Stems
    chosen: Answers
    scopes: Answers


def read_text(text: str, alternatives: Sequence[str]) -> Statement:
    """Return the statement of a text and its rejected alternatives, from the first _LONGEST characters."""
    cut = text[:_LONGEST]
    by_sentences, by_clauses = [end.split(cut, _MOST_SENTENCES)[:_MOST_SENTENCES] for end in _ENDS]
    read = {part: read_sentence(part) for part in {*by_sentences, *by_clauses}}
    clauses = [read[part] for part in by_clauses]
    rejected = [read_sentence(one).terms for one in alternatives]
    return Statement(
        [read[part] for part in by_sentences],
        clauses,
        [one for one in rejected if one],
        frozenset().union(*[read[part].terms for part in by_sentences]),
        frozenset().union(*[one.stated for one in clauses]),
        frozenset().union(*[one.chosen for one in clauses]),
        frozenset().union(*[one.scopes for one in clauses]),
    )


@cache
def _english() -> Analyzer:
    return make_analyzer("en")


@cache
def _general() -> Stems:
    return frozenset(map(_english().stem_of, vocabulary.GENERAL))


@cache
def _same() -> dict[str, str]:
    """Return the stems of names by the stems of other names of the same thing."""
    stem_of = _english().stem_of
    return {
        stem_of(name): stem_of(names[0])
        for names in (each.split("=") for each in vocabulary.SAME.split())
        for name in names
    }


def read_sentence(text: str) -> Sentence:
    """Return the sentence or clause in compared form."""
    originals = _WORD.findall(compose_words(text))
    words = [word.lower().strip(".,:")[:_LONGEST_WORD] for word in originals]
    numbers = _read_numbers(words, originals)
    negations = sum([not _DENYING.isdisjoint(both) or both[0].endswith(_NOT) for both in _phrases(words)])
    terms = ["" if place in numbers else _stem(word) for place, word in enumerate(words)]
    subject = ["" if stem in _general() else stem for stem in terms]
    answers = _read_answers(words, originals)
    negates = negations % 2 == 1  # "not without"
    kept = [at for at in range(len(words)) if vocabulary.REJECTING.isdisjoint(words[max(0, at - 2) : at])]
    first, slots = _read_slots(words, subject)
    chosen = set() if negates else {one for place in kept for one in answers.get(place, ())}
    return Sentence(
        terms=frozenset([*filter(None, terms), *[number for number, _, _ in numbers.values()]]),
        stated=frozenset([numbers[place][0] if place in numbers else terms[place] for place in kept]),
        subject=frozenset(filter(None, subject)),
        named=frozenset(filter(None, subject)) - {stem for place, stem in enumerate(subject) if place not in answers},
        numbers=frozenset(numbers.values()),
        negates=negates,
        limits=not vocabulary.LIMITING.isdisjoint(words),
        chosen=frozenset(chosen),
        rejected=frozenset([one for found in answers.values() for one in found if one not in chosen]),
        scopes=frozenset([one for word in words[:first] for one in _SCOPES.get(word, ())]),
        slots=slots,
        names=_read_names(words, originals, subject),
    )


def _phrases(words: Sequence[str]) -> list[tuple[str, str]]:
    """Return each word, with the phrase of it and the next word."""
    return [(word, f"{word}_{after}") for word, after in zip(words, [*words[1:], ""], strict=True)]


@lru_cache(maxsize=4096)
def _stem(word: str) -> str:
    """Return the stem of a word; an empty text if the word says nothing about the subject."""
    if word in vocabulary.STOP_WORDS | vocabulary.NO or word.endswith(_NOT) or _unit_of(word):
        return ""
    stem = _english().stem_of(word)
    return _same().get(stem, stem)


def _read_numbers(words: Sequence[str], originals: Sequence[str]) -> dict[int, Number]:
    """Return numbers and days by their places; a count has the counted thing in its measure."""
    found: dict[int, Number] = {}
    for place, (word, after) in enumerate(zip(words, [*words[1:], ""], strict=True)):
        number = word if word[:1].isdigit() else _NUMBER_WORDS.get(word)
        day = word.removesuffix("s")
        if day in _DAYS and originals[place] != "may":
            found[place] = (day, "", "day")
        elif number is not None and (number == word or _stem(after) or _unit_of(after)):  # "step two" counts nothing
            unit = _unit_of(after)
            measure = _UNITS.get(unit) or ("clock" if _CLOCK.match(word) else f"count {_stem(after)}")
            found[place] = (*_amount(number, unit), measure)
    return found


def _read_answers(words: Sequence[str], originals: Sequence[str]) -> dict[int, list[tuple[str, str]]]:
    """Return the answers named in a sentence, by the places of their words."""
    found: dict[int, list[tuple[str, str]]] = {}
    for place, (word, phrase) in enumerate(_phrases(words)):
        if place in found:
            continue
        if phrase in _ANSWERS:
            found[place] = found[place + 1] = _ANSWERS[phrase]
        elif word in _ANSWERS or (place and originals[place] in _ANSWERS):  # "Go" is no answer as the first word
            found[place] = _ANSWERS.get(word) or _ANSWERS[originals[place]]
    return found


def _read_slots(words: Sequence[str], subject: Sequence[str]) -> tuple[int, Sequence[Stems]]:
    """Return the place of the first opening word, and the slots; none before a participle, as in "is kept"."""
    slots: list[tuple[str, set[str]]] = []
    first, is_open = len(words), False
    for place, (word, stem) in enumerate(zip(words, subject, strict=True)):
        if word in vocabulary.CLOSING:
            is_open = False
        elif word in vocabulary.OPENING and (place or word == "use"):
            first, is_open = min(first, place), True
            slots.append((word, set()))
        elif is_open and stem and not (slots[-1][0] in _COPULA and word.endswith("ed")):
            slots[-1][1].add(stem)
    last = len(slots) - 1
    kept = [stems for at, (word, stems) in enumerate(slots) if stems and (at == last or word not in _COPULA)]
    return first, [frozenset(stems) for stems in kept[-_MOST_SLOTS:]]


def _read_names(words: Sequence[str], originals: Sequence[str], subject: Sequence[str]) -> Sequence[Stems]:
    """Return the stems of names; none if most words are capitalized, as in a heading.

    The first word is a name before a verb: "Ann reviews", but not "Errors are".
    """
    after = words[1] if len(words) > 1 else ""
    is_first = after.endswith("s") and after not in vocabulary.STOP_WORDS and not words[0].endswith("s")
    found = {
        stem
        for place, (original, stem) in enumerate(zip(originals, subject, strict=True))
        if stem and original[0].isupper() and not original.isupper() and (place or is_first)
    }
    return [] if 2 * len(found) > len({*subject} - {""}) else [frozenset({stem}) for stem in found]


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
