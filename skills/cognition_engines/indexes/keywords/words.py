"""Words in any script: plain functions, the same for texts and queries.

A word is a run of letters and digits. Scripts without blanks between words become pairs of characters. A contiguous
piece such as `QD-4711`, `2.14.3`, `tides/reader.py` or `getTideTable` is a name: a word in addition to the parts.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple
from unicodedata import category

from cognition_engines.unicode_forms import JOINER, compose_text, fold_text, is_accent

LONGEST: Final = 254  # characters of a word; a longer run is no word
LONGEST_NAME: Final = 100  # characters
_MOST_MARKS: Final = 8  # of a character
# Vowels and other marks in scripts whose words would end at them; Python counts only letters and digits as \w.
_MARKS: Final = (
    "\u07a6-\u07b0\u0900-\u0963\u0966-\u0dff\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ece\u0f35-\u0f39\u0f71-\u0f84"
    "\u0f8d-\u0fbc\u102b-\u103e\u1056-\u1059\u105e-\u109d\u17b4-\u17d3\u1a55-\u1a7f\u1b00-\u1b04\u1b34-\u1b44\u3099\u309a"
    "\ua980-\ua983\ua9b3-\ua9c0\uaa7b-\uaa7d\uaab0-\uaac1"
)
_HANGUL: Final = "\u1100-\u11ff\uac00-\ud7ff"
# Thai, Lao, Myanmar, Khmer, Tai, Balinese, Javanese, kana, bopomofo, Chinese characters, Hangul
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u1b00-\u1b7f\ua980-\ua9ff\uaa60-\uaadf"
    "\u3005-\u3007\u3041-\u30fa\u30fc-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    f"\U00020000-\U0003ffff{_HANGUL}"
)
_SYMBOLS: Final = "\u2600-\u27bf\U0001f000-\U0001faff"  # pictures, each a word
_JOINERS: Final = r"-./:@\\'’‐"
_LETTERS: Final = rf"[\w{_MARKS}]+"
_TOKEN: Final = re.compile(
    rf"{_LETTERS}(?:(?:::|[{_JOINERS}]|(?<=\d),(?=\d)){_LETTERS})*(?:\+\+|\#(?!\w))?|[{_SYMBOLS}]"
)
_ASCII_TOKEN: Final = re.compile(r"\w+(?:(?:::|[-./:@\\']|(?<=\d),(?=\d))\w+)*(?:\+\+|\#(?!\w))?", re.ASCII)
_PART: Final = re.compile(rf"[\w{_MARKS}{_SYMBOLS}]+")
_ASCII_WORD: Final = re.compile("[A-Za-z0-9]+")
_RUN: Final = re.compile(f"([{_UNSPACED}]+)")
_UNSPACED_RUN: Final = re.compile(f"[{_UNSPACED}]+")
_TYPOGRAPHIC: Final = (("’", "'"), ("‘", " "), ("“", " "), ("”", " "), ("–", " "), ("—", " "), ("…", " "), ("•", " "))
_DECIMAL: Final = re.compile(r"\d+\.\d+", re.ASCII)
# Blanks for characters that are neither in words nor in names.
_BLANKED: Final = bytes(
    code if code > 127 or chr(code).isalnum() or chr(code) in "-./:@\\',_+#" else 32 for code in range(256)
)
_DIGIT: Final = re.compile(r"\d")
_NO_JOINERS: Final = dict.fromkeys(map(ord, "-./:@\\'’‐_"))
_AROUND: Final = ".,;:!?()[]{}<>\"'*`|=~%$&^-/_"
_IDENTIFYING: Final = re.compile(r"[\d_./:@\\+#]")
# `20th`, `10:30pm`, `24/7`, `20-year-old`, a year, a short number, and a day, which is read as a time
_EVERYDAY: Final = re.compile(
    r"\d+[a-z]{0,3}(?<!\d{5})|\d+(?:[:/]\d+)+[a-z]{0,2}|(?!0)\d+(?:-[a-z]+)+|\d{4}-\d\d(?:-\d\d)?",
    re.ASCII | re.IGNORECASE,
)
# a digit, a symbol's sign, a hump, two slashes, the ending of a file's or a host's name, or a code in capitals
_EXACT: Final = re.compile(r"^[A-Z]{4,}$|[\d_@\\+#]|::|[a-z][A-Z]|/.*[/.]|\w{2}\.\w{1,8}$")
_HANGUL_RUN: Final = re.compile(f"[{_HANGUL}]+")
_BETWEEN_LETTERS: Final = re.compile(rf"(?<!\d)[{_JOINERS}_]|[{_JOINERS}_](?!\d)")
_SECTION: Final = re.compile(r"[/:@\\]+")
_SECTIONED: Final = re.compile(r"[/:@\\'’+#]")
_NUMBER: Final = re.compile(r"(?<!\d)\d+(?:[-.,:/]\d+)+")
_GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)|\d{1,3}(?:\.\d{3}){2,}(?!\d)")
_HUMPS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\WA-Z\d_]+|\d+")
_UMLAUTS: Final = frozenset("äöüß")
_ENDINGS: Final = ("ern", "en", "em", "er", "es", "e", "n", "s")
_SHORTEST: Final = 3  # letters left of a word
_SHORTEST_PLURAL: Final = 7  # letters in a possible English word
_COMPOUND: Final = range(12, 60)  # letters in a possible compound
_FIRST: Final = range(5, 20)  # letters of the first part
_LAST: Final = range(4, 20)  # of the last


class Words(NamedTuple):
    """A text's words in lower case.

    `plain` are the words, `names` the contiguous pieces, `parts` the words within a word.
    """

    plain: Sequence[str]
    names: Sequence[str] = ()
    parts: Sequence[str] = ()


def compose_words(text: str) -> str:
    """Return `text` in NFKC, without invisible characters and separate accents."""
    if text.isascii():
        return text
    composed = compose_text(text)
    dropped = {
        ord(each): None
        for each in set(composed)
        if each > "\x7f"
        and (is_accent(each) or category(each) == "Cf" or each == JOINER or "\ufe00" <= each <= "\ufe0f")
    }
    return composed.translate(dropped) if dropped else composed


def find_tokens(composed: str) -> list[str]:
    """Return the pieces with words in a composed text, each in the original form."""
    return (_ASCII_TOKEN if composed.isascii() else _TOKEN).findall(composed)


def is_identifier(token: str) -> bool:
    """Return whether a piece is an identifier: an id, a version, a path or a symbol."""
    return _IDENTIFYING.search(token) is not None or len(_humps_of(token)) > 1


def is_phrase(word: str) -> bool:
    """Return whether a query word is as specific as a phrase, like an id, a path or a symbol."""
    return is_identifier(word) and not word.isdigit()


def is_exact(token: str) -> bool:
    """Return whether a piece is probably unambiguous: no ordinal, time, day, share or abbreviation."""
    if _EVERYDAY.fullmatch(token) is not None:
        return False
    return _EXACT.search(token) is not None


def split_token(token: str) -> Words:
    """Return the words in a piece of a composed text."""
    if not token.isascii() and _RUN.search(token):
        return _split_unspaced(token)
    words = _pieces_of(token)
    plain = [word.lower() for word in words if len(word) <= LONGEST]
    if len(token) > LONGEST_NAME:
        return Words(plain)
    mixed = words if _has_humps(token) else ()
    parts = [hump.lower() for word in mixed for hump in _humps_of(word) if len(hump) > 1]
    if len(words) == 1 and token[-1] not in "+#":
        return Words(plain, (), parts)
    whole = "".join(plain)
    return Words(plain, [whole] if whole.isalpha() and not _SECTIONED.search(token) else _names_in(token), parts)


def split_text(text: str) -> list[str]:
    """Return a text's chunks: each has whole words and names, and most recur, for a cache."""
    if not text.isascii():
        for written, read in _TYPOGRAPHIC:
            text = text.replace(written, read)
    # bytes are translated many times faster than characters
    bare = text.encode("utf-8", "surrogatepass").translate(_BLANKED).replace(b", ", b" ").replace(b". ", b" ")
    return bare.decode("utf-8", "surrogatepass").split()


