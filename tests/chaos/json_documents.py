"""Small edge-case JSON documents: 95 that readers must accept, 188 that they must reject, 35 undecided.

RFC 8259 decides; for the 35 undecided ones `taken` follows the protocol: it refuses values outside double or UTF-8,
lone surrogates, a byte order mark, other encodings and more than 64 levels.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

Verdict = Literal["taken", "refused", "open"]


@dataclass(frozen=True)
class Document:
    """A document: `verdict` is the standard's; `taken` ours for the document alone, `taken_inside` for a parameter."""

    data: bytes
    verdict: Verdict
    taken: bool
    taken_inside: bool


_NUMBERS: Final = (
    "0", "-0", "7", "-12", "1234567890", "9223372036854775807", "-9223372036854775808", "18446744073709551615",
    "9007199254740993", "0.5", "0.0", "-0.0", "1.500", "2e3", "2E3", "2e+3", "2e-3", "0e0", "1E-0", "1e007", "-12.75e2",
    "5e-300", "1.5e300", "0." + "3" * 40, "1 ",
)  # fmt: skip
_TEXTS: Final = (
    '""', '"a"', '" "', r'"\""', r'"\\"', r'"\/"', r'"\b"', r'"\f"', r'"\n"', r'"\r"', r'"\t"', '"/"', r'"\u0061"',
    r'"\u00E9"', r'"\u00e9"', r'"\u0000"', r'"\u001b"', r'"\u0022"', r'"\u005c"', r'"\ud83d\ude00"', r'"\udbff\udfff"',
    r'"\ud834\udd1e\ud834\udd1e"', r'"\ufffe"', r'"\ufeff"', r'"\\u0041"', r'"\\\""', '"é"', '"語"', '"😀"',
    '"\U0010ffff"', '"\uffff"', '"\x7f"', '"\x85"', '"\u2028"', '"\ufeff"', '"\xa0"', '"e\u0301"', '"/* a */ // b"',
    '"{\\"a\\":1}"', '"' + "a" * 10_000 + '"',
)  # fmt: skip
_STRUCTURES: Final = (
    "true", "false", "null", "[]", "[1]", "[[]]", '[null,true,1,"a",[],{}]', "[ 1 , 2 ]", "[\n1,\r\n2\t]\n", '[""]',
    "[" + ",".join(["0"] * 1000) + "]", "[" * 30 + "]" * 30, "{}", '{"a":1}', '{"a":1,"b":2}', '{"a":{"b":{}}}',
    '[{"a":[]}]', '{ "a" : 1 , "b" : 2 }', '{\n"a":\n1\n}\n', '{"":0}', '{"a":1,"a":2}', '{"a":1,"a":1}',
    r'{"a":1,"\u0061":2}', r'{"\u0061\n":1}', r'{"a\u0000b":1}', '{"' + "n" * 1000 + '":1}',
    "{" + ",".join(f'"n{number}":{number}' for number in range(100)) + "}", " \t\r\n1", "1 \t\r\n", " " * 10_000 + "1",
)  # fmt: skip
_BROKEN_STRUCTURES: Final = (
    "", " ", "\t", "\r\n\n", "[", "]", "{", "}", ",", ":", '"', "\\", "[1", "[1,", "[1]]", "[1}", "[1,]", "[,1]",
    "[1,,2]", "[,]", "[1 2]", "[1\n2]", "[1;2]", '["a":1]', "[*]", "[a]", "[[1]", "(1)", '{"a":1', '{"a":1,', '{"a":',
    '{"a"', '{"a', '{"a":1}}', '{"a":1]', '{"a":1,}', '{"a":1,,}', '{,"a":1}', '{"a":1,,"b":2}', '{"a":1 "b":2}',
    '{"a":1;"b":2}', '{"a" 1}', '{"a"::1}', '{"a",1}', '{"a"=1}', '{"a":}', "{:1}", '{"a"}', "{1}", "{a:1}", "{'a':1}",
    "{1:1}", "{null:1}", "{[]:1}", "{{}:1}", '{"a":1 2}', '{"a":1,"b"}', '{"a":1}{"b":2}', "1,", "1]", '{"a":1} x',
    '{"a":1}#', "[" * 100_000, '{"a":' * 100_000,
)  # fmt: skip
_BROKEN_NUMBERS: Final = (
    "+1", "-", "--1", "- 1", ".5", "5.", "-.5", ".", "1..5", "1.5.5", "1.e5", "1e", "1e+", "e5", "1e5.5", "1e5e5",
    "1ee5", "1e+-5", "01", "-01", "00", "0x1F", "0o17", "0b11", "1_000", "[1,000]", "[1 000]", "1a", "1.5f", "NaN",
    "-NaN", "Infinity", "-Infinity", "+Infinity", "１", "−1",
)  # fmt: skip
_BROKEN_WORDS: Final = (
    "NULL", "nul", "nulll", "TRUE", "True", "tru", "False", "truefalse", "undefined", "None", "word",
)  # fmt: skip
_BROKEN_TEXTS: Final = (
    '"a', 'a"', '"a\\"', "'a'", "“a”", '"a" "b"', r'"\a"', r'"\x41"', r'"\0"', r'"\'"', '"\\ "', '"a\\\nb"',
    r'"\U0041"', r'"\u{41}"', r'"\u"', r'"\u004"', r'"\u00g1"', r'"\u-041"', r'"\u 041"',
)  # fmt: skip
# no UTF-8, nul, and control characters for blanks
_BROKEN_BYTES: Final = (
    b"\x80", b"\xff", b"\xc3\x281", b"1\xe5", b"{\xe9:1}", b"\x00", b"1\x00", b"[\x0c1]", b"[\x0b1]", b"[\x1b1]",
)  # fmt: skip
# blanks of Unicode
_BROKEN_BLANKS: Final = (
    "[\xa01]", "[\u20281]", "[\u30001]", "[\ufeff1]", "[\u200b1]",
)  # fmt: skip
_OTHER_LANGUAGES: Final = (
    "1 // one", "[1/* one */]", "1 # one", "[1] /*", "<a>1</a>", "a: 1", "a=1&b=2", 'f({"a":1})', ")]}',\n[1]",
    "\x1e1\n", '"a":1',
)  # fmt: skip
# undecided: double overflows, and values that fit
_OVERFLOWING: Final = (
    "1e400", "-1e400", "1e" + "9" * 10_000, "1" + "0" * 309, "9" * 5000, "1.8e308",
)  # fmt: skip
_UNUSUAL_NUMBERS: Final = (
    "1e-400", "5e-324", "18446744073709551616", "-9223372036854775809", "1" * 300, "0." + "1" * 1000,
    "1e" + "0" * 100 + "1",
)  # fmt: skip
_LONE_SURROGATES: Final = (
    r'"\ud800"', r'"\udc00"', r'"\udc00\ud800"', r'"\ud800\ud800"', r'"\ud800a"', r'"\ud800\n"', r'{"\ud800":1}',
)  # fmt: skip
# invalid UTF-8, a byte order mark, and other encodings
_OTHER_BYTES: Final = (
    b'"\x80"', b'"\xe2\x82"', b'"\xe9"', b'"\xc0\xaf"', b'"\xe0\x80\x80"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"',
    b'"\xfe"', b"\xef\xbb\xbf{}", '{"a":1}'.encode("utf-16"), '{"a":1}'.encode("utf-16-le"),
    '{"a":1}'.encode("utf-32-be"),
)  # fmt: skip
_DEPTHS: Final = (64, 65, 5000)
DEEPEST: Final = 64
ENVELOPE_DEPTH: Final = 2  # levels around a parameter: the request and its params


