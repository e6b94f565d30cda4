"""References of statements to superseded and superseding records."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from cognition_engines.ingest.statuses import PARTLY, SUPERSEDE, hide_titles, in_english, is_own, limits, words_before
from cognition_engines.kinds.decisions import names_none
from cognition_engines.markdown.inline import LONGEST_LINE

_WHEN: Final = r"(?:\s\(?(?:on\s)?\d{4}-\d{2}-\d{2}\)?,?)?"
_BY: Final = re.compile(
    rf"(?<![\w./-])(?:{SUPERSEDE}ed(?:{_WHEN}[\s*_`-]{{1,4}}by)?"
    rf"|(?:replaced|obsoleted|overturned|overruled){_WHEN}[\s*_`-]{{1,4}}by)"
    r"(?![\w-])[\s:*_`]{0,6}",
    re.IGNORECASE,
)
_OVER: Final = re.compile(
    rf"(?<![\w./-])(?:{SUPERSEDE}(?:es|ing)|replaces|obsoletes)(?![\w-])[\s:*_`]{{0,6}}", re.IGNORECASE
)
_UNSURE: Final = PARTLY | {"not", "never", "no", "part", "parts"}
_FILLER: Final = (
    r"(?:the|a|an|this|these|both|all|of|our|my|its|their|new|newer|newest|latest|later|early|earlier|previous|prior|old|older"
    r"|original|former|existing|above|below|following|two|three|architectur(?:e|al)|records?|decisions?|documents?|adrs?|in)"
)
_FILLERS: Final = re.compile(
    rf"(?:{_FILLER}[\s:]{{1,3}}){{1,8}}"
    r"(?=\[|[A-Za-z]{0,10}[-_ #]?\d)",
    re.IGNORECASE,
)
OTHER_RELATIONS: Final = (
    r"(?:amend|refine|complete|complement|extend|supplement)(?:s|e?d (?:by|in))|follow-?\s?up|clarifie(?:s|d by)"
    r"|relate[sd] to|overrides|requires|depends on|see also"
)
_OPEN: Final = re.compile(
    rf"(?P<phrase>(?<![\w./-])(?:{SUPERSEDE}(?:es|ing|ed(?: by)?)|(?:replaced|obsoleted) by|replaces|obsoletes"
    rf"|{OTHER_RELATIONS}))(?:[\s:*_]{{1,3}}{_FILLER}(?!\w))"
    r"{0,8}[\s:*_]{0,6}",
    re.IGNORECASE,
)
_MARKS: Final = re.compile(r"[`<\"“*_(]{1,4}")
_URL: Final = re.compile(r"https?://[^\s<>()\[\]]{1,1000}")
_WIKI: Final = re.compile(r"\[\[([^\[\]|#\n]{1,300})[^\[\]\n]{0,300}\]\]")
_LINK: Final = re.compile(
    r"\[((?:[^\[\]\n]|\[[^\[\]\n]{0,300}\]){0,300})\]"
    r"(?:\((?:<([^<>\n]{0,1000})>|([^()\s]{0,1000}))[^()\n]{0,300}\)|\[[^\[\]\n]{0,300}\])?"
)
_TARGET: Final = re.compile(r"\]\(([^()\s]{1,1000})")  # of a link whose text is the phrase itself
_FILE: Final = re.compile(
    r"/?(?:[\w.+-]{1,100}/){0,12}[\w.+-]{1,200}\.(?:md|markdown|mdx|rst|adoc|txt)\b", re.IGNORECASE
)
# The name of a file without its ending.
_STEM: Final = re.compile(
    r"(?:(?:ADR|MADR|RFC|DR|AD|decision)[-_]?)?\d{1,6}[-_][^\W\d_][\w-]{0,200}(?![\w/])", re.IGNORECASE
)
# "ADR 23" is a name; "Redis 3" is not, so a blank is allowed after words for a record only.
_PREFIX: Final = r"(?:[A-Za-z]{1,10}[-_]?|(?:ADR|DR|AD|RFC|decision|record|number|no\.?)[ #-]{1,2})"
_NAME: Final = re.compile(rf"{_PREFIX}\d{{1,6}}(?![\w/]|-\d)", re.IGNORECASE)
_THROUGH: Final = (
    r"(?:\s?(?:\.{2,3}|…)\s?|\s(?:to|through|thru|until|till|bis)\s|\s?[-–—]\s?(?!\d{1,6}\s(?!on |and )\w))"
)
# Several records by the first and the last number; "2024-01" is a month.
_SPAN: Final = re.compile(
    rf"(?!\d{{4}}-\d\d?(?!\d))#?({_PREFIX}?)(\d{{1,6}}){_THROUGH}#?({_PREFIX}?)(\d{{1,6}})(?![\w/-])", re.IGNORECASE
)
_LINKED_SPAN: Final = re.compile(
    rf"\[({_PREFIX}?\d{{1,6}})\b[^\[\]\n]{{0,200}}\]\([^()\s]{{0,300}}\){_THROUGH}"
    rf"\[({_PREFIX}?\d{{1,6}})\b[^\[\]\n]{{0,200}}\]\([^()\s]{{0,300}}\)",
    re.IGNORECASE,
)
_LONGEST_SPAN: Final = 20  # records; a longer one is taken as a name, so a warning shows it
_NUMBER: Final = re.compile(r"#?(\d{1,6})(?![\w/]|-\d)")
_BARE: Final = _FILE, _STEM, _SPAN, _NAME, _NUMBER
_BETWEEN: Final = re.compile(
    r"[`>\"”*_)]{0,4}\s{0,9}(?:,\s{0,9}and\b|,|;|&|\+|\b(?:and|und|et|y|e)\b(?:\s{1,3}by\b)?)\s{0,9}", re.IGNORECASE
)
_DOCUMENT: Final = (".md", ".markdown", ".mdx", ".rst", ".adoc", ".txt")


@dataclass(frozen=True, slots=True)
class References:
    """References to superseded and superseding records, as written: a number, an id or a file name each."""

    supersedes: tuple[str, ...] = ()
    superseded_by: tuple[str, ...] = ()


def _of_target(target: str) -> str | None:
    path = unquote(target).partition("#")[0].partition("?")[0]
    if not path.lower().endswith(_DOCUMENT):
        return None
    folder, _, name = path.removeprefix("./").rpartition("/")
    if not name.lower().startswith(("readme.", "index.")):
        return name if "://" in target or not folder else f"{folder}/{name}"
    return folder.rpartition("/")[2] or None


def _of_link(link: re.Match[str]) -> str | None:
    """Return the link target's name, else a name at the text's start; without a target the text must be only a name."""
    target, text = link[2] or link[3], link[1].strip()
    if target is not None:
        none = names_none(text) and any(character.isalpha() for character in text)
        return None if none else _of_target(target) or _bare(text, 0)[0]
    return _bare(text, 0)[0] if any(pattern.fullmatch(text) for pattern in _BARE) else None


def _tokens(text: str, at: int) -> Iterator[str]:
    """Yield the references in a list of them, without blanks of forms, and without those limited to a part."""
    filler = _FILLERS.match(text, at) if _bare(text, at)[0] is None else None
    at = filler.end() if filler is not None else at
    while at < len(text):
        marks = _MARKS.match(text, at)
        at = marks.end() if marks is not None else at
        span, wiki, link, target, url = (
            pattern.match(text, at) for pattern in (_LINKED_SPAN, _WIKI, _LINK, _TARGET, _URL)
        )
        token: str | None
        if span is not None:
            token, at = f"{span[1]} to {span[2]}", span.end()
        elif wiki is not None:
            token, at = wiki[1].rpartition("/")[2].strip(), wiki.end()
        elif link is not None:
            token, at = _of_link(link), link.end()
        elif target is not None:
            token, at = _of_target(target[1]), len(text)
        elif url is not None:
            token, at = _of_target(url[0].rstrip(".,;")), url.end()
        else:
            token, at = _bare(text, at)
            if token is None:
                return
        if token is not None and not (names_none(token) or limits(text[at:])):
            yield from _each(token)
        between = _BETWEEN.match(text, at)
        if between is None or between.end() == at:
            return
        at = between.end()


def _each(name: str) -> Sequence[str]:
    """Return the names in a span such as "ADR-2 to ADR-5"; other names, and spans that are too long, as they are."""
    span = _SPAN.fullmatch(name)
    first, last = (int(span[2]), int(span[4])) if span is not None else (0, 0)
    if span is None or span[3] not in {"", span[1]} or not 0 < last - first < _LONGEST_SPAN:
        return [name]
    return [f"{span[1]}{number:0{len(span[2])}d}" for number in range(first, last + 1)]


def _bare(text: str, at: int) -> tuple[str | None, int]:
    match = next(filter(None, (pattern.match(text, at) for pattern in _BARE)), None)
    return (match[0].lstrip("#"), match.end()) if match is not None else (None, at)


def _after(phrase: re.Pattern[str], text: str) -> Iterator[str]:
    hidden = hide_titles(text)
    start = 0
    before: list[str] = []
    for match in phrase.finditer(hidden):
        before = words_before(hidden[start : match.start()], before)
        start = match.start()
        if is_own(before) if phrase is _BY else _UNSURE.isdisjoint(before):
            yield from _tokens(text, match.end())


def references_in(text: str) -> References:
    """Return the references after "superseded by", "replaced by", "supersedes" or "replaces" in a statement.

    The titles of records are ignored, and "superseded by" counts if the record itself is meant.
    """
    if len(text) > LONGEST_LINE:
        return References()
    text = in_english(text)
    return References(tuple(dict.fromkeys(_after(_OVER, text))), tuple(dict.fromkeys(_after(_BY, text))))


def open_phrase(text: str) -> str | None:
    """Return the phrase at the end of a statement, as in "Supersedes the following:"; a list below belongs to it."""
    hidden = hide_titles(in_english(text[-LONGEST_LINE:]))
    ends = (match for match in _OPEN.finditer(hidden) if match.end() == len(hidden))
    last = next(ends, None)
    return last["phrase"] if last is not None else None


def item_references(item: str, *, below: bool) -> str | None:
    """Return a list item from the reference on; None if it names no record.

    In a list `below` a phrase the reference may be any link in the item; elsewhere the item must begin with it.
    """
    if any(_tokens(item, 0)):
        return item
    links = (match[0] for match in _LINK.finditer(item) if below and (match[2] or match[3]))
    return next((link for link in links if any(_tokens(link, 0))), None)


def listed_references(text: str) -> tuple[str, ...]:
    """Return the references in a field with nothing else; a single other word is taken as a reference."""
    text = text.strip()[:LONGEST_LINE]
    found = tuple(dict.fromkeys(_tokens(text, 0)))
    if found or not text or len(text) > 200 or any(character.isspace() for character in text):
        return found
    return (text,) if any(character.isalnum() for character in text) and not names_none(text.partition("](")[0]) else ()
