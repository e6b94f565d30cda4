from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given, settings, strategies as st

from cognition_engines.drafts.chunking import Piece, count_tokens, split

_WORDS = st.lists(
    st.sampled_from(["We", "chose", "UDP", "it's", "naïve", "café.", "Why?", "x=1", "2024.", "数据库。"]), min_size=1
)
_LINE = _WORDS.map(" ".join)
_FENCED = st.builds(
    "{0}python\n{1}\n{0}".format,
    st.sampled_from(["```", "~~~", "````"]),
    st.lists(_LINE | st.just(""), max_size=12).map("\n".join),
)
_TABLE = st.lists(_LINE, min_size=1, max_size=12).map(
    lambda rows: "\n".join(["| a |", "|---|", *(f"| {r} |" for r in rows)])
)
_HEADING = st.builds("{} {}".format, st.sampled_from(["#", "##", "###", "####"]), _LINE)
_TEXT = st.lists(_LINE, min_size=1, max_size=8).map("\n".join)
_ITEMS = st.lists(_LINE, min_size=1, max_size=8).map(lambda items: "\n".join(f"- {item}" for item in items))
_BLOCKS = st.lists(st.one_of(_FENCED, _TABLE, _HEADING, _TEXT, _TEXT, _ITEMS), max_size=20)
_SIZES = st.tuples(st.integers(8, 60), st.integers(0, 7))
_SEEN = 60


def _text(words: int, sentence: int = 12) -> str:
    """Return a number of words in sentences."""
    return " ".join(f"word{n}." if n % sentence == sentence - 1 else f"word{n}" for n in range(words))


def _covered(text: str, pieces: list[Piece]) -> str:
    """Return a text with the characters of all pieces blanked."""
    left = list(text)
    for piece in pieces:
        left[piece.start : piece.end] = " " * (piece.end - piece.start)
    return "".join(left)


@pytest.mark.long("cuts many made texts")
@settings(max_examples=_SEEN)
@given(_BLOCKS, _SIZES)
def test_pieces_are_slices_that_cover_the_text_and_go_forward(found: list[str], sizes: tuple[int, int]) -> None:
    text = "\n\n".join(found)
    pieces = split(text, *sizes)
    assert all(piece.text == text[piece.start : piece.end] and piece.text.strip() for piece in pieces)
    assert all(one.start < two.start and one.end < two.end for one, two in pairwise(pieces))
    assert not _covered(text, pieces).strip()


@pytest.mark.long("cuts many made texts")
@settings(max_examples=_SEEN)
@given(
    st.lists(st.one_of(_FENCED, _TABLE), min_size=1, max_size=6),
    st.lists(_TEXT | _HEADING, min_size=7, max_size=7),
    _SIZES,
)
def test_code_and_tables_are_never_cut(found: list[str], between: list[str], sizes: tuple[int, int]) -> None:
    text = ""
    spans = []
    for block, words in zip(found, between, strict=False):
        text += f"{words}\n\n"
        spans.append((len(text), len(text) + len(block)))
        text += f"{block}\n\n"
    text += between[-1]
    pieces = split(text, *sizes)
    for start, end in spans:
        holding = [piece for piece in pieces if piece.start < end and start < piece.end]
        assert len(holding) == 1
        assert holding[0].start <= start
        assert holding[0].end >= end


@pytest.mark.long("cuts many made texts")
@settings(max_examples=_SEEN)
@given(st.lists(_TEXT | _ITEMS | _HEADING, max_size=12), _SIZES)
def test_without_code_and_tables_no_piece_is_longer_than_asked(found: list[str], sizes: tuple[int, int]) -> None:
    assert all(count_tokens(piece.text) <= sizes[0] for piece in split("\n\n".join(found), *sizes))


@settings(max_examples=_SEEN)
@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=300), _SIZES)
def test_any_text_can_be_cut(text: str, sizes: tuple[int, int]) -> None:
    pieces = split(text.replace("\r\n", "\n").replace("\r", "\n"), *sizes)
    assert bool(pieces) == bool(text.strip())


@pytest.mark.parametrize("length", range(1, 3000, 97))
def test_no_chunk_lies_inside_the_one_before(length: int) -> None:
    pieces = split(_text(length))
    assert all(one.end < two.end for one, two in pairwise(pieces))
    assert all(one.start < two.start for one, two in pairwise(pieces))


@pytest.mark.parametrize("paragraph", [40, 120, 400, 5000])
def test_overlap_is_about_a_hundred_tokens(paragraph: int) -> None:
    words = _text(5000).split()
    text = "\n\n".join(" ".join(words[at : at + paragraph]) for at in range(0, len(words), paragraph))
    pieces = split(text)
    repeated = [count_tokens(text[two.start : one.end]) for one, two in pairwise(pieces)]
    assert len(pieces) > 5
    assert all(50 <= tokens <= 100 for tokens in repeated)
    assert all(text[two.start :].startswith("word") and text[two.start - 1].isspace() for two in pieces[1:])


