"""Small documents of each format, in the form that the usual programs write."""

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

from pptx import Presentation

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
CONTAINER = "urn:oasis:names:tc:opendocument:xmlns:container"
TYPES = "application/vnd.openxmlformats-officedocument"
XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


def archive(files: Mapping[str, str | bytes]) -> bytes:
    held = BytesIO()
    with ZipFile(held, "w", ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return held.getvalue()


def pdf(
    pages: Sequence[Sequence[str]],
    outline: Sequence[tuple[str, int]] = (),
    info: Mapping[str, str] | None = None,
    pictures: Sequence[int] = (),
) -> bytes:
    """Pages of lines, an outline of titles with the number of their page from 0, pages that show a picture."""
    objects: dict[int, str] = {}
    first = 10
    kids = " ".join(f"{first + 2 * n} 0 R" for n in range(len(pages)))
    entries = first + 2 * len(pages)
    root = "<< /Type /Catalog /Pages 2 0 R" + (" /Outlines 4 0 R" if outline else "") + " >>"
    objects[1] = root
    objects[2] = f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>"
    objects[3] = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    objects[5] = "<< " + " ".join(f"/{name} ({value})" for name, value in (info or {}).items()) + " >>"
    objects[6] = stream(
        "\0", "/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8"
    )
    for number, lines in enumerate(pages):
        shown = "".join(f"BT /F1 12 Tf 72 {760 - 16 * at} Td ({line}) Tj ET\n" for at, line in enumerate(lines))
        shown += "q 100 0 0 100 72 72 cm /I1 Do Q\n" if number in pictures else ""
        resources = "/Resources << /Font << /F1 3 0 R >> /XObject << /I1 6 0 R >> >> /MediaBox [0 0 612 792]"
        objects[first + 2 * number] = (
            f"<< /Type /Page /Parent 2 0 R {resources} /Contents {first + 2 * number + 1} 0 R >>"
        )
        objects[first + 2 * number + 1] = stream(shown)
    if outline:
        last = entries + len(outline) - 1
        objects[4] = f"<< /Type /Outlines /First {entries} 0 R /Last {last} 0 R /Count {len(outline)} >>"
        for at, (title, page) in enumerate(outline):
            following = f" /Next {entries + at + 1} 0 R" if at + 1 < len(outline) else ""
            target = f"/Dest [{first + 2 * page} 0 R /Fit]"
            objects[entries + at] = f"<< /Title ({title}) /Parent 4 0 R {target}{following} >>"
    return _file(objects)


def stream(content: str, members: str = "") -> str:
    return f"<< {members} /Length {len(content)} >>\nstream\n{content}\nendstream"


def _file(objects: Mapping[int, str]) -> bytes:
    written = b"%PDF-1.4\n"
    places = {}
    for number, content in sorted(objects.items()):
        places[number] = len(written)
        written += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    size = max(objects) + 1
    table = "".join(f"{places[n]:010d} 00000 n \n" if n in places else "0000000000 65535 f \n" for n in range(size))
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R /Info 5 0 R >>\nstartxref\n{len(written)}\n%%EOF\n"
    return written + f"xref\n0 {size}\n{table}".encode() + trailer.encode()


def core(title: str = "", creator: str = "", created: str = "2024-03-02T09:00:00Z") -> str:
    names = (
        f'xmlns:cp="{PACKAGE}/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    )
    created = f'<dcterms:created xsi:type="dcterms:W3CDTF">{created}</dcterms:created>'
    said = f"<dc:title>{title}</dc:title><dc:creator>{creator}</dc:creator>{created}"
    return f"{XML}<cp:coreProperties {names}>{said}</cp:coreProperties>"


def custom(**members: str) -> str:
    """Properties that a person adds to an Office document."""
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006"
    each = "".join(
        f'<property fmtid="{{D5CDD505-2E9C-101B-9397-08002B2CF9AE}}" pid="{at}" name="{name}">'
        f"<vt:lpwstr>{value}</vt:lpwstr></property>"
        for at, (name, value) in enumerate(members.items(), 2)
    )
    return f'{XML}<Properties xmlns="{kinds}/custom-properties" xmlns:vt="{kinds}/docPropsVTypes">{each}</Properties>'


def relations(*targets: tuple[str, str, str]) -> str:
    each = "".join(f'<Relationship Id="{id}" Type="{kind}" Target="{target}"/>' for id, kind, target in targets)
    return f'{XML}<Relationships xmlns="{PACKAGE}/relationships">{each}</Relationships>'


def types(**parts: str) -> str:
    each = "".join(f'<Override PartName="/{name}" ContentType="{TYPES}.{kind}+xml"/>' for name, kind in parts.items())
    defaults = (
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
    )
    return f'{XML}<Types xmlns="{PACKAGE}/content-types">{defaults}{each}</Types>'


def docx(body: str, **more: str | bytes) -> bytes:
    """A text whose body is WordprocessingML; `more` are files of the archive."""
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{level}"><w:name w:val="heading {level}"/></w:style>'
        for level in range(1, 4)
    )
    main = "wordprocessingml.document.main"
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": types(**{"word/document.xml": main, "word/styles.xml": "wordprocessingml.styles"}),
        "_rels/.rels": relations(("rId1", f"{RELATIONS}/officeDocument", "word/document.xml")),
        "word/_rels/document.xml.rels": relations(("rId1", f"{RELATIONS}/styles", "styles.xml")),
        "word/styles.xml": f'{XML}<w:styles xmlns:w="{WORD}">{styles}</w:styles>',
        "word/document.xml": f'{XML}<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>',
    }
    return archive(files | more)


