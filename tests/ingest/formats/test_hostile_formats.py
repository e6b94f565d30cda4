"""Hostile and broken documents: each refuses itself alone, in bounded time and memory, and reaches no other file."""

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from cognition_engines.ingest.formats.converted import Format
from cognition_engines.ingest.formats.reader import FormatLimits, FormatReader
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.cases import CASES, pack_folder, packed_members
from tests.ingest.runs import Run, stored

GOOD = b"<h1>Good</h1><p>Words that are read.</p>"
TEXT = CASES / "formats/titles-authors-dates-and-text/in/tides.docx"


@cache
def zip_bomb() -> bytes:
    return packed_members({f"word/{number}.bin": bytes(60 * 2**20) for number in range(5)})


def lying_archive() -> bytes:
    """Return a text whose archive states a smaller size than it has."""
    size = (TEXT / "word/document.xml").stat().st_size
    return pack_folder(TEXT).replace(size.to_bytes(4, "little"), (100).to_bytes(4, "little"))


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "truncated.ipynb": (lambda: b'{"cells": [], "metadata": {"langua', "is no sound notebook: "),
    "bomb.docx": (zip_bomb, "unpacks to more than 10,000 files or 256 MiB"),
    "bomb.pptx": (zip_bomb, "unpacks to more than 10,000 files or 256 MiB"),
    "bomb.epub": (zip_bomb, "unpacks to more than 10,000 files or 256 MiB"),
    "many.epub": (lambda: packed_members({f"f{n}": "" for n in range(10_001)}), "unpacks to more than 10,000 files"),
    "lying.docx": (lying_archive, "is broken: "),
    "deep.html": (lambda: b"<div>" * 50_000 + b"x", "is nested deeper than 200 elements"),
    "deep.rst": (lambda: "".join(f"{' ' * 2 * n}* x\n\n" for n in range(700)).encode(), "is nested"),
    "deep.ipynb": (lambda: b'{"cells": ' + b"[" * 200_000, "is nested too deeply to be read"),
    "nothing.docx": (lambda: packed_members({"a.txt": "x"}), "is no sound docx: "),
}


def changed(name: str, **members: str) -> bytes:
    """Return the archive of a document with other `members`."""
    folder = TEXT.with_name(name)
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return packed_members(files | {name: text.encode() for name, text in members.items()})


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long("unpacks 256 MiB")] * name.startswith("bomb.")) for name in HOSTILE],
)
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
def test_a_reader_is_replaced_after_many_documents_and_after_a_large_one() -> None:
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
def test_the_memory_of_the_starting_process_does_not_count() -> None:
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
def test_a_reader_ends_when_its_program_is_killed() -> None:
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
    page = f'<!DOCTYPE x SYSTEM "file://{secret}"><html xmlns="http://www.w3.org/1999/xhtml"><body>Words</body></html>'
    (inside / "d.epub").write_bytes(changed("tides.epub", **{"OEBPS/one.xhtml": page}))
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    image = f'<Relationship Id="rId9" Type="{office}/image" Target="file://{secret}"/></Relationships>'
    relations = (TEXT / "word/_rels/document.xml.rels").read_text().replace("</Relationships>", image)
    drawing = "http://schemas.openxmlformats.org/drawingml/2006/main"
    blip = f'<w:p><w:r><a:blip xmlns:a="{drawing}" r:link="rId9" xmlns:r="{office}"/></w:r></w:p></w:body>'
    text = (TEXT / "word/document.xml").read_text().replace("</w:body>", blip)
    parts = {"word/document.xml": text, "word/_rels/document.xml.rels": relations}
    (inside / "e.docx").write_bytes(changed("tides.docx", **parts))
    run(inside)
    found = stored(records, Kind.CHUNK)
    assert len(found) == 5
    assert not any("a secret" in one.content for one in found)
