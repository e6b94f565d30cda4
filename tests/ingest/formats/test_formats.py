"""Documents of other formats: what is stored of them, and where in them each passage stands."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cognition_engines.ingest.formats.reader import FormatReader
from cognition_engines.kinds.knowledge import Chunk, Place, Source
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity
from cognition_engines.store.records import Records
from tests.ingest.formats import samples
from tests.ingest.runs import Run, counts, ids, stored

NEAP = "Neap tides come a week after spring tides."
PAGE = f"""<!DOCTYPE html><html><head><meta charset="utf-8"><title>Tides - The harbour</title>
<meta name="author" content="Ana Silva"><meta name="date" content="2024-03-02"></head>
<body><nav><a href="index.html">All pages</a></nav>
<main><h1>Tides<a class="headerlink" href="#tides">¶</a></h1><p>{NEAP}</p><h2>The berth_plan table</h2>
<table><tr><th>Berth</th><th>Depth</th></tr><tr><td>four</td><td>9 m</td></tr></table>
<pre class="language-python">def depth():
    return 9</pre></main><footer>Imprint</footer><script>track()</script></body></html>"""
RST = f"""
Tides
=====

:Author: Ana Silva
:Date: 2024-03-02

.. toctree::

   other

{NEAP} See :ref:`the plan <berth-plan>` and :class:`~harbour.Berth`.

Depths
------

.. code-block:: python

   def depth():
       return 9

.. autofunction:: depth

   Of a berth, in metres.
"""
ADOC = f"""= Tides
Ana Silva <ana@harbour.example>
v1.0, 2024-03-02
:toc:

{NEAP}

== Depths

[source,python]
----
def depth():
    return 9
----

|===
|Berth |Depth

