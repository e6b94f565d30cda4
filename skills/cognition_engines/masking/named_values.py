"""Values recognized as secrets only by a preceding name: `password: x`, `API_KEY=x`, `the token is x`, a seed phrase.

A single expression finds the names, which are literals; the rest is matched in place, so time grows only with the text.
"""

import re
from collections.abc import Iterator
from typing import Final

from cognition_engines.masking.policy import MARK, TextSecret
from cognition_engines.masking.value_shapes import LONGEST, WORDS, Form, Name, is_secret

_WORDS: Final = re.compile(
    "pass(?:word|wd|phrase|wort|code)?|pwd|psw|bindpw|pw|pin|kennwort|contrase[nñ]a|mot de passe"
    "|senha|wachtwoord|lösenord|парол[ьяею]|密码|密碼|口令|パスワード|비밀번호"
    "|secret|token|credential|key"
)
_MACHINE: Final = frozenset({"secret", "token", "credential", "key"})
# words that are names alone or after a separator, as in `_pass`, not within another word
_SHORT: Final = frozenset({"pass", "pwd", "psw", "pw", "pin"})
_BEFORE_KEY: Final = re.compile(
    r"(?:api|access|account|auth|private|encryption|signing|master|shared|session|license|storage|webhook|deploy"
    r"|service|user|app|bot|ssh|client|secret)[\s_-]?$"
)
# a word before the name that gives it another meaning
_OTHER: Final = re.compile(
    r"(?:public|pub|primary|foreign|partition|sort|cache|page|continuation|pagination|sync|cursor|idempotency"
    r"|max|min|num|total|prompt|completion|pad|special)[\s_-]?(?:api|access|auth)?[\s_-]?$"
)
_SUFFIX: Final = re.compile(r"s?(?:[_-][\w-]{0,24}|(?-i:[A-Z0-9])\w{0,24})?(?!\w)")
_OTHER_SUFFIX: Final = re.compile(
    r"(?:id|ids|name|names|type|types|count|counts|path|file|dir|folder|url|uri|ref|version|hash|ttl|lifetime|expiry"
    r"|expires|expiration|length|size|limit|budget|seconds|minutes|hours|days|endpoint|provider|store|manager|scope"
    r"|prefix|header|class|field|arn|at|in|rotation|reset|policy|pair|usage|bucket|timeout)s?$"
)
_CLOSING: Final = r"[\\]?['\"`*_\])]{0,4}"
_OF: Final = r"(?:[ \t](?:for|of|on|für|fuer|zu[mr]?|para|de|del|pour|от|для)[ \t][^\n:='\"|]{1,32}?)?"
_ASSIGNS: Final = r"(?:=>|:=|={1,2}|:|：|＝)"
_ARROWS: Final = r"(?:-{1,2}>|[→⇒⟶⟹➔➜])"
_LINK: Final = re.compile(
    rf"{_CLOSING}(?:"
    rf"(?P<typed>[ \t]{{0,4}}:[ \t]{{0,4}}[a-z_.]{{1,24}}[ \t]{{0,4}}=(?!=)[ \t]{{0,4}})"
    rf"|(?P<assigned>{_OF}[ \t]{{0,4}}{_ASSIGNS}[*_]{{0,2}}[ \t]{{0,4}})"
    rf"|(?P<arrow>[ \t]{{0,4}}{_ARROWS}[*_]{{0,2}}[ \t]{{0,4}})"
    r"|(?P<cell>[ \t]{0,16}\|[ \t]{0,16})"
    r"|(?P<element>>)"
    r"|(?P<attribute>[ \t]{1,4}value=(?=['\"])|[ \t]{0,4}\{[^{}\"']{0,200}\bdefault[ \t]{0,4}=\s{0,4}(?=['\"])"
    r"|\n[ \t]{0,32}value:[ \t]{0,4})"
    r"|(?P<argument>,[ \t]{0,4}(?=['\"])|\((?=['\"]))"
    rf"|(?P<is>{_OF}[ \t](?:is|was|ist|war|lautet|heißt|est|es|era|è|é|är)(?:[ \t](?:now|jetzt|still))?:?[ \t]{{1,2}})"
    r"|(?P<blank>[ \t]{1,2}))"
)
# look-up of a variable with a literal default, between an assignment and the literal
_LOOK_UP: Final = re.compile(
    r"(?:process\.env\.\w{1,40}|(?:os\.)?(?:getenv|environ\.get|env)\(['\"]\w{1,40}['\"])\s{0,2}(?:,|\|\||\?\?)\s{0,2}"
)
_QUOTED: Final = re.compile(r"(?P<quote>['\"`])(?P<value>(?:(?!(?P=quote)|[\\\n]).|[\\].)*+)(?P<end>(?P=quote))?")
_ESCAPED: Final = re.compile(r"\\{1,3}(?P<quote>['\"`])(?P<value>[^'\"`\\\n]*+)(?P<end>\\{1,3}(?P=quote))?")
_PLAIN: Final = re.compile(r"(?:[^\s'\"`<>;|\\&()\[\]{},，。；、]|,(?!\s|[\w.-]{1,32}[=:]|['\"`]))++")
_BRACKETS: Final = re.compile(r"\[masked:(?P<inside>[^\]\n]{0,80})\]")
_CELL_END: Final = re.compile(r"[`*]{0,2}[ \t]{0,16}\|")
_NUMBERED: Final = re.compile(r"s?[_-]?[0-9]{0,2}(?![^\W_])")
_QUOTES: Final = ("'", '"', "`")
_LOOK_UPS: Final = ("p", "o", "g", "e")  # begin a look-up
_SHORTEST: Final = 4
_MOST: Final = 32  # values in a run without breaks, so that time grows only with the text


