"""The Markdown reader: headings, entries and blocks of a text, with their lines."""

import sys
from itertools import pairwise
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from cognition_engines.markdown.document import Document, Heading, Line, Table, read_markdown

_PIECES = [
    "# a", "## b", "12. b", "c", "===", "---", "- d", "  - e", "1. f", "> g", "> - h", "```", "~~~", "    i", "+---+",
    "| j | k |", "|---|---|", "<!-- l", "m -->", "<!-- n --> o", "<table>", "</table>", "<div>", "[p]: q", "\t", "\0",
    "\u00a0", "> \u00a0", "- \u00a0", "\x0b", "* " * 30,
]  # fmt: skip
_LINES = st.lists(st.sampled_from(_PIECES) | st.just(""), max_size=25)
_HOSTILE = [
    ">", "*", "[", "![", "`", "> ", "- ", "> - ", "- x\n", "> x\n", "x\n", "x\n\n", "# x\n", "x\n=\n", "<!--\n",
    "`<!--", "<!-- x -->", "<div>\n", "<table>\n\n", "<pre>\n\n", "    x\n", "|a|\n", "a|b\n-|-\n", "```\n",
    "[a]: b\n", "> > x\ny\n",
]  # fmt: skip


def _lines(document: Document) -> list[tuple[int, str]]:
    return [(entry.at, entry.text) for entry in document.entries if isinstance(entry, Line)]


@pytest.mark.long("reads many or large files")
@settings(max_examples=400)
@given(_LINES, st.booleans())
def test_blocks_are_whole_lines_in_order_and_cover_the_body(lines: list[str], code: bool) -> None:
    document = read_markdown("\n".join(lines), indented_code=code)
    text = document.text
    assert all(one.end < two.start for one, two in pairwise(document.blocks))
    for block in document.blocks:
        assert block.start == 0 or text[block.start - 1] == "\n"
        assert block.end == len(text) or text[block.end] == "\n"
    covered = "".join(text[block.start : block.end] for block in document.blocks)
    assert "".join(covered.split()) == "".join("".join(document.lines[document.body :]).split())


@pytest.mark.long("reads many or large files")
@settings(max_examples=400)
@given(_LINES)
@example(["# a", "\xa0", "    i", "==="])
def test_headings_and_entries_stand_on_their_lines(lines: list[str]) -> None:
    document = read_markdown("\n".join(lines))
    assert all(one.at < two.at for one, two in pairwise(document.entries))
    assert all(one.end <= two.start for one, two in pairwise(document.headings))
    assert all(heading.text in document.lines[heading.start] for heading in document.headings)
    assert all(text in document.lines[at] or "<!--" in document.lines[at] for at, text in _lines(document))


@pytest.mark.parametrize(
    ("text", "headings", "lines"),
    [
        (
            "> - **Status:** Accepted\n>   by all\n\n1. one\n   - two\n     three\n\n     four\n",
            (),
            [(0, "**Status:** Accepted"), (1, "by all"), (3, "one"), (4, "two"), (5, "three"), (7, "four")],
        ),
        (
            "Title\n=====\nPart\n---\n\nStatus: accepted\nDate: 2020-01-02\n---\n",
            (Heading(1, "Title", 0, 2), Heading(2, "Part", 2, 4)),
            [(5, "Status: accepted"), (6, "Date: 2020-01-02")],
        ),
        ("---\nJust words.\n---\n", (), [(1, "Just words.")]),
        ("One\n---\nTwo\n---\n", (Heading(2, "One", 0, 2), Heading(2, "Two", 2, 4)), []),
        (
            "12. Keep times in UTC\n=====================\n\n1. one\n2. two\n",
            (Heading(1, "12. Keep times in UTC", 0, 2),),
            [(3, "one"), (4, "two")],
        ),
        ("```\n# a\n```\n<!--\n# b\n-->\n> # c\n\n- # d\n\n~~~\n# e\n", (), [(6, "c"), (8, "d")]),
        (
            "a <!-- b\nc --> d\n`<!-- e -->`\n<!-- f\n\ng -->\nh <!-- i\n",
            (),
            [(0, "a"), (1, "d"), (2, "`<!-- e -->`"), (6, "h <!-- i")],
        ),
    ],
    ids=["marks", "underlines", "rules", "no rules", "numbers", "code and quotations", "comments"],
)
def test_headings_and_lines_lose_their_marks(
    text: str, headings: tuple[Heading, ...], lines: list[tuple[int, str]]
) -> None:
    document = read_markdown(text)
    assert (document.headings, _lines(document)) == (headings, lines)


def test_tables_are_read_with_and_without_a_row_of_names_and_outer_bars() -> None:
    text = "a | b\n--|--\n1 | x \\| y\n\n| Status | Accepted |\n| Date | 2020-01-02 |\n"
    assert read_markdown(text).entries == (
        Table(0, ((0, ("a", "b")), (2, ("1", "x | y"))), headed=True),
        Table(4, ((4, ("Status", "Accepted")), (5, ("Date", "2020-01-02"))), headed=False),
    )


def test_an_overlong_line_is_no_entry_but_part_of_a_block() -> None:
    document = read_markdown("x" * 5000 + "\n\n" + "> " * 3000 + "y\n")
    assert document.entries == ()
    assert [block.end - block.start for block in document.blocks] == [5000, 6001]


def _work(text: str) -> int:
    """Return the number of Python lines run while reading a text."""
    lines = 0

    def count(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        read_markdown(text)
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("unit", _HOSTILE)
def test_work_grows_in_proportion_to_the_text(unit: str) -> None:
    small, large = (_work(unit * (size // len(unit))) for size in (1500, 6000))
    assert large <= 5 * small + 20_000
