"""The lines of a file: those of the records in it, and those that are no record."""

import json
from io import BytesIO

import pytest

from cognition_engines.ingest.detect import read
from cognition_engines.ingest.items import DocumentDraft, RecordDraft
from tests.ingest.conversations.samples import session_entry
from tests.ingest.decisions import read_file

FRONT = "---\nproject: p\n---\n\n"
DECISION = f"{FRONT}# Use UDP\n\n## Status\n\nAccepted\n\n## Decision\n\nYes.\n"
TALK = "Planning\n\nAna: Shall we\nuse UDP?\n\nBen: It loses packets.\nAna: We can repeat them.\nBen: Fine.\n"
IRC = "[10:15] <ana> Look:\n* a list\n[10:16] <bo> hi\n[10:16] <ana> yes\n"
CHAT = "13/02/24, 18:30 - Ana: Is it\nhigh water?\n13/02/24, 18:31 - Bo: Yes\n"
SESSION = [session_entry("a", "user", "Build"), {"type": "summary"}, session_entry("bb", "assistant", "Done", "a")]
GOOD = "".join(f'{{"title": "Rule {n}", "category": "c"}}\n' for n in range(5))


@pytest.mark.parametrize(
    ("path", "text", "places"),
    [
        (
            "decisions.json",
            '[\n  {"title": "A"},\n  {\n    "title": ""\n  }, 7,\n  {"title": "B"}\n]',
            [(0, 2), (3, 6)],
        ),
        ("decisions.json", '{"decisions": [\n{"title": "A"},\n{"title": 1}\n]}', [(0, 2)]),
        ("decisions.yaml", "decisions:\n\n  - title: A\n\n  - title: B\n    confidence: 3\n", [(0, 3)]),
        ("decisions.yaml", "# first\ntitle: A\n---\ntitle: ''\n", [(0, 2)]),
        ("decisions.yaml", "title: A\n---\ntitle: B\n---\ntitle: [broken\n", [(0, 1), (1, 3)]),
        ("decisions.yaml", "- title: A\n  title: B\n- title: C\n", [(1, 3)]),
        ("decisions.jsonl", '{"title": "A"}\n{"title": \n{"title": "B"}\n', [(0, 1), (2, 3)]),
        ("adr/0001-use-udp.md", DECISION, [(0, 5)]),
        ("guide.md", f"{FRONT}# A guide\n\nQueues hold what waits.\n", [(0, 1)]),
        ("talk.txt", TALK, [(0, 3), (1, 6), (2, 7), (3, 8)]),
        ("irc.txt", IRC, [(0, 1), (1, 3), (2, 4)]),
    ],
)
def test_a_record_has_its_position_and_the_line_where_it_begins(
    path: str, text: str, places: list[tuple[int, int]]
) -> None:
    drafts = [
        item for item in read(path, BytesIO(text.encode())) or () if isinstance(item, RecordDraft | DocumentDraft)
    ]
    assert [(draft.ordinal, draft.line) for draft in drafts] == places


@pytest.mark.parametrize(
    ("path", "text"),
    [("WhatsApp Chat with Bo.txt", CHAT), ("9a-s.jsonl", "".join(json.dumps(entry) + "\n" for entry in SESSION))],
)
def test_a_message_of_an_export_has_the_line_where_it_begins(path: str, text: str) -> None:
    drafts = [item for item in read(path, BytesIO(text.encode())) or () if isinstance(item, RecordDraft)]
    assert [draft.line for draft in drafts] == [1, 3]


@pytest.mark.parametrize("explicit", [True, False])
@pytest.mark.parametrize("path", ["decisions.jsonl", "decisions.ndjson"])
@pytest.mark.parametrize(
    "bad",
    [
        '{"title": "Café", "category": "c"}\n'.encode("latin-1"),
        "Café\n".encode("latin-1"),
        b"junk\n",
        b'"junk"\n{\n',
        b"junk\n" * 200,
        "junk\nCafé\n".encode("latin-1"),
    ],
)
def test_bad_lines_before_good_ones_are_refused_alone_in_a_file_that_is_named_or_found(
    bad: bytes, path: str, explicit: bool
) -> None:
    result = read_file(path, bad + GOOD.encode(), explicit)
    assert [draft.title for draft in result.drafts] == [f"Rule {n}" for n in range(5)]
    assert [problem.line for problem in result.rejected] == list(range(1, bad.count(b"\n") + 1))
