"""Words in a language: splitting texts and queries, stop words, and month names."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from itertools import chain, filterfalse
from typing import Final

import tantivy

from cognition_engines.indexes.keywords.words import (
    Words,
    compose_words,
    cut_endings,
    cut_plural,
    find_id_terms,
    find_tokens,
    is_identifier,
    split_chunk,
    split_text,
    split_token,
    with_german,
)
from cognition_engines.relevance import Language, Relevance
from cognition_engines.unicode_forms import remove_accents

ID_TIMES: Final = 8  # weight of a record's id in a query, relative to all its words
PART: Final = 0.5  # weight of a word's part in a text
EXTRA: Final = 0.1  # weight of word parts in a query, and of names in a long query
_PASTED: Final = 3  # words in a query that may be a pasted name
_MOST_KNOWN: Final = 1 << 15  # words or chunks in a cache
_LONGEST_KNOWN: Final = 40  # characters of a chunk in it

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
# Question words, auxiliaries, pronouns, prepositions and contraction remains: the English Snowball stemmer's list.
# tantivy's own list for English has 33 words, its lists for other languages are Snowball's.
ENGLISH_STOP_WORDS: Final = """
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its
itself they them their theirs themselves what which who whom whose this that these those am is are was were be been
being have has had having do does did doing would should could ought can will shall might must a an the and but if or
because as until while of at by for with about against between into through during before after above below to from up
down in out on off over under again further then once here there when where why how all any both each few more most
other some such no nor not only own same so than too very s t d ll m re ve don didn doesn isn aren wasn weren hasn
haven hadn won wouldn shouldn couldn mustn let cannot
"""


class Analyzer:
    """A text splitter. Thread-safe: a full cache is replaced, since another thread may read it."""

    def __init__(self, language: Language) -> None:
        self._german = language == "en"  # the default: texts may be in any language
        one_by_one = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
        stemmer = tantivy.Filter.stemmer(NAMES[language])
        self._stemmer = one_by_one.filter(tantivy.Filter.ascii_fold()).filter(stemmer).build()
        self._known: dict[str, str | Words] = {}  # by chunk: most of a text has been seen before

    def analyze(self, text: str) -> list[str]:
        """Return a text's words, each once, including names and word parts."""
        chunks = dict.fromkeys(split_text(text))
        known = self._learn(chunks)
        found: set[str] = set()
        for words in map(known.__getitem__, chunks):
            if isinstance(words, str):
                found.add(words)
            else:
                found.update(*words)
        return [*found]

    def count(self, text: str, weight: float, plain: dict[str, float], others: dict[str, float]) -> None:
        """Add counts times `weight`: of a text's plain words to `plain`, of names and word parts to `others`."""
        chunks = Counter(split_text(text))
        known = self._learn(chunks)
        for words, times in zip(map(known.__getitem__, chunks), chunks.values(), strict=True):
            counted = weight * times
            if isinstance(words, str):
                plain[words] = plain.get(words, 0.0) + counted
                continue
            for word in words.plain:
                plain[word] = plain.get(word, 0.0) + counted
            for word in words.names:
                others[word] = others.get(word, 0.0) + counted
            for word in words.parts:
                others[word] = others.get(word, 0.0) + counted * PART

    def stems_of(self, words: Iterable[str]) -> list[str]:
        """Return the stems of lowercase words, without empty stems."""
        return [*filter(None, map(self.stem_of, words))]

    def stem_of(self, word: str) -> str:
        """Return a lowercase word's stem; an empty text if no letter or digit is left."""
        stem = "".join(self._stemmer.analyze(word if word.isascii() else remove_accents(word) or word))
        return cut_plural(stem) if self._german and stem.endswith("n") else stem

    def names_of(self, words: Words) -> list[str]:
        """Return the stems of names among the words, and of German words without their endings."""
        return self.stems_of([*words.names, *(cut_endings(words.plain) if self._german else ())])

    def _learn(self, chunks: Collection[str]) -> Mapping[str, str | Words]:
        """Return each chunk's words, and perhaps other chunks' words."""
        known = self._known
        missing = [chunk for chunk in chunks if chunk not in known]
        if not missing:
            return known
        new = self._split(missing)
        if len(known) + len(new) > _MOST_KNOWN:
            self._known = known = {chunk: words for chunk in chunks if (words := known.get(chunk)) is not None}
        known.update({chunk: words for chunk, words in new.items() if len(chunk) <= _LONGEST_KNOWN})
        return known if max(map(len, new)) <= _LONGEST_KNOWN else {**known, **new}

    def _split(self, chunks: Iterable[str]) -> dict[str, str | Words]:
        """Return each chunk's words as in the index."""
        split = {chunk: split_chunk(chunk) for chunk in chunks}
        flat: dict[str, None] = {}
        for chunk, words in split.items():
            if isinstance(words, str):
                flat[words] = None
                continue
            if self._german and not chunk.isascii():
                split[chunk] = words = with_german(words)
            flat.update(dict.fromkeys(chain(*words)))
        stem = {word: self.stem_of(word) for word in flat}.__getitem__
        return {
            chunk: stem(words) or Words(()) if isinstance(words, str) else _stem_words(words, stem)
            for chunk, words in split.items()
        }


