"""Lines of records in a file."""

import json
from io import BytesIO

import pytest

from cognition_engines.ingest.detect import read
from cognition_engines.ingest.items import DocumentDraft, RecordDraft
from tests.ingest.conversations.samples import session_entry

FRONT = "---\nproject: p\n---\n\n"
DECISION = f"{FRONT}# Use UDP\n\n## Status\n\nAccepted\n\n## Decision\n\nYes.\n"
TALK = "Planning\n\nAna: Shall we\nuse UDP?\n\nBen: It loses packets.\nAna: We can repeat them.\nBen: Fine.\n"
IRC = "[10:15] <ana> Look:\n* a list\n[10:16] <bo> hi\n[10:16] <ana> yes\n"
CHAT = "13/02/24, 18:30 - Ana: Is it\nhigh water?\n13/02/24, 18:31 - Bo: Yes\n"
SESSION = [session_entry("a", "user", "Build"), {"type": "summary"}, session_entry("bb", "assistant", "Done", "a")]


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
        ("WhatsApp Chat with Bo.txt", CHAT, [(0, 1), (0, 3)]),
        ("9a-s.jsonl", "".join(json.dumps(entry) + "\n" for entry in SESSION), [(0, 1), (0, 3)]),
    ],
)
def test_a_record_has_its_position_and_its_first_line(path: str, text: str, places: list[tuple[int, int]]) -> None:
    drafts = [
        item for item in read(path, BytesIO(text.encode())) or () if isinstance(item, RecordDraft | DocumentDraft)
    ]
    assert [(draft.ordinal, draft.line) for draft in drafts] == places
