import re
from base64 import b64encode
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from time import process_time

import pytest

from cognition_engines.drafts.chunking import split
from cognition_engines.ingest.detect import read
from cognition_engines.ingest.items import DocumentDraft, Item, RecordDraft, RejectedRecord, Warned
from cognition_engines.kinds.artifacts import Turn
from cognition_engines.kinds.knowledge import Source
from cognition_engines.markdown.blobs import without_blobs
from cognition_engines.models import Decision, Sensitivity
from tests.ingest.decisions import is_decision

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "documents.md").read_text(encoding="utf-8")
FRONT = """---
id: guide-1
title: A guide to *queues*
author: Ana Silva
tags: [queues, networks]
url: https://example.org/guide
year: 2021
category: guides
type: article
date: 2021-05-06
project: net
sensitivity: sensitive
audience: developers
weight: 3
---

# Another title

Queues hold what waits.
"""
LINKS = "# Records\n\nAll of them:\n\n" + "".join(f"- [{n}. Use queue {n}](000{n}-x.md)\n" for n in range(9))
LICENCE = "Apache License\n\nCopyright 2020.\n"


def _items(path: str, text: str, *, explicit: bool = False) -> list[Item] | None:
    items = read(path, BytesIO(text.encode()), explicit)
    return None if items is None else list(items)


def _document(text: str, path: str = "docs/queues.md") -> DocumentDraft:
    items = _items(path, text)
    assert items is not None
    (document,) = (item for item in items if isinstance(item, DocumentDraft))
    return document


def _source(text: str, path: str = "docs/queues.md") -> Source:
    head = _document(text, path).head
    assert isinstance(head, Source)
    return head


def _refused(text: str, path: str = "docs/queues.md") -> list[tuple[int | None, str]]:
    items = _items(path, text) or []
    return [(item.problem.line, item.problem.reason) for item in items if isinstance(item, RejectedRecord)]


def test_front_matter_becomes_the_fields_of_a_source_and_its_metadata() -> None:
    assert _source(FRONT) == Source(
        id="guide-1",
        title="A guide to queues",
        authors=("Ana Silva",),
        type="article",
        url="https://example.org/guide",
        year=2021,
        category="guides",
        tags=("queues", "networks"),
        created_at=datetime(2021, 5, 6, tzinfo=UTC),
        project="net",
        sensitivity=Sensitivity.SENSITIVE,
        metadata={"audience": "developers", "weight": 3},
    )


def test_a_member_that_is_no_field_of_a_source_is_kept_with_a_warning() -> None:
    text = "---\nyear: MMXX\ndate: soon\nauthors: [Ana, Ben]\ndraft:\n---\n# Queues\n\nText\n"
    source = _source(text)
    assert source.metadata == {"year": "MMXX", "date": "soon"}
    assert source.authors == ("Ana", "Ben")
    warnings = [item.problem for item in _items("queues.md", text) or [] if isinstance(item, Warned)]
    assert [(warning.line, warning.reason) for warning in warnings] == [
        (2, "year is no year of a document: it is kept in the metadata"),
        (3, "date is no date of a document: it is kept in the metadata"),
    ]


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        ("sensitivity: secret", "sensitivity must be one of normal, sensitive, highly_sensitive"),
        ("id: a b", "id must be printable characters without blanks"),
        ("project: ['a']", "project must be text"),
    ],
)
def test_rights_and_ids_that_cannot_be_are_refused_with_their_line(member: str, reason: str) -> None:
    assert _refused(f"---\ntitle: x\n{member}\n---\n# Queues\n\nText\n") == [(3, reason)]


