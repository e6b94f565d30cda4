"""The text of mails: decoded from bytes by labels of the WHATWG Encoding Standard, and extracted from HTML."""

import codecs
import re
from binascii import Error as NoBase64, a2b_base64, a2b_qp
from collections.abc import Iterator, Mapping
from html import unescape
from html.parser import HTMLParser
from itertools import groupby
from typing import Final

NO_CHARACTER: Final = "\N{REPLACEMENT CHARACTER}"  # for NUL, which no store holds
# Codecs of labels that Python lacks or reads too narrowly; each is a superset of the named encoding.
_LABELS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("iso8859-1", "latin1", "latin-1", "l1", "cp819", "ansi", "x-cp1252", "x-ansi"), "cp1252"),
    **dict.fromkeys(("iso8859-9", "latin5", "latin-5", "x-cp1254"), "cp1254"),
    **dict.fromkeys(("iso8859-11", "tis-620", "tis620", "windows-874", "dos-874"), "cp874"),
    **dict.fromkeys(("gb2312", "gbk", "x-gbk", "chinese", "gb18030", "cp936", "gb_2312-80", "x-euc-cn"), "gb18030"),
    **dict.fromkeys(("shift_jis", "sjis", "x-sjis", "windows-31j", "ms_kanji", "ms932", "windows-932"), "cp932"),
    **dict.fromkeys(("euc_kr", "euc-kr", "ks_c_5601-1987", "ksc5601", "ks_c_5601-1989", "windows-949"), "cp949"),
    **dict.fromkeys(("big5", "big5-hkscs", "x-x-big5", "cn-big5"), "big5hkscs"),
    **dict.fromkeys(("x-mac-roman", "macintosh", "mac"), "mac_roman"),
    **dict.fromkeys(("x-mac-cyrillic", "x-mac-ukrainian"), "mac_cyrillic"),
    **dict.fromkeys(("unicode-1-1-utf-8", "x-unicode20utf8", "utf8mb4", "utf-8-mac"), "utf-8"),
    **dict.fromkeys(("unicode", "ucs-2", "iso-10646-ucs-2", "csunicode", "unicodefeff"), "utf-16"),
    **dict.fromkeys(("iso-8859-8-i", "iso-8859-8-e", "logical", "visual"), "iso8859-8"),
    "x-cp1250": "cp1250",
    "x-cp1251": "cp1251",
    "iso2022_jp": "iso2022_jp_ext",
    "x-euc-jp": "euc_jp",
    "unicodefffe": "utf-16-be",
    "koi": "koi8-r",
    "koi8": "koi8-r",
    "koi8-ru": "koi8-u",
}
# Codecs that also have the characters of NEC's row 13, such as \N{CIRCLED DIGIT ONE}, written by Windows.
_WIDER: Final[Mapping[str, str]] = {"euc_jp": "euc_jis_2004", "iso2022_jp_ext": "iso2022_jp_2004"}
_ESCAPE: Final = re.compile(rb"\x1b\$[@B]")  # to JIS X 0208, of which JIS X 0213 is a superset
# Labels written by most programs whatever the text.
_SAY_NOTHING: Final = frozenset({"ascii", "utf-8", "us-ascii", "unknown-8bit", "unknown", "x-unknown", "default"})
# Python codecs that are no encodings of mail texts; the first takes quadratic time.
_NO_CHARSETS: Final = frozenset({"punycode", "idna", "unicode_escape", "raw_unicode_escape", "unicode-escape"})
_WORD: Final = r"=\?[^?\s]{1,60}\?[bBqQ]\?[^?\s]{0,100000}\?="
_WORDS: Final = re.compile(rf"{_WORD}(?:\s*{_WORD})*")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_ONE: Final = re.compile(r"=\?([^?\s]+)\?([bBqQ])\?([^?\s]*)\?=")
_OF_BASE64: Final = re.compile(rb"[A-Za-z0-9+/]+")
_SILENT: Final = frozenset({"script", "style", "head", "title", "template"})
_BLOCKS: Final = frozenset({"p", "div", "br", "li", "tr", "table", "ul", "ol", "blockquote", "pre", "hr", "section"})
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLANK: Final = re.compile(r"[ \t\r\n\f\u00a0]+")
_GAPS: Final = re.compile(r"\n{3,}")
_MOST_UNCLOSED: Final = 20  # unclosed tags and comments, after which the rest is text