def split_chunk(chunk: str) -> str | Words:
    """Return a chunk's words; a text if it is a single plain word.

    Also return each character in scripts without blanks: a query may be a single character.
    """
    if chunk.isascii():
        if chunk.isalpha() and chunk.islower() and len(chunk) <= LONGEST:  # most are
            return chunk
        bare = chunk.strip(_AROUND)
        if bare.isalnum() and len(bare) <= LONGEST and not _humps_of(bare):
            return bare.lower()
        return _join([split_token(token) for token in _ASCII_TOKEN.findall(bare)])
    tokens = find_tokens(compose_words(chunk))
    characters = [one for token in tokens for run in _UNSPACED_RUN.findall(token) for one in _characters(run)]
    return _join([*(split_token(token) for token in tokens), Words((), (), characters)])


def id_term(chunk: str) -> str | None:
    """Return the term of the record whose id a chunk may be; None if it can be no id, or is too long."""
    bare = fold_text(chunk).strip(_AROUND)  # a few characters become several words
    return f"={bare}" if bare and bare.isprintable() and " " not in bare and len(bare) <= LONGEST else None


def find_id_terms(query: str) -> list[str]:
    """Return the terms for possible ids in a query: each chunk that is no word and no number, or the only chunk."""
    chunks = query.split()
    alone = len(chunks) == 1
    ids = (id_term(each) for each in chunks if alone or not (bare := each.strip(_AROUND)).isalpha() | bare.isdigit())
    return [each for each in ids if each is not None]


