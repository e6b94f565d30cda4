"""Mails: an `.eml` is one, an mbox holds many. A thread is a conversation, and each mail in it a turn.

So a thread is recalled as a whole by its id, which it could not be if each mail were a document.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from hashlib import sha256
from typing import BinaryIO, Final

from cognition_engines.ingest.conversations.export_file import ExportFile
from cognition_engines.ingest.conversations.html_words import html_words
from cognition_engines.ingest.conversations.left_out import LeftOut
from cognition_engines.ingest.conversations.members import listed_texts, stated
from cognition_engines.ingest.conversations.turn_drafts import Message, built, conversation_name, draft
from cognition_engines.ingest.items import Item
from cognition_engines.ingest.open_file import LARGEST_WHOLE
from cognition_engines.ingest.structured.decisions import Unacceptable

_HEADER: Final = re.compile(rb"[!-9;-~]{1,100}:[ \t]?")
_LEAST: Final = re.compile(rb"^(?:from|date|message-id|subject|received):", re.IGNORECASE | re.MULTILINE)
_DAYS: Final = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
# what a mail of an mbox begins with, and not a sentence that begins so
_FROM: Final = re.compile(rb"From \S.{0,300} " + _DAYS + rb",? .{0,50}\d{2}:\d{2}.{0,50}\d{4}")
_QUOTED_FROM: Final = re.compile(rb"^>(>*From )")
_MESSAGE_ID: Final = re.compile(r"<([^<>\s]+)>")
_SIGNATURE: Final = "-- "
_MOST_NAMES: Final = 50  # of those that a mail went to
# What the standard library raises for headers and bodies that break the rules of mail.
_MALFORMED: Final = (ValueError, LookupError, AttributeError, TypeError)


def read_eml(file: ExportFile) -> Iterator[Item] | None:
    """The mail that a file is; None where it does not begin as one does."""
    if not _begins(file.head):
        return None
    return _turns(file, [(1, file.file.read(LARGEST_WHOLE + 1))])


def read_mbox(file: ExportFile) -> Iterator[Item] | None:
    """The mails of an mbox, one at a time; None for another file."""
    first, _, rest = file.head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    if not first.startswith(b"From ") or not _begins(rest):
        return None
    return _turns(file, _split(file.file))


def _begins(head: bytes) -> bool:
    """Whether a text begins with headers of a mail."""
    top = re.split(rb"\r?\n\r?\n", head.lstrip(b"\r\n"), maxsplit=1)[0]
    return _HEADER.match(top) is not None and _LEAST.search(top) is not None


def _split(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The mails of an mbox, each with its line; of one that is too large just more than what is read."""
    start, held, size, blank = 1, list[bytes](), 0, True
    number = 0
    while line := file.readline(LARGEST_WHOLE):
        number += 1
        if blank and (not held or _FROM.match(line)) and line.startswith(b"From "):
            if held:
                yield start, b"".join(held)
            start, held, size = number, [], 0
        elif size <= LARGEST_WHOLE:
            held.append(_QUOTED_FROM.sub(rb"\1", line))
            size += len(line)
        blank = line in (b"\n", b"\r\n")
    if held:
        yield start, b"".join(held)


def _turns(file: ExportFile, mails: Iterable[tuple[int, bytes]]) -> Iterator[Item]:
    for number, (line, content) in enumerate(mails, 1):
        for message in built(lambda each: _message(each, file.left_out), [content]):
            yield draft(file.path, message, number, line)


def _message(content: bytes, left_out: LeftOut) -> Message | None:
    if len(content) > LARGEST_WHOLE:
        raise Unacceptable(f"a mail must have at most {LARGEST_WHOLE // 2**20} MiB")
    try:
        mail = BytesParser(policy=policy.default).parsebytes(content)
        return _read(mail, content, left_out)
    except RecursionError:
        raise Unacceptable("the parts of the mail are nested too deeply") from None


def _read(mail: EmailMessage, content: bytes, left_out: LeftOut) -> Message | None:
    thread = [*_ids(mail, "References"), *_ids(mail, "In-Reply-To")]
    words = _body(mail)
    files = listed_texts(_file_name(part) for part in _attachments(mail))
    said = _without_ends(words, is_reply=bool(thread)) or "".join(f"[{name}]" for name in files)
    automatic = (_header(mail, "Auto-Submitted") or "no").strip().lower() != "no"
    if left_out.skips(bot=automatic, blank=not said.strip()):
        return None
    # one without an id is known by all that it is
    id = next(iter(_ids(mail, "Message-ID")), None) or f"sha256-{sha256(content.strip()).hexdigest()[:32]}"
    names, addresses = _people(mail, "From")
    return Message(
        system="email",
        ids=(id,),
        conversation=conversation_name("email", None, (thread or [id])[0]),
        content=said,
        ts=_date(mail),
        speaker=next(filter(None, (*names, *addresses)), None),
        metadata=stated(
            subject=_header(mail, "Subject"),
            **{"from": next(iter(addresses), None)},
            to=listed_texts(_people(mail, "To")[1][:_MOST_NAMES]),
            cc=listed_texts(_people(mail, "Cc")[1][:_MOST_NAMES]),
            reply_to=next(iter(_ids(mail, "In-Reply-To")), None),
            labels=_header(mail, "X-Gmail-Labels"),
            automatic=automatic,
            files=files,
        ),
    )


def _header(mail: EmailMessage, name: str) -> str | None:
    """None where it is absent, or not written as the rules of mail say."""
    try:
        found = mail[name]
        return None if found is None else str(found).strip() or None
    except _MALFORMED:
        return None


def _ids(mail: EmailMessage, name: str) -> list[str]:
    return _MESSAGE_ID.findall(_header(mail, name) or "")


def _people(mail: EmailMessage, name: str) -> tuple[list[str], list[str]]:
    """The names, as far as they are given, and the addresses in a header."""
    try:
        found = [] if mail[name] is None else mail[name].addresses
        return [each.display_name for each in found], [each.addr_spec for each in found]
    except _MALFORMED:
        return [], []


def _date(mail: EmailMessage) -> str | None:
    """Raises `Unacceptable` for one that cannot be read."""
    try:
        if mail["Date"] is None:
            return None
        found = mail["Date"].datetime
    except _MALFORMED:
        found = None
    if not isinstance(found, datetime):
        raise Unacceptable("the Date of the mail cannot be read")
    return found.isoformat()


def _body(mail: EmailMessage) -> str:
    """The text of a mail, without marks where it is HTML alone. Raises `Unacceptable`."""
    try:
        body = mail.get_body(("plain", "html"))
        if body is None:
            return ""
        words = str(body.get_content())
    except _MALFORMED:
        raise Unacceptable("the text of the mail is in an encoding that is not known") from None
    words = words.replace("\r\n", "\n")
    return html_words(words) if body.get_content_type() == "text/html" else words


def _attachments(mail: EmailMessage) -> list[EmailMessage]:
    try:
        return list(mail.iter_attachments())
    except _MALFORMED:
        return []


def _file_name(part: EmailMessage) -> str | None:
    try:
        return part.get_filename()
    except _MALFORMED:
        return None


def _without_ends(words: str, *, is_reply: bool) -> str:
    """Without the signature, and without the quoted mail that a reply ends with; the text itself if nothing is left."""
    lines = words.rstrip().split("\n")
    if _SIGNATURE in lines:
        lines = lines[: lines.index(_SIGNATURE)]
    kept = len(lines)
    while is_reply and kept and (lines[kept - 1].startswith(">") or not lines[kept - 1].strip()):
        kept -= 1
    return "\n".join(lines[:kept]).strip() or words.strip()
