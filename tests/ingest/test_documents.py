import re
from base64 import b64encode
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from time import process_time

import pytest

from cognition_engines.drafts.chunking import split
from cognition_engines.ingest.detect import read
from cognition_engines.ingest.items import DocumentDraft, Item, RecordDraft, RejectedRecord
from cognition_engines.kinds.artifacts import Turn
from cognition_engines.kinds.knowledge import Source
from cognition_engines.markdown.blobs import without_blobs

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


BLOB = b64encode(b"".join(sha256(bytes([n])).digest() for n in range(20))).decode()


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


@pytest.mark.timeout(60)
def test_a_row_of_many_empty_cells_is_looked_through_once() -> None:
    row = "| " * 100_000 + "end"
    found = _source(f"# Cells\n\nA page with a table.\n\n{row}\n")
    assert found.title == "Cells"


@pytest.mark.long("reads 10 MB")
def test_a_text_of_ten_megabytes_is_read_to_its_last_paragraph() -> None:
    parts = (f"## Part {number}\n\n{'The pilot waits for high water. ' * 50}\n\n" for number in range(6300))
    text = f"# Harbours\n\n{''.join(parts)}The last lighthouse is green."
    assert len(text) > 10_000_000
    assert _document(f"{text}\n").pieces[-1].text.endswith("The last lighthouse is green.")


def test_an_unstorable_text_is_refused() -> None:
    assert _refused("# A\n\nwords\0\n") == [(1, "the text must have no NUL")]
    code = "```\n" + "x = 1234\n" * 120_000 + "```\n"
    assert _refused(f"# A\n\n{code}") == [
        (1, "the code block or table in line 1 must have at most 1,000,000 characters")
    ]
    for path in ("a.md", "a.txt"):
        assert _refused("x\n" * 250_000, path) == [(None, "a text must have at most 250,000 lines")]


def test_the_examples_of_the_page_are_read_as_documented() -> None:
    markdown, talk = re.findall(r"^```(?:markdown|text)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    source = _source(markdown)
    assert (source.title, source.authors, source.metadata) == (
        "Running the mail queue",
        ("Ana Silva",),
        {"audience": "operators"},
    )
    turns = [item.record for item in _items("talk.txt", talk) or [] if isinstance(item, RecordDraft)]
    assert [turn.speaker for turn in turns if isinstance(turn, Turn)] == ["ana.silva", "ben", "ana.silva", "ben"]