def documents() -> list[Document]:
    """Return all documents, decided ones first."""
    taken = (*_NUMBERS, *_TEXTS, *_STRUCTURES)
    refused = (*_BROKEN_STRUCTURES, *_BROKEN_NUMBERS, *_BROKEN_WORDS, *_BROKEN_TEXTS, *_BROKEN_BLANKS)
    found = [Document(text.encode(), "taken", True, True) for text in taken]
    found += [Document(text.encode(), "refused", False, False) for text in (*refused, *_OTHER_LANGUAGES)]
    found += [Document(data, "refused", False, False) for data in (*_BROKEN_BYTES, *_control_characters())]
    found += [Document(text.encode(), "open", True, True) for text in _UNUSUAL_NUMBERS]
    found += [Document(text.encode(), "open", False, False) for text in (*_OVERFLOWING, *_LONE_SURROGATES)]
    found += [Document(data, "open", False, False) for data in _OTHER_BYTES]
    for depth in _DEPTHS:
        nested = b"[" * depth + b"]" * depth
        found.append(Document(nested, "open", depth <= DEEPEST, depth <= DEEPEST - ENVELOPE_DEPTH))
    return found


def _control_characters() -> Iterator[bytes]:
    """Yield every unescaped ASCII control character in a string."""
    for code in range(0x20):
        yield b'"a' + bytes([code]) + b'b"'
