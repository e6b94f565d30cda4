"""Reads a plain text with alternating speakers (`Ana: text`, or `[10:15 AM] ana:` above it) into its turns."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from cognition_engines.drafts.plain_values import Unacceptable, Value
from cognition_engines.ingest.adr.titles import name_of_text
from cognition_engines.ingest.conversations.irc import Log, read_log
from cognition_engines.ingest.dates import iso_date, sure_date
from cognition_engines.ingest.documents import MEMBERS
from cognition_engines.ingest.items import Item, RecordDraft, rejected, warned
from cognition_engines.ingest.parse.front_matter import FrontMatter, read_front_matter
from cognition_engines.ingest.structured.records import read_other
from cognition_engines.kinds.spec import Kind
from cognition_engines.markdown.front_block import front_block
from cognition_engines.markdown.inline import bare

_LEAST: Final = 4  # turns
_LONGEST_NAME: Final = 60
_LONGEST_PREAMBLE: Final = 5000
_CLOCK: Final = r"(?:\d{4}-\d{2}-\d{2}[ T])?\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,3})?)?(?:[ \t]?[AaPp]\.?[Mm]\.?)?"
_NAME: Final = r"@?[^\W\d_][\w.'’&@/+-]{0,40}(?: [\w.'’&@/+-]{1,40}){0,3}(?: \([^()\n]{1,40}\))?"
_HEADER: Final = re.compile(
    rf"(?:[\[(]?(?P<before>{_CLOCK})[\])]?[ \t]{{0,3}}(?:[-–][ \t])?)?\*{{0,2}}(?P<name>{_NAME})\*{{0,2}}"
    rf"(?:[ \t]?[\[(](?P<after>{_CLOCK})[\])])?:\*{{0,2}}(?:[ \t]+(?P<rest>\S.*)|[ \t]*)"
)
_FIELD: Final = re.compile(r"[ \t#*]{0,6}(?P<name>[^\W\d_][^:\n]{0,40}):(?:[ \t]++(?P<value>.*)|[ \t]*)")
# First lines of mails, minutes and decision records.
_FORMS: Final = frozenset({"from", "to", "cc", "bcc", "subject", "attendees", "status", "reply-to", "agenda"})
_NO_NAMES: Final = _FORMS | frozenset(
    {"date", "note", "notes", "nb", "todo", "warning", "caution", "important", "tip", "hint", "update", "edit"}
    | {"example", "examples", "usage", "summary", "title", "version", "license", "copyright", "see", "also", "ps"}
    | {"added", "changed", "deprecated", "removed", "fixed", "security", "error", "info", "debug", "http", "https"}
)
# First words of lines in minutes, alone or next to another word, as in "Action items" and "Decision 3".
_OF_MINUTES: Final = _NO_NAMES | frozenset(
    {"action", "actions", "decision", "decisions", "decided", "agreed", "resolved", "resolution", "topic", "topics"}
    | {"item", "items", "minutes", "motion", "vote", "question", "questions", "answer", "answers", "discussion"}
    | {"conclusion", "result", "results", "outcome", "background", "context", "apologies", "present", "absent"}
    | {"participants", "deadline", "due", "owner", "next", "follow-up", "followup", "fixme", "risk", "risks", "issue"}
    | {"issues", "remark", "remarks", "reason", "idea", "ideas", "aob", "reminder", "announcement", "announcements"}
    | {"beschluss", "beschlüsse", "entscheidung", "aufgabe", "aufgaben", "hinweis", "anmerkung", "thema", "themen"}
    | {"tagesordnung", "protokoll", "teilnehmer", "anwesend", "frage", "fragen", "ergebnis", "notiz", "termin", "top"}
    | {"décision", "décisions", "ordre", "remarque", "présents", "absents", "sujet", "résultat", "acuerdo"}
    | {"acuerdos", "decisión", "nota", "notas", "tema", "temas", "asistentes", "tarea", "tareas", "decisão", "ação"}
    | {"ações", "pauta"}
)
# Names of fields rather than of people: a text in which no person speaks is a list of settings or of records.
_FIELDS: Final = _NO_NAMES | frozenset(
    {"host", "hostname", "user", "username", "password", "port", "server", "client", "key", "value", "name", "id"}
    | {"address", "email", "e-mail", "phone", "city", "country", "url", "path", "file", "size", "type", "kind"}
    | {"level", "time", "timestamp", "author", "description", "priority", "category", "owner", "state", "question"}
    | {"answer", "q", "a", "input", "output", "request", "response", "method", "message", "code", "result", "step"}
    | {"start", "end", "location", "place", "price", "color", "colour", "comment", "action", "expected", "actual"}
    | {"word"}
)
_SENTENCE_END: Final = re.compile(r"[.!?…。！？][\"'”’»)\]*_]{0,4}$")
_LEAST_WORDS: Final = 3
_RIGHTS: Final = ("project", "sensitivity")
_ROLES: Final = frozenset({"user", "assistant", "system"})
_PARTS: Final = re.compile(
    r"(?:(?P<date>\d{4}-\d{2}-\d{2})[ T])?(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?[\d.,]*+"
    r"[ \t]?(?P<half>[AaPp])?[.Mm]*"
)
_HALF_A_DAY: Final = timedelta(hours=12)
_STARTS_WITHIN: Final = timedelta(minutes=5)  # of the recording, if times count from there


@dataclass(frozen=True, slots=True)
class _Header:
    """The speaker from a line on (0-based), the time, and the text on the line itself."""

    line: int
    name: str
    time: str | None
    rest: str
    first: bool  # of the paragraph

    @property
    def speaker(self) -> str:
        return self.name.casefold()


@dataclass(frozen=True, slots=True)
class _Spoken:
    """A transcript: its lines, the text above the first turn, the day if named by that text, and the headers."""

    lines: Sequence[str]
    preamble: str
    day: datetime | None
    headers: Sequence[_Header]
    events: int = 0  # left-out lines of a log


def read(path: str, text: str, *, is_transcript: bool = False) -> Iterator[Item] | None:
    """Return a transcript's turns, in order; None for other texts.

    It has four turns or more and two speakers, one of them twice; at least half of its paragraphs begin with a speaker,
    and it does not begin as a mail or as minutes do. The speakers are not all called like fields, and without times at
    least half of the turns have three words or the end of a sentence. With `is_transcript` a single turn is enough, and
    a text without a turn is rejected. The conversation is called by the file's name until its id is settled.
    """
    if is_transcript and not text.strip():
        return None
    items = _transcript(path, text, is_transcript)
    if items is None and is_transcript:
        reason = "a transcript must have turns that begin with a line `Name:` or `Name: text`"
        return iter([rejected(path, reason, 1)])
    return items


def _transcript(path: str, text: str, certain: bool) -> Iterator[Item] | None:
    lines = text.split("\n")
    start = next((at for at, line in enumerate(lines) if line.strip()), 0)
    block = front_block(lines, start)
    front = read_front_matter(block.members, block.flaw)
    if not block.rights and (front.flaw is not None or front.members.keys().isdisjoint(MEMBERS)):
        spoken = _read_turns(lines, certain)  # text between two rules may be turns
        return None if spoken is None else _turns(path, spoken, {})
    spoken = _read_turns([*[""] * block.end, *lines[block.end :]], certain)
    if spoken is None:
        return None
    if front.flaw is not None:
        return iter([rejected(path, front.flaw.reason, front.flaw.line)])
    above = "\n".join(lines[start + 1 : block.end - 1]).strip()
    spoken = replace(
        spoken, preamble=f"{above}\n\n{spoken.preamble}".strip(), day=spoken.day or sure_date(bare(front.text("date")))
    )
    return _with_rights(path, spoken, front)


def _with_rights(path: str, spoken: _Spoken, front: FrontMatter) -> Iterator[Item]:
    """Return the turns with the rights given by front matter; a single refusal if these break a rule."""
    rights: dict[str, Value] = {}
    for name in _RIGHTS:
        rights[name] = front.value(name)
        try:
            read_other(Kind.TURN, {"conversation_id": "a", "content": "a", name: rights[name]}, named_kind=True)
        except Unacceptable as error:
            return iter([rejected(path, str(error), front.line(name))])
    return _turns(path, spoken, rights)


def _read_turns(lines: Sequence[str], certain: bool) -> _Spoken | None:
    log = read_log(lines)
    if log is not None and (logged := _read_log(lines, log, certain)) is not None:
        return logged
    begin, day = _preamble(lines, certain)
    if begin is None:
        return None
    found = _choose_headers(list(_headers(lines, begin)))
    if not found or not (certain or _talk(lines, begin, found)):
        return None
    preamble = "\n".join(lines[: found[0].line]).strip()
    long = len(preamble) > _LONGEST_PREAMBLE and not certain
    return None if long else _Spoken(lines, preamble, day, found)


def _read_log(lines: Sequence[str], log: Log, certain: bool) -> _Spoken | None:
    """Return the speech in an IRC log; None if names in angle brackets alone are likelier field names."""
    said = [_Header(each.line, each.nick, each.time, each.text, first=True) for each in log.messages]
    if not (certain or log.is_timed):
        fields = any(header.speaker in _FIELDS or f"</{header.name}" in lines[header.line] for header in said)
        if fields or not _talk(lines, 0, said):
            return None
    spoken = ["" if at in log.events else line for at, line in enumerate(lines)]
    _, day = _preamble(lines, certain=True)
    return _Spoken(spoken, "\n".join(spoken[: said[0].line]).strip(), day, said, len(log.events))


def _talk(lines: Sequence[str], begin: int, found: Sequence[_Header]) -> bool:
    """Return whether these headers are people who speak in turn."""
    counts = Counter(header.speaker for header in found)
    paragraphs = sum(1 for at in range(begin, len(lines)) if _is_first(lines, at))
    firsts = sum(header.first for header in found)
    if len(found) < _LEAST or len(counts) < 2 or max(counts.values()) < 2 or firsts * 2 < paragraphs:
        return False
    if _FIELDS.issuperset(counts):
        return False
    timed = sum(header.time is not None for header in found)
    return timed * 2 >= len(found) or sum(_speaks(lines, found)) * 2 >= len(found)


def _speaks(lines: Sequence[str], found: Sequence[_Header]) -> Iterator[bool]:
    """Yield whether each turn reads like speech: three words or more, or the end of a sentence."""
    bounds = [*(header.line for header in found), len(lines)]
    for place, header in enumerate(found):
        content = " ".join([header.rest, *lines[header.line + 1 : bounds[place + 1]]]).strip()
        yield _SENTENCE_END.search(content) is not None or len(content.split()) >= _LEAST_WORDS


def _is_first(lines: Sequence[str], at: int) -> bool:
    return bool(lines[at].strip()) and (at == 0 or not lines[at - 1].strip())


def _preamble(lines: Sequence[str], certain: bool) -> tuple[int | None, datetime | None]:
    """Return the line after the text's leading fields, and their day; None if they have another form."""
    start = next((at for at, line in enumerate(lines) if line.strip()), 0)
    end = next((at for at in range(start, len(lines)) if not lines[at].strip()), len(lines))
    fields = [match for line in lines[start:end] if (match := _FIELD.fullmatch(line.rstrip())) is not None]
    names = {match["name"].strip().casefold() for match in fields}
    if not certain and not names.isdisjoint(_FORMS):
        return None, None
    dated = next((match for match in fields if match["name"].strip().casefold() == "date"), None)
    if dated is None:
        return start, None
    return end, sure_date(dated["value"] or "")


