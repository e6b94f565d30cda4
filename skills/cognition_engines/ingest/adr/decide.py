"""Derives the status and the date of a record from its statements."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import itemgetter
from typing import Final

from cognition_engines.ingest.adr.header import StatedText
from cognition_engines.ingest.adr.references import OTHER_RELATIONS
from cognition_engines.ingest.dates import date_in_name, find_dates, first_date
from cognition_engines.ingest.statuses import (
    STRONG,
    SUPERSEDE,
    WEAK,
    begins_with_status,
    drop_choices,
    is_of_decisions,
    is_status_alone,
    meanings,
    normalise_status,
    split_ending,
    tokens_of,
)
from cognition_engines.markdown.front_block import Notice
from cognition_engines.markdown.inline import bare, excerpt, one_line, without_links, without_marks

STATUS_LENGTH: Final = 200
_RELATION: Final = re.compile(rf"(?:{SUPERSEDE}(?:es|ing)|replaces|obsoletes|{OTHER_RELATIONS})\b", re.IGNORECASE)
# Relations to another record that only a record in force has.
_IN_FORCE: Final = re.compile(
    rf"(?:{SUPERSEDE}es|replaces|obsoletes|(?:amend|extend|refine|complement|complete|supplement)(?:s|e?d)|follow-?\s?up)\b",
    re.IGNORECASE,
)
_LEGEND: Final = re.compile(
    r"[*_`\"]{0,3}([a-z ]{1,30}?)[*_`\"]{0,3}\s?(?:[:=][*_`]{0,2}|[-–—]{1,2})\s{1,3}\S", re.IGNORECASE
)
_SAYS_NAME: Final = re.compile(r"(?:adr|(?:(?:adr|decision|current) )?status)\s?[:：]\s{0,3}(?=\S)", re.IGNORECASE)
# A later statement that takes a record out of force; "Rejected alternatives" is about others.
_ENDS: Final = re.compile(
    r"[\W_]{0,9}(?:deprecated|obsolete|rejected|withdrawn|abandoned|retired|revoked|rescinded)[*_]{0,3}\s{0,3}"
    r"(?:(?<=\s)(?:by|on|as|since|in|due|because|from)\b|[.,;(:–—-]|(?<!rejected)$)",
    re.IGNORECASE,
)
# Instructions in a template; a status below them takes precedence.
_GUIDANCE: Final = re.compile(
    r"\b(?:what|which|choose|select|pick|one of|options?|possible|valid|state|status(?:es)?|values?|delete|fill"
    r"|such as|may be|can be|should be|must be)\b",
    re.IGNORECASE,
)
_CALLOUT: Final = re.compile(r"\[![a-z]{1,20}\][+-]?", re.IGNORECASE)  # the mark above a note of GitHub or Obsidian
_PROSE_WORDS: Final = 8  # from which on a statement without a leading status is prose
_CHANGE_WORDS: Final = 6  # of a change log entry with a status
_EXPIRY: Final = re.compile(
    r"\b(?:expire[sd]?|expir(?:y|ation)|until)\b", re.IGNORECASE
)  # a later day is not the record's
_TICKED: Final = ("[x] ", "[X] ")


@dataclass(frozen=True, slots=True)
class Status:
    """A stated status, in one line of at most 200 characters, with meaning and adjacent date."""

    text: str
    status: str
    date: datetime | None = None


def status_of(text: str) -> Status:
    """Return a status from one line."""
    words = one_line(without_links(without_links(without_marks(text))).replace("**", ""))
    words = _SAYS_NAME.sub("", words, count=1)[:STATUS_LENGTH].strip()
    status = normalise_status(drop_choices(text) or text)
    dates = [hit.date for hit in find_dates(_EXPIRY.split(bare(split_ending(text)[0]))[0])] or [None]
    first = next(meanings(text), None)
    return Status(words, status, dates[0 if first is None or first.status == status else -1])


def _is_superseding(text: str) -> bool:
    first = next(meanings(text), None)
    return first is not None and first.status == "superseded" and normalise_status(text) == "superseded"


def _is_guidance(text: str) -> bool:
    """Return whether a statement may be a form's guidance about the status."""
    plain = text.strip(" *_>()[]{}")
    states = begins_with_status(plain) and drop_choices(text) is not None
    prose = len(plain.split()) >= _PROSE_WORDS or plain.endswith(("?", ":")) or _GUIDANCE.search(plain) is not None
    return not states and (drop_choices(text) is None or prose)


def _dated(lines: Iterable[StatedText], counts: Callable[[str], bool]) -> list[StatedText]:
    """Return the lines that count and have a date, by date."""
    hits = ((first_date(bare(line.text)), line) for line in lines if counts(line.text))
    dated = [(hit.date, line) for hit, line in hits if hit is not None and hit.date is not None]
    return [line for _, line in sorted(dated, key=itemgetter(0))]


def _ticked_lines(lines: Sequence[StatedText]) -> list[StatedText] | None:
    """Return the ticked lines of a task list; None when there is no task list."""
    boxes = [line for line in lines if line.text.startswith(("[ ] ", *_TICKED))]
    if not boxes:
        return None
    return [StatedText(line.text[4:], line.line) for line in boxes if line.text.startswith(_TICKED)]


def _without_legend(statements: Sequence[StatedText]) -> Sequence[StatedText]:
    """Return the statements without those that explain the names of statuses, if another states one."""
    names = [match[1].strip().lower() if (match := _LEGEND.match(each.text)) else "" for each in statements]
    legend = {name for name in names if name in STRONG or name in WEAK}
    rest = [each for name, each in zip(names, statements, strict=True) if name not in legend or first_date(each.text)]
    return rest if len(legend) > 1 and any(begins_with_status(bare(each.text)) for each in rest) else statements


