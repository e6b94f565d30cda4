"""IRC logs as written by IRC programs: `[10:15] <ana> text`, `10:15 * ana waves`, `10:15 -!- bo has joined`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cognition_engines.ingest.dates import first_date

_NICK: Final = r"[^\s<>:/]{1,64}"
_TIME: Final = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,3})?)?(?:[ \t]?[AaPp]\.?[Mm]\.?)?"
_STAMP: Final = (
    rf"[\[(]?(?:(?P<date>\d{{4}}-\d{{2}}-\d{{2}})[ T]|[A-Z][a-z]{{2}} [ \d]?\d )?(?P<time>{_TIME})Z?[\])]?[ \t]{{1,3}}"
)
_LINE: Final = re.compile(
    rf"(?:{_STAMP})?(?:<[ @+%&~!]?(?P<nick>{_NICK})>(?:[ \t]{{1,3}}(?P<said>.*))?"
    rf"|\*[ \t](?P<actor>{_NICK})[ \t](?P<done>.+)|(?P<event>(?:-!-|\*{{1,4}}|-{{2,3}}>?|<-{{1,2}}|=!?=)[ \t].*))"
)
_DAY: Final = re.compile(
    r"(?:-{3}|\*{3,4})? ?(?:Log opened|Day changed(?: to)?|BEGIN LOGGING AT|Session Start:)[ \t]+(?P<day>.{6,60})"
)
_CLOSED: Final = re.compile(r"(?:-{3}|\*{3,4})? ?(?:Log closed|ENDING LOGGING|Session (?:Close|Ident|Time)).{0,100}")
_OF_DAY: Final = re.compile(r"\d{1,2}:\d{2}(?::\d{2})? ?")
# Messages of a program about a person in the form of an action.
_HAPPENED: Final = re.compile(
    r"(?:\([^()]{1,200}\) |\[[^\[\]]{1,200}\] )?"
    r"(?:(?:has )?(?:joined|left|quit)\b|(?:is|are) now known as\b|sets? mode\b|(?:has )?changed? (?:the )?topic\b"
    r"|was kicked\b|has been kicked\b|gives? (?:channel )?(?:operator|voice)|sets? the (?:channel )?topic)"
)
_LEAST: Final = 2  # messages with a time


@dataclass(frozen=True, slots=True)
class Message:
    """A message or an action on a line (0-based), with the line's time, if given."""

    line: int
    nick: str
    time: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Log:
    """A log's messages; `events` are the lines (0-based) written by the program alone."""

    messages: Sequence[Message]
    events: frozenset[int]

    @property
    def is_timed(self) -> bool:
        """Return whether times identify the text as a log; names in angle brackets alone do not."""
        return sum(message.time is not None for message in self.messages) * 2 > max(len(self.messages), _LEAST)


def read_log(lines: Sequence[str]) -> Log | None:
    """Parse a text as a log: at least half of the lines must be log lines, and two messages."""
    matches = {at: match for at, line in enumerate(lines) if (match := _LINE.fullmatch(line.rstrip())) is not None}
    nicks = {match["nick"].casefold() for match in matches.values() if match["nick"] is not None}
    if not nicks:
        return None
    filled = sum(1 for line in lines if line.strip())
    days = dict(_days(lines))
    log = _log(lines, matches, nicks, days)
    known = len(log.messages) + len(log.events)
    return log if len(log.messages) >= _LEAST and known * 2 >= filled else None


def _days(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines after which a day holds, and the day in ISO 8601."""
    for at, line in enumerate(lines):
        match = _DAY.fullmatch(line.strip())
        hit = None if match is None else first_date(_OF_DAY.sub("", match["day"]))
        if hit is not None and hit.date is not None:
            yield at, hit.date.date().isoformat()


def _log(lines: Sequence[str], matches: dict[int, re.Match[str]], nicks: set[str], days: dict[int, str]) -> Log:
    messages, events, day = [], set[int](), None
    for at, line in enumerate(lines):
        day = days.get(at, day)
        match = matches.get(at)
        text = None if match is None else _words(match, nicks)
        if at in days or _CLOSED.fullmatch(line.strip()) is not None:
            events.add(at)
        elif match is not None and text is not None:
            messages.append(Message(at, match["nick"] or match["actor"], _time(match, day), text))
        elif match is not None and _is_event(match):
            events.add(at)
    return Log(messages, frozenset(events))


def _is_event(match: re.Match[str]) -> bool:
    """Return whether a line without a speaker is from the program; without a time it may be an item of a list."""
    is_certain = match["time"] is not None or (match["event"] or "").startswith(("-!-", "***"))
    return is_certain or (match["done"] is not None and _HAPPENED.match(match["done"]) is not None)


def _words(match: re.Match[str], nicks: set[str]) -> str | None:
    """Return the words or the action of a line; None if the program wrote it."""
    if match["nick"] is not None:
        return match["said"] or ""
    actor, done = match["actor"], match["done"]
    if actor is None or actor.casefold() not in nicks or _HAPPENED.match(done) is not None:
        return None
    return f"* {actor} {done}"


def _time(match: re.Match[str], day: str | None) -> str | None:
    """Return the line's time, with the day if known."""
    date, time = match["date"] or day, match["time"]
    return time if time is None or date is None else f"{date} {time}"