@pytest.mark.parametrize(
    ("path", "text", "title"),
    [
        ("a.md", "# Queues and *more*\n\nText\n", "Queues and more"),
        ("a.md", "Queues\n======\n\nText\n", "Queues"),
        ("a.md", "![badge](x.svg)\n\n# Queues\n\nText\n", "Queues"),
        ("a.md", "Text\n\n## Part\n\nText\n", "a"),
        ("a.md", "## Part\n\nText\n", "a"),
        ("how-queues_work.md", "Text\n", "how-queues_work"),
        ("12-factor.md", "Text\n", "12-factor"),
        ("2024-02-13.md", "Text\n", "2024-02-13"),
        ("1.2 Setup.md", "Text\n", "1.2 Setup"),
        ("a.md", "# \U0001f469\u200d\U0001f4bb Remote work\n\nText\n", "\U0001f469\u200d\U0001f4bb Remote work"),
        ("a.md", "# Soft\u00adhyphen and \u200eleft\n\nText\n", "Soft\u00adhyphen and \u200eleft"),
        ("a.md", "# \ue000 Icon\n\nText\n", "\ue000 Icon"),
        ("a.md", "# \u200b\u00ad\n\nText\n", "a"),
        ("a.md", "# Bell\a\n\nText\n", "a"),
        ("tool/README.md", "Text\n", "tool"),
        ("tool/Decision.md", "Text\n", "Decision"),
        ("tool/ADR.md", "Text\n", "ADR"),
        ("a.md", "#project #harbour\n\nText\n", "a"),
        ("a.md", "#tag/one #two\n\n# Tides\n\nText\n", "Tides"),
        ("a.md", "#project\n\nText\n", "a"),
        ("a.md", "#project harbour\n\nText\n", "a"),
        ("notes.txt", "Subject: Queues\nText\n", "Queues"),
        ("notes.txt", "Attendees: Ana\n\n## Discussion\n\nText\n", "notes"),
        ("0001.txt", "Text\n", "0001"),
        ("a.md", f"# {'x' * 501}\n\nText\n", "a"),
    ],
)
def test_the_title_is_what_the_document_begins_with_else_its_name(path: str, text: str, title: str) -> None:
    assert _source(text, path).title == title


@pytest.mark.parametrize(
    ("member", "tags"),
    [
        ("tags: 2024", ("2024",)),
        ("tags: true", ("true",)),
        ("tags: [billing, 2024, 1.10, true]", ("billing", "2024", "1.10", "true")),
        ("tags:\n\t- one\n\t- 2", ("one", "2")),
        ("tags: #one #two/three", ("#one", "#two/three")),
        ("tags: # say what it is about", ()),
        ("tags: one\nkeywords: two, 3", ("one", "two", "3")),
    ],
)
def test_tags_of_any_plain_value_are_texts(member: str, tags: tuple[str, ...]) -> None:
    assert _source(f"---\n{member}\n---\n# Queues\n\nText\n").tags == tags


@pytest.mark.parametrize(
    ("member", "tags", "kept", "reason"),
    [
        *(
            (member, ("a", "b"), [], "'tags' has empty items: they are left out")
            for member in ("tags: [a, null, b]", 'tags: ["", a, " ", b]', "tags:\n  -\n  - a\n  - b")
        ),
        *((member, (), ["tags"], "tags") for member in ("tags: {a: 1}", "tags: [a, [b]]", "tags: [a")),
    ],
)
def test_empty_tags_and_those_that_are_no_texts_are_warned_of(
    member: str, tags: tuple[str, ...], kept: list[str], reason: str
) -> None:
    text = f"---\n{member}\n---\n# Queues\n\nText\n"
    assert (_source(text).tags, list(_source(text).metadata)) == (tags, kept)
    (warned,) = (item.problem for item in _items("queues.md", text) or [] if isinstance(item, Warned))
    assert (warned.line, reason in warned.reason) == (2, True)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "---\naliases:\n  - Boom four\nowner: Ana\n---\n---\nport: 7\n---\n\n",
            ["aliases:\n  - Boom four\nowner: Ana", "port: 7"],
        ),
        (
            "---\nowner: Ana\naliases: [Boom four, 4]\nport: 7\n---\n# Crane\n\nIt lifts.\n",
            ["aliases: [Boom four, 4]", "# Crane\n\nIt lifts."],
        ),
    ],
)
def test_properties_alone_and_aliases_are_searched(text: str, parts: list[str]) -> None:
    document = _document(text, "vault/Crane.md")
    assert document.head.title == "Crane"
    assert [piece.text for piece in document.pieces] == parts
    assert all(text[piece.start : piece.end] == piece.text for piece in document.pieces)