_LINE: Final = re.compile(r"[ \t]*(?:- )?[a-z_.-]*")
_BLANK: Final = re.compile(r"[ \t]{1,2}")
_TRAILING: Final = ".,:?*"
_REST: Final = re.compile(r"[()\[\]{}][^\s'\"`<>;|\\&,]*")
_PASSWORD: Final = "password"
_SECRET: Final = "secret"
_PHRASE_NAME: Final = re.compile(
    r"(?P<seed>(?:seed|recovery|backup|wallet|mnemonic)[ _-]?phrase|seed[ _-]?words?|mnemonic)|pass[ _-]?phrase",
    re.IGNORECASE,
)
_HINTS: Final = ("phrase", "mnemonic", "seed")
_PHRASE_LINK: Final = re.compile(
    r"""
    \\?['"`*_\])]{0,4} (?: [ \t](?:for|of|für|zu[mr]?)[ \t] [^\n:='"|]{1,32}? )? [ \t]{0,4}
    (?: (?: :=|=>|->|==?|[:：→] ) [*_]{0,2} | (?P<said> [ \t](?:is|was|ist|war|lautet) ):? )
    \s{0,4} \[? \s{0,4} (?P<quote> \\?['"`] )? (?: [0-9]{1,2}[.)][ \t] )?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_BETWEEN_SEEDS: Final = r"[\s,;\"'`]{1,6}(?:[0-9]{1,2}[.):]?\s{1,2})?"
_SEEDS: Final = re.compile(rf"[A-Za-z]{{3,8}}(?:{_BETWEEN_SEEDS}[A-Za-z]{{3,8}}(?![\w-])){{11,23}}")
_SEED: Final = re.compile(r"[A-Za-z]{3,8}")
_LENGTHS: Final = (24, 21, 18, 15, 12)  # of recovery phrases, in words
_PASSPHRASE: Final = re.compile(
    r"[A-Za-z]{2,12}(?:[ _.-][A-Za-z]{2,12}){3,9}(?=[\\]?['\"`]|[.,;]?[ \t]*(?:\r?\n|\Z)|\x01)"
)
_PARTS: Final = re.compile(r"[ _.-]")
_PROSE_WORDS: Final = frozenset(
    re.findall(
        r"\S+",
        """
    the and for are not was but has had have its our his her they them their from your yours were been being does did
    should would could shall might may which whose who whom than then these those here there where because
    is it in of on to at as by be or if an we he me my no so us do a i
    phrase phrases word words wallet seed mnemonic sentence several random long short strong choose chosen use used
    enter type please new old four five six seven eight twelve different common easy hard remember write written keep
    kept safe protects unlock unlocks
    der die das und oder ist sind ein eine mit von für auf dem den zu im am aus bei nach wird werden kann muss
        """,
    )
)
_SEED_PHRASE: Final = "wallet-seed"  # no name of such a phrase


class _Reader:
    """A text with small letters, and the last run of characters, shared by nested names."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.low = text.replace("İ", "I").lower()  # of equal length
        self.has_marks = "[masked:" in self.low
        self._run = (0, 0)
        self._values = 0

    def end_of_run(self, start: int) -> int:
        """Return the end of the run from a position that can be a value without quotes."""
        if not self._run[0] <= start < self._run[1]:
            run = _PLAIN.match(self.text, start)
            self._run = (start, start if run is None else run.end())
            self._values = 0
        self._values += 1
        return self._run[1] if self._values <= _MOST else start


def find_named_values(text: str) -> Iterator[TextSecret]:
    """Yield the positions of values named as secrets, then those of phrases made of words."""
    reader = _Reader(text)
    done = 0
    for word in _WORDS.finditer(reader.low):
        if word.start() < done or (named := _find_name(reader, word.start(), word.end())) is None:
            continue
        for start, end in _secrets_of(reader, word.start(), *named):
            done = max(done, end)
            yield TextSecret(start, end, kind_of(named[0]))
    yield from _find_word_phrases(reader)


def name_of(key: str) -> Name | None:
    """Return the kind of a JSON key for a secret; None for any other key."""
    reader = _Reader(key)
    for word in _WORDS.finditer(reader.low):
        named = _find_name(reader, word.start(), word.end())
        if named is not None and named[1] == len(key):
            return named[0]
    return None


def kind_of(name: Name) -> str:
    """Return a secret's kind in masks and reports."""
    return _PASSWORD if name in (Name.PASSWORD, Name.PASS, Name.PIN) else _SECRET


def _find_name(reader: _Reader, start: int, end: int) -> tuple[Name, int] | None:
    """Return the kind and the end of the name around a word; None if it names no secret."""
    low = reader.low
    word, before = low[start:end], low[max(0, start - 32) : start]
    if reader.has_marks and _is_in_mark(low, start):
        return None
    if word in _SHORT:
        if before[-1:].isalpha() or low[end : end + 1].isalnum():
            return None
        alone = word == "pass" and before[-1:] not in ("_", "-")
        return Name.PIN if word == "pin" else Name.PASS if alone else Name.PASSWORD, end
    if word not in _MACHINE:
        if before.endswith("/"):
            return None  # a path such as /etc/passwd
        number = _NUMBERED.match(low, end)
        return None if number is None else (Name.PASSWORD, number.end())
    suffix = _SUFFIX.match(reader.text, end)
    if suffix is None or _OTHER.search(before) or _OTHER_SUFFIX.search(suffix[0].lower()):
        return None
    if word != "key":
        return (Name.SECRET if word == "secret" else Name.TOKEN), suffix.end()
    kind = _BEFORE_KEY.search(before)
    if kind is None:
        return Name.KEY, suffix.end()
    return (Name.API_KEY if kind[0].startswith(("api", "secret")) else Name.TOKEN), suffix.end()


def _is_in_mark(low: str, start: int) -> bool:
    """Return whether a position is within a mask."""
    opening = low.rfind("[masked:", max(0, start - 80), start)
    mark = None if opening < 0 else MARK.match(low, opening)
    return mark is not None and mark.end() > start


def _secrets_of(reader: _Reader, begin: int, name: Name, end: int) -> Iterator[tuple[int, int]]:
    """Yield the secrets after a name: the value, and further values after it."""
    link = _LINK.match(reader.low, end)
    if link is None:
        return
    text, start, form = reader.text, link.end(), _form(link, reader.text)
    if text[start : start + 1] in _LOOK_UPS and (look_up := _LOOK_UP.match(text, start)):
        start, form = look_up.end(), Form.ASSIGNED
    while True:
        brackets = _BRACKETS.match(text, start) if text[start : start + 1] == "[" else None
        if brackets is not None:
            inside, following = brackets.span("inside"), brackets.end()
            is_mark = MARK.match(text, start) is not None
            if not is_mark and is_secret(text[slice(*inside)].strip(), name, form):
                yield inside
        else:
            span = _find_value(reader, start, name, form, begin)
            if span is None:
                return
            yield span[:2]
            following, is_mark = span[1], True
            if span[2]:
                return
        blank = _BLANK.match(text, following)
        start = following if blank is None else blank.end()
        if blank is not None and is_mark:
            form = Form.NEXT
        if start >= len(text):
            return


def _form(link: re.Match[str], text: str) -> Form:
    """Return the form of a link between a name and a value."""
    if link["blank"]:
        return Form.NEXT
    if link["is"]:
        return Form.SAID
    if link["cell"] or link["argument"]:
        return Form.CELL
    if text[link.end() : link.end() + 1] in _QUOTES:
        return Form.QUOTED
    if link["arrow"]:
        return Form.ARROW
    return Form.TIGHT if link[0].endswith(("=", ">")) else Form.ASSIGNED


def _quoted(text: str, start: int) -> re.Match[str] | None:
    """Return the value between quotes at a position, or the text after an opening quote."""
    first = text[start : start + 1]
    return _QUOTED.match(text, start) if first in _QUOTES else _ESCAPED.match(text, start) if first == "\\" else None


def _is_line(text: str, begin: int, start: int, end: int) -> bool:
    """Return whether a name and an alphabetic value fill a line, as in a settings file."""
    if text[end : end + 1] not in ("", "\n", "\r") or not text[start:end].isalpha() or not text[begin].islower():
        return False
    low = max(0, begin - 48)
    newline = text.rfind("\n", low, begin)
    return (newline >= 0 or low == 0) and _LINE.fullmatch(text, newline + 1, begin) is not None


def _find_value(reader: _Reader, start: int, name: Name, form: Form, begin: int) -> tuple[int, int, bool] | None:
    """Return a secret value's position, and whether it ends with a quote; None if the value is no secret."""
    text = reader.text
    quoted = _quoted(text, start)
    if quoted is not None and quoted["end"]:
        start, end = quoted.span("value")
        return (start, end, True) if is_secret(text[start : min(end, start + LONGEST)], name, form) else None
    if quoted is not None:
        start = quoted.start("value")
    end = reader.end_of_run(start)
    if end > start and text[end : end + 1] in ("(", "["):
        return None  # a call or an element
    while end > start and text[end - 1] in _TRAILING:
        end -= 1
    if form is Form.ASSIGNED and _is_line(text, begin, start, end):
        form = Form.LINE
    if end - start < _SHORTEST:
        return None
    if form is Form.CELL and not _CELL_END.match(text, end):
        return None
    if not is_secret(text[start : min(end, start + LONGEST)], name, form):
        return None
    rest = _REST.match(text, end)
    if rest is not None:
        end += len(rest[0].rstrip(")]}.,:;"))
    return start, end, False


def _find_word_phrases(reader: _Reader) -> Iterator[TextSecret]:
    """Yield recovery phrases and passphrases that follow a name.

    Prose after the same names stays unchanged: no word list for phrases contains "the" or "must".
    """
    text, done = reader.text, 0
    if not any(hint in reader.low for hint in _HINTS):
        return
    for name in _PHRASE_NAME.finditer(text):
        if name.start() < done or (link := _PHRASE_LINK.match(text, name.end())) is None:
            continue
        if name["seed"]:
            end, kind = _end_of_seeds(text, link.end()), _SEED_PHRASE
        else:
            end, kind = None if link["said"] and not link["quote"] else _end_of_passphrase(text, link.end()), _PASSWORD
        if end is not None:
            done = end
            yield TextSecret(link.end(), end, kind)


def _end_of_seeds(text: str, start: int) -> int | None:
    """Return the end of the longest recovery phrase at a position."""
    run = _SEEDS.match(text, start)
    if run is None:
        return None
    ends: list[int] = []
    for word in _SEED.finditer(text, start, run.end()):
        if word[0].lower() in _PROSE_WORDS:
            break
        ends.append(word.end())
    length = next((one for one in _LENGTHS if one <= len(ends)), None)
    return None if length is None else ends[length - 1]


def _end_of_passphrase(text: str, start: int) -> int | None:
    """Return the end of a passphrase made of words that fills a line or a quotation."""
    run = _PASSPHRASE.match(text, start)
    if run is None or any(part in _PROSE_WORDS or part in WORDS for part in _PARTS.split(run[0].lower())):
        return None
    return run.end()
