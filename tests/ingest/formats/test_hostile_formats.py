"""Hostile and broken documents: each refuses itself alone, in bounded time and memory, and reaches no other file."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from cognition_engines.ingest.formats.converted import Format
from cognition_engines.ingest.formats.reader import FormatLimits, FormatReader
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.formats import samples
from tests.ingest.runs import Run, stored

GOOD = b"<h1>Good</h1><p>Words that are read.</p>"
BOMB = "".join(f'<!ENTITY {name} "{f"&{inner};" * 10}">' for name, inner in zip("bcdefghij", "abcdefghi", strict=True))
ENTITIES = f'<!DOCTYPE x [<!ENTITY a "ha">{BOMB}]>'
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
PROTECTED = OLD_OFFICE + bytes(504) + "EncryptedPackage".encode("utf-16-le")


def zip_bomb() -> bytes:
    held = BytesIO()
    with ZipFile(held, "w", ZIP_DEFLATED, compresslevel=1) as made:
        for number in range(5):
            made.writestr(f"word/{number}.bin", bytes(60 * 2**20))
    return held.getvalue()


def lying_archive() -> bytes:
    """A text whose archive states a smaller size than it has."""
    content = samples.docx(samples.paragraph("x" * 5000))
    size = len(f"{samples.XML}<w:document>") + 0
    with ZipFile(BytesIO(content)) as made:
        real = made.getinfo("word/document.xml").file_size
    return content.replace(real.to_bytes(4, "little"), size.to_bytes(4, "little"))


def protected_pdf() -> bytes:
    keys = "<" + "00" * 32 + ">"
    encryption = f"/Encrypt << /Filter /Standard /V 1 /R 2 /O {keys} /U {keys} /P -1 >> /ID [<00> <00>] /Root"
    return samples.pdf([["Words"]]).replace(b"/Root", encryption.encode())


def nested_groups() -> str:
    opened = '<p:grpSp><p:nvGrpSpPr><p:cNvPr id="9" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
    return opened * 60 + "</p:grpSp>" * 60


def with_groups() -> bytes:
    content = samples.pptx([("Tides", ["Neap"])])
    with ZipFile(BytesIO(content)) as made:
        files: dict[str, str | bytes] = {name: made.read(name) for name in made.namelist()}
    slide = bytes(files["ppt/slides/slide1.xml"])  # type: ignore[arg-type]
    files["ppt/slides/slide1.xml"] = slide.replace(b"</p:spTree>", nested_groups().encode() + b"</p:spTree>")
    return samples.archive(files)


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "truncated.docx": (lambda: samples.docx(samples.paragraph("x"))[:-200], "is broken: it is no sound ZIP archive"),
    "truncated.epub": (lambda: samples.epub({"a": "<p>x</p>"})[:200], "is broken: it is no sound ZIP archive"),
    "truncated.pdf": (lambda: samples.pdf([["Words"]])[:60], "is no sound PDF"),
    "truncated.ipynb": (lambda: samples.notebook(("code", "1"))[:-30], "is no sound notebook: "),
    "text.pdf": (lambda: b"no PDF at all", "is no sound PDF"),
    "old.docx": (lambda: OLD_OFFICE + bytes(504), "is of an older Office: save it in the new form"),
    "bomb.docx": (zip_bomb, "unpacks to more than 10,000 files or 256 MiB"),
    "bomb.pptx": (zip_bomb, "unpacks to more than 10,000 files or 256 MiB"),
    "bomb.epub": (zip_bomb, "unpacks to more than 10,000 files or 256 MiB"),
    "many.epub": (lambda: samples.archive({f"f{n}": "" for n in range(10_001)}), "unpacks to more than 10,000 files"),
    "lying.docx": (lying_archive, "is broken: "),
    "entities.docx": (
        lambda: samples.docx("", **{"word/document.xml": f"<?xml version='1.0'?>{ENTITIES}<x>&j;</x>"}),
        "declares entities, in word/document.xml",
    ),
    "entities16.docx": (
        lambda: samples.docx("", **{"word/document.xml": f"{ENTITIES}<x>&j;</x>".encode("utf-16")}),
        "declares entities, in word/document.xml",
    ),
    "entities.pptx": (
        lambda: samples.pptx([], **{"ppt/presentation.xml": f"{ENTITIES}<x>&j;</x>"}),
        "declares entities, in ppt/presentation.xml",
    ),
    "entities.epub": (
        lambda: samples.epub({}, **{"OEBPS/content.opf": f"{ENTITIES}<package>&j;</package>"}),
        "declares entities, in OEBPS/content.opf",
    ),
    "protected.docx": (lambda: PROTECTED, "is encrypted: save it without a password"),
    "protected.pptx": (lambda: PROTECTED, "is encrypted: save it without a password"),
    "protected.pdf": (protected_pdf, "is encrypted: save it without a password"),
    "protected.epub": (
        lambda: samples.epub(
            {"a": "<p>x</p>"},
            **{"META-INF/encryption.xml": '<encryption><CipherReference URI="OEBPS/a.xhtml"/></encryption>'},
        ),
        "is encrypted: only its reader can open it",
    ),
    "deep.html": (lambda: b"<div>" * 50_000 + b"x", "is nested deeper than 200 elements"),
    "deep.rst": (lambda: "".join(f"{' ' * 2 * n}* x\n\n" for n in range(700)).encode(), "is nested"),
    "deep.pptx": (with_groups, "has groups that are nested deeper than 20"),
    "deep.ipynb": (lambda: b'{"cells": ' + b"[" * 200_000, "is nested too deeply to be read"),
    "not_a_book.epub": (lambda: samples.archive({"a.txt": "x"}), "is broken: it has no META-INF/container.xml"),
    "outside.epub": (
        lambda: samples.epub(
            {},
            **{
                "META-INF/container.xml": "<container><rootfiles>"
                '<rootfile full-path="../../../../etc/passwd"/></rootfiles></container>'
            },
        ),
        "is broken: it has no ../../../../etc/passwd",
    ),
    "nothing.docx": (lambda: samples.archive({"a.txt": "x"}), "is no sound docx: "),
    "latin.rst": (lambda: "Grüße".encode("latin-1"), "the encoding must be UTF-8; line 1 is in another one"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_refuses_itself_alone(run: Run, records: Records, tmp_path: Path, name: str) -> None:
    make, reason = HOSTILE[name]
    (tmp_path / "a.html").write_bytes(GOOD)
    (tmp_path / f"b-{name}").write_bytes(make())
    (tmp_path / "c.html").write_bytes(GOOD.replace(b"read", b"read, too"))
    (problem,) = run(tmp_path).rejected
    assert problem.file == str(tmp_path / f"b-{name}")
    assert problem.reason.startswith(reason)
    assert sorted(one.path[-6:] for one in stored(records, Kind.SOURCE)) == ["a.html", "c.html"]


@pytest.mark.long("starts the process that reads documents, and limits it")
def test_a_slow_document_ends_its_reader_alone(run: Run, records: Records, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(GOOD)
    (tmp_path / "b.html").write_bytes(b"<ol>" + b"<li>x" * 300_000)  # quadratic in the library
    (tmp_path / "c.html").write_bytes(GOOD.replace(b"read", b"read, too"))
    with FormatReader(FormatLimits(seconds=4)) as reader:
        (problem,) = run(tmp_path, reader=reader).rejected
    assert (Path(problem.file).name, problem.reason) == ("b.html", "takes more than 4 seconds to read")
    assert len(stored(records, Kind.SOURCE)) == 2


@pytest.mark.long("starts the process that reads documents, and limits it")
def test_a_document_beyond_the_memory_is_refused_alone(run: Run, records: Records, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(GOOD)
    (tmp_path / "b.ipynb").write_bytes(b"[" + b"{}," * 2**22 + b"{}]")
    (tmp_path / "c.html").write_bytes(GOOD.replace(b"read", b"read, too"))
    with FormatReader(FormatLimits(memory=256 * 2**20)) as reader:
        (problem,) = run(tmp_path, reader=reader).rejected
    assert (Path(problem.file).name, problem.reason) == ("b.ipynb", "needs too much memory to be read")
    assert len(stored(records, Kind.SOURCE)) == 2


@pytest.mark.long("starts the process that reads documents, and limits it")
def test_a_killed_reader_is_replaced(run: Run, records: Records, tmp_path: Path, formats: FormatReader) -> None:
    formats.convert(Format.HTML, GOOD)
    assert formats.process_id is not None
    os.kill(formats.process_id, signal.SIGKILL)
    (tmp_path / "a.html").write_bytes(GOOD)
    assert run(tmp_path).rejected == ()
    assert len(stored(records, Kind.SOURCE)) == 1


@pytest.mark.long("starts the process that reads documents, and limits it")
def test_a_reader_is_replaced_after_a_number_of_documents_and_after_one_that_needed_much() -> None:
    with FormatReader(FormatLimits(documents=2)) as reader:
        used = []
        for _ in range(4):
            reader.convert(Format.HTML, GOOD)
            used.append(reader.process_id)
        assert [pid is None for pid in used] == [False, True, False, True]
    with FormatReader(FormatLimits(resident=1)) as reader:
        reader.convert(Format.HTML, GOOD)
        assert reader.process_id is None


@pytest.mark.long("starts the process that reads documents, and limits it")
def test_the_memory_of_the_process_that_starts_a_reader_does_not_count() -> None:
    program = (
        "from cognition_engines.ingest.formats.reader import FormatLimits, FormatReader\n"
        "from cognition_engines.ingest.formats.converted import Format\n"
        "held = bytearray(600 * 2**20)\n"
        "with FormatReader() as reader:\n"
        "    reader.convert(Format.HTML, b'<h1>Berths</h1><p>A boat came.</p>')\n"
        "    assert reader.process_id is not None\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_closed_reader_leaves_no_process() -> None:
    with FormatReader() as reader:
        reader.convert(Format.HTML, GOOD)
        pid = reader.process_id
        assert pid is not None
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


PROGRAM = """
import os
from cognition_engines.ingest.formats.reader import FormatReader
from cognition_engines.ingest.formats.converted import Format

