"""An export of Notion: a `.zip` of pages in Markdown, or a `.zip` of such archives, which is how Notion packs them.

Nothing is written to disk, and an archive in an archive is read whole.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import PurePosixPath
from typing import BinaryIO, Final, TypeAlias
from zipfile import ZipFile, ZipInfo

from cognition_engines.ingest.conversations.archive import LARGEST, MOST_MEMBERS, NO_ZIP, flaw_of, may_be_read
from cognition_engines.ingest.items import DocumentDraft, Item, RejectedRecord, Warned
from cognition_engines.models import Problem
from cognition_engines.open_file import LARGEST_WHOLE

PageReader: TypeAlias = Callable[[str, bytes], Iterator[Item] | None]  # of a path and what is there
_PAGE: Final = re.compile(r"(?:.*[ /])?[0-9a-f]{32}\.md")  # Notion ends the name of each page with its id
_MOST_PARTS: Final = 1000  # archives in an archive


def read(path: str, file: BinaryIO, reader: PageReader) -> Iterator[Item] | None:
    """Return what `reader` makes of the pages of an export, by name; None for any other file, which is at its start.

    A page that is damaged, encrypted, too large or packed too tightly is refused alone.
    """
    try:
        archive = ZipFile(file)
        parts = [info for info in _members(archive) if info.filename.lower().endswith(".zip")]
        packed = bool(parts) and len(parts) == len(_members(archive)) <= _MOST_PARTS
        first = _part(archive, parts[0]) if packed else archive
        known = isinstance(first, ZipFile) and any(_PAGE.fullmatch(info.filename) for info in _members(first))
    except NO_ZIP:
        known = False
    if not known:
        file.seek(0)
        return None
    return _numbered(_packed_pages(path, archive, parts, reader) if packed else _pages(path, archive, None, reader))


def _members(archive: ZipFile) -> list[ZipInfo]:
    return sorted((info for info in archive.infolist() if may_be_read(info)), key=lambda info: info.filename)


def _part(archive: ZipFile, info: ZipInfo) -> ZipFile | str:
    """Return an archive that is a member of another one, or why it is not read."""
    if (flaw := flaw_of(info)) is not None:
        return flaw
    if info.file_size > LARGEST_WHOLE:
        return f"has more than {LARGEST_WHOLE // 2**20} MiB inside of another archive: unpack that one first"
    try:
        return ZipFile(BytesIO(archive.read(info)))
    except NO_ZIP as error:
        return f"is damaged in the archive ({type(error).__name__})"


def _packed_pages(path: str, archive: ZipFile, parts: Sequence[ZipInfo], reader: PageReader) -> Iterator[Item]:
    for info in parts:
        part = _part(archive, info)
        if isinstance(part, str):
            yield _refused(f"{path}/{info.filename}", part)
        else:
            yield from _pages(path, part, info.filename, reader)


def _pages(path: str, archive: ZipFile, part: str | None, reader: PageReader) -> Iterator[Item]:
    """Return the pages of an archive, which is itself the member `part` of one, and a warning that counts the rest."""
    where = path if part is None else f"{path}/{part}"
    infos = _members(archive)
    if len(infos) > MOST_MEMBERS or sum(info.file_size for info in infos) > LARGEST:
        reason = f"an archive must have at most {MOST_MEMBERS:,} members and {LARGEST // 2**30} GiB in them"
        yield _refused(where, reason)
        return
    others: Counter[str] = Counter()
    for info in infos:
        suffix = PurePosixPath(info.filename).suffix.lower()
        if suffix == ".md":
            yield from _page(f"{where}/{info.filename}", archive, info, reader)
        else:
            others[suffix or "without extension"] += 1
    if others:
        counted = ", ".join(f"{count} {suffix}" for suffix, count in others.most_common(8))
        yield Warned(Problem(where, None, f"members that are no pages are not read: {counted}"))


def _page(where: str, archive: ZipFile, info: ZipInfo, reader: PageReader) -> Iterator[Item]:
    content = _content(archive, info)
    if isinstance(content, str):
        yield _refused(where, content)
        return
    for item in reader(where, content) or ():
        yield replace(item, member=info.filename) if isinstance(item, DocumentDraft) else item


def _content(archive: ZipFile, info: ZipInfo) -> bytes | str:
    """Return what a member holds, or as a text why it is not read."""
    if (flaw := flaw_of(info)) is not None:
        return flaw
    if info.file_size > LARGEST_WHOLE:
        return f"a page must have at most {LARGEST_WHOLE // 2**20} MiB"
    try:
        return archive.read(info)
    except NO_ZIP as error:
        return f"is damaged in the archive ({type(error).__name__})"


def _numbered(items: Iterator[Item]) -> Iterator[Item]:
    """Return the items with all that is stored counted, so that no two have one place in the file."""
    count = 0
    for item in items:
        if isinstance(item, RejectedRecord | Warned):
            yield item
        else:
            yield replace(item, ordinal=count)
            count += 1


def _refused(where: str, reason: str) -> RejectedRecord:
    return RejectedRecord(Problem(where, None, reason))
