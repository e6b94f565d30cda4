"""A `.zip` as an export arrives: its members are read where they are, as files of a folder would be.

Nothing is written to disk. What an archive says of itself bounds what is read of it.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import PurePosixPath
from struct import error as StructError
from typing import BinaryIO, Final, TypeAlias, cast
from zipfile import BadZipFile, ZipFile, ZipInfo

from cognition_engines.ingest.conversations.export_file import HEAD, ExportFile, Neighbours
from cognition_engines.ingest.conversations.left_out import LeftOut
from cognition_engines.ingest.items import Item, RejectedRecord, Warned
from cognition_engines.ingest.options import Texts
from cognition_engines.models import Problem
from cognition_engines.open_file import LARGEST_WHOLE

Reader: TypeAlias = Callable[[ExportFile], Iterator[Item] | None]
MOST_MEMBERS: Final = 200_000
LARGEST: Final = 32 * 2**30  # bytes of all members
_RATIO: Final = 200  # to one, of a member that is not small; chats in JSON are packed to a tenth
_SMALL: Final = 2**20  # bytes
READ_WITHIN: Final = frozenset({".json", ".jsonl", ".txt", ".csv", ".eml", ".mbox"})
_KEPT: Final = 8  # members that are held for those that ask for them again and again
# What reading a member raises that is damaged, or packed in a way that is not known.
_BROKEN: Final = (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
# What opening adds where offsets are wrong.
NO_ZIP: Final = (*_BROKEN, ValueError, StructError, OSError)


class _Members:
    """The members of an archive as neighbours of each other."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._infos = {info.filename: info for info in archive.infolist()}
        self._held: dict[str, bytes] = {}

    def has(self, root: PurePosixPath, name: str) -> bool:
        return str(root / name) in self._infos

    def read(self, root: PurePosixPath, name: str) -> bytes | None:
        path = str(root / name)
        info = self._infos.get(path)
        if info is None or info.file_size > LARGEST_WHOLE or flaw_of(info) is not None:
            return None
        if path not in self._held:
            try:
                content = self._archive.read(info)
            except NO_ZIP:
                return None
            if len(self._held) >= _KEPT:
                del self._held[next(iter(self._held))]
            self._held[path] = content
        return self._held[path]


def read(path: str, file: BinaryIO, explicit: bool, texts: Texts, reader: Reader) -> Iterator[Item] | None:
    """What `reader` makes of the members, in the order of their names; None where it knows none of them.

    A member that is damaged, encrypted or packed more than 200 to one is refused alone. `explicit` refuses an archive
    that cannot be opened.
    """
    try:
        archive = ZipFile(file)
    except NO_ZIP:
        return _refused(path, "is no zip that can be read", explicit)
    infos = sorted((info for info in archive.infolist() if may_be_read(info)), key=lambda info: info.filename)
    if len(infos) > MOST_MEMBERS or sum(info.file_size for info in infos) > LARGEST:
        reason = f"an archive must have at most {MOST_MEMBERS:,} members and {LARGEST // 2**30} GiB in them"
        return _refused(path, reason, explicit)
    others: Counter[str] = Counter()
    left_out = LeftOut(texts)
    found = _read_members(path, archive, infos, left_out, reader, others)
    first = next(found, None)
    if first is None:
        return None
    return chain(first, chain.from_iterable(found), left_out.warnings(path), _left(path, others))


def _refused(path: str, reason: str, explicit: bool) -> Iterator[Item] | None:
    return iter([RejectedRecord(Problem(path, None, reason))]) if explicit else None


def may_be_read(info: ZipInfo) -> bool:
    """Whether it is a file, and no mark of the system that packed it."""
    hidden = (part for part in PurePosixPath(info.filename).parts if part.startswith((".", "__MACOSX")))
    return not info.is_dir() and all(part == ".." for part in hidden)


def flaw_of(info: ZipInfo) -> str | None:
    """Why a member is not read."""
    path = PurePosixPath(info.filename)
    if path.is_absolute() or ".." in path.parts or "\\" in info.filename:
        return "its name leads out of the archive"
    if info.flag_bits & 1:
        return "is encrypted"
    if info.file_size > _SMALL and info.file_size > _RATIO * max(info.compress_size, 1):
        return f"is packed more than {_RATIO} to one"
    return None


def _read_members(
    path: str, archive: ZipFile, infos: list[ZipInfo], left_out: LeftOut, reader: Reader, others: Counter[str]
) -> Iterator[Iterator[Item]]:
    """What the members hold, one after the other; those that hold no conversation are counted by their extension."""
    around = _Members(archive)
    for info in infos:
        name = PurePosixPath(info.filename)
        where = f"{path}/{info.filename}"
        if name.suffix.lower() not in READ_WITHIN:
            others[name.suffix.lower()] += 1
            continue
        if (flaw := flaw_of(info)) is not None:
            yield iter([RejectedRecord(Problem(where, None, flaw))])
            continue
        try:
            opened = archive.open(info)
        except NO_ZIP as error:
            yield iter([_damaged(where, error)])
            continue
        with opened:
            try:
                items = reader(_member(where, name, cast("BinaryIO", opened), left_out, around))
            except _BROKEN as error:
                yield iter([_damaged(where, error)])
                continue
            if items is None:
                others[name.suffix.lower()] += 1
            else:
                yield _guarded(where, items)


def _member(where: str, name: PurePosixPath, file: BinaryIO, left_out: LeftOut, around: Neighbours) -> ExportFile:
    head = file.read(HEAD)
    file.seek(0)
    return ExportFile(where, name, file, head, False, left_out, around)


def _guarded(where: str, items: Iterator[Item]) -> Iterator[Item]:
    """The items up to where a member is damaged."""
    try:
        yield from items
    except _BROKEN as error:
        yield _damaged(where, error)


def _damaged(where: str, error: Exception) -> RejectedRecord:
    reason = f"is damaged in the archive ({type(error).__name__}); what follows in it is not read"
    return RejectedRecord(Problem(where, None, reason))


def _left(path: str, others: Counter[str]) -> Iterator[Item]:
    if others:
        counted = ", ".join(f"{count} {suffix or 'without extension'}" for suffix, count in others.most_common(8))
        many = f"{others.total()} {'members hold' if others.total() > 1 else 'member holds'}"
        yield Warned(Problem(path, None, f"{many} no conversation: {counted}"))
