"""Reads EPUB: the documents of the spine in sequence."""

import posixpath
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote
from zipfile import ZipFile

from lxml import etree

from cognition_engines.ingest.formats.archives import element_of, opened_archive, part
from cognition_engines.ingest.formats.converted import Converted, Mark, Unreadable, join_parts, members_of, right_of
from cognition_engines.ingest.formats.web_page import decode_page, markdown_of, parse_html
from cognition_engines.markdown.front_block import Member

_CONTAINER: Final = "META-INF/container.xml"
_ENCRYPTION: Final = "META-INF/encryption.xml"
_PAGES: Final = ("application/xhtml+xml", "text/html")
_FONTS: Final = (".otf", ".ttf", ".woff", ".woff2")  # which many books obfuscate


def convert(content: bytes) -> Converted:
    """Return the book in a file. Raise Unreadable if it is encrypted, broken or a bomb."""
    with opened_archive(content) as archive:
        _check_encryption(archive)
        package_name = _package_name(archive)
        package = element_of(part(archive, package_name))
        names = list(_spine(package, posixpath.dirname(package_name)))
        text, _ = join_parts((markdown_of(parse_html(decode_page(part(archive, name)))), Mark()) for name in names)
        return Converted(text, _read_package(package))


def _check_encryption(archive: ZipFile) -> None:
    if _ENCRYPTION not in archive.namelist():
        return
    uris = [
        str(element.get("URI") or "")
        for element in _find_elements(element_of(part(archive, _ENCRYPTION)), "CipherReference")
    ]
    if any(not uri.lower().endswith(_FONTS) for uri in uris):
        raise Unreadable("is encrypted: only its reader can open it")


def _package_name(archive: ZipFile) -> str:
    container = element_of(part(archive, _CONTAINER))
    names = [str(element.get("full-path") or "") for element in _find_elements(container, "rootfile")]
    if not names:
        raise Unreadable("is broken: it names no package")
    return names[0]


def _spine(package: etree._Element, folder: str) -> Iterator[str]:
    """Yield the page names in reading order, each once, without the table of contents."""
    items = {str(item.get("id")): item for item in _find_elements(package, "item")}
    seen: set[str] = set()
    for reference in _find_elements(package, "itemref"):
        item = items.get(str(reference.get("idref")))
        if item is None or item.get("media-type") not in _PAGES or "nav" in str(item.get("properties") or "").split():
            continue
        name = posixpath.normpath(posixpath.join(folder, unquote(str(item.get("href") or ""))))
        if name not in seen:
            seen.add(name)
            yield name


def _read_package(package: etree._Element) -> tuple[Member, ...]:
    named: dict[str, list[str]] = {}
    for element in _find_elements(package, "title", "creator", "date", "subject"):
        named.setdefault(etree.QName(element).localname, []).append("".join(str(text) for text in element.itertext()))
    for element in _find_elements(package, "meta"):
        name = str(element.get("property") or element.get("name") or "")
        named.setdefault(name, []).append(str(element.get("content") or element.text or ""))
    return members_of(
        next(iter(named.get("title", [])), None),
        named.get("creator", []),
        next(iter(named.get("date", [])), None),
        named.get("subject", []),
        project=right_of(named.get("project", [])),
        sensitivity=right_of(named.get("sensitivity", [])),
    )


def _find_elements(root: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Yield the elements of these names, in any namespace."""
    for element in root.iter():
        if isinstance(element.tag, str) and etree.QName(element).localname in names:
            yield element