def _deciding(statements: Sequence[StatedText]) -> StatedText | None:
    """Return the statement that gives the status; None if none is about the record itself."""
    history = _dated(statements, lambda text: normalise_status(text) != "other")
    if len(history) > 1:
        return history[-1]
    superseding = next((each for each in statements if _is_superseding(each.text)), None)
    if superseding is not None:
        return superseding
    own = [each for each in statements if not (_RELATION.match(bare(each.text)) or _CALLOUT.fullmatch(each.text))]
    if not own:
        return None
    ending = next((each for each in own[1:] if _ENDS.match(each.text)), None)
    if ending is not None and begins_with_status(bare(own[0].text)):
        return ending
    if len(own) == 2 and all(is_status_alone(each.text) for each in own):
        return own[1]  # as "Proposed", and later "Accepted"
    if _is_guidance(own[0].text):
        later = (each for each in own[1:] if begins_with_status(bare(each.text)) and not _is_guidance(each.text))
        return next(later, own[0])
    return own[0]


def decide_status(statements: Sequence[StatedText]) -> Status | Notice | None:
    """Return the status given by the statements; a notice if they list choices without a chosen option.

    The first statement about the record itself decides, unless a later statement says that it is superseded. Guidance
    of a form gives way to a later statement beginning with a status.
    """
    ticked = _ticked_lines(statements)
    if ticked is not None:
        if len(ticked) != 1:
            return Notice(statements[0].line, "no status: none, or more than one, of the choices is ticked")
        return status_of(ticked[0].text)
    joined = "|".join(each.text for each in statements)
    if len(statements) > 2 and (chosen := drop_choices(joined)) is not None and chosen != joined:
        return status_of(chosen)
    statements = _without_legend(statements)
    deciding = _deciding(statements)
    if deciding is None and _IN_FORCE.match(bare(statements[0].text)):
        return replace(status_of(statements[0].text), status="accepted")
    if deciding is None or not any(character.isalnum() or ord(character) > 127 for character in deciding.text):
        return None
    if drop_choices(deciding.text) is None:
        return Notice(deciding.line, f"no status: a list of choices with none chosen: {excerpt(deciding.text)}")
    return status_of(drop_choices(deciding.text) or "")


def changed_status(changes: Sequence[StatedText]) -> Status | None:
    """Return the status of the latest log entry with only a status and a date; keep the date only for an approval."""
    entries = _dated(changes, _says_status)
    if not entries:
        return None
    status = status_of(entries[-1].text)
    approved = status.status == "accepted" and is_of_decisions(entries[-1].text)
    return status if approved else replace(status, date=None)


def _says_status(entry: str) -> bool:
    tokens = tokens_of(entry)
    words = [token for token in tokens if token.isalnum() and not token.isdigit()]
    return len(words) <= _CHANGE_WORDS and begins_with_status(" ".join(words)) and words[0] != "removed"


@dataclass(frozen=True, slots=True)
class DateFound:
    """A record's date, the place in the file (None if read from the file name), and warnings."""

    date: datetime | None
    source: StatedText | None
    notices: tuple[Notice, ...]


def _stated_date(stated: StatedText) -> tuple[datetime | None, Notice | None]:
    hit = first_date(bare(stated.text))
    if hit is None or hit.date is None:
        return None, Notice(stated.line, f"not a full date, so none is recorded from it: {excerpt(stated.text)}")
    if hit.short_year:
        return hit.date, Notice(stated.line, f"a two-digit year, read as {hit.date:%Y-%m-%d}: {excerpt(stated.text)}")
    return hit.date, None


def _first_change(changes: Sequence[StatedText]) -> tuple[datetime | None, Notice | None]:
    """Return the earliest entry's date; None if an entry begins with an impossible date."""
    leading: list[datetime] = []
    inside: list[datetime] = []
    for entry in changes:
        text = bare(entry.text)
        for hit in find_dates(text):
            if hit.date is not None and not hit.short_year:
                (leading if hit.start == 0 else inside).append(hit.date)
            elif hit.start == 0:
                return None, Notice(entry.line, f"the changes hold a date that cannot be one: {excerpt(entry.text)}")
            break
    found = leading or inside
    return (min(found) if found else None), None


def _candidates(
    stated: Iterable[StatedText], status: Status | None, changes: Sequence[StatedText]
) -> Iterator[tuple[datetime | None, Notice | None, StatedText | None]]:
    for each in stated:
        yield (*_stated_date(each), each)
    if status is not None:
        yield status.date, None, None
    yield (*_first_change(changes), None)


def decide_date(
    stated: Iterable[StatedText], status: Status | None, changes: Sequence[StatedText], stem: str
) -> DateFound:
    """Return the most trusted date: stated, then next to the status, then the earliest change, then in the file name.

    An invalid date is skipped with a warning.
    """
    notices: list[Notice] = []
    for date, notice, source in _candidates(stated, status, changes):
        if notice is not None:
            notices.append(notice)
        if date is not None:
            return DateFound(date, source, tuple(notices))
    named = date_in_name(stem)
    if named is not None and named.date is None:
        notices.append(Notice(1, f"the file name begins with a date that cannot be one: {excerpt(stem)}"))
    return DateFound(named.date if named is not None else None, None, tuple(notices))
