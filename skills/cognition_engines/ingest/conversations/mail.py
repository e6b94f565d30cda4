"""Reads mails: an `.eml` is a single mail, an mbox holds many. A thread is a conversation, each mail in it a turn.

So a thread can be recalled as a whole by id; mails as documents would not allow that.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC
from email.headerregistry import BaseHeader, ContentDispositionHeader, ContentTypeHeader, HeaderRegistry
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser
from email.policy import EmailPolicy
from email.utils import getaddresses, parsedate_to_datetime
from hashlib import sha256
from typing import BinaryIO, Final

from cognition_engines.drafts.plain_values import Unacceptable
from cognition_engines.ingest.conversations.export_file import HEAD, ExportFile, LeftOut
from cognition_engines.ingest.conversations.mail_text import (
    NO_CHARACTER,
    decode_base64,
    decode_text,
    decode_words,
    html_words,
)
from cognition_engines.ingest.conversations.turn_drafts import (
    Message,
    built,
    conversation_name,
    draft,
    drop_empty,
    listed_texts,
)
from cognition_engines.ingest.items import Item
from cognition_engines.open_file import LARGEST_WHOLE

_HEADER: Final = re.compile(rb"[!-9;-~]{1,100}:[ \t]?")
_EARLY: Final = re.compile(r"[a-z][ \t-]{1,9}0\d{2,3}(?!\d)", re.IGNORECASE)  # a year before 1000
_LEAST: Final = re.compile(rb"^(?:from|date|message-id|subject|received):", re.IGNORECASE | re.MULTILINE)
_DAYS: Final = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
# a mail's first line in an mbox, and not a sentence beginning so
_FROM: Final = re.compile(rb"From \S.{0,300} " + _DAYS + rb",? .{0,50}\d{2}:\d{2}.{0,50}\d{4}")
_FIRST: Final = re.compile(rb"\s{0,100}>?From [^\n]{0,1000}\n")
_BOM: Final = b"\xef\xbb\xbf"
_QUOTED_FROM: Final = re.compile(rb"^>(>*From )")
_MESSAGE_ID: Final = re.compile(r"<([^<>\s]+)>")
_SIGNATURE: Final = "-- "
_MOST_NAMES: Final = 50  # of a mail's receivers
_LONGEST_HEADER: Final = 100_000  # characters
_LONGEST_OF_PARTS: Final = 1_000  # characters of headers parsed by the library, in quadratic time
_REGISTRY: Final = HeaderRegistry(use_default_map=False)
_REGISTRY.map_to_type("content-type", ContentTypeHeader)  # type: ignore[arg-type]
_REGISTRY.map_to_type("content-disposition", ContentDispositionHeader)  # type: ignore[arg-type]
_TOO_MANY: Final = (
    f"none of From, Date, Message-ID, Subject and Received is in the first {HEAD // 2**10} KiB of headers of the mail"
)
# Errors of the standard library for invalid headers and bodies.
_MALFORMED: Final = (ValueError, LookupError, AttributeError, TypeError)


def read_eml(file: ExportFile) -> Iterator[Item] | None:
    """Return the mail in a file; None if it does not begin like a mail."""
    head = file.head.removeprefix(_BOM)
    first = _FIRST.match(head)  # as a mail taken from an mbox begins
    content = (head if first is None else head[first.end() :]).lstrip()
    if not _begins(content):
        return file.refuse(_TOO_MANY) if _is_all_headers(content, file) else None
    file.file.read(len(file.head) - len(content))
    return _turns(file, [(1, file.file.read(LARGEST_WHOLE + 1))])


def read_mbox(file: ExportFile) -> Iterator[Item] | None:
    """Return the mails of an mbox, singly; None for another file."""
    first, _, rest = file.head.removeprefix(_BOM).partition(b"\n")
    if not first.startswith(b"From ") or not _begins(rest):
        is_cut = _FROM.match(first) is not None and _is_all_headers(rest, file)
        return file.refuse(_TOO_MANY) if is_cut else None
    return _turns(file, _split(file.file))


def _begins(head: bytes) -> bool:
    """Return whether a text begins with headers of a mail."""
    top = re.split(rb"\r?\n\r?\n", head.lstrip(b"\r\n"), maxsplit=1)[0]
    return _HEADER.match(top) is not None and _LEAST.search(top) is not None


def _is_all_headers(head: bytes, file: ExportFile) -> bool:
    """Return whether the beginning of a file ends inside headers."""
    lines = head.lstrip(b"\r\n").splitlines()[:-1]
    is_cut = len(file.head) == HEAD and all(_HEADER.match(line) or line[:1] in (b" ", b"\t") for line in lines)
    return is_cut and bool(lines)


def _split(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the mails of an mbox with their lines; of a too large mail just more than the limit."""
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
        mail = BytesParser(policy=EmailPolicy(header_factory=_of_parts)).parsebytes(content)
        return _read_mail(mail, content, left_out)
    except RecursionError:
        raise Unacceptable("the parts of the mail are nested too deeply") from None