@pytest.mark.parametrize(
    ("path", "date"),
    [
        ("2024-02-13.md", "2024-02-13T00:00:00"),
        ("daily/2024_02_13 Meeting.md", "2024-02-13T00:00:00"),
        ("13-02-2024.md", "2024-02-13T00:00:00"),
        ("13. Februar 2024.md", "2024-02-13T00:00:00"),
        ("20240213.md", "2024-02-13T00:00:00"),
        ("202402131530 Zettel.md", "2024-02-13T15:30:00"),
        ("Q1-2024.md", None),
        ("2024-02-31.md", None),
        ("99999999.md", None),
    ],
)
def test_a_date_that_a_name_begins_with_is_the_date_of_the_note(path: str, date: str | None) -> None:
    created = _source("Text\n", path).created_at
    assert created == (None if date is None else datetime.fromisoformat(date).replace(tzinfo=UTC))
    stated = _source("---\ndate: 2020-01-01\n---\nText\n", path).created_at
    assert stated == datetime(2020, 1, 1, tzinfo=UTC)


BLOB = b64encode(b"".join(sha256(bytes([n])).digest() for n in range(20))).decode()


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (f"![the gate](data:image/png;base64,{BLOB})", "the gate"),
        (f'![the gate](<data:image/png;base64,{BLOB}> "A gate")', "the gate"),
        (f"![the gate][1]\n\n[1]: <data:image/png;base64,{BLOB}>\n", "the gate"),
        (f"![the wide\ngate](<data:image/png;base64,{BLOB}>)", "the wide gate"),
        (f"![the gate](\n<data:image/png;base64,{BLOB}>)", "the gate"),
        (f"![the wide\ngate][1]\n\n[1]:\n  <data:image/png;base64,{BLOB}>\n", "the wide gate"),
        (f"<img src=data:image/png;base64,{BLOB} alt=gate>", "gate"),
        ("\n".join([*(BLOB[at : at + 64] for at in range(0, 768, 64)), "iVBORw0KGgo="]), ""),
        ("\n".join([*(BLOB[at : at + 64] for at in range(0, 768, 64)), "Locks"]), "Locks"),
        (f"[the report](data:application/pdf;base64,{BLOB})", "the report"),
        (f"<img src='data:image/png;base64,{BLOB}'\n alt=\"the gate\">", "the gate"),
        (f"`url(data:image/png;base64,{BLOB})`", "`url(data:image/png)`"),
        (f"a key: {BLOB}", "a key:"),
        ("\n".join(BLOB[at : at + 64] for at in range(0, 768, 64)), ""),
        (f'<path d="{"M1.5 2L-3,4 " * 30}"/>', "<path />"),
        ("![the gate](gate.png) ![a][b]", "![the gate](gate.png) ![a][b]"),
        ("a" * 64 + " " + BLOB[:64], "a" * 64 + " " + BLOB[:64]),
        ("/very/long/path/of/words" * 12, "/very/long/path/of/words" * 12),
        ("-" * 300, "-" * 300),
    ],
)
def test_pictures_in_a_text_are_their_alternative_text_and_blobs_are_nothing(written: str, text: str) -> None:
    whole = f"# Gates\n\nAbove.\n\n{written}\n\nBelow it is a lock.\n"
    (piece,) = _document(whole).pieces
    assert [" ".join(part.split()) for part in re.split("Above[.]|Below", piece.text)][1] == text
    assert (piece.start, whole[: piece.end].endswith("lock.")) == (0, True)
    (record,) = (item for item in _items("x.md", f"{whole}\nStatus: accepted\n\n## Decision\n\nx\n") or [])
    assert isinstance(record, RecordDraft)
    assert isinstance(record.record, Decision)
    assert (BLOB in record.record.text) is False


def test_chunks_behind_a_blob_have_their_positions_in_the_file() -> None:
    text = f"# A\n\n![x](data:image/png;base64,{BLOB})\n\n" + "\n\n".join(
        f"## P{n}\n\n{'word ' * 500}" for n in range(4)
    )
    pieces = _document(text).pieces
    assert len(pieces) > 2
    assert all(text[piece.start : piece.end] == piece.text for piece in pieces[1:])
    assert split(text) == list(pieces)


@pytest.mark.parametrize("part", ["![a](data:,", "<img '\"", "[a][", "\n   [a", 'd="1 ', "data:a/b;c"])
def test_the_work_for_blobs_grows_with_the_text(part: str) -> None:
    def seconds(size: int) -> float:
        began = process_time()
        without_blobs((part * size)[:size])
        return process_time() - began

    assert seconds(160_000) < 12 * max(seconds(40_000), 0.01)


