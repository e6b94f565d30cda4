"""Detects the exporting system by a file's content: no reader accepts a file in another format.

The members of a `.zip` are read inside it, like files in a folder. Nothing is written to disk. The sizes stated in an
archive bound the bytes read from it.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path, PurePosixPath
from struct import error as StructError
from typing import BinaryIO, Final, cast
from zipfile import BadZipFile, ZipFile, ZipInfo

from cognition_engines.ingest.conversations import chatgpt, claude, claude_code, discord, mail, slack, whatsapp
from cognition_engines.ingest.conversations.export_file import HEAD, ExportFile, InFolder, LeftOut
from cognition_engines.ingest.items import Item, RejectedRecord, rejected, warned
from cognition_engines.ingest.options import Texts
from cognition_engines.open_file import LARGEST_WHOLE

ZIP: Final = ".zip"
SUFFIXES: Final = frozenset({ZIP, ".mbox", ".eml"})  # of files in no other format
_READERS: Final[Mapping[str, tuple[Callable[[ExportFile], Iterator[Item] | None], ...]]] = {
    ".json": (slack.read, discord.read, chatgpt.read, claude.read),
    ".jsonl": (claude_code.read,),
    ".txt": (whatsapp.read,),
    ".csv": (discord.read_csv,),
    ".eml": (mail.read_eml,),
    ".mbox": (mail.read_mbox,),
    "": (mail.read_mbox,),  # as Thunderbird names folders
}
_READ_WITHIN: Final = _READERS.keys() - {""}
_MOST_MEMBERS: Final = 200_000
_LARGEST: Final = 32 * 2**30  # bytes of all members
_RATIO: Final = 200  # to one, for members that are not small; chats in JSON are packed to a tenth
_SMALL: Final = 2**20  # bytes
_KEPT: Final = 8  # members cached for repeated reads
# Errors of reading a damaged member, or a member packed by an unknown method.
_BROKEN: Final = (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
# additional bytes read on opening if offsets are wrong
NO_ZIP: Final = (*_BROKEN, ValueError, StructError, OSError)


def read_export(
    path: str, file: BinaryIO, explicit: bool, texts: Texts, below: Path | None = None
) -> Iterator[Item] | None:
    """Return the turns of an export; None for any other file, with the position restored.

    Lists of names are searched inside the folder `below`, and nowhere without it. Turns are read lazily from the
    seekable `file`. Raise OSError.
    """
    name = PurePosixPath(path.replace("\\", "/"))
    suffix = name.suffix.lower()
    if suffix == ZIP:
        return _read_archive(path, file, explicit, texts)
    if suffix not in _READERS:
        return None
    head = file.read(HEAD)
    file.seek(0)
    left_out = LeftOut(texts)
    items = _read_file(ExportFile(path, name, file, head, explicit, left_out, InFolder(below)))
    return None if items is None else chain(items, left_out.warnings(path))


def _read_file(file: ExportFile) -> Iterator[Item] | None:
    for reader in _READERS.get(file.name.suffix.lower(), ()):
        items = reader(file)
        if items is not None:
            return items
        file.file.seek(0)
    return None


class _Members:
    """The members of an archive, each a neighbour of the others."""

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


def _read_archive(path: str, file: BinaryIO, explicit: bool, texts: Texts) -> Iterator[Item] | None:
    """Return the members' contents, in name order; None if no reader recognises a member.

    A damaged or encrypted member, or a member packed more than 200 to one, is refused alone. `explicit` refuses an
    archive that cannot be opened.
    """
    try:
        archive = ZipFile(file)
    except NO_ZIP:
        return iter([rejected(path, "is no zip that can be read")]) if explicit else None
    infos = list_members(archive)
    if (reason := excess_of(infos)) is not None:
        return iter([rejected(path, reason)]) if explicit else None
    others: Counter[str] = Counter()
    left_out = LeftOut(texts)
    found = _read_members(path, archive, infos, left_out, others)
    first = next(found, None)
    if first is None:
        return None
    return chain(first, chain.from_iterable(found), left_out.warnings(path), _count_others(path, others))


def list_members(archive: ZipFile) -> list[ZipInfo]:
    """Return an archive's files by name, without marks of the packing system."""
    return sorted((info for info in archive.infolist() if _may_be_read(info)), key=lambda info: info.filename)


def _may_be_read(info: ZipInfo) -> bool:
    hidden = (part for part in PurePosixPath(info.filename).parts if part.startswith((".", "__MACOSX")))
    return not info.is_dir() and all(part == ".." for part in hidden)


def excess_of(infos: list[ZipInfo]) -> str | None:
    """Return the reason why an archive with these members is too large; None if it is not."""
    if len(infos) <= _MOST_MEMBERS and sum(info.file_size for info in infos) <= _LARGEST:
        return None
    return f"an archive must have at most {_MOST_MEMBERS:,} members and {_LARGEST // 2**30} GiB in them"


def flaw_of(info: ZipInfo) -> str | None:
    """Return the reason for not reading a member; None without a reason."""
    path = PurePosixPath(info.filename)
    if path.is_absolute() or ".." in path.parts or "\\" in info.filename:
        return "its name leads out of the archive"
    if info.flag_bits & 1:
        return "is encrypted"
    if info.file_size > _SMALL and info.file_size > _RATIO * max(info.compress_size, 1):
        return f"is packed more than {_RATIO} to one"
    return None


def damage_of(error: Exception) -> str:
    """Return the reason for refusing a member that cannot be unpacked."""
    return f"is damaged in the archive ({type(error).__name__})"


def count_suffixes(others: Counter[str]) -> str:
    """Return the most frequent extensions with their numbers, as `3 .png, 1 without extension`."""
    return ", ".join(f"{count} {suffix or 'without extension'}" for suffix, count in others.most_common(8))


def _read_members(
    path: str, archive: ZipFile, infos: list[ZipInfo], left_out: LeftOut, others: Counter[str]
) -> Iterator[Iterator[Item]]:
    """Yield the items of each member; count members without conversations by extension."""
    around = _Members(archive)
    for info in infos:
        name = PurePosixPath(info.filename)
        suffix, where = name.suffix.lower(), f"{path}/{info.filename}"
        if suffix not in _READ_WITHIN:
            others[suffix] += 1
            continue
        if (flaw := flaw_of(info)) is not None:
            yield iter([rejected(where, flaw)])
            continue
        try:
            opened = archive.open(info)
        except NO_ZIP as error:
            yield iter([_damaged_member(where, error)])
            continue
        with opened:
            try:
                head = opened.read(HEAD)
                opened.seek(0)
                member = ExportFile(where, name, cast("BinaryIO", opened), head, False, left_out, around)
                items = _read_file(member)
            except _BROKEN as error:
                yield iter([_damaged_member(where, error)])
                continue
            if items is None:
                others[suffix] += 1
            else:
                yield _stop_at_damage(where, items)


def _stop_at_damage(where: str, items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items up to the place at which a member is damaged."""
    try:
        yield from items
    except _BROKEN as error:
        yield _damaged_member(where, error)


def _damaged_member(where: str, error: Exception) -> RejectedRecord:
    return rejected(where, f"{damage_of(error)}; what follows in it is not read")


def _count_others(path: str, others: Counter[str]) -> Iterator[Item]:
    if others:
        many = f"{others.total()} {'members hold' if others.total() > 1 else 'member holds'}"
        yield warned(path, f"{many} no conversation: {count_suffixes(others)}")
