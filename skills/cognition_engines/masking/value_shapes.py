"""Shapes of named values: passwords and keys on one side, paths, ids, code, and prose on the other."""

import re
from enum import Enum
from math import log2
from typing import Final

from cognition_engines.masking.policy import MARK

LONGEST: Final = 128  # leading characters of a value that decide


class Name(Enum):
    """Kinds of names: for values chosen by people, for values made by machines, and for both."""

    PASSWORD = "password"
    PASS = "pass"  # alone: also the outcome of a test, or a command
    PIN = "pin"
    SECRET = "secret"
    API_KEY = "api key"
    TOKEN = "token"
    KEY = "key"


class Form(Enum):
    """Ways to write a name with a value: `name="value"`, `NAME=value`, `name: value` and so on."""

    QUOTED = 1
    TIGHT = 2
    ASSIGNED = 3
    LINE = 4  # a line in a settings file
    CELL = 5  # in a table, or an argument in a call
    SAID = 6  # the password is x
    ARROW = 7  # password -> x
    NEXT = 8  # password x


_ASSIGNED: Final = (Form.QUOTED, Form.TIGHT, Form.ASSIGNED, Form.LINE)
_PLACEHOLDER: Final = re.compile(r"[<{\[]|\$[{(]|%\(|%[a-z]\b|\W*$|[x*.•…#_-]+$", re.IGNORECASE)
_BRACKETS: Final = re.compile(r"\[masked:([^\]\n]{0,80})\]")
_VARIABLE: Final = re.compile(r"\$(?:env:)?(?:[A-Z_][A-Z0-9_]*|[a-z_]+[0-9]?)$|%\w+%$|\$\d$|@?\w+@$")
_UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_HEX: Final = re.compile(r"[0-9a-f]{7,128}$", re.IGNORECASE)
_ID: Final = re.compile(r"[a-z]{2,12}[_-][0-9a-f]{8,32}$|(?:sha\d{1,3}|md5|h1)[:-]|W/$|#\d+$", re.IGNORECASE)
_DATE: Final = re.compile(r"\d{4}-\d\d(?:-\d\d)?(?:[T ][\d:.,+Z-]*)?$|\d{1,2}[.:]\d\d(?:[.:]\d{2,4})?$")
_URL: Final = re.compile(
    r"[a-z][a-z0-9+.-]{1,20}://|[a-z][\w.-]{0,40}@[\w-]+\.[a-z]|arn:[\w-]{1,16}:[\w-]{1,32}:", re.IGNORECASE
)
_ROOT: Final = re.compile(r"(?:~|\.{1,2})?/[\w.@-]*+(?:/|$)|~?[\w.-]*+/$|[A-Za-z]:\\|\\\\")
_FILE: Final = re.compile(
    r"\.(?:pem|key|crt|cer|csr|pub|p12|pfx|ppk|jks|asc|gpg|kdbx|md|txt|rst|json|jsonl|ya?ml|toml|ini|cfg|conf|env|xml"
    r"|html?|css|csv|tsv|sql|db|sqlite3?|log|pdf|docx?|png|jpe?g|svg|zip|gz|tgz|tar|py|pyi|js|mjs|ts|tsx|jsx|go|rs|rb"
    r"|java|kt|cs|c|h|cpp|sh|bash|ps1|php|lock|tpl|tf|local|example)$",
    re.IGNORECASE,
)
_CODE: Final = re.compile(
    r"(?:self|this|cls|os|env|process|config|settings|secrets|vault|request|response)[.\[]|!vault|ENC$"
)
_ATTRIBUTE: Final = re.compile(r"[A-Za-z_]\w*(?:\??\.[A-Za-z_]\w*)+$")
_PARTS: Final = re.compile(r"[\s_./:|-]+")
_PART: Final = re.compile(
    r"[A-Z]?[a-z\u00df-\u024f]{2,}|[A-Z]{2,}|[a-zA-Z]|[0-9]{1,4}|[0-9]{6}|[0-9]{8}"
    r"|[A-Za-z]{1,8}[0-9]{1,3}|[0-9]{1,3}[A-Za-z]{1,3}|[a-z]+[0-9][a-z]|[\u0400-\uffff]+"
)
_CAMEL: Final = re.compile(r"[a-z]{2,}|[A-Z]?[a-z]+(?:[A-Z][a-z]+)+[0-9]{0,2}|[A-Z][a-z]+")
# prose of scripts without blanks
_UNSPACED: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ud7ff\uf900-\ufaff]")
_SPECIAL: Final = re.compile(r"[^\w\s./:,-]")
# names of ways to hash, encrypt or log in
_METHOD: Final = re.compile(
    r"(?:(?:argon2(?:id|i|d)?|[by]?s?crypt|pbkdf|scram|hmac|sha|md|blake\d[bs]?|(?:hs|rs|es|ps)(?=\d)|eddsa|ecdsa|ed|rsa"
    r"|aes|gcm|cbc|ctr|chacha|poly|base|oauth|saml|with|and)[\d_/-]{0,5})+$",
    re.IGNORECASE,
)
_TOKEN: Final = re.compile(r"[!-~]+$")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}$")
_PUBLIC: Final = ("AAAA", "MII", "MFk", "ssh-", "data:")
# the fewest digits in a secret number: "pass" and "secret" alone are also words in word counts
_DIGITS: Final = {Name.PIN: 4, Name.PASSWORD: 6, Name.PASS: 7, Name.SECRET: 7}
# words of placeholders, types, labels and rules about passwords
WORDS: Final = frozenset(
    re.findall(
        r"\S+",
        """
    password passwords passwd passphrase passwort passwörter kennwort kennwörter contraseña contrasena senha
    geheimnis zugangscode пароль pass pwd secret secrets token tokens key keys value credential credentials
    apikey user username login name string str text bytes int integer number bool boolean any object optional
    secretstr none null nil true false undefined empty blank unset missing unknown default same example examples
    sample dummy fake placeholder changeme change changed your my here todo tbd fixme test testing redacted
    masked hidden removed encrypted hashed protected plain plaintext enabled disabled prompt stdin env environ
    environment vault manager getenv required requires invalid wrong forgotten incorrect expired expires expiry
    reset resets rotate rotated rotation rotates schedule policy rule rules min minimum max maximum least most
    characters chars letters length digits symbols days weeks months hours must should never always not with
    without only see ask stored per mindestens höchstens zeichen ziffern buchstaben ändern geändert vergessen
    erforderlich falsch abgelaufen минимум максимум символов цифр obligatorio requerida oublié requis minuten
    tage foo bar baz
        """,
    )
)