reader = FormatReader()
reader.convert(Format.HTML, b"<p>Words.</p>")
print(reader.process_id, flush=True)
input()
os._exit(1)
"""


@pytest.mark.long("starts the process that reads documents, and limits it")
def test_a_reader_ends_when_the_program_that_started_it_is_killed() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", PROGRAM], text=True, **pipes) as program:
        assert program.stdout is not None
        reader = os.pidfd_open(int(program.stdout.readline()))
        program.kill()
        try:
            assert select.select([reader], [], [], 60)[0] == [reader]
        finally:
            os.close(reader)


HOSTILE_LIBRARY = """
import os, socket, subprocess

def outcome(name, action):
    try:
        action()
    except OSError:
        return f"{name}: refused"
    return f"{name}: done"

def connect(kind, place):
    with socket.socket(kind) as one:
        one.connect(place)

class MarkdownConverter:
    def __init__(self, **options):
        pass

    def convert_soup(self, element):
        target = element.get_text().strip()
        return "\\n".join([
            outcome("read", lambda: open("/etc/hosts").close()),
            outcome("write", lambda: open(target, "w").close()),
            outcome("list", lambda: os.listdir("/")),
            outcome("connect", lambda: connect(socket.AF_INET, ("127.0.0.1", PORT))),
            outcome("connect", lambda: connect(socket.AF_UNIX, target)),
            outcome("rename", lambda: os.rename(target, target + "x")),
            outcome("fork", lambda: os.fork() or os._exit(0)),
            outcome("start", lambda: subprocess.run(["/bin/true"])),
        ])
