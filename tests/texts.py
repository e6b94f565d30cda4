"""Texts written by people and programs, and texts that break programs: hypothesis strategies.

`texts` has no lone surrogates, which UTF-8 lacks; `escapable` has them, for JSON written with escapes.
"""

from typing import Any, Final

from hypothesis import strategies as st

# each with special letters, signs or marks: scripts with and without case, blanks, vowels, or one direction
_SCRIPTS: Final = (
    "The pump of the fourth crane leaks", "Die Lüftung der Küche, größer als STRASSE", "Съёмный подъёмник №4",
    "Η αντλία ΑΝΤΛΊΑ της γέφυρας", "المَضخَّة الرابعة تُصلَح", "המַשְׁאֵבָה הרביעית", "四号水泵每周二进行检修。",
    "四号ポンプは火曜日に修理します", "펌프를 화요일에 점검했습니다", "ปั๊มหมายเลขสี่ซ่อมทุกวัน", "पम्प की मरम्मत क्षत्रिय",
    "ស្នប់ទឹកត្រូវបានជួសជុល", "ᚠᛇᚻ᛫ᛒᛦᚦ", "𐐔𐐯𐑅𐐨𐑉𐐯𐐻", "ﬁlter ｐｕｍｐ １２３", "İstanbul ıspanak ſtraße ŉ ǅ", "⠏⠥⠍⠏",
    "e\u0301 n\u0303 a\u0308\u0323", "\u1112\u1161\u11ab", "👩\u200d🔧 🇯🇵 👍🏽 ⚓\ufe0f",
    "∑_{i=0}^{n} ∂²f/∂x² ≤ √π·ℝ⁴ ⊂ ℵ₀",
)  # fmt: skip
_MARKDOWN: Final = (
    r"v1/\_\_init\_\_.py", "∑_", "__init__", "*really* **now** ***both*** _under_ ~~gone~~", "`a``b`", "``` ` ```",
    "# Heading #", "###### six", "Setext\n===", "---\ntitle: x\n---", "* item\n  1. inner\n     * [x] done",
    "> quoted\n>> twice", "| a | b\\|c |\n|---|:-:|\n| `x|y` | |", "[a](b 'c') ![d](<e f>) [g][h]\n\n[h]: i",
    "```py\nx = '''\n```", "~~~\n```\n~~~", "    indented", "<!-- comment", "<script>alert(1)</script>",
    "&amp; &#0; &bogus;", "line  \nbreak\\\n", "[^1]\n\n[^1]: note", "$$\\frac{a}{b}$$", "\\\\ \\* \\# \\", "***",
    "- - -", "<https://a.example/?q=%00>",
)  # fmt: skip
_NAMES: Final = (
    "src/cstp/__init__.py", r"C:\Users\Ana\new\table.txt", "../../etc/passwd", "~/.config/", "/", "//", "a/b//c/./..",
    "*.py", "!src/**/[a-z]?.{ts,tsx}", "snake_case_name", "camelCaseName", "HTTPServer2", "kebab-case-name",
    "x.y.z()", "a::b->c", "#1234", "ADR-0012", "v1.10.0-rc.1+build", "0x1F", "dec_0123456789abcdef",
    "ana@example.org", "@ana", "C++", "C#", ".NET", "https://example.org/a_b/c?d=e&f=%20#g", "urn:isbn:0-395-36341-1",
    "2026-02-30T25:61:00Z", "3.14", "1,000.00", "-0.0", "9223372036854775808", "-9223372036854775809",
    "18446744073709551616", "9" * 40, "1e400", "NaN", "Infinity", "null", "true", "{}", "[]", "{0}{self}", "%s%n",
    "${7*7}", "{{7*7}}", "' OR 1=1 --", 'title:"a" AND (', "a~2^3 [a TO b] *:*", "NOT", '"""', "key: value",
    "- a: [b", "&anchor *alias", "=SUM(A1)", "a\tb", "\\N", "\\ud800", "\\u0000", "\ufeffbom", "x" * 300,
    "a long line " * 1500,
)  # fmt: skip
# ends of lines, controls, marks without a letter, direction, invisible and unassigned characters
CHARACTERS: Final = (
    *"\0\x01\x07\x08\x0b\x0c\x1b\x1c\x1d\x1e\x1f\x7f\x80\x85\x9f\u2028\u2029\r\n\t ",
    *"\xa0\xad\u200b\u200c\u200d\u200e\u200f\u202a\u202e\u2060\u2064\u2066\u2069\u206f\ufeff\u061c\u180e\u3000\u2000",
    *"\u0300\u0301\u0345\u034f\u0483\u0591\u064b\u093e\u094d\u0e31\u0eb1\u1abe\u20dd\u20e3\u302a\u3099\ufe0e\ufe0f\ufe20",
    *"\u02b0\u02c6\u02d0\u02ee\u1d2c\u1dbf\u30fc\uff70\uff9e\U0001f3fb\U0001f1e6\U000e0041\U000e007f\U000e0100",
    *"\ue000\uf8ff\U000f0000\U0010fffd\ufdd0\ufffe\uffff\U0001fffe\U0010ffff\ufff9\ufffb\ufffc\ufffd\u0378\U00040000",
    *"\u1100\u1160\u11a8\u115f\u3164\uffa0\u2800\u2063ßẞıİſŉǅΣςﬃ½Ⅷ①㍿\ufb1d\u0149\u1e9e\U0001d11e",
    *"_*`~#|\\/-+.,:;!?@$%^&=<>()[]{}'\"",
)  # fmt: skip
SURROGATES: Final = ("\ud800", "\udbff", "\udc00", "\udfff", "\udc00\ud800", "a\ud83d", "\udcff")
_BETWEEN: Final = ("", " ", " ", "\n", "\n\n", "\r\n", "\t", "_", "-", ".", "/", "\u2028", "\u200d", "\u3000")