def can_be_secret(value: str) -> bool:
    """Return whether a value can be a secret: no placeholder, path, date, address, or words about passwords."""
    if (
        value.lower() in WORDS
        or not value.strip()
        or _PLACEHOLDER.match(value)
        or _VARIABLE.match(value)
        or len(set(value)) < 3
    ):
        return False
    return not (
        _URL.match(value) or _DATE.match(value) or _METHOD.match(value) or _is_path(value) or _says_something(value)
    )


def is_secret(value: str, name: Name, form: Form) -> bool:
    """Return whether a named value is a secret, by the first characters."""
    value = value[:LONGEST]
    while (mark := _BRACKETS.match(value)) is not None:  # the text after a mask can be a secret
        if MARK.match(value) is None and is_secret(mark[1].strip(), name, form):
            return True
        value = value[mark.end() :].lstrip()
    if name is Name.PIN:
        return form is not Form.NEXT and value.isascii() and value.isdigit() and 4 <= len(value) <= 12
    if not can_be_secret(value) or _is_code(value, form):
        return False
    if name is Name.PASS and form in (Form.ASSIGNED, Form.LINE) and _is_outcome(value):
        return False
    if name in (Name.PASSWORD, Name.PASS):
        return _is_password(value, form)
    return _is_token(value, name, form)


def is_number_secret(value: int, name: Name) -> bool:
    """Return whether a JSON number is a secret by name: a numeric password or PIN."""
    least = _DIGITS.get(name)
    return least is not None and least <= len(str(abs(value))) <= 40


def entropy(text: str) -> float:
    """Return a text's Shannon entropy in bits per character."""
    return -sum(share * log2(share) for share in (text.count(one) / len(text) for one in set(text)))


def _is_path(value: str) -> bool:
    if _ROOT.match(value) or _FILE.search(value):
        return True
    return "/" in value and all(_are_words(part) for part in value.split("/") if part)


