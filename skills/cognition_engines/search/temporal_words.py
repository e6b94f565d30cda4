"""Words that name a time in a question, for each search language."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from cognition_engines.indexes.keywords.language import MONTHS
from cognition_engines.relevance import Language
from cognition_engines.unicode_forms import fold_letters

Words = frozenset[str]


@dataclass(frozen=True)
class TemporalWords:
    """A language's words, folded: without accents, in lower case.

    `within` stand before a time taken as named, `year_after` before a year by itself. `joins` may stand between a day,
    a month and a year. `clear` months mean nothing else; a `weak` word is a month with a year, or after a preposition
    if none of `verbs` follows. Months with three letters are also weak.
    """

    within: Words
    since: Words
    before: Words
    after: Words
    until: Words
    between: Words
    begin: Words  # of a span with a word from `end` before its last time
    conjunction: Words
    end: Words
    joins: Words
    yesterday: Words
    today: Words
    year_after: Words
    months: Mapping[str, int] = field(default_factory=dict)
    clear: Words = frozenset()
    weak: Words = frozenset()
    verbs: Words = frozenset()

    @cached_property
    def bounds(self) -> Words:
        return self.since | self.before | self.after | self.until

    @cached_property
    def beginnings(self) -> Words:
        """All words that may begin an expression of time."""
        relative = COUNTS.keys() | ROLLING | {"last", "previous", "this", "early", "mid", "late"}
        return self.leads | self.begin | self.yesterday | self.today | self.months.keys() | relative

    @cached_property
    def leads(self) -> Words:
        return self.bounds | self.within | self.between

    @cached_property
    def year_leads(self) -> Words:
        return self.bounds | self.year_after | self.between

    @cached_property
    def span_leads(self) -> Words:
        return self.between | self.begin | self.within


def _set(words: str) -> Words:
    return frozenset(words.split())


def _months(language: Language) -> dict[str, int]:
    return {fold_letters(name): number for number, name in enumerate(MONTHS[language].split(), 1)}


ENGLISH_SHORT: Final = {
    name: number
    for number, names in enumerate(
        ("jan", "feb", "mar", "apr", "", "jun", "jul", "aug", "sep sept", "oct", "nov", "dec"), 1
    )
    for name in names.split()
}
_MAY_DO: Final = "be not have also well never need cause break fail happen contain lead only still take return differ"

WORDS: Final[Mapping[Language, TemporalWords]] = {
    "en": TemporalWords(
        within=_set("in on during of for from throughout around early mid late last"),
        since=_set("since"),
        before=_set("before"),
        after=_set("after"),
        until=_set("until till by"),
        between=_set("between"),
        begin=_set("from"),
        conjunction=_set("and"),
        end=_set("to until till through"),
        joins=_set("of"),
        yesterday=_set("yesterday"),
        today=_set("today"),
        year_after=_set("in during throughout early mid late"),
        months=_months("en") | ENGLISH_SHORT,
        clear=_set("january february july september october november december"),
        weak=_set("may march") | ENGLISH_SHORT.keys(),
        verbs=_set(_MAY_DO),
    ),
    "de": TemporalWords(
        within=_set("im in am vom von wahrend anfang mitte ende"),
        since=_set("seit"),
        before=_set("vor"),
        after=_set("nach"),
        until=_set("bis"),
        between=_set("zwischen"),
        begin=_set("von vom"),
        conjunction=_set("und"),
        end=_set("bis"),
        joins=frozenset(),
        yesterday=_set("gestern"),
        today=_set("heute"),
        year_after=_set("anfang mitte ende"),
        months=_months("de"),
    ),
    "fr": TemporalWords(
        within=_set("en de le au du pendant durant debut fin mi"),
        since=_set("depuis"),
        before=_set("avant"),
        after=_set("apres"),
        until=_set("jusqu'en jusqu'au jusqu'a"),
        between=_set("entre"),
        begin=_set("de du"),
        conjunction=_set("et"),
        end=_set("a au"),
        joins=frozenset(),
        yesterday=_set("hier"),
        today=_set("aujourd'hui"),
        year_after=_set("en pendant durant debut fin"),
        months=_months("fr"),
        weak=_set("mars"),
    ),
    "es": TemporalWords(
        within=_set("en el de durante del"),
        since=_set("desde"),
        before=_set("antes"),
        after=_set("despues"),
        until=_set("hasta"),
        between=_set("entre"),
        begin=_set("de desde"),
        conjunction=_set("y"),
        end=_set("a hasta"),
        joins=_set("de del"),
        yesterday=_set("ayer"),
        today=_set("hoy"),
        year_after=_set("en durante"),
        months=_months("es"),
    ),
    "it": TemporalWords(
        within=_set("in a nel il di durante del"),
        since=_set("da dal"),
        before=_set("prima"),
        after=_set("dopo"),
        until=_set("fino"),
        between=_set("tra fra"),
        begin=_set("da dal"),
        conjunction=_set("e"),
        end=_set("a al"),
        joins=_set("del"),
        yesterday=_set("ieri"),
        today=_set("oggi"),
        year_after=_set("nel durante"),
        months=_months("it"),
    ),
    "pt": TemporalWords(
        within=_set("em no de durante do"),
        since=_set("desde"),
        before=_set("antes"),
        after=_set("depois apos"),
        until=_set("ate"),
        between=_set("entre"),
        begin=_set("de desde"),
        conjunction=_set("e"),
        end=_set("a ate"),
        joins=_set("de do"),
        yesterday=_set("ontem"),
        today=_set("hoje"),
        year_after=_set("em durante"),
        months=_months("pt"),
    ),
    "nl": TemporalWords(
        within=_set("in op van tijdens begin eind"),
        since=_set("sinds"),
        before=_set("voor"),
        after=_set("na"),
        until=_set("tot"),
        between=_set("tussen"),
        begin=_set("van"),
        conjunction=_set("en"),
        end=_set("tot"),
        joins=frozenset(),
        yesterday=_set("gisteren"),
        today=_set("vandaag"),
        year_after=_set("in tijdens begin eind"),
        months=_months("nl"),
    ),
}

# English alone: periods counted from the moment of the question
UNITS: Final = {f"{name}{ending}": name for name in ("day", "week", "month", "quarter", "year") for ending in ("", "s")}
_NUMBERS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
COUNTS: Final = {name: number for number, name in enumerate(_NUMBERS, 1)} | {"a": 1, "an": 1, "the": 1}
YEAR_NOUNS: Final = _set("year jahr jahre annee ano anno jaar")
ARTICLES: Final = _set("the le el il dem den de del al")
PARTICLES: Final = _set("log sign opt check plug logging signing checking plugging logged signed built")
NEGATIONS: Final = _set("not except excluding outside")
PARTS: Final = _set("start beginning middle end")
THIRDS: Final = {"early": 1, "mid": 2, "late": 3}  # of a year
HYPHENATED: Final = ("q", *(f"{name}-" for name in THIRDS))  # beginnings of a time in a single word
ROLLING: Final = _set("in over during within")
# words counted by a preceding number, which is then no year: `in 2000 ms`, `in 2048 rows`
COUNTED: Final = re.compile(
    r"(?!(?:was|is|has|does|this|us|its|as)\Z)(?:.*s|.*%|[kmg]b|px|bit|byte|row|dim|rpm|token|word|line|chunk|item|page"
    r"|of|or|and|x)\Z"
)
# words before two numbers of four digits, which are then no years: `ports 2000-2010`, `a limit from 2000 to 2010`
NUMBERED: Final = re.compile(
    r"(?:v|id|rfc|pr|issue|ticket|version|release|build|port|code|error|http|status|line|page|row|byte|offset|range|size"
    r"|limit|timeout|width|height|server|office|windows|studio)(?:e?s)?"
)
