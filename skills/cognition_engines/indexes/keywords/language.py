"""Words of a language: how a text is taken apart into them, which of a query say nothing, and the names of months."""

from collections.abc import Mapping
from datetime import date
from typing import Final

import tantivy

from cognition_engines.relevance import Language, Relevance

NAMES: Final[Mapping[Language, str]] = {  # as tantivy has them
    "en": "english",
    "de": "german",
    "fr": "french",
    "es": "spanish",
    "it": "italian",
    "pt": "portuguese",
    "nl": "dutch",
}
MONTHS: Final[Mapping[Language, str]] = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
}
# Question words, auxiliaries, pronouns, prepositions and what is left of contractions: those of the list of the English
# Snowball stemmer. tantivy's own list for English has 33 words, its lists of other languages are Snowball's.
ENGLISH_STOP_WORDS: Final = """
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its
itself they them their theirs themselves what which who whom whose this that these those am is are was were be been
being have has had having do does did doing would should could ought can will shall might must a an the and but if or
because as until while of at by for with about against between into through during before after above below to from up
down in out on off over under again further then once here there when where why how all any both each few more most
other some such no nor not only own same so than too very s t d ll m re ve don didn doesn isn aren wasn weren hasn
haven hadn won wouldn shouldn couldn mustn let cannot
"""


def make_analyzer(language: Language = "en") -> tantivy.TextAnalyzer:
    """What takes the texts apart."""
    # No stop words: they are left out of queries, where that costs no rebuild.
    return _builder(language, ()).build()


class QueryAnalyzer:
    """What takes queries apart: as texts, without stop words unless there are no others."""

    def __init__(self, relevance: Relevance) -> None:
        self._all = make_analyzer(relevance.language)
        self._telling = self._all
        if relevance.stop_words:
            english = relevance.language == "en"
            stop = (
                tantivy.Filter.custom_stopword(ENGLISH_STOP_WORDS.split()) if english else _listed(relevance.language)
            )
            self._telling = _builder(relevance.language, (stop,)).build()

    def analyze(self, query: str) -> list[str]:
        """The words of the query, as often as it has them."""
        return self._telling.analyze(query) or self._all.analyze(query)

    def is_content(self, word: str) -> bool:
        """Whether a word is no stop word."""
        return bool(self._telling.analyze(word))


def in_words(day: date, language: Language) -> str:
    """A date as it is spoken: `8 May 2023`."""
    return f"{day.day} {MONTHS[language].split()[day.month - 1]} {day.year}"


def _listed(language: Language) -> tantivy.Filter:
    return tantivy.Filter.stopword(NAMES[language])


def _builder(language: Language, left_out: tuple[tantivy.Filter, ...]) -> tantivy.TextAnalyzerBuilder:
    builder = (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(255))
        .filter(tantivy.Filter.lowercase())
    )
    for each in left_out:
        builder = builder.filter(each)
    return builder.filter(tantivy.Filter.ascii_fold()).filter(tantivy.Filter.stemmer(NAMES[language]))