def _stem_words(words: Words, stem: Callable[[str], str]) -> Words:
    """Stem words, without empty stems; names and parts that are also plain words are left out."""
    plain = tuple(filter(None, map(stem, words.plain)))
    known = frozenset((*plain, ""))
    names = dict.fromkeys(map(stem, words.names))
    parts = filterfalse(known.__contains__, map(stem, words.parts))
    return Words(plain, tuple(filterfalse(known.__contains__, names)), tuple(parts))


def make_analyzer(language: Language = "en") -> Analyzer:
    """Make the text analyzer."""
    # No stop words: they are left out of queries, which costs no rebuild.
    return Analyzer(language)


class QueryAnalyzer:
    """A query splitter: as for texts, without stop words unless there are no others."""

    def __init__(self, relevance: Relevance) -> None:
        self._all = make_analyzer(relevance.language)
        self._stop: tantivy.TextAnalyzer | None = None
        if relevance.stop_words:
            english = relevance.language == "en"
            stop = (
                tantivy.Filter.custom_stopword(ENGLISH_STOP_WORDS.split())
                if english
                else tantivy.Filter.stopword(NAMES[relevance.language])
            )
            self._stop = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(stop).build()

    def analyze(self, query: str) -> list[str]:
        """Return the query's words, each once, and the names."""
        plain, others = self.weigh(query)
        return [*plain, *others]

    def weigh(self, query: str) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """Return the weight of each plain word in the query, and the weights of names, parts and ids."""
        split = [(token, split_token(token)) for token in find_tokens(compose_words(query))]
        # parts of a long symbol do not outweigh it
        plain = [word for _, words in split for word in [*words.plain] * (1 + max(0, len(words.parts) - 1) // 2)]
        others: dict[str, float] = {}
        pasted = len(split) <= _PASTED
        for token, words in split:
            weight = 1.0 + len(words.plain) * is_identifier(token) if pasted else EXTRA
            for name in self._all.names_of(words):
                others[name] = others.get(name, 0.0) + weight
        if parts := [word for _, words in split for word in words.parts]:
            for part in self._all.stems_of(self._telling_words(parts)):
                others[part] = others.get(part, 0.0) + EXTRA
        counted = Counter(self._all.stems_of(self._telling_words(plain) or plain))
        others |= dict.fromkeys(find_id_terms(query), ID_TIMES * (1.0 + len(plain)))
        return counted, {word: weight for word, weight in others.items() if word not in counted}

    def terms_of(self, item: str) -> list[str]:
        """Return the terms of any text that contains `item`: all words, including stop words, and names."""
        split = [split_token(token) for token in find_tokens(compose_words(item))]
        plain = [word for words in split for word in words.plain]
        names = [name for words in split for name in self._all.names_of(words)]
        return [*dict.fromkeys([*self._all.stems_of(plain), *names])]

    def content_words(self, words: Sequence[str]) -> list[bool]:
        """Return for each word whether it is no stop word."""
        parts = [
            [part for token in find_tokens(compose_words(word)) for part in split_token(token).plain] for word in words
        ]
        telling = frozenset(self._telling_words([part for each in parts for part in each]))
        return [not telling.isdisjoint(each) for each in parts]

    def _telling_words(self, words: Sequence[str]) -> list[str]:
        return [*words] if self._stop is None else self._stop.analyze(" ".join(words))


def in_words(day: date, language: Language) -> str:
    """Return a date in words: `8 May 2023`."""
    return f"{day.day} {MONTHS[language].split()[day.month - 1]} {day.year}"
