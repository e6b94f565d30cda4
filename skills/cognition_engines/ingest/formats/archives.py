"""Documents in ZIP archives: bounded before anything is unpacked, with XML that declares no entities."""

import re
from io import BytesIO
from typing import Final
from zipfile import BadZipFile, ZipFile, ZipInfo

from lxml import etree

from cognition_engines.ingest.formats.converted import Unreadable, clean, members_of
from cognition_engines.markdown.front_block import Member

_MOST_FILES: Final = 10_000
_MOST_BYTES: Final = 256 * 2**20  # unpacked
_MOST_MARKUP: Final = 64 * 2**20  # of a part
_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")
_MARKUP: Final = (".xml", ".rels", ".opf", ".ncx", ".xhtml", ".html", ".htm")
_ENTITY: Final = ("<!ENTITY", "<!entity")
_CORE: Final = "{http://purl.org/dc/elements/1.1/}"
_WANTED: Final = {
    "title": f"{_CORE}title",
    "creator": f"{_CORE}creator",
    "created": "{http://purl.org/dc/terms/}created",
    "words": "{http://schemas.openxmlformats.org/package/2006/metadata/core-properties}keywords",
}
_DECLARED: Final = re.compile(rb"<\?xml\s[^>]{0,200}?\sencoding\s{0,9}=\s{0,9}[\"']([A-Za-z][\w.:-]{0,39})[\"']")
_ENCODINGS: Final = ("ascii", "utf-16-le", "utf-16-be")


def opened_archive(content: bytes) -> ZipFile:
    """Open the archive of a document. Raise Unreadable if it is none, is encrypted, or unpacks to too much."""
    if content.startswith(_OLD_OFFICE):
        if _ENCRYPTED in content:
            raise Unreadable("is encrypted: save it without a password")
        raise Unreadable("is of an older Office: save it in the new form")
    try:
        archive = ZipFile(BytesIO(content))
    except (BadZipFile, NotImplementedError, ValueError):
        raise Unreadable("is broken: it is no sound ZIP archive") from None
    files = archive.infolist()
    if len(files) > _MOST_FILES or sum(file.file_size for file in files) > _MOST_BYTES:
        raise Unreadable(f"unpacks to more than {_MOST_FILES:,} files or {_MOST_BYTES // 2**20} MiB")
    if any(file.flag_bits & 1 for file in files):
        raise Unreadable("is encrypted: save it without a password")
    for file in files:
        if file.filename.lower().endswith(_MARKUP):
            _check_markup(archive, file)
    return archive


def part(archive: ZipFile, name: str) -> bytes:
    """Return a file from the archive. Raise Unreadable if it is absent or broken."""
    try:
        return archive.read(name)
    except KeyError:
        raise Unreadable(f"is broken: it has no {clean(name)[:100]}") from None
    except (BadZipFile, NotImplementedError, ValueError, OSError, EOFError):
        raise Unreadable(f"is broken: {clean(name)[:100]} cannot be unpacked") from None


def element_of(content: bytes) -> etree._Element:
    """Return the root of an XML file, without resolving entities or loading other files."""
    options = {"resolve_entities": False, "load_dtd": False, "no_network": True, "huge_tree": False}
    declared = _DECLARED.match(content)
    try:
        if declared is None or declared[1].lower().startswith(b"utf-"):
            return etree.fromstring(content, etree.XMLParser(**options))
        # libxml2 would open a file for most other encodings
        text = content.decode(declared[1].decode("ascii"))
        return etree.fromstring(text.encode(), etree.XMLParser(encoding="utf-8", **options))
    except (etree.XMLSyntaxError, LookupError, ValueError):
        raise Unreadable("is broken: a part of it is no sound XML") from None


def office_members(archive: ZipFile) -> tuple[Member, ...]:
    """Return an Office document's title, authors, day and keywords, and the rights in custom properties."""
    names = set(archive.namelist())
    said: dict[str, str] = {}
    if "docProps/custom.xml" in names:
        for element in element_of(part(archive, "docProps/custom.xml")):
            name = str(element.get("name") or "").lower()
            if name in ("project", "sensitivity"):
                said[name] = "".join(str(text) for text in element.itertext())
    if "docProps/core.xml" in names:
        core = element_of(part(archive, "docProps/core.xml"))
        said |= {name: str(core.findtext(tag) or "") for name, tag in _WANTED.items()}
    return members_of(
        said.get("title"),
        said.get("creator", "").split(";"),
        said.get("created"),
        said.get("words", "").split(";"),
        project=said.get("project"),
        sensitivity=said.get("sensitivity"),
    )


def _check_markup(archive: ZipFile, file: ZipInfo) -> None:
    if file.file_size > _MOST_MARKUP:
        raise Unreadable(f"has a part of more than {_MOST_MARKUP // 2**20} MiB")
    content = part(archive, file.filename)
    if any(mark.encode(encoding) in content for mark in _ENTITY for encoding in _ENCODINGS):
        raise Unreadable(f"declares entities, in {clean(file.filename)[:100]}")