def _join(split: Sequence[Words]) -> Words:
    if len(split) == 1:
        return split[0]
    return Words(
        [word for words in split for word in words.plain],
        [name for words in split for name in words.names],
        [part for words in split for part in words.parts],
    )


def _pieces_of(token: str) -> list[str]:
    if token.isalnum():
        return [token]
    return _ASCII_WORD.findall(token) if token.isascii() else _PART.findall(token.replace("_", " "))


def _split_unspaced(token: str) -> Words:
    """Return the words in a piece that is partly in scripts without blanks."""
    parts = _PART.findall(token.replace("_", " "))
    plain = [word for part in parts for word in _words_of_runs(part) if len(word) <= LONGEST]
    names = [run for run in _HANGUL_RUN.findall(token) if 1 < len(run) <= LONGEST_NAME]
    return Words(plain, names + (_names_in(token) if len(parts) > 1 and len(token) <= LONGEST_NAME else []))


def _names_in(token: str) -> list[str]:
    """Return a piece's name as a whole, and the names in it.

    `QD-4711` is `qd4711`; a character between digits stays, as in `2.14.3`.
    """
    if _DECIMAL.fullmatch(token):
        return [token]
    low = token.lower().removesuffix("'s").removesuffix("’s")  # the name in `O'Brien's` is `obrien`
    sections = [section for section in _SECTION.split(low) if not section.isalnum()] if _SECTION.search(low) else []
    if not _DIGIT.search(low):
        return [name for each in (low, *sections) if (name := each.translate(_NO_JOINERS))]
    names = [_BETWEEN_LETTERS.sub("", name) for name in (low, *sections)] + _NUMBER.findall(low)
    names += [number.replace(",", "").replace(".", "") for number in _GROUPED.findall(low)]
    return [name for name in dict.fromkeys(names) if name]


def _humps_of(word: str) -> list[str]:
    """Return the words within a word such as `getTideTable`; none if it is a single word, as `PDFs` is."""
    if not _has_humps(word) or word[:-1].isupper() or not word.isalnum():
        return []
    humps: list[str] = _HUMPS.findall(word)
    return humps if any(hump.isalpha() for hump in humps[1:]) else []


def _has_humps(token: str) -> bool:
    return (rest := token[1:]) != rest.lower()


def _words_of_runs(part: str) -> Iterator[str]:
    """Yield the words in a part that is partly in scripts without blanks, where pairs of characters are words."""
    for place, run in enumerate(_RUN.split(part)):
        if place % 2:
            characters = _characters(run)
            yield from map("".join, pairwise(characters)) if len(characters) > 1 else characters
        elif run:
            yield run.lower()


def _characters(run: str) -> list[str]:
    """Return a run's characters, each with the marks."""
    found: list[str] = []
    for one in run:
        if found and category(one)[0] == "M" and len(found[-1]) <= _MOST_MARKS:
            found[-1] += one
        else:
            found.append(one)
    return found


def cut_plural(stem: str) -> str:
    """Return a stem without a German plural ending."""
    if stem.endswith("eln"):  # which no English word does
        return stem[:-1]
    if len(stem) < _SHORTEST_PLURAL:
        return stem
    return stem[:-2] if stem.endswith("en") else stem[:-1] if stem.endswith("ern") else stem


def cut_endings(words: Sequence[str]) -> list[str]:
    """Return the words with an umlaut among these, which are in lower case, without their endings."""
    return [_without_ending(word) for word in words if _is_german(word)]


def with_german(words: Words) -> Words:
    """Return the words, with German ones also without their endings, and possible parts of compounds."""
    compounds = [word for word in words.plain if len(word) in _COMPOUND and _is_german(word)]
    parts = [part for word in compounds for part in _parts_of(word)]
    return Words(words.plain, [*words.names, *cut_endings(words.plain)], [*words.parts, *parts])


def _is_german(word: str) -> bool:
    return not word.isascii() and not _UMLAUTS.isdisjoint(word)


def _parts_of(compound: str) -> Iterator[str]:
    yield from (compound[:length] for length in _FIRST if length + _LAST[0] <= len(compound))
    for whole in dict.fromkeys((compound, _without_ending(compound))):
        yield from (whole[-length:] for length in _LAST if length + _FIRST[0] <= len(whole))


def _without_ending(word: str) -> str:
    ending = next((each for each in _ENDINGS if word.endswith(each)), "")
    return word.removesuffix(ending) if len(word) - len(ending) >= _SHORTEST else word