def test_a_sentence_longer_than_the_overlap_is_repeated_by_its_last_words() -> None:
    text = _text(3000, sentence=300)
    repeated = [count_tokens(text[two.start : one.end]) for one, two in pairwise(split(text))]
    assert repeated
    assert all(50 <= tokens <= 100 for tokens in repeated)


def test_a_chunk_is_about_nine_hundred_tokens() -> None:
    sizes = [count_tokens(piece.text) for piece in split("\n\n".join([_text(60)] * 200))]
    assert all(750 <= size <= 900 for size in sizes[:-1])


def test_a_heading_begins_a_chunk_and_stays_with_the_text_below() -> None:
    text = f"# Guide\n\n{_text(400)}\n\n## Setup\n\n{_text(350)}\n\n## Use\n\n### First\n\n{_text(600)}\n"
    pieces = split(text)
    assert [piece.text.split("\n")[0] for piece in pieces] == ["# Guide", "## Setup", "## Use"]
    assert [piece.section for piece in pieces] == ["Guide", "Setup", "First"]


def test_short_sections_share_a_chunk() -> None:
    text = "\n\n".join(f"## Part {n}\n\n{_text(20)}" for n in range(20))
    sizes = [count_tokens(piece.text) for piece in split(text)]
    assert all(300 <= size <= 900 for size in sizes[:-1])


def test_a_title_underlined_is_a_heading_and_a_mark_inside_code_is_none() -> None:
    text = f"Guide\n=====\n\n{_text(400)}\n\n```sh\n# no heading\n```\n\nUse it\n------\n\n{_text(400)}"
    assert [piece.section for piece in split(text)] == ["Guide", "Use it"]


def test_nothing_of_a_section_is_repeated_under_the_next_heading() -> None:
    text = f"# One\n\n{_text(500)}\n\n# Two\n\n{_text(500)}"
    one, two = split(text)
    assert one.end < two.start


def test_nothing_of_a_code_block_is_repeated() -> None:
    text = f"```\n{_text(850)}\n```\n\n{_text(500)}"
    one, two = split(text)
    assert one.end < two.start


@pytest.mark.parametrize(
    "block",
    [
        "> ```\n> {}\n> ```",
        "1. First\n\n   ```\n   {}\n   ```",
        "- ```\n  {}\n  ```",
        "<table>\n<tr><td>\n\n{}\n\n</td></tr>\n</table>",
        "<pre>\n{}\n\n</pre>",
        "+----+\n| {} |\n+----+",
        "one | two\n--- | ---\n{} | x",
        "    {}\n\n    more",
        "```\n{}",
    ],
)
def test_code_and_tables_are_known_in_all_their_forms(block: str) -> None:
    inner = _text(1500)
    text = f"Before.\n\n{block.format(inner)}\n\nAfter."
    assert any(inner in piece.text for piece in split(text))


def test_indented_lines_of_a_plain_text_are_cut_like_others() -> None:
    text = "\n".join(f"    {_text(50)}" for _ in range(60))
    assert len(split(text)) == 1
    assert all(count_tokens(piece.text) <= 900 for piece in split(text, indented_code=False))


def test_a_script_without_blanks_is_cut_too() -> None:
    text = "我们选择了数据库。" * 500
    pieces = split(text)
    assert all(count_tokens(piece.text) <= 900 for piece in pieces)
    assert all(piece.text.endswith("。") for piece in pieces)
    assert len(pieces) > 3


def test_a_word_without_end_is_cut() -> None:
    assert all(len(piece.text) <= 900 * 24 for piece in split("x" * 100_000))


def test_a_heading_is_named_without_its_marks() -> None:
    assert [piece.section for piece in split("## The `run` [command](x.md) ##\n\nText")] == ["The run command"]


def test_a_blank_text_has_no_piece() -> None:
    assert split(" \n\n\t\n") == []


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        split("x", 100, 100)


@pytest.mark.long("cuts many made texts")
def test_a_large_file_of_openings_takes_time_in_proportion() -> None:
    def seconds(line: str, lines: int) -> float:
        began = process_time()
        assert split(f"{line}\n" * lines)[0].text.strip()
        return process_time() - began

    for line in ("<pre", "| a", "```x", "> ", "- x", "    x\n", "a\n---", "# x", "<table>"):
        assert seconds(line, 10_000) < 1 + 20 * seconds(line, 1_000), line