def _read_mail(mail: EmailMessage, content: bytes, left_out: LeftOut) -> Message | None:
    thread = [*_ids(mail, "references"), *_ids(mail, "in-reply-to")]
    is_reply = bool(thread)
    texts = _texts(mail, ("text/plain", "text/html")) or _texts(mail, ())
    words = "\n\n".join(filter(None, (_without_ends(each, is_reply=is_reply) for each in texts)))
    files = listed_texts(_file_name(part) for part in _attachments(mail))
    subject = _header(mail, "subject")
    said = words or "".join(f"[{name}]" for name in files) or subject or ""
    automatic = (_header(mail, "auto-submitted") or "no").strip().lower() != "no"
    if left_out.skips(bot=automatic, blank=not said.strip()):
        return None
    # a mail without an id is identified by its whole content
    id = next(iter(_ids(mail, "message-id")), None) or f"sha256-{sha256(content.strip()).hexdigest()[:32]}"
    names, addresses = _people(mail, "from")
    return Message(
        system="email",
        ids=(id,),
        conversation=conversation_name("email", None, (thread or [id])[0]),
        content=said,
        ts=_date(mail),
        speaker=next(filter(None, (*names, *addresses)), None),
        metadata=drop_empty(
            subject=subject,
            **{"from": next(iter(addresses), None)},
            to=listed_texts(_people(mail, "to")[1][:_MOST_NAMES]),
            cc=listed_texts(_people(mail, "cc")[1][:_MOST_NAMES]),
            reply_to=next(iter(_ids(mail, "in-reply-to")), None),
            labels=_header(mail, "x-gmail-labels"),
            automatic=automatic,
            files=files,
        ),
    )


def _of_parts(name: str, value: str) -> BaseHeader:
    """Return a header as made by the library: headers of parts with their parameters, all others as text.

    A too long header has no parameters. Raise `Unacceptable` if that removes a boundary.
    """
    if len(value) <= _LONGEST_OF_PARTS:
        return _REGISTRY(name, value)
    kind = value[:_LONGEST_OF_PARTS].partition(";")[0].strip()
    if name.lower() == "content-type" and kind.lower().startswith("multipart/"):
        raise Unacceptable(f"Content-Type: that of several parts must have at most {_LONGEST_OF_PARTS:,} characters")
    return _REGISTRY(name, kind if name.lower() in _REGISTRY.registry else "")


def _header(mail: EmailMessage, name: str) -> str | None:
    """Return a header as text; None if it is absent, blank or too long."""
    written = _header_text(mail, name)
    return None if written is None else decode_words(written).replace("\0", NO_CHARACTER).strip() or None