|four |9 m
|===
"""
DOCX = samples.docx(
    samples.paragraph("Tides", "Heading1") + samples.paragraph(NEAP) + samples.paragraph("Depths", "Heading2"),
    **{"docProps/core.xml": samples.core("Tides", "Ana Silva")},
)
PPTX = samples.pptx(
    [("Tides", [NEAP]), ("Depths", ["four", "five"])], **{"docProps/core.xml": samples.core("Tides", "Ana Silva")}
)
SAID = "<dc:title>Tides</dc:title><dc:creator>Ana Silva</dc:creator><dc:date>2024-03-02</dc:date>"
EPUB = samples.epub({"one": f"<h1>Tides</h1><p>{NEAP}</p>", "two": "<h1>Depths</h1><p>Nine metres.</p>"}, SAID)
NOTEBOOK = samples.notebook(
    ("markdown", f"# Tides\n\n{NEAP}"), ("code", "depth()"), authors=[{"name": "Ana Silva"}], date="2024-03-02"
)
INFO = {"Title": "Tides", "Author": "Ana Silva", "CreationDate": "D:20240302090000Z"}
PDF = samples.pdf([["Tides", NEAP], ["Depths", "Nine metres."]], [("Tides", 0), ("Depths", 1)], INFO)
EACH: dict[str, tuple[bytes, str]] = {
    "tides.html": (PAGE.encode(), "html"),
    "tides.HTM": (PAGE.encode(), "html"),
    "tides.rst": (RST.encode(), "rst"),
    "tides.adoc": (ADOC.encode(), "asciidoc"),
    "tides.docx": (DOCX, "docx"),
    "tides.pptx": (PPTX, "pptx"),
    "tides.epub": (EPUB, "epub"),
    "tides.ipynb": (NOTEBOOK, "notebook"),
    "tides.pdf": (PDF, "pdf"),
}


def text_of(records: Records) -> str:
    return "\n".join(one.content for one in passages(records))


def passages(records: Records) -> list[Chunk]:
    return sorted(stored(records, Kind.CHUNK), key=lambda one: (one.source_id, one.chunk_index))


@pytest.mark.parametrize("name", EACH)
def test_a_document_has_title_authors_and_text(run: Run, records: Records, tmp_path: Path, name: str) -> None:
    content, kind = EACH[name]
    (tmp_path / name).write_bytes(content)
    summary = run(tmp_path)
    assert (summary.rejected, summary.warnings) == ((), ())
    (source,) = stored(records, Kind.SOURCE)
    assert isinstance(source, Source)
    assert (source.title, source.authors, source.type, source.metadata) == ("Tides", ("Ana Silva",), kind, {})
    assert source.created_at is not None
    assert source.created_at.date().isoformat() == "2024-03-02"
    assert source.path is not None
    assert source.path.endswith(name)
    assert NEAP in text_of(records)
    assert counts(run(tmp_path)) == (0, 0, summary.new, 0)


CODE = "```python\ndef depth():\n    return 9\n```"
TABLE = "| Berth | Depth |\n| --- | --- |\n| four | 9 m |"
TEXTS: dict[str, tuple[bytes, str]] = {
    "page.html": (PAGE.encode(), f"# Tides\n\n{NEAP}\n\n## The berth_plan table\n\n{TABLE}\n\n{CODE}"),
    "marks.html": (
        b"<h1>Tides</h1><p>&lt;script&gt; opens</p><p># no heading</p><h2>Next</h2><p>a &lt; b</p>",
        "# Tides\n\n\\<script> opens\n\n\\# no heading\n\n## Next\n\na < b",
    ),
    "directives_and_roles.rst": (
        RST.encode(),
        f"# Tides\n\n{NEAP} See the plan and harbour.Berth.\n\n## Depths\n\n{CODE}\n\ndepth\n\nOf a berth, in metres.",
    ),
    "code_and_tables.adoc": (ADOC.encode(), f"# Tides\n\n{NEAP}\n\n## Depths\n\n{CODE}\n\n{TABLE}"),
    "underlined.adoc": (
        f"Tides\n=====\n\n{NEAP}\n\nDepths\n------\n\n----\ncode\n----\n\nBerths\n~~~~~~\n\nFour.\n".encode(),
        f"# Tides\n\n{NEAP}\n\n## Depths\n\n```\ncode\n```\n\n### Berths\n\nFour.",
    ),
    "fence.ipynb": (
        samples.notebook(("code", 'text = """\n```\n# no heading\n"""')),
        '````python\ntext = """\n```\n# no heading\n"""\n````\n\n```\nprinted\n```',
    ),
    "lines.pdf": (
        samples.pdf([["Words", "# no heading", "| no table", "> no quotation", "==="]]),
        "Words\n\\# no heading\n\\| no table\n\\> no quotation\n\\===",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_of_a_document_is_markdown(run: Run, records: Records, tmp_path: Path, name: str) -> None:
    content, text = TEXTS[name]
    (tmp_path / name).write_bytes(content)
    run(tmp_path)
    assert text_of(records) == text


def test_a_passage_of_a_pdf_has_page_and_headings(run: Run, records: Records, tmp_path: Path) -> None:
    long = [f"line {number} {'word ' * 12}" for number in range(40)]
    pages = [["1. Tides", *long], ["1.1 Depths", *long], [*long[:5], "2. Berths", *long]]
    outline = [("Tides", 0), ("Berths", 2)]
    (tmp_path / "tides.pdf").write_bytes(samples.pdf(pages, outline))
    run(tmp_path)
    found = [(one.place.page, one.place.headings) for one in passages(records) if one.place is not None]
    # the second begins with the last words of the first, which stand on page 1
    assert found == [(1, ("Tides",)), (1, ("Tides",)), (3, ("Berths",))]


def test_a_passage_has_its_slide_and_its_cell(run: Run, records: Records, tmp_path: Path) -> None:
    long = [f"line {'word ' * 60}" for _ in range(9)]
    (tmp_path / "a.pptx").write_bytes(samples.pptx([("First", long), ("Second", long)]))
    cells = [
        ("markdown", f"# First\n\n{' '.join(long)}"),
        ("code", "1"),
        ("markdown", f"## Second\n\n{' '.join(long)}"),
    ]
    (tmp_path / "b.ipynb").write_bytes(samples.notebook(*cells))
    run(tmp_path)
    places = {(one.title, one.place) for one in passages(records)}
    assert places == {
        ("First", Place(section="First", slide=1, headings=("First",))),
        ("First", Place(section="Second", slide=2, headings=("Second",))),
        ("First", Place(section="First", cell=1, headings=("First",))),
        ("First", Place(section="Second", cell=3, headings=("First", "Second"))),
    }


RIGHTS: dict[str, Callable[[str], bytes]] = {
    "a.html": lambda level: f'<head><meta name="sensitivity" content="{level}"></head><p>Words.</p>'.encode(),
    "b.rst": lambda level: f"Tides\n=====\n\n:Sensitivity: {level}\n\nWords.\n".encode(),
    "c.adoc": lambda level: f"= Tides\n:sensitivity: {level}\n\nWords.\n".encode(),
    "d.docx": lambda level: samples.docx(
        samples.paragraph("Words."), **{"docProps/custom.xml": samples.custom(Sensitivity=level)}
    ),
    "e.pptx": lambda level: samples.pptx(
        [("Tides", ["Words."])], **{"docProps/custom.xml": samples.custom(sensitivity=level)}
    ),
    "f.epub": lambda level: samples.epub({"one": "<p>Words.</p>"}, f'<meta name="sensitivity" content="{level}"/>'),
    "g.ipynb": lambda level: samples.notebook(("markdown", "Words."), sensitivity=level),
    "h.html": lambda level: f"---\ntitle: Tides\nsensitivity: {level}\n---\n<p>Words.</p>".encode(),
    "j.rst": lambda level: f"---\ntitle: T\n---\n\n---\nsensitivity: {level}\n---\nTides\n=====\n\nWords.\n".encode(),
    "k.html": lambda level: f"---\ntitle: T\n---\n---\nsensitivity: {level}\n---\n<p>Words.</p>".encode(),
    "l.adoc": lambda level: f"---\n---\n---\nsensitivity: {level}\n---\n= Tides\n\nWords.\n".encode(),
    "i.ipynb": lambda level: samples.notebook(("raw", f"---\nsensitivity: {level}\n---\n"), ("markdown", "Words.")),
}


@pytest.mark.parametrize("name", RIGHTS)
def test_a_stated_sensitivity_holds_or_refuses(run: Run, records: Records, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(RIGHTS[name]("sensitive"))
    assert run(tmp_path).rejected == ()
    levels = [one.sensitivity for kind in (Kind.SOURCE, Kind.CHUNK) for one in stored(records, kind)]
    assert levels == [Sensitivity.SENSITIVE] * 2
    (tmp_path / name).write_bytes(RIGHTS[name]("secret"))
    (problem,) = run(tmp_path).rejected
    assert problem.file == str(tmp_path / name)
    assert problem.reason == "sensitivity must be one of normal, sensitive, highly_sensitive"


def test_two_sensitivities_of_one_page_refuse_it(run: Run, tmp_path: Path) -> None:
    metas = "".join(f'<meta name="sensitivity" content="{level}">' for level in ("normal", "sensitive"))
    (tmp_path / "a.html").write_text(f"<head>{metas}</head><p>Words.</p>")
    assert len(run(tmp_path).rejected) == 1


@pytest.mark.parametrize("name", ["a.html", "a.pdf", "a.docx", "a.pptx", "a.epub"])
def test_text_like_front_matter_gives_no_rights(run: Run, records: Records, tmp_path: Path, name: str) -> None:
    lines = ["---", "sensitivity: normal", "project: theirs", "---", "Words."]
    body = "".join(f"<p>{line}</p>" for line in lines)
    made = {
        "a.html": f"<body>{body}</body>".encode(),
        "a.pdf": samples.pdf([lines]),
        "a.docx": samples.docx("".join(map(samples.paragraph, lines))),
        "a.pptx": samples.pptx([("---", lines)]),
        "a.epub": samples.epub({"one": body}),
    }
    (tmp_path / name).write_bytes(made[name])
    assert run(tmp_path, project="ours", sensitivity=Sensitivity.SENSITIVE).rejected == ()
    (source,) = stored(records, Kind.SOURCE)
    assert (source.project, source.sensitivity) == ("ours", Sensitivity.SENSITIVE)
    assert "theirs" in text_of(records)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "0001-use-tides.rst",
            "Use tides\n=========\n\nStatus\n------\n\nAccepted\n\nDecision\n--------\n\nWe use tides.\n",
        ),
        ("0001-use-tides.adoc", "= Use tides\n\n== Status\n\nAccepted\n\n== Decision\n\nWe use tides.\n"),
        (
            "0001-use-tides.html",
            "<h1>Use tides</h1><h2>Status</h2><p>Accepted</p><h2>Decision</h2><p>We use tides.</p>",
        ),
    ],
)
def test_decision_records_are_decisions(run: Run, records: Records, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert run(tmp_path).kinds == {"decision": 1}
    (decision,) = stored(records, Kind.DECISION)
    assert (decision.title, decision.status) == ("Use tides", "accepted")


def test_front_matter_above_a_record_in_rst_may_be_two_blocks(run: Run, records: Records, tmp_path: Path) -> None:
    front = "---\nstatus: rejected\n---\n---\nsensitivity: highly_sensitive\n---\n"
    text = "-----\nTides\n-----\n\nDecision\n========\n\nWe use them.\n\nContext\n=======\n\nproject: none\n"
    (tmp_path / "0001-use-tides.rst").write_text(front + text)
    assert run(tmp_path).rejected == ()
    (decision,) = stored(records, Kind.DECISION)
    assert (decision.status, decision.sensitivity) == ("rejected", Sensitivity.HIGHLY_SENSITIVE)


@pytest.mark.parametrize("name", ["a.rst", "a.html", "a.adoc"])
def test_an_unreadable_second_front_matter_refuses_the_file(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("---\ntitle: T\n---\n---\nsensitivity:secret\n---\n\nWords.\n")
    assert [problem.line for problem in run(tmp_path).rejected] == [5]


def test_a_page_is_read_in_the_encoding_that_it_declares(run: Run, records: Records, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes('<meta charset="iso-8859-1"><p>Grüße</p>'.encode("latin-1"))
    (tmp_path / "b.html").write_bytes("<p>Čas</p>".encode("utf-16"))
    (tmp_path / "c.html").write_bytes("<p>Grüße</p>".encode("latin-1"))
    summary = run(tmp_path)
    assert {one.content for one in passages(records)} == {"Grüße", "Čas"}
    assert [(Path(one.file).name, one.reason) for one in summary.rejected] == [
        ("c.html", "declares no encoding, and is not UTF-8")
    ]


def test_what_was_scanned_is_reported_and_not_guessed(run: Run, records: Records, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(samples.pdf([[], []], pictures=[0, 1]))
    (tmp_path / "b.pdf").write_bytes(samples.pdf([[NEAP], [], [], ["End"]], pictures=[1]))
    summary = run(tmp_path)
    assert [(Path(one.file).name, one.reason) for one in summary.rejected] == [
        ("a.pdf", "has no text: it may be scanned")
    ]
    assert [(Path(one.file).name, one.reason) for one in summary.warnings] == [
        ("b.pdf", "page 2: no text but a picture: what was scanned is not read")
    ]
    assert len(stored(records, Kind.SOURCE)) == 1


def test_empty_documents_and_lists_of_links_are_no_documents(run: Run, tmp_path: Path) -> None:
    links = "".join(f'<li><a href="https://a.example/{n}">page {n}</a></li>' for n in range(9))
    (tmp_path / "a.html").write_text(f"<h1>All</h1><ul>{links}</ul>")
    (tmp_path / "b.html").write_text("<html></html>")
    (tmp_path / "c.ipynb").write_bytes(samples.notebook())
    summary = run(tmp_path)
    assert (summary.read, summary.rejected, len(summary.warnings)) == (0, (), 3)


@pytest.mark.long("starts the process that reads documents, and limits it")
def test_missing_library_is_named(run: Run, records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    for name in ("a.pdf", "in/b.pdf", "in/c.PDF"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(PDF)
    (tmp_path / "d.html").write_text(PAGE, encoding="utf-8")
    with FormatReader() as reader:
        summary = run(tmp_path, tmp_path / "in", reader=reader)
        assert summary.skipped[".pdf"] == 3
        (problem,) = summary.warnings
        assert problem.file == str(tmp_path / "a.pdf")
        assert "this and 2 more .pdf files were not read" in problem.reason
        assert "make documents" in problem.reason
        assert len(stored(records, Kind.SOURCE)) == 1
        (refused,) = run(tmp_path / "a.pdf", reader=reader).rejected
        assert "make documents" in refused.reason


@pytest.mark.long("starts the process that reads documents, and limits it")
def test_unreadable_files_stay(run: Run, records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.pdf").write_bytes(PDF)
    (tmp_path / "b.html").write_text(PAGE, encoding="utf-8")
    run(tmp_path)
    before = ids(records, Kind.CHUNK)
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    (tmp_path / "b.html").write_bytes(b"<p>\xff</p>")
    with FormatReader() as reader:
        assert run(tmp_path, reader=reader, prune=True).deleted == 0
    assert ids(records, Kind.CHUNK) == before
    (tmp_path / "a.pdf").unlink()
    (tmp_path / "b.html").unlink()
    assert run(tmp_path, prune=True, sure=True).deleted == len(before) + 2


@pytest.mark.long("starts the process that reads documents, and limits it")
def test_a_run_over_text_alone_starts_no_process(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Tides\n\nNeap.\n")
    with FormatReader() as reader:
        run(tmp_path, reader=reader)
        assert reader.process_id is None