_pieces = st.one_of(
    st.sampled_from(_SCRIPTS),
    st.sampled_from(_MARKDOWN),
    st.sampled_from(_NAMES),
    st.sampled_from(CHARACTERS),
    st.text(st.sampled_from(CHARACTERS), min_size=1, max_size=6),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
)


def _joined(pieces: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    between = st.sampled_from(_BETWEEN)
    whole = st.lists(st.tuples(pieces, between), min_size=1, max_size=4)
    return whole.map(lambda parts: "".join(text + end for text, end in parts)[:-1] or parts[0][0])


texts: Final = st.one_of(_pieces, _joined(_pieces))
escapable: Final = st.one_of(texts, _joined(st.one_of(_pieces, st.sampled_from(SURROGATES))))

NUMBERS: Final = (
    0, 1, -1, 0.5, -0.0, 5e-324, 1e308, -1e308, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**64, 10**30,
    10**308, float(2**63), float(-(2**63)), 9223372036854775809.5, 1e19, 1e22, -1.7976931348623157e308,
)  # fmt: skip
UNREADABLE: Final = ("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "9" * 5000, "1" + "0" * 400)  # for files
numbers: Final = st.one_of(
    st.sampled_from(NUMBERS), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False)
)


def _nested(levels: int) -> Any:
    value: Any = "deep"
    for level in range(levels):
        value = {"in": value} if level % 2 else [value]
    return value


# objects and lists: of anything, deep, and wide
values: Final = st.one_of(
    st.recursive(
        st.one_of(texts, numbers, st.none(), st.booleans()),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
        max_leaves=6,
    ).map(lambda value: value if isinstance(value, dict | list) else [value]),
    st.sampled_from([_nested(30), _nested(55), list(range(300)), {f"member {n}": n for n in range(50)}]),
)
objects: Final = values.map(lambda value: value if isinstance(value, dict) else {"of": value})
