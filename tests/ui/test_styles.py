"""The stylesheet, with many contributors."""

from itertools import accumulate

from cstp_server.ui.assets import static_folder


def test_each_section_of_the_styles_begins_outside_of_every_block() -> None:
    text = (static_folder() / "style.css").read_text(encoding="utf-8")
    lines = text.splitlines()
    depths = [0, *accumulate(line.count("{") - line.count("}") for line in lines)]
    # an unclosed block binds all that follows to its condition, such as a phone's width
    inside = [line for line, depth in zip(lines, depths, strict=False) if line.startswith("/*") and depth]
    assert inside == []
    assert depths[-1] == 0