def paragraph(text: str, style: str = "") -> str:
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{styled}<w:r><w:t>{text}</w:t></w:r></w:p>"


def pptx(slides: Sequence[tuple[str, Sequence[str]]], **more: str | bytes) -> bytes:
    """Slides of a title and the lines of a list."""
    show, held = Presentation(), BytesIO()
    for title, lines in slides:
        slide = show.slides.add_slide(show.slide_layouts[1])
        for shape, text in zip(slide.placeholders, (title, "\n".join(lines)), strict=True):
            shape.text_frame.text = text  # type: ignore[attr-defined]
    show.save(held)
    with ZipFile(held) as made:
        return archive({name: made.read(name) for name in made.namelist()} | more)


def epub(chapters: Mapping[str, str], metadata: str = "<dc:title>Tides</dc:title>", **more: str | bytes) -> bytes:
    """A book of pages by their names, each the content of a `body`."""
    items = "".join(f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>' for name in chapters)
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    names = 'xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/" version="3.0"'
    files: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": f'{XML}<container xmlns="{CONTAINER}" version="1.0"><rootfiles>'
        '<rootfile full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
        "OEBPS/content.opf": f"{XML}<package {names}><metadata>{metadata}</metadata><manifest>{items}</manifest>"
        f"<spine>{spine}</spine></package>",
    }
    for name, body in chapters.items():
        page = (
            f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>{name}</title></head><body>{body}</body></html>'
        )
        files[f"OEBPS/{name}.xhtml"] = f"{XML}<!DOCTYPE html>\n{page}"
    return archive(files | more)


def notebook(*cells: tuple[str, str], **metadata: object) -> bytes:
    """Cells of a type and a source; a cell of code has printed `printed`."""
    made = []
    for kind, source in cells:
        cell: dict[str, object] = {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}
        if kind == "code":
            printed = {"output_type": "stream", "name": "stdout", "text": ["printed\n"]}
            cell |= {"execution_count": 1, "outputs": [printed]}
        made.append(cell)
    known = {"kernelspec": {"name": "python3", "display_name": "Python 3"}, "language_info": {"name": "python"}}
    return json.dumps({"cells": made, "metadata": known | metadata, "nbformat": 4, "nbformat_minor": 4}).encode()
