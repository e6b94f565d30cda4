"""A chat as WhatsApp writes it: `[31/12/2023, 22:00:01] Ana: text` or `12/31/23, 10:00 PM - Ana: text`."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import PurePosixPath
from typing import BinaryIO, Final

from cognition_engines.drafts.plain_values import Unacceptable
from cognition_engines.ingest.conversations.export_file import ExportFile, LeftOut
from cognition_engines.ingest.conversations.turn_drafts import (
    Message,
    conversation_name,
    draft,
    drop_empty,
    listed_texts,
)
from cognition_engines.ingest.conversations.whatsapp_dates import MARKS, Order, Stamp, begun, moment, order_of
from cognition_engines.ingest.items import Item
from cognition_engines.open_file import LARGEST_WHOLE, lines_of

_SPEAKER: Final = re.compile(r"(?P<name>[^:：\n“\"<][^:：\n“\"]{0,99})[:：] ?(?P<text>.*)", re.DOTALL)
# Names of files in the program's exports, in several languages.
_CHAT: Final = r"(?P<name>.{1,250}?)"
_END: Final = r"(?: ?\(\d+\))?(?:\.txt|\.zip)?"
_NAMES: Final = tuple(
    re.compile(named, re.IGNORECASE)
    for named in (
        rf".{{0,30}}WhatsApp[ -]?\w{{0,12}} (?:with|mit|met|con|com|avec|med|cu|[sz]e?|со?|-) {_CHAT}{_END}",
        rf"[与與]?{_CHAT}(?: ile |的 ?|님과의 |との ?)WhatsApp ?[^\W\d_]{{2,10}}{_END}",
        rf"محادثة (?:واتساب|WhatsApp) مع {_CHAT}{_END}",
    )
)
_UNNAMED: Final = re.compile(r"_chat(?: ?\(\d+\)| \d+)?\.txt", re.IGNORECASE)
_MARK: Final = "\u200e"  # before texts of the program
_ATTACHED: Final = re.compile(r"<[^<>:]{3,30}: (?P<ios>[^<>/]+\.\w{2,5})>|^(?P<android>\S+\.\w{2,5}) \([^()]{5,40}\)")
_OMITTED: Final = re.compile(r"<[^<>\n]{5,40}>|(?:\w+ ){1,2}omitted")
_LEVELS: Final = frozenset({"info", "error", "debug", "warn", "warning", "trace", "fatal", "critical", "notice"})
_LONGEST: Final = 1_000_001  # kept characters of a message, more than a turn may have


@dataclass(frozen=True, slots=True)
class _Entry:
    """A message in source form, from line `line` on."""

    line: int
    stamp: Stamp
    rest: str

    @property
    def author_and_text(self) -> tuple[str | None, str]:
        """Return the writer, None for the system, and the text."""
        found = _SPEAKER.fullmatch(self.rest)
        return (None, self.rest) if found is None else (found["name"].strip(MARKS + " "), found["text"])


@dataclass(slots=True)
class _Seen:
    """A chat's name and layout, found in the whole chat: first message, and writers."""

    first: _Entry | None = None
    voices: set[str] = field(default_factory=set)  # those of people

    def stamps(self, entries: Iterator[_Entry]) -> Iterator[Stamp]:
        for entry in entries:
            self.first = self.first or entry
            speaker, said = entry.author_and_text
            if speaker is not None and not said.startswith(_MARK):
                self.voices.add(speaker)
            yield entry.stamp


@dataclass(frozen=True, slots=True)
class _Chat:
    """A chat's layout, and the numbers of messages so far, by time and in total."""

    name: str
    order: Order
    voices: set[str]
    times: Counter[str] = field(default_factory=Counter)
    equal: Counter[str] = field(default_factory=Counter)


def read(file: ExportFile) -> Iterator[Item] | None:
    """Return the messages of a chat; None for another text. A file with a chat's name but other content is rejected."""
    is_called = _chat_name(file) is not None or _UNNAMED.fullmatch(PurePosixPath(file.path).name) is not None
    if _begins(file.head.decode("utf-8-sig", errors="replace"), is_called):
        return _turns(file)
    if not is_called or not file.head.strip():
        return None
    return file.refuse("is called as a chat of WhatsApp is, but does not begin with a message whose date can be read")