def _is_outcome(value: str) -> bool:
    """Return whether a value after `pass:` is a test count, or the names of passed tests."""
    if value.isdigit():
        return len(value) < _DIGITS[Name.PASS]
    return _PARTS.search(value) is not None and _are_words(value)


def _is_code(value: str, form: Form) -> bool:
    """Return whether a value is an expression: an attribute, or the start of a call."""
    if _CODE.match(value):
        return True
    return form is not Form.QUOTED and _ATTRIBUTE.match(value) is not None and all(map(_are_words, value.split(".")))


def _are_words(value: str) -> bool:
    """Return whether a value consists only of words, numbers and versions, like `rotation-2026-11`."""
    parts = [part for part in _PARTS.split(value) if part]
    return all(_PART.fullmatch(part) or _CAMEL.fullmatch(part) for part in parts)


def _says_something(value: str) -> bool:
    """Return whether a value made of words contains a placeholder, type, label or rule."""
    parts = [part.lower() for part in _PARTS.split(value) if part]
    bare = [part.strip("0123456789") for part in parts]
    return any(part in WORDS for part in (*parts, *bare)) and _are_words(value)


def _count_character_classes(value: str) -> int:
    """Count the character classes in a value: small and capital letters, digits, and others."""
    return (
        any(map(str.islower, value))
        + any(map(str.isupper, value))
        + any(map(str.isdigit, value))
        + (_SPECIAL.search(value) is not None or "_" in value or "-" in value)
    )


def _is_password(value: str, form: Form) -> bool:
    if len(value) < 6:
        return False
    digits, letters = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    if any(map(str.isspace, value)):
        long_enough = len(value) >= 12 or (len(value) >= 8 and _count_character_classes(value) >= 3)
        return form is Form.QUOTED and long_enough and digits and len(value.split()) <= 8
    if form is Form.NEXT:
        return (
            len(value) >= 8
            and _UNSPACED.search(value) is None
            and digits
            and letters
            and (_count_character_classes(value) >= 3 or (len(value) >= 16 and not _are_words(value)))
        )
    if form is Form.ARROW and _are_words(value):
        return False
    if form in (Form.SAID, Form.ARROW):
        if not digits:
            return _SPECIAL.search(value[:-1]) is not None
        return letters and not (value == value.lower() and _has_date(value))
    if digits or _SPECIAL.search(value):
        return True
    if form in (Form.QUOTED, Form.TIGHT):  # a single capitalized word is a label
        return not (form is Form.QUOTED and re.fullmatch(r"[A-Z][^\W\dA-Z_]+", value))
    if form is Form.LINE and value.islower():
        return True
    return form in (Form.LINE, Form.ASSIGNED) and (_count_character_classes(value) >= 2 and not _are_words(value))


def _has_date(value: str) -> bool:
    return re.search(r"(?:^|\D)(?:19|20)\d\d-\d\d", value) is not None


def _is_token(value: str, name: Name, form: Form) -> bool:
    if not _TOKEN.match(value) or any(map(value.startswith, _PUBLIC)):
        return False
    if name is Name.KEY:
        return (
            form not in (Form.SAID, Form.NEXT, Form.CELL) and _BASE64.match(value) is not None and _is_mixed(value, 4)
        )
    digits = sum(map(str.isdigit, value))
    if digits == len(value):
        least = 6 if form in (Form.QUOTED, Form.TIGHT) else _DIGITS[Name.SECRET]
        return name is Name.SECRET and form in _ASSIGNED and len(value) >= least
    if _ID.match(value) or (_UUID.match(value) and (name is Name.TOKEN or form is Form.NEXT)):
        return False
    if _HEX.match(value) and form is Form.NEXT and name is not Name.API_KEY:
        return False
    if _are_words(value):
        return False
    if len(value) < 16:
        return name is Name.SECRET and form in (Form.QUOTED, Form.TIGHT) and len(value) >= 8 and digits >= 2
    return digits >= 2 and entropy(value) >= 3.0


def _is_mixed(value: str, least: int) -> bool:
    return entropy(value) >= 4.2 and all(
        sum(map(kind, value)) >= least for kind in (str.isdigit, str.isupper, str.islower)
    )
