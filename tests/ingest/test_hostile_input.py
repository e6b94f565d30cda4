import time

import pytest
from hypothesis import given, settings, strategies as st

from tests.ingest.decisions import read_file

PATHS = st.sampled_from(
    ["0001-x.md", "x.md", "2020-01-02-x/README.md", "d.yaml", "d.json", "d.jsonl", "d.txt", "d", ""]
)
MARKDOWN = [
    "---\n", "# ", "## Status\n", "\n", "Status: ", "Date: ", "| Status | ", "|---|---|\n", "- ", "> ", "<!--", "-->",
    "```\n", "accepted", "superseded by ", "[a](b.md)", "[x] ", "2020-01-02", "20201-02-13", "{", "}", "|", ": ", "`",
    "*", "_", "## Changelog\n", "title: ", "tags: [", "]", "\r", "\0", "é", "\ufeff", "# 12. ", "===\n", "or ", "~~",
]  # fmt: skip
DATA = [
    "title: ", "- ", "  ", "\n", "{", "}", "[", "]", ",", ":", '"', '"title"', '"decisions"', "&a ", "*a", "!!set ",
    "---\n", "NaN", "1e999", "null", "2020-13-45", "\\ud800", "|\n", "? ", "confidence", "0.5", "%", "'", "#",
    "\t", "\x07", "é",
]  # fmt: skip


UNITS = [
    "<!--", "<!-- x -->\n", "[", "[a](", "**a", "_a_", "`", "|a", "{", "- ", "&a ", "? ", "a: b\n", "2020-", "> ", "![",
    "*", "<table>\n\n", "`<!--", "> - a\n", "a: ", "a b c:\n", "[10:15] ", "A (b): x\n",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(PATHS, st.binary(max_size=300), st.booleans())
def test_arbitrary_bytes_never_raise(path: str, content: bytes, explicit: bool) -> None:
    read_file(path, content, explicit)


@pytest.mark.long("reads long hostile texts")
@settings(max_examples=300, deadline=None)
@given(PATHS, st.lists(st.sampled_from(MARKDOWN), max_size=40), st.booleans())
def test_anything_like_markdown_never_raises(path: str, pieces: list[str], explicit: bool) -> None:
    read_file(path, "".join(pieces).encode(), explicit)


@pytest.mark.long("reads long hostile texts")
@settings(max_examples=300, deadline=None)
@given(PATHS, st.lists(st.sampled_from(DATA), max_size=40), st.booleans())
def test_anything_like_data_never_raises(path: str, pieces: list[str], explicit: bool) -> None:
    read_file(path, "".join(pieces).encode(), explicit)


def _seconds(path: str, content: str) -> float:
    began = time.process_time()
    read_file(path, content.encode())
    return time.process_time() - began


def _is_in_proportion(path: str, start: str, unit: str) -> bool:
    """Return whether a text three times as long takes about three times as much, where nine times is quadratic."""
    part, whole = (_seconds(path, start + unit * (size // len(unit))) for size in (10_000, 30_000))
    return whole < 0.1 + 5 * part


@pytest.mark.long("reads long hostile texts")
@pytest.mark.parametrize(
    ("path", "start"),
    [
        ("0001-x.md", ""),
        ("adr/0001-x.md", "# t\n\n## Status\n\n"),
        ("0001-x.md", "---\nstatus: "),
        ("talk.txt", ""),
        ("d.yaml", ""),
        ("d.yaml", "title: "),
        ("d.json", ""),
        ("d.json", '{"title": "'),
        ("d.jsonl", ""),
        ("d.jsonl", '{"title": "'),
    ],
)
def test_repetition_takes_time_in_proportion(path: str, start: str) -> None:
    for unit in UNITS:
        assert any(_is_in_proportion(path, start, unit) for _ in range(2)), unit  # once it may clean its memory