"""


@pytest.mark.long("starts the process that reads documents, and limits it")
def test_a_hijacked_library_opens_no_file_or_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "target"
    target.touch()
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = HOSTILE_LIBRARY.replace("PORT", str(server.getsockname()[1]))
        (tmp_path / "markdownify.py").write_text(code)
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
        with FormatReader() as reader:
            said = reader.convert(Format.HTML, f"<p>{target}</p>".encode()).text.splitlines()
    assert len(said) == 8
    assert {one.partition(": ")[2] for one in said} == {"refused"}, said


@pytest.mark.parametrize("format", ["html", "epub"])
@pytest.mark.parametrize("encoding", ["windows-1251", "koi8-r", "iso-8859-5"])
def test_late_encodings_are_read_without_opening_files(formats: FormatReader, format: str, encoding: str) -> None:
    page = f'<?xml version="1.0" encoding="{encoding}"?><html><body><p>Причал</p></body></html>'.encode(encoding)
    opf = (
        f'<?xml version="1.0" encoding="{encoding}"?><package><metadata><title>Причал</title></metadata>'
        '<manifest><item id="a" href="a.xhtml" media-type="text/html"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    ).encode(encoding)
    book = samples.epub({}, **{"OEBPS/a.xhtml": page, "OEBPS/content.opf": opf})
    read = formats.convert(Format(format), page if format == "html" else book)
    assert read.text == "Причал"
    assert format == "html" or [one.source for one in read.members] == ['"Причал"']


def test_a_notebook_of_an_older_form_is_read_without_opening_its_schema(formats: FormatReader) -> None:
    heading = {"cell_type": "heading", "level": 1, "source": "Tides"}
    sheets = [{"cells": [heading], "metadata": 7}]  # against the schema
    book = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": sheets}
    assert formats.convert(Format.NOTEBOOK, json.dumps(book).encode()).text == "# Tides"


def test_images_of_rst_are_their_alternative_text(formats: FormatReader) -> None:
    text = (
        ".. image:: a.png\n   :alt: A *boat*\n   :target: https://pier.example/\n\n.. image:: b.png\n\n"
        ".. figure:: c.svg\n   :alt: A pier\n\n   At low tide\n\nSee |tide| here.\n\n.. |tide| image:: d.mp4\n"
    )
    read = formats.convert(Format.RESTRUCTURED, text.encode())
    assert read.text == "[A *boat*](https://pier.example/)\n\nA pier\n\nAt low tide\n\nSee tide here."


@pytest.mark.long("starts the process that reads documents, and limits it")
def test_no_document_reaches_another_file(run: Run, records: Records, tmp_path: Path) -> None:
    secret = tmp_path / "outside" / "secret.txt"
    secret.parent.mkdir()
    secret.write_text("a secret")
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "a.rst").write_text(
        f"Words\n\n.. include:: {secret}\n\n.. literalinclude:: {secret}\n\n.. raw:: html\n   :file: {secret}\n\n"
        f".. csv-table::\n   :file: {secret}\n\n"
        f".. image:: {secret}#.svg\n   :loading: embed\n\n.. figure:: {secret}#.svg\n   :loading: embed\n\n"
        f".. |pier| image:: {secret}#.svg\n   :loading: embed\n\nThe |pier| here.\n"
    )
    (inside / "b.adoc").write_text(f"Words\n\ninclude::{secret}[]\n")
    (inside / "c.html").write_text(
        f'<p>Words</p><iframe src="file://{secret}"></iframe><object data="{secret}"></object>'
    )
    external = (
        f'<!DOCTYPE x SYSTEM "file://{secret}"><html xmlns="http://www.w3.org/1999/xhtml"><body>Words</body></html>'
    )
    (inside / "d.epub").write_bytes(samples.epub({"a": ""}, **{"OEBPS/a.xhtml": external}))
    drawing = "http://schemas.openxmlformats.org/drawingml/2006/main"
    blip = f'<a:blip xmlns:a="{drawing}" r:link="rId9" xmlns:r="{samples.RELATIONS}"/>'
    blip = f"<w:p><w:r><w:t>Words</w:t></w:r><w:r>{blip}</w:r></w:p>"
    targets = samples.relations(("rId9", f"{samples.RELATIONS}/image", f"file://{secret}"))
    (inside / "e.docx").write_bytes(samples.docx(blip, **{"word/_rels/document.xml.rels": targets}))
    run(inside)
    found = stored(records, Kind.CHUNK)
    assert len(found) == 5
    assert not any("a secret" in one.content for one in found)