def _header_text(mail: EmailMessage, name: str) -> str | None:
    """Return a header in source form, on a single line, with bytes decoded as most programs write them."""
    raw = next((str(value) for key, value in mail.raw_items() if key.lower() == name), None)
    if raw is None or len(raw) > _LONGEST_HEADER:
        return None
    return re.sub(r"[\r\n]", "", decode_text(raw.encode("utf-8", "surrogateescape"), None))


def _ids(mail: EmailMessage, name: str) -> list[str]:
    return _MESSAGE_ID.findall(_header(mail, name) or "")


def _people(mail: EmailMessage, name: str) -> tuple[list[str], list[str]]:
    """Return the names, as far as they are given, and the addresses in a header."""
    try:
        found = getaddresses([(_header_text(mail, name) or "").replace("\0", NO_CHARACTER)])
    except (*_MALFORMED, RecursionError):  # for comments in comments
        return [], []
    return [decode_words(shown) for shown, _ in found if shown], [address for _, address in found if address]


def _date(mail: EmailMessage) -> str | None:
    """Return a mail's sending time; None if unreadable."""
    try:
        written = _header_text(mail, "date") or ""
        if _EARLY.search(written) is not None:  # the parser reads 0001 as 2001
            return None
        found = parsedate_to_datetime(written)
        return found.isoformat() if 1900 <= found.astimezone(UTC).year < 2200 else None
    except (*_MALFORMED, OverflowError):
        return None


def _texts(part: MIMEPart, types: Sequence[str]) -> list[str]:
    """Return a mail's texts in order, of these types or of any; of alternatives the plain text with words."""
    if part.is_multipart() and part.get_content_maintype() == "multipart":
        children = list(part.iter_parts())
        if part.get_content_subtype() == "alternative":
            children.sort(key=lambda child: child.get_content_type() != "text/plain")
            return next(filter(None, (_texts(child, types) for child in children)), [])
        return [text for child in children for text in _texts(child, types) if _file_name(child) is None]
    kind = part.get_content_type()
    # a part without the boundaries it names is a text as well
    if part.get_content_disposition() == "attachment" or part.get_content_maintype() not in ("text", "multipart"):
        return []
    if types and kind not in types and part.get_content_maintype() == "text":
        return []
    words = _decode_part(part).replace("\r\n", "\n").replace("\0", NO_CHARACTER)
    words = html_words(words) if kind == "text/html" else words
    return [words] if words.strip() else []


def _decode_part(part: MIMEPart) -> str:
    """Return a part's text, whatever flaws the headers have."""
    try:
        way, label = str(part.get("Content-Transfer-Encoding", "")).strip().lower(), part.get_content_charset()
    except _MALFORMED:
        way, label = "", None
    try:
        content = part.get_payload() if way == "base64" else part.get_payload(decode=True)
    except _MALFORMED:
        content = part.get_payload()
    if isinstance(content, str):  # with surrogates for non-ASCII bytes
        content = content.encode("ascii", "surrogateescape")
        content = decode_base64(content) if way == "base64" else content
    return decode_text(content, label) if isinstance(content, bytes) else ""


def _attachments(mail: EmailMessage) -> list[EmailMessage]:
    try:
        return list(mail.iter_attachments())
    except _MALFORMED:
        return []


def _file_name(part: MIMEPart) -> str | None:
    try:
        name = part.get_filename()
    except _MALFORMED:
        return None
    return None if name is None else name.encode("utf-8", "replace").decode().replace("\0", NO_CHARACTER)


def _without_ends(words: str, *, is_reply: bool) -> str:
    """Return a text without signature and a reply's quoted end; the text itself if nothing remains."""
    lines = words.rstrip().split("\n")
    if _SIGNATURE in lines:
        lines = lines[: lines.index(_SIGNATURE)]
    kept = len(lines)
    while is_reply and kept and (lines[kept - 1].startswith(">") or not lines[kept - 1].strip()):
        kept -= 1
    return "\n".join(lines[:kept]).strip() or words.strip()
