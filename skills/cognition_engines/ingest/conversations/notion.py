"""Reads a Notion export: a `.zip` of Markdown pages, or a `.zip` of such archives, as packed by Notion.

Nothing is written to disk; an archive within an archive is read whole.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import PurePosixPath
from typing import BinaryIO, Final, TypeAlias
from zipfile import ZipFile, ZipInfo

from cognition_engines.ingest.conversations.chat_exports import (
    NO_ZIP,
    count_suffixes,
    damage_of,
    excess_of,
    flaw_of,
    list_members,
)
from cognition_engines.ingest.items import DocumentDraft, Item, RejectedRecord, Warned, rejected, warned
from cognition_engines.open_file import LARGEST_WHOLE

PageReader: TypeAlias = Callable[[str, bytes], Iterator[Item] | None]  # of a path and the content
_PAGE: Final = re.compile(r"(?:.*[ /])?[0-9a-f]{32}\.md")  # Notion ends each page name with the page id
_MOST_PARTS: Final = 1000  # archives in an archive
_MIB: Final = LARGEST_WHOLE // 2**20


def read(path: str, file: BinaryIO, reader: PageReader) -> Iterator[Item] | None:
    """Return the result of `reader` for an export's pages, by name; None for any other file, at the start.

    A damaged, encrypted, too large or too tightly packed page is refused alone.
    """
    try:
        archive = ZipFile(file)
        members = list_members(archive)
        parts = [info for info in members if info.filename.lower().endswith(".zip")]
        packed = bool(parts) and len(parts) == len(members) <= _MOST_PARTS
        first = _part(archive, parts[0]) if packed else archive
        known = isinstance(first, ZipFile) and any(_PAGE.fullmatch(info.filename) for info in list_members(first))
    except NO_ZIP:
        known = False
    if not known:
        file.seek(0)
        return None
    return _number_items(_packed_pages(path, archive, parts, reader) if packed else _pages(path, archive, reader))


def _part(archive: ZipFile, info: ZipInfo) -> ZipFile | str:
    """Return an archive inside another archive, or the reason for not reading it."""
    content = _read_member(archive, info, f"has more than {_MIB} MiB inside of another archive: unpack that one first")
    try:
        return content if isinstance(content, str) else ZipFile(BytesIO(content))
    except NO_ZIP as error:
        return damage_of(error)


def _packed_pages(path: str, archive: ZipFile, parts: Sequence[ZipInfo], reader: PageReader) -> Iterator[Item]:
    for info in parts:
        part, where = _part(archive, info), f"{path}/{info.filename}"
        if isinstance(part, str):
            yield rejected(where, part)
        else:
            yield from _pages(where, part, reader)


def _pages(where: str, archive: ZipFile, reader: PageReader) -> Iterator[Item]:
    """Yield an archive's pages, and a warning with the count of the rest."""
    infos = list_members(archive)
    if (reason := excess_of(infos)) is not None:
        yield rejected(where, reason)
        return
    others: Counter[str] = Counter()
    for info in infos:
        suffix = PurePosixPath(info.filename).suffix.lower()
        if suffix == ".md":
            yield from _page(f"{where}/{info.filename}", archive, info, reader)
        else:
            others[suffix] += 1
    if others:
        yield warned(where, f"members that are no pages are not read: {count_suffixes(others)}")


def _page(where: str, archive: ZipFile, info: ZipInfo, reader: PageReader) -> Iterator[Item]:
    content = _read_member(archive, info, f"a page must have at most {_MIB} MiB")
    if isinstance(content, str):
        yield rejected(where, content)
        return
    for item in reader(where, content) or ():
        yield replace(item, member=info.filename) if isinstance(item, DocumentDraft) else item


def _read_member(archive: ZipFile, info: ZipInfo, too_large: str) -> bytes | str:
    """Return the content of a member, or as a text why it is not read."""
    if (flaw := flaw_of(info)) is not None:
        return flaw
    if info.file_size > LARGEST_WHOLE:
        return too_large
    try:
        return archive.read(info)
    except NO_ZIP as error:
        return damage_of(error)


def _number_items(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items, with stored items counted so that no two have the same position in the file."""
    count = 0
    for item in items:
        if isinstance(item, RejectedRecord | Warned):
            yield item
        else:
            yield replace(item, ordinal=count)
            count += 1