def _headers(lines: Sequence[str], begin: int) -> Iterator[_Header]:
    for at in range(begin, len(lines)):
        match = _HEADER.fullmatch(lines[at].strip())
        if match is None or len(match["name"]) > _LONGEST_NAME or _is_label(match["name"]):
            continue
        time = match["before"] or match["after"]
        yield _Header(at, match["name"].strip("*"), time, match["rest"] or "", _is_first(lines, at))


def _is_label(name: str) -> bool:
    """Return whether these words before a colon are no name, judged by the first or the last of them."""
    words = name.partition(" (")[0].strip("*").casefold().split()
    numbered = len(words) > 1 and words[-1].strip("#.").isdigit()
    return words[0] in _OF_MINUTES or words[-2 if numbered else -1] in _OF_MINUTES


def _choose_headers(found: Sequence[_Header]) -> Sequence[_Header]:
    """Return the headers that begin a turn: those with a time if most have a time; else those of known speakers."""
    timed = [header for header in found if header.time is not None]
    if len(timed) >= _LEAST and len(timed) * 2 >= len(found):
        return timed
    if sum(header.first for header in found) * 2 < len(found):
        return found  # turn by turn without blank lines between
    counts = Counter(header.speaker for header in found)
    firsts = {header.speaker for header in found if header.first}
    return [header for header in found if header.speaker in firsts or counts[header.speaker] > 1]