def _begins(head: str, is_called: bool) -> bool:
    lines = [line.rstrip("\r") for line in head.split("\n") if line.strip()][:20]
    found = [begin for line in lines if (begin := begun(line)) is not None]
    if not found or begun(lines[0]) is None or not (is_called or found[0][0].is_sure):
        return False
    speakers = [match["name"] for _, rest in found if (match := _SPEAKER.fullmatch(rest)) is not None]
    return bool(speakers) and not any(name.strip().lower() in _LEVELS for name in speakers)


def _chat_name(file: ExportFile) -> str | None:
    """Return the chat's name, given by the file or the archive."""
    path = PurePosixPath(file.path)
    called = (found for each in _NAMES for at in (path.name, path.parent.name) if (found := each.fullmatch(at)))
    return next((found["name"] for found in called), None)


def _turns(file: ExportFile) -> Iterator[Item]:
    seen = _Seen()
    try:
        order = order_of(seen.stamps(_entries(file.file)), file.left_out.texts.day_first)
    except UnicodeDecodeError:
        yield from file.refuse("the encoding must be UTF-8")
        return
    except ValueError as error:
        yield from file.refuse(str(error))
        return
    file.file.seek(0)
    assert seen.first is not None, "recognised by its first message"
    chat = _Chat(_name(file, seen.first, order), order, seen.voices)
    for number, entry in enumerate(_entries(file.file), 1):
        message = _message(chat, entry, file.left_out, is_first=number == 1)
        if message is not None:
            yield draft(file.path, message, number, entry.line)


def _entries(file: BinaryIO) -> Iterator[_Entry]:
    """Yield the messages in order, each with all lines up to the next. Raise UnicodeDecodeError."""
    held: list[str] = []
    size, line_of, at = 0, 0, None
    for number, line in lines_of(file, LARGEST_WHOLE):
        text = (line or b"").decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        found = begun(text)
        if found is None:
            if size < _LONGEST:
                held.append(text)
                size += len(text) + 1
            continue
        if at is not None:
            yield _Entry(line_of, at, "\n".join(held))
        at, rest = found
        held, size, line_of = [rest], len(rest), number
    if at is not None:
        yield _Entry(line_of, at, "\n".join(held))


def _name(file: ExportFile, first: _Entry, order: Order) -> str:
    """Return the chat's name: from the file, the archive, or the first line's writer.

    Without any of these it is a digest of the first message, with which a longer export also begins.
    """
    name = _chat_name(file)
    speaker, said = first.author_and_text
    if name is None and speaker is not None and said.startswith(_MARK):
        name = speaker
    digest = sha256(json.dumps([moment(first.stamp, order), first.rest]).encode()).hexdigest()[:12]
    return name or f"chat-{digest}"


def _message(chat: _Chat, entry: _Entry, left_out: LeftOut, *, is_first: bool) -> Message | Unacceptable | None:
    speaker, said = entry.author_and_text
    content = said.replace(_MARK, "").strip()
    files = [match["ios"] or match["android"] for match in _ATTACHED.finditer(content)]
    is_media = bool(files) or _OMITTED.fullmatch(content) is not None
    is_program = said.startswith(_MARK) and not is_media and (is_first or speaker not in chat.voices)
    if left_out.skips(system=speaker is None or is_program, blank=not content):
        return None
    ts = moment(entry.stamp, chat.order)
    if ts is None:
        return Unacceptable("the date of the message is none")
    key = sha256(json.dumps([chat.name, ts, speaker, content]).encode()).hexdigest()
    made = sha256(f"{key} {chat.equal[key]}".encode()).hexdigest()[:32]
    chat.equal[key] += 1
    chat.times[ts] += 1
    return Message(
        system="whatsapp",
        ids=(made,),
        conversation=conversation_name("whatsapp", None, chat.name),
        content=content,
        ts=ts,
        speaker=speaker,
        role="system" if speaker is None or is_program else None,
        place=chat.times[ts] - 1,  # a time has no seconds, or several messages
        metadata=drop_empty(chat=chat.name, files=listed_texts(files), media=is_media),
    )
