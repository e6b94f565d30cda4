"""What `cstp ingest` reads besides files: standard input; and what its summary tells of what it did not read."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.open_file import LONGEST_LINE
from tests.ingest.formats.samples import pdf

Cstp = Callable[..., Any]
Feed = Callable[[bytes], None]
pytestmark = pytest.mark.usefixtures("wordless")
ADR = b"# Use UDP\n\n## Status\n\nAccepted\n\n## Decision\n\nWe use UDP.\n"
TALK = "Ana: Which berth is free?\nBo: Four.\nAna: Until when?\nBo: Until noon, then the ferry needs it.\n"


NAMELESS = b'{"kind": "decision", "title": "A"}\n{"kind": "decision", "title": "B"}\n'


def decisions(*ids: str) -> bytes:
    """Return a line for each decision with such an id."""
    return b"".join(json.dumps({"kind": "decision", "id": id, "title": id}).encode() + b"\n" for id in ids)


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Feed:
    """`feed(content)`: what the next command reads from a pipe."""

    def give(content: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    return give


def exported(cstp: Cstp) -> list[dict[str, Any]]:
    """All records as `cstp export` writes them."""
    return [json.loads(line) for line in cstp("export", "-").out.splitlines()]


def kinds(done: Any) -> Any:
    return json.loads(done.out)["kinds"]


@pytest.mark.parametrize(
    ("words", "content", "kind"),
    [
        ((), decisions("a", "b"), {"decision": 2}),
        ((), b'[{"kind": "decision", "id": "a", "title": "A"}]', {"decision": 1}),
        ((), b"title: A\nstatus: accepted\n", {"decision": 1}),
        ((), ADR, {"decision": 1}),
        (("--name", "0001-use-udp.md"), ADR, {"decision": 1}),
        (("--name", "notes.md"), b"# Notes\n\nSome words.\n", {"source": 1, "chunk": 1}),
        (("--kind", "document", "--name", "a.md"), ADR, {"source": 1, "chunk": 1}),
        (("--kind", "decision"), b"# Notes\n\nSome words.\n", {"decision": 1}),
        (("--kind", "transcript"), TALK.encode(), {"turn": 4}),
    ],
)
def test_standard_input_is_read_by_what_it_holds_or_by_the_name_it_is_given(
    cstp: Cstp, feed: Feed, words: tuple[str, ...], content: bytes, kind: dict[str, int]
) -> None:
    feed(content)
    done = cstp("ingest", "-", *words, "--json")
    assert (done.code, done.err, kinds(done)) == (0, "", kind)
    feed(content)
    assert json.loads(cstp("ingest", "-", *words, "--json").out)["unchanged"] == sum(kind.values())


def test_what_is_wrong_with_standard_input_is_told_by_its_name(cstp: Cstp, feed: Feed) -> None:
    feed(b'{"kind": "decision", "title": "A"}\n{"kind": "decision", "title": 5}\n')
    assert cstp("ingest", "-").err == (
        "rejected: standard input:2: title must be one line of text, not blank, of at most 32768 characters\n"
    )
    feed(b"")
    assert cstp("ingest", "-", "--name", "a.jsonl").err.startswith("rejected: a.jsonl: holds no record")


def test_a_long_line_of_standard_input_is_refused_alone(cstp: Cstp, feed: Feed) -> None:
    feed(NAMELESS.replace(b"\n", b"\n" + b"x" * (LONGEST_LINE + 1) + b"\n", 1))
    done = cstp("ingest", "-", "--json")
    found = json.loads(done.out)
    assert (found["new"], [one["line"] for one in found["rejected"]]) == (2, [2])


def test_standard_input_is_pruned_by_its_name_alone(cstp: Cstp, feed: Feed) -> None:
    feed(decisions("a", "b"))
    done = cstp("ingest", "-", "--prune")
    assert (done.code, "--name" in done.err) == (2, True)
    feed(decisions("a", "b"))
    cstp("ingest", "-", "--name", "export.jsonl")
    feed(decisions("a", "c"))
    done = cstp("ingest", "-", "--name", "export.jsonl", "--prune", "--yes", "--json")
    assert json.loads(done.out)["deleted"] == 1
    assert [cstp("show", id).code for id in "abc"] == [0, 1, 0]


@pytest.mark.parametrize(
    ("first", "second", "titles"),
    [
        (ADR, ADR.replace(b"UDP", b"TCP"), ["Use TCP", "Use UDP"]),
        (NAMELESS, b'[{"kind": "decision", "title": "C"}]', ["A", "B", "C"]),
        (b"# Notes\n\nOne.\n", b"# Notes\n\nTwo.\n", ["Notes", "Notes", "Notes", "Notes"]),  # each with its chunk
    ],
)
def test_unnamed_streams_leave_others(cstp: Cstp, feed: Feed, first: bytes, second: bytes, titles: list[str]) -> None:
    for content in (first, second):
        feed(content)
        done = cstp("ingest", "-")
        assert (done.code, done.err, "0 changed, 0 unchanged, 0 deleted" in done.out) == (0, "", True)
    assert sorted(one["record"]["title"] for one in exported(cstp)) == titles


def test_a_stream_without_a_name_replaces_the_records_whose_ids_it_gives_and_no_others(cstp: Cstp, feed: Feed) -> None:
    long, cut = "The bar is shallow. " * 400, "Cut short."
    for title, content, level in [("A", long, "sensitive"), ("B", cut, "normal")]:
        record = {"kind": "decision", "id": "d", "title": title}
        document = {"kind": "source", "id": "s", "title": "S", "category": title}
        document |= {"content": f"Kept.\n\n# Next\n\n{content}"}
        kept = {"kind": "entity", "name": "Ana", "role": title}
        lines = [record, document, kept, {"kind": "decision", "title": f"Without an id {title}"}]
        feed("\n".join(map(json.dumps, lines)).encode())
        done = cstp("ingest", "-", "--sensitivity", level)
        assert done.code == 0
    assert "1 entity says the same as those of stdin:/" in done.err
    found = exported(cstp)
    titles = [one["record"]["title"] for one in found if one["kind"] == "decision"]
    assert sorted(titles) == ["B", "Without an id A", "Without an id B"]
    assert [one["record"]["role"] for one in found if one["kind"] == "entity"] == ["A"]
    chunks = [one["record"] for one in found if one["kind"] == "chunk"]
    assert [one["category"] for one in chunks] == ["B"] * len(chunks)
    assert cut in chunks[-1]["content"]


def test_what_a_stream_without_a_name_yielded_once_is_not_left_to_prune(cstp: Cstp, feed: Feed) -> None:
    for kind in ("document", "decision"):
        feed(ADR)
        done = cstp("ingest", "-", "--kind", kind)
    assert "2 records are kept that were read here before and not now; cstp delete removes what" in done.err
    for kind in ("document", "decision"):
        feed(ADR)
        done = cstp("ingest", "-", "--kind", kind, "--name", "a.md")
    assert "--prune deletes what is no longer there" in done.err


@pytest.mark.parametrize(("words", "named"), [((), "-"), (("--name", "my notes.md"), "- --name 'my notes.md'")])
def test_the_sensitivity_of_a_stream_is_kept(cstp: Cstp, feed: Feed, words: tuple[str, ...], named: str) -> None:
    for content in (b"# A\n\nOne.\n", b"# B\n\nTwo.\n"):
        feed(content)
        done = cstp("ingest", "-", *words, *(("--sensitivity", "sensitive") if b"A" in content else ()))
    assert f"cstp ingest {named} --sensitivity LEVEL changes it" in done.err
    feed(b"# B\n\nTwo.\n")
    cstp("ingest", "-", *words, "--sensitivity", "normal")
    levels = {one["record"]["title"]: one["record"]["sensitivity"] for one in exported(cstp)}
    assert levels["B"] == "normal"


def test_a_folder_of_the_same_repository_prunes_no_stream(cstp: Cstp, feed: Feed) -> None:
    Path("docs/.git").mkdir(parents=True)
    Path("docs/0001-a.md").write_bytes(ADR)
    for words in ((), ("--name", "a.jsonl")):
        feed(b'{"kind": "decision", "title": "A"}\n' if words else b'{"kind": "decision", "title": "B"}\n')
        cstp("ingest", "-", *words, "--repository", "R")
    done = cstp("ingest", "docs", "--repository", "R", "--prune")
    assert (done.code, "0 deleted" in done.out, len(exported(cstp))) == (0, True, 3)


def test_a_summary_names_what_was_not_read_and_what_would_read_it(cstp: Cstp) -> None:
    names = [*(f"{number}.odt" for number in range(3)), "a.tex", "b.tex", "c.csv", "LICENSE", "d.png"]
    for name in ("docs/z.md", *(f"docs/{name}" for name in names)):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(ADR)
    done = cstp("ingest", "docs")
    assert done.out.splitlines()[1:] == [
        "8 files skipped: 3 .odt, 2 .tex, 1 without an extension, 1 .csv, 1 .png",
        "to read them: convert .odt, .tex with pandoc, to Markdown; .csv to JSONL; "
        "a text file of any extension is read if you name it, or use --include PATTERN --as document",
    ]
    done = cstp("ingest", "docs", "--json")
    assert json.loads(done.out)["skipped"] == {".odt": 3, ".tex": 2, ".csv": 1, ".png": 1, "": 1}


@pytest.mark.long("starts a server or a process of its own")
def test_documents_of_other_formats_are_read_from_files_and_from_standard_input(cstp: Cstp, feed: Feed) -> None:
    Path("docs").mkdir()
    Path("docs/a.pdf").write_bytes(pdf([["Tides"]]))
    feed(pdf([["Berths"]]))
    assert cstp("ingest", "docs", "-", "--name", "b.pdf").code == 0
    chunks = [one["record"] for one in exported(cstp) if one["kind"] == "chunk"]
    assert {(one["content"], one["place"]["page"]) for one in chunks} == {("Tides", 1), ("Berths", 1)}


def test_many_extensions_are_told_as_the_most_frequent_and_the_others(cstp: Cstp) -> None:
    Path("docs").mkdir()
    for number in range(12):
        Path(f"docs/a.x{number:02}").touch()
    lines = cstp("ingest", "docs").out.splitlines()
    assert lines[1].startswith("12 files skipped: 1 .x00, 1 .x01, ")
    assert lines[1].endswith(", 4 others")
    assert lines[2].startswith("to read them: supported: .adoc, .asciidoc, .docx, ")


def test_a_line_of_an_export_that_no_record_has_is_refused_and_never_held(cstp: Cstp) -> None:
    with Path("a.jsonl").open("wb") as file:
        file.truncate(70 * 2**20)
    done = cstp("import", "a.jsonl")
    assert (done.code, done.err) == (1, "rejected: a.jsonl:1: the line has more than 64 MiB\n")


def test_a_warning_that_many_files_share_is_one_line_and_in_json_one_each(cstp: Cstp) -> None:
    Path("docs").mkdir()
    for number in range(8):
        Path(f"docs/000{number}-a.md").write_bytes(b"---\nticket: 1\n---\n" + ADR)
    done = cstp("ingest", "docs")
    docs = Path("docs").absolute()
    named = ", ".join(f"{docs}/000{number}-a.md:1" for number in range(3))
    kept = "members kept in the metadata of decisions: ticket"
    assert done.err == f"warning: {named}: {kept} ... and 5 more like this\n"
    assert done.out.splitlines()[0].endswith("8 warnings")
    assert len(json.loads(cstp("ingest", "docs", "--json").out)["warnings"]) == 8


def test_refusals_that_share_a_cause_are_one_line_and_in_json_one_each(cstp: Cstp) -> None:
    sure = '{"kind": "decision", "title": "A", "confidence": 2}\n'
    Path("a.jsonl").write_text(sure * 200 + sure.replace('"confidence": 2', '"stakes": 5'))
    file = Path("a.jsonl").absolute()
    done = cstp("ingest", "a.jsonl")
    first, second = done.err.splitlines()
    named = ", ".join(f"{file}:{line}" for line in (1, 2, 3))
    assert first == f"rejected: {named}: confidence must be a number from 0 to 1 ... and 197 more like this"
    assert second.startswith(f"rejected: {file}:201: stakes must be ")
    assert (done.code, ", 201 rejected," in done.out) == (1, True)
    rejected = json.loads(cstp("ingest", "a.jsonl", "--json").out)["rejected"]
    assert [one["line"] for one in rejected] == list(range(1, 202))


def test_lines_of_an_export_that_share_a_cause_are_one_line_and_in_json_one_each(cstp: Cstp) -> None:
    Path("a.jsonl").write_text("no record\n" * 20)
    named = ", ".join(f"a.jsonl:{line}" for line in (1, 2, 3))
    assert cstp("import", "a.jsonl").err == f"rejected: {named}: is not JSON in UTF-8 ... and 17 more like this\n"
    assert len(json.loads(cstp("import", "a.jsonl", "--json").out)["rejected"]) == 20