def _turns(path: str, spoken: _Spoken, rights: Mapping[str, Value]) -> Iterator[Item]:
    bounds = [*(header.line for header in spoken.headers), len(spoken.lines)]
    times = _times(spoken)
    index = 0
    for place, header in enumerate(spoken.headers):
        below = spoken.lines[header.line + 1 : bounds[place + 1]]
        content = "\n".join([header.rest, *below]).strip()
        if not content:
            yield warned(path, "a turn without words is left out", header.line + 1)
            continue
        metadata: dict[str, Value] = {"preamble": spoken.preamble} if spoken.preamble and not index else {}
        moment = times[place]
        if header.time is not None and moment is None:
            metadata["time"] = header.time
        ts = spoken.day if moment is None else moment
        members: dict[str, Value] = {
            "conversation_id": name_of_text(path),
            "content": content,
            "turn_index": index,
            "speaker": header.name,
            "role": header.speaker if header.speaker in _ROLES else None,
            "ts": None if ts is None else ts.isoformat(),
            "metadata": metadata,
            **rights,
        }
        yield _turn(path, members, index, header.line + 1)
        index += 1
    if spoken.events:
        reason = f"lines of the program in a log, such as who joined, are left out: {spoken.events:,}"
        yield warned(path, reason)


def _times(spoken: _Spoken) -> list[datetime | None]:
    """Return the time of each turn; None if unknown, or if times seem to count from a recording's start."""
    found: list[datetime | None] = []
    day, before = spoken.day, None
    for header in spoken.headers:
        match = None if header.time is None else _PARTS.fullmatch(header.time)
        moment = None if match is None else _moment(match, day)
        if moment is not None and day is not None and match is not None and match["date"] is None:
            if before is None and not match["half"] and moment - day < _STARTS_WITHIN:
                return [None] * len(spoken.headers)
            if before is not None and before - moment > _HALF_A_DAY:  # past midnight
                day += timedelta(days=1)
                moment += timedelta(days=1)
        before = moment or before
        found.append(moment)
    return found


def _moment(match: re.Match[str], day: datetime | None) -> datetime | None:
    """Return the time of day in UTC, on the day it names or on `day`; None without a day or for an invalid time."""
    if match["date"] is not None:
        day = iso_date(match["date"])
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    if match["half"] is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match["half"] in "Pp" else 0)
    if day is None or hour > 23 or minute > 59 or second > 59:
        return None
    return day.replace(hour=hour, minute=minute, second=second)


def _turn(path: str, members: Mapping[str, Value], ordinal: int, line: int) -> Item:
    try:
        return RecordDraft(read_other(Kind.TURN, members, named_kind=True).record, ordinal, line, of_file=True)
    except Unacceptable as error:
        return rejected(path, str(error), line)
