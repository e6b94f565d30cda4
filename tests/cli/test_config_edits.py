"""Additions to JSON with comments and their removal, over generated texts."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cstp_server.setup.json_edits import NotJson, add_item, add_member, parse, remove

NAMES = st.sampled_from(["a", "b", "servers", "hooks", 'q"\\', "ü"])
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-9, 9) | st.text(max_size=4)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
OBJECTS = st.dictionaries(NAMES.filter(lambda name: name not in ("servers", "hooks")), VALUES, max_size=3)
GAPS = st.sampled_from(["", "", " ", "\n", "\n\t", " // c,}\n", "/* ] */", "\n  // one\n  /* two */ "])


@st.composite
def texts(draw: st.DrawFn, value: Any) -> str:
    """Draw the text of a value, with blanks, comments and trailing commas."""
    if not isinstance(value, dict | list) or (not value and draw(st.booleans())):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    parts = []
    for one in value:
        key = f"{json.dumps(one)}{draw(GAPS)}:{draw(GAPS)}" if isinstance(value, dict) else ""
        parts.append(draw(GAPS) + key + draw(texts(value[one] if isinstance(value, dict) else one)) + draw(GAPS))
    trailing = "," if parts and draw(st.booleans()) else ""
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}{','.join(parts)}{trailing}{draw(GAPS)}{closing}"


@given(st.data(), OBJECTS, st.sampled_from([None, {}, {"x": 1}]))
def test_an_addition_to_an_object_is_read_back_and_removed_again(data: st.DataObject, value: Any, own: Any) -> None:
    value = value if own is None else {**value, "servers": own}
    text = data.draw(GAPS) + data.draw(texts(value)) + data.draw(GAPS)
    added = add_member(text, ("servers", "cstp"), {"command": "c", "args": ["mcp"]})
    entry = {"command": "c", "args": ["mcp"]}
    assert parse(added).value == {**value, "servers": {**(own or {}), "cstp": entry}}
    assert add_member(text, ("servers", "cstp"), entry) == added
    assert remove(added, ("servers", "cstp")) == text


@given(st.data(), OBJECTS, st.sampled_from([None, [], [1, {"b": []}]]))
def test_an_addition_to_an_array_is_read_back_and_removed_again(data: st.DataObject, value: Any, own: Any) -> None:
    value = value if own is None else {**value, "hooks": own}
    text = data.draw(texts(value))
    added = add_item(text, ("hooks",), {"matcher": "Edit"})
    assert parse(added).value == {**value, "hooks": [*(own or []), {"matcher": "Edit"}]}
    assert remove(added, ("hooks", len(own or []))) == text


@given(VALUES, st.data())
def test_every_text_of_a_value_is_read_as_the_value(value: Any, data: st.DataObject) -> None:
    assert parse(data.draw(texts(value))).value == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1 2]",
        '{"a" 1}',
        '{"a": }',
        "{a: 1}",
        "[,]",
        "[1,,]",
        "nul",
        "01",
        '"\n"',
        '"\\q"',
        "{} {}",
        "/* ",
        "1x",
    ],
)
def test_a_text_outside_json_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(NotJson, match=r"line [12] is not JSON"):
        parse(text)