def decode_text(content: bytes, label: str | None) -> str:
    """Return the text of bytes: by their label, else as UTF-8, else as windows-1252."""
    names = list(_list_encodings(content, label))
    for errors in ("strict", "replace"):
        for name in names:
            try:
                written = _ESCAPE.sub(b"\x1b$(Q", content) if name == "iso2022_jp_2004" else content
                text = written.decode(name, errors).encode("utf-8", "replace").decode()  # UTF-7 may give half a pair
            except (LookupError, ValueError):  # no encoding of text among them
                continue
            if errors == "strict" or _is_whole(text):
                return text
    return content.decode("cp1252", errors="replace")


def _is_whole(text: str) -> bool:
    """Return whether few non-ASCII characters were unreadable; otherwise the text was cut or changed."""
    return text.count(NO_CHARACTER) * 4 < sum(not character.isascii() for character in text)


def decode_words(header: str) -> str:
    """Return a header with decoded encoded words; adjacent encoded words may share a character."""
    return _WORDS.sub(_decode_match, header)


def decode_base64(content: bytes) -> bytes:
    """Return the bytes of a base64 text up to the padding; other characters are skipped, as RFC 2045 requires."""
    digits = b"".join(_OF_BASE64.findall(content.partition(b"=")[0]))
    kept = len(digits) - (len(digits) % 4 == 1)
    return a2b_base64(digits[:kept] + b"=" * (-kept % 4))


def _decode_match(found: re.Match[str]) -> str:
    words = [(label.partition("*")[0].lower(), way, text) for label, way, text in _ONE.findall(found[0])]
    groups = groupby(words, key=lambda word: word[0])
    made = (
        decode_text(b"".join(_decode_transfer(way, text) for _, way, text in group), label) for label, group in groups
    )
    return _CONTROL.sub(" ", "".join(made))


def _decode_transfer(way: str, text: str) -> bytes:
    content = text.encode("utf-8", "surrogateescape")
    try:
        return a2b_qp(content, header=True) if way in "qQ" else decode_base64(content)
    except NoBase64:
        return content


def _list_encodings(content: bytes, label: str | None) -> Iterator[str]:
    """Yield the encodings to try, in their order."""
    written = (label or "ascii").strip().strip("\"'").lower()
    name = _LABELS.get(written)
    if name is None and written not in _SAY_NOTHING:
        try:
            name = codecs.lookup(written).name
        except (LookupError, ValueError):
            name = None
    known = None if name is None else _LABELS.get(name, name)
    # in UTF-16 a blank and a line end have a zero byte: without any the label is wrong
    wrong = known is not None and known.startswith("utf-16") and not {0, 0xFE, 0xFF} & set(content)
    if known is not None and not wrong and known not in _SAY_NOTHING | _NO_CHARSETS:
        yield known
        if known in _WIDER:
            yield _WIDER[known]
    yield "utf-8"


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent += 1
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT and self._silent:
            self._silent -= 1
        self._break(tag)

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Parse `<![` as a comment up to `>`, as browsers do; the base class's method raises for most such text."""
        return self.parse_bogus_comment(i)

    def _break(self, tag: str) -> None:
        if tag in _BLOCKS | _HEADINGS:
            self.found.append("\n" if tag in ("br", "li", "tr", "div") else "\n\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.found.append(_BLANK.sub(" ", data))


def html_words(written: str) -> str:
    """Return the visible text, without marks."""
    words = _Words()
    words.feed(written)
    _end(words)
    lines = "\n".join(line.strip() for line in "".join(words.found).split("\n"))
    return _GAPS.sub("\n\n", lines).strip()


def _end(words: _Words) -> None:
    """Read the rest after an unclosed mark; `close` would take time quadratic in the length."""
    for _ in range(_MOST_UNCLOSED):
        mark, closed, rest = words.rawdata.partition(">")
        if not closed:
            break
        words.rawdata = ""
        words.handle_data(unescape(mark + closed))
        words.feed(rest)
    words.handle_data(unescape(words.rawdata))