def test_positions_count_from_the_start_of_the_file() -> None:
    text = FRONT + "\n\n".join(f"## Part {n}\n\n{'Some words. ' * 200}" for n in range(4))
    document = _document(text.replace("\n", "\r\n"))
    assert len(document.pieces) == 4
    assert all(text[piece.start : piece.end] == piece.text for piece in document.pieces)
    assert document.pieces[0].text.startswith("# Another title")
    assert [piece.section for piece in document.pieces] == ["Another title", "Part 1", "Part 2", "Part 3"]


def test_readmes_and_plain_texts_are_documents() -> None:
    readme = "# Tool\n\nIt moves queues. See [the guide](guide.md), [more](more.md).\n\n- [Guide](guide.md)\n"
    assert _source(readme, "README.md").title == "Tool"
    document = _document("Once upon a time.\n\n    A queue.\n", "tale.txt")
    assert document.is_file
    assert [piece.text for piece in document.pieces] == ["Once upon a time.\n\n    A queue."]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("x.md", "# Use UDP\n\nStatus: accepted\n\n## Decision\n\nWe use UDP.\n"),
        ("a.txt", '[{"title": "Use UDP", "stakes": "low"}]'),
    ],
)
def test_decision_records_and_objects_in_a_text_are_no_documents(path: str, text: str) -> None:
    assert [is_decision(item) for item in _items(path, text) or ()] == [True]


def test_the_text_of_a_licence_is_passed_over_unless_it_is_asked_for() -> None:
    for path in ("LICENSE.txt", "LICENSE-MIT.md", "x__NOTICE.md", "COPYING.txt"):
        items = _items(path, LICENCE)
        assert items is not None
        assert [type(item) for item in items] == [Warned]
    assert _items("LICENSE.txt", LICENCE, explicit=True) is not None
    assert _source(LICENCE, "license-server.md").title == "license-server"
    assert _source("Soon.\n", "notice.txt").title == "notice"


def test_what_a_person_names_is_read() -> None:
    for path, text in [("README.md", LINKS), ("LICENSE.txt", LICENCE)]:
        items = _items(path, text, explicit=True)
        assert items is not None
        assert [type(item) for item in items] == [DocumentDraft]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        *(("a.md", text) for text in ("", "\n \n", "---\ntags: []\n---\n", "---\nproject: x\n---\n", "<!-- -->\n")),
        ("form.md", "# {short title of solved problem}\n\n* Status: {proposed | accepted}\n"),
        ("adr-template.md", "# Title\n\nText\n"),
        ("README.md", LINKS),
        ("index.md", "# ADRs\n\n| Record | Status |\n|---|---|\n| [1](1.md) | yes |\n| [2](2.md) | no |\n"),
    ],
)
def test_files_without_words_empty_forms_and_lists_of_links_are_no_documents(path: str, text: str) -> None:
    assert _items(path, text) is None


@pytest.mark.timeout(60)
def test_a_row_of_many_empty_cells_is_looked_through_once() -> None:
    row = "| " * 100_000 + "end"
    found = _source(f"# Cells\n\nA page with a table.\n\n{row}\n")
    assert found.title == "Cells"


def test_a_text_that_cannot_be_stored_is_refused() -> None:
    assert _refused("# A\n\nwords\0\n") == [(1, "the text must have no NUL")]
    code = "```\n" + "x = 1234\n" * 120_000 + "```\n"
    assert _refused(f"# A\n\n{code}") == [
        (1, "the code block or table in line 1 must have at most 1,000,000 characters")
    ]
    for path in ("a.md", "a.txt"):
        assert _refused("x\n" * 250_000, path) == [(None, "a text must have at most 250,000 lines")]


def test_the_examples_of_the_page_are_read_as_it_says() -> None:
    markdown, talk = re.findall(r"^```(?:markdown|text)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    source = _source(markdown)
    assert (source.title, source.authors, source.metadata) == (
        "Running the mail queue",
        ("Ana Silva",),
        {"audience": "operators"},
    )
    turns = [item.record for item in _items("talk.txt", talk) or [] if isinstance(item, RecordDraft)]
    assert [turn.speaker for turn in turns if isinstance(turn, Turn)] == ["ana.silva", "ben", "ana.silva", "ben"]
