"""Input of `cstp ingest` besides files: standard input; and the skipped input summary."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.open_file import LONGEST_LINE
from tests.ingest.cases import CASES

Cstp = Callable[..., Any]
Feed = Callable[[bytes], None]
pytestmark = pytest.mark.usefixtures("wordless")


NAMELESS = b'{"kind": "decision", "title": "A"}\n{"kind": "decision", "title": "B"}\n'


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Feed:
    """Return `feed(content)`: sets the pipe input of the next command."""

    def give(content: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    return give


def exported(cstp: Cstp) -> list[dict[str, Any]]:
    """Return all records as `cstp export` writes them."""
    return [json.loads(line) for line in cstp("export", "-").out.splitlines()]


def test_a_long_line_of_standard_input_is_refused_alone(cstp: Cstp, feed: Feed) -> None:
    feed(NAMELESS.replace(b"\n", b"\n" + b"x" * (LONGEST_LINE + 1) + b"\n", 1))
    done = cstp("ingest", "-", "--json")
    found = json.loads(done.out)
    assert (found["new"], [one["line"] for one in found["rejected"]]) == (2, [2])


def test_an_unnamed_stream_replaces_only_records_with_its_ids(cstp: Cstp, feed: Feed) -> None:
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


@pytest.mark.long("starts a server or a process of its own")
def test_documents_of_other_formats_are_read_from_files_and_from_standard_input(cstp: Cstp, feed: Feed) -> None:
    Path("docs").mkdir()
    document = (CASES / "formats/titles-authors-dates-and-text/in/tides.pdf").read_bytes()
    Path("docs/a.pdf").write_bytes(document)
    feed(document.replace(b"Nine metres", b"Four metres"))
    assert cstp("ingest", "docs", "-", "--name", "b.pdf").code == 0
    chunks = [one["record"] for one in exported(cstp) if one["kind"] == "chunk"]
    ends = {(one["content"].partition("# Depths\n\n")[2], one["place"]["page"]) for one in chunks}
    assert ends == {("Nine metres.", 1), ("Four metres.", 1)}
