"""Small documents on the edge of JSON: 95 that a reader must take, 188 that it must refuse, 35 where readers differ.

What is decided comes from RFC 8259; for the 35 `taken` is what the protocol says: whatever a double or UTF-8 cannot
hold, lone surrogates, a byte order mark, other encodings and more than 64 levels are refused.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Verdict = Literal["taken", "refused", "open"]


@dataclass(frozen=True)
class Document:
    """`verdict` is the standard's; `taken` ours for the document alone, `taken_inside` for it as a parameter."""

    name: str
    data: bytes
    verdict: Verdict
    taken: bool
    taken_inside: bool


def _utf8(documents: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    for name, text in documents.items():
        yield name, text.encode("utf-8")


_NUMBERS: Final = {
    "zero": "0",
    "minus zero": "-0",
    "one digit": "7",
    "a negative integer": "-12",
    "many digits": "1234567890",
    "the largest signed integer of 64 bits": "9223372036854775807",
    "the smallest signed integer of 64 bits": "-9223372036854775808",
    "the largest unsigned integer of 64 bits": "18446744073709551615",
    "an integer between two doubles": "9007199254740993",
    "a fraction": "0.5",
    "a fraction of zero": "0.0",
    "a fraction of minus zero": "-0.0",
    "a fraction that ends in zeros": "1.500",
    "an exponent": "2e3",
    "an exponent in upper case": "2E3",
    "an exponent with a plus": "2e+3",
    "an exponent with a minus": "2e-3",
    "an exponent of zero": "0e0",
    "an exponent of minus zero in upper case": "1E-0",
    "an exponent with leading zeros": "1e007",
    "a fraction with an exponent": "-12.75e2",
    "a tiny number": "5e-300",
    "a huge number": "1.5e300",
    "a fraction of forty digits": "0." + "3" * 40,
    "a number before a blank": "1 ",
}
_TEXTS: Final = {
    "an empty string": '""',
    "one letter": '"a"',
    "a blank string": '" "',
    "an escaped quote": r'"\""',
    "an escaped backslash": r'"\\"',
    "an escaped slash": r'"\/"',
    "an escaped backspace": r'"\b"',
    "an escaped form feed": r'"\f"',
    "an escaped line feed": r'"\n"',
    "an escaped carriage return": r'"\r"',
    "an escaped tab": r'"\t"',
    "a plain slash": '"/"',
    "an escaped letter": r'"\u0061"',
    "an escape in upper-case digits": r'"\u00E9"',
    "an escape in lower-case digits": r'"\u00e9"',
    "an escaped nul": r'"\u0000"',
    "an escaped escape character": r'"\u001b"',
    "an escaped quote by number": r'"\u0022"',
    "an escaped backslash by number": r'"\u005c"',
    "a surrogate pair": r'"\ud83d\ude00"',
    "the last surrogate pair": r'"\udbff\udfff"',
    "two surrogate pairs": r'"\ud834\udd1e\ud834\udd1e"',
    "an escaped noncharacter": r'"\ufffe"',
    "an escaped byte order mark": r'"\ufeff"',
    "a backslash before what looks like an escape": r'"\\u0041"',
    "a backslash before a quote, both escaped": r'"\\\""',
    "two bytes of UTF-8": '"é"',
    "three bytes of UTF-8": '"語"',
    "four bytes of UTF-8": '"😀"',
    "the last code point": '"\U0010ffff"',
    "a plain noncharacter": '"\uffff"',
    "a plain delete character": '"\x7f"',
    "a plain control character above ASCII": '"\x85"',
    "a plain line separator": '"\u2028"',
    "a plain byte order mark inside a string": '"\ufeff"',
    "a plain no-break space": '"\xa0"',
    "a combining mark": '"e\u0301"',
    "what looks like a comment in a string": '"/* a */ // b"',
    "what looks like an object in a string": '"{\\"a\\":1}"',
    "a string of ten thousand letters": '"' + "a" * 10_000 + '"',
}
_STRUCTURES: Final = {
    "true": "true",
    "false": "false",
    "null": "null",
    "an empty array": "[]",
    "an array of one": "[1]",
    "an array of an empty array": "[[]]",
    "an array of every kind": '[null,true,1,"a",[],{}]',
    "an array with blanks inside": "[ 1 , 2 ]",
    "an array over lines": "[\n1,\r\n2\t]\n",
    "an array of one empty string": '[""]',
    "an array of a thousand": "[" + ",".join(["0"] * 1000) + "]",
    "arrays in arrays, thirty deep": "[" * 30 + "]" * 30,
    "an empty object": "{}",
    "an object of one": '{"a":1}',
    "an object of two": '{"a":1,"b":2}',
    "an object in an object": '{"a":{"b":{}}}',
    "an object in an array": '[{"a":[]}]',
    "an object with blanks inside": '{ "a" : 1 , "b" : 2 }',
    "an object over lines": '{\n"a":\n1\n}\n',
    "an empty name": '{"":0}',
    "a name given twice": '{"a":1,"a":2}',
    "a name given twice with one value": '{"a":1,"a":1}',
    "a name given twice in two spellings": r'{"a":1,"\u0061":2}',
    "an escaped name": r'{"\u0061\n":1}',
    "a name with an escaped nul": r'{"a\u0000b":1}',
    "a long name": '{"' + "n" * 1000 + '":1}',
    "a hundred names": "{" + ",".join(f'"n{number}":{number}' for number in range(100)) + "}",
    "blanks before": " \t\r\n1",
    "blanks after": "1 \t\r\n",
    "ten thousand blanks before": " " * 10_000 + "1",
}
_BROKEN_STRUCTURES: Final = {
    "nothing": "",
    "a space": " ",
    "a tab": "\t",
    "line ends only": "\r\n\n",
    "an opening bracket alone": "[",
    "a closing bracket alone": "]",
    "an opening brace alone": "{",
    "a closing brace alone": "}",
    "a comma alone": ",",
    "a colon alone": ":",
    "a quote alone": '"',
    "a backslash alone": "\\",
    "an array that is not closed": "[1",
    "an array that is not closed after a comma": "[1,",
    "an array closed twice": "[1]]",
    "an array closed by a brace": "[1}",
    "an array with a comma at the end": "[1,]",
    "an array with a comma at the start": "[,1]",
    "an array with two commas": "[1,,2]",
    "an array of a comma": "[,]",
    "an array without a comma": "[1 2]",
    "an array with a line end for a comma": "[1\n2]",
    "an array with a semicolon": "[1;2]",
    "an array with a colon": '["a":1]',
    "an array of a star": "[*]",
    "an array of a bare word": "[a]",
    "an array of an array that is not closed": "[[1]",
    "an array in round brackets": "(1)",
    "an object that is not closed": '{"a":1',
    "an object that is not closed after a comma": '{"a":1,',
    "an object that is not closed after a colon": '{"a":',
    "an object that is not closed after a name": '{"a"',
    "an object that is not closed inside a name": '{"a',
    "an object closed twice": '{"a":1}}',
    "an object closed by a bracket": '{"a":1]',
    "an object with a comma at the end": '{"a":1,}',
    "an object with two commas at the end": '{"a":1,,}',
    "an object with a comma at the start": '{,"a":1}',
    "an object with two commas": '{"a":1,,"b":2}',
    "an object without a comma": '{"a":1 "b":2}',
    "an object with a semicolon": '{"a":1;"b":2}',
    "an object without a colon": '{"a" 1}',
    "an object with two colons": '{"a"::1}',
    "an object with a comma for a colon": '{"a",1}',
    "an object with an equals sign": '{"a"=1}',
    "an object without a value": '{"a":}',
    "an object without a name": "{:1}",
    "an object of a name alone": '{"a"}',
    "an object of a value alone": "{1}",
    "a bare name": "{a:1}",
    "a name in single quotes": "{'a':1}",
    "a number for a name": "{1:1}",
    "null for a name": "{null:1}",
    "an array for a name": "{[]:1}",
    "an object for a name": "{{}:1}",
    "two values for one name": '{"a":1 2}',
    "a comma and a name without a value": '{"a":1,"b"}',
    "two documents": '{"a":1}{"b":2}',
    "a document and a comma": "1,",
    "a document and a bracket": "1]",
    "a document and a word": '{"a":1} x',
    "a document and a hash": '{"a":1}#',
    "a hundred thousand opening brackets": "[" * 100_000,
    "a hundred thousand opening objects": '{"a":' * 100_000,
}
_BROKEN_NUMBERS: Final = {
    "a plus": "+1",
    "a minus alone": "-",
    "two minuses": "--1",
    "a minus and a blank": "- 1",
    "a point without a digit before": ".5",
    "a point without a digit after": "5.",
    "a negative point without a digit before": "-.5",
    "a point alone": ".",
    "two points": "1..5",
    "two fractions": "1.5.5",
    "a point before an exponent": "1.e5",
    "an exponent without digits": "1e",
    "an exponent of a plus": "1e+",
    "an exponent without a number": "e5",
    "an exponent with a fraction": "1e5.5",
    "an exponent of an exponent": "1e5e5",
    "an exponent with two letters": "1ee5",
    "an exponent with two signs": "1e+-5",
    "a leading zero": "01",
    "a leading zero after a minus": "-01",
    "two zeros": "00",
    "a hexadecimal number": "0x1F",
    "an octal number": "0o17",
    "a binary number": "0b11",
    "an underscore between digits": "1_000",
    "a comma between digits": "[1,000]",
    "a blank between digits": "[1 000]",
    "a letter after digits": "1a",
    "a suffix for floats": "1.5f",
    "not a number": "NaN",
    "a negative not a number": "-NaN",
    "infinity": "Infinity",
    "a negative infinity": "-Infinity",
    "a positive infinity": "+Infinity",
    "a full-width digit": "１",
    "a minus sign of typography": "−1",
}
_BROKEN_WORDS: Final = {
    "null in upper case": "NULL",
    "null cut short": "nul",
    "null with a letter more": "nulll",
    "true in upper case": "TRUE",
    "true with a capital": "True",
    "true cut short": "tru",
    "false with a capital": "False",
    "true and false as one word": "truefalse",
    "undefined": "undefined",
    "none of Python": "None",
    "a bare word": "word",
}
_BROKEN_TEXTS: Final = {
    "a string that is not closed": '"a',
    "a string that is not opened": 'a"',
    "a string that ends in a backslash": '"a\\"',
    "a string in single quotes": "'a'",
    "a string in quotes of typography": "“a”",
    "two strings": '"a" "b"',
    "an escaped letter a": r'"\a"',
    "an escaped x with digits": r'"\x41"',
    "an escaped zero": r'"\0"',
    "an escaped single quote": r'"\'"',
    "an escaped blank": '"\\ "',
    "an escaped line end": '"a\\\nb"',
    "an escaped U in upper case": r'"\U0041"',
    "an escape in braces": r'"\u{41}"',
    "an escape without digits": r'"\u"',
    "an escape of three digits": r'"\u004"',
    "an escape with a letter that is no digit": r'"\u00g1"',
    "an escape with a minus": r'"\u-041"',
    "an escape with a blank": r'"\u 041"',
}
_BROKEN_BYTES: Final = {
    "a byte of UTF-8 that begins nothing, alone": b"\x80",
    "the byte FF alone": b"\xff",
    "bytes that are no UTF-8 before a number": b"\xc3\x281",
    "bytes that are no UTF-8 after a number": b"1\xe5",
    "bytes that are no UTF-8 for a name": b"{\xe9:1}",
    "a nul alone": b"\x00",
    "a nul after a document": b"1\x00",
    "a form feed for a blank": b"[\x0c1]",
    "a vertical tab for a blank": b"[\x0b1]",
    "an escape character for a blank": b"[\x1b1]",
}
_BROKEN_BLANKS: Final = {
    "a no-break space for a blank": "[\xa01]",
    "a line separator for a blank": "[\u20281]",
    "an ideographic space for a blank": "[\u30001]",
    "a byte order mark for a blank": "[\ufeff1]",
    "a zero-width space for a blank": "[\u200b1]",
}
_OTHER_LANGUAGES: Final = {
    "a comment to the end of the line": "1 // one",
    "a comment in stars": "[1/* one */]",
    "a comment after a hash": "1 # one",
    "a comment that is not closed": "[1] /*",
    "XML": "<a>1</a>",
    "YAML": "a: 1",
    "a form": "a=1&b=2",
    "a callback": 'f({"a":1})',
    "a guard of browsers": ")]}',\n[1]",
    "a record separator": "\x1e1\n",
    "members without braces": '"a":1',
}
_OPEN_NUMBERS: Final = {
    "an exponent that overflows a double": ("1e400", False),
    "a negative exponent that overflows a double": ("-1e400", False),
    "an exponent of ten thousand digits": ("1e" + "9" * 10_000, False),
    "the first integer that overflows a double": ("1" + "0" * 309, False),
    "an integer of five thousand digits": ("9" * 5000, False),
    "a number just above the largest double": ("1.8e308", False),
    "a number that underflows to zero": ("1e-400", True),
    "a number that only a subnormal double holds": ("5e-324", True),
    "an integer beyond 64 bits": ("18446744073709551616", True),
    "a negative integer beyond 64 bits": ("-9223372036854775809", True),
    "an integer of three hundred digits": ("1" * 300, True),
    "a fraction of a thousand digits": ("0." + "1" * 1000, True),
    "an exponent with a hundred leading zeros": ("1e" + "0" * 100 + "1", True),
}
_OPEN_SURROGATES: Final = {
    "a high surrogate alone": r'"\ud800"',
    "a low surrogate alone": r'"\udc00"',
    "surrogates in the wrong order": r'"\udc00\ud800"',
    "two high surrogates": r'"\ud800\ud800"',
    "a high surrogate before a letter": r'"\ud800a"',
    "a high surrogate before another escape": r'"\ud800\n"',
    "a lone surrogate in a name": r'{"\ud800":1}',
}
_OPEN_BYTES: Final = {
    "a byte of UTF-8 that begins nothing, in a string": b'"\x80"',
    "a character of UTF-8 cut short in a string": b'"\xe2\x82"',
    "a character of Latin-1 in a string": b'"\xe9"',
    "an overlong slash": b'"\xc0\xaf"',
    "an overlong nul": b'"\xe0\x80\x80"',
    "a surrogate in UTF-8": b'"\xed\xa0\x80"',
    "a code point beyond the last one": b'"\xf4\x90\x80\x80"',
    "the byte FE in a string": b'"\xfe"',
    "a byte order mark before a document": b"\xef\xbb\xbf{}",
    "UTF-16 with a byte order mark": '{"a":1}'.encode("utf-16"),
    "UTF-16 without a byte order mark": '{"a":1}'.encode("utf-16-le"),
    "UTF-32": '{"a":1}'.encode("utf-32-be"),
}
_OPEN_DEPTHS: Final = {"sixty-four": (64, True), "sixty-five": (65, False), "five thousand": (5000, False)}
ENVELOPE_DEPTH: Final = 2  # levels around a parameter: the request and its params


def documents() -> list[Document]:
    """All of them, the decided ones first."""
    taken = [*_utf8(_NUMBERS), *_utf8(_TEXTS), *_utf8(_STRUCTURES)]
    refused = [*_utf8(_BROKEN_STRUCTURES), *_utf8(_BROKEN_NUMBERS), *_utf8(_BROKEN_WORDS), *_utf8(_BROKEN_TEXTS)]
    refused += [*_BROKEN_BYTES.items(), *_utf8(_BROKEN_BLANKS), *_utf8(_OTHER_LANGUAGES), *_control_characters()]
    found = [Document(name, data, "taken", True, True) for name, data in taken]
    found += [Document(name, data, "refused", False, False) for name, data in refused]
    found += [Document(name, text.encode(), "open", ours, ours) for name, (text, ours) in _OPEN_NUMBERS.items()]
    found += [Document(name, data, "open", False, False) for name, data in _utf8(_OPEN_SURROGATES)]
    found += [Document(name, data, "open", False, False) for name, data in _OPEN_BYTES.items()]
    for words, (depth, ours) in _OPEN_DEPTHS.items():
        nested = b"[" * depth + b"]" * depth
        found.append(Document(f"arrays {words} deep", nested, "open", ours, ours and depth <= 64 - ENVELOPE_DEPTH))
    return found


def _control_characters() -> Iterator[tuple[str, bytes]]:
    """Every control character of ASCII, as it is, in a string."""
    for code in range(0x20):
        yield f"the control character {code:02X} in a string", b'"a' + bytes([code]) + b'b"'
