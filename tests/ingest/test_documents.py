import re
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest

from cognition_engines.ingest.detect import read
from cognition_engines.ingest.items import DocumentDraft, Item, RecordDraft, RejectedRecord, Warned
from cognition_engines.kinds.artifacts import Turn
from cognition_engines.kinds.knowledge import Source
from cognition_engines.models import Draft, Sensitivity

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
        ("how-queues_work.md", "Text\n", "how queues work"),
        ("tool/README.md", "Text\n", "tool"),
        ("notes.txt", "Subject: Queues\nText\n", "Queues"),
        ("notes.txt", "Attendees: Ana\n\n## Discussion\n\nText\n", "notes"),
        ("0001.txt", "Text\n", "0001"),
        ("a.md", f"# {'x' * 501}\n\nText\n", "a"),
    ],
)
def test_the_title_is_what_the_document_begins_with_else_its_name(path: str, text: str, title: str) -> None:
    assert _source(text, path).title == title


def test_positions_count_from_the_start_of_the_file() -> None:
    text = FRONT + "\n\n".join(f"## Part {n}\n\n{'Some words. ' * 200}" for n in range(4))
    document = _document(text.replace("\n", "\r\n"))
    assert len(document.pieces) == 4
    assert all(text[piece.start : piece.end] == piece.text for piece in document.pieces)
    assert document.pieces[0].text.startswith("# Another title")
    assert [piece.section for piece in document.pieces] == ["Another title", "Part 1", "Part 2", "Part 3"]


def test_readmes_are_documents_and_link_lists_are_not() -> None:
    readme = "# Tool\n\nIt moves queues. See [the guide](guide.md), [more](more.md).\n\n- [Guide](guide.md)\n"
    assert _source(readme, "README.md").title == "Tool"
    assert _items("README.md", LINKS) is None
    assert (
        _items("index.md", "# ADRs\n\n| Record | Status |\n|---|---|\n| [1](1.md) | yes |\n| [2](2.md) | no |\n")
        is None
    )


def test_a_decision_record_is_none_of_the_documents() -> None:
    items = _items("x.md", "# Use UDP\n\nStatus: accepted\n\n## Decision\n\nWe use UDP.\n")
    assert items is not None
    assert [type(item) for item in items] == [Draft]


def test_the_text_of_a_licence_is_passed_over_unless_it_is_asked_for() -> None:
    for path in ("LICENSE.txt", "LICENSE-MIT.md", "x__NOTICE.md", "COPYING.txt"):
        items = _items(path, LICENCE)
        assert items is not None
        assert [type(item) for item in items] == [Warned]
    assert _items("LICENSE.txt", LICENCE, explicit=True) is not None
    assert _source(LICENCE, "license-server.md").title == "license server"
    assert _source("Soon.\n", "notice.txt").title == "notice"


def test_what_a_person_names_is_read() -> None:
    for path, text in [("README.md", LINKS), ("LICENSE.txt", LICENCE)]:
        items = _items(path, text, explicit=True)
        assert items is not None
        assert [type(item) for item in items] == [DocumentDraft]


@pytest.mark.parametrize("text", ["", "\n \n", "---\ntitle: x\n---\n", "<!-- nothing -->\n"])
def test_a_file_without_words_is_no_document(text: str) -> None:
    assert _items("a.md", text) is None


def test_an_empty_form_is_no_document() -> None:
    assert _items("form.md", "# {short title of solved problem}\n\n* Status: {proposed | accepted}\n") is None
    assert _items("adr-template.md", "# Title\n\nText\n") is None


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


def test_a_text_of_too_many_lines_is_refused() -> None:
    for path in ("a.md", "a.txt"):
        assert _refused("x\n" * 250_000, path) == [(None, "a text must have at most 250,000 lines")]


def test_plain_texts_are_documents() -> None:
    document = _document("Once upon a time.\n\n    A queue.\n", "tale.txt")
    assert document.is_file
    assert [piece.text for piece in document.pieces] == ["Once upon a time.\n\n    A queue."]


def test_a_plain_text_with_objects_in_it_is_still_read_as_records() -> None:
    items = _items("a.txt", '[{"title": "Use UDP", "category": "network"}]')
    assert items is not None
    assert [type(item) for item in items] == [Draft]


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
