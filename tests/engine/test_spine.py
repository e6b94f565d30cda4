"""The way of a query through the code is the one that the page on architecture shows."""

import re
from pathlib import Path

import pytest

from tests.house.walk import ROOT, walks


def documented() -> list[str]:
    """The files of the spine, from the page."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = page.partition("<!-- spine -->")[2].partition("<!-- end of spine -->")[0]
    return re.findall(r"`([a-z_/]+\.py)`", listed)


@pytest.mark.long("computes with the packaged model, or over many records")
def test_a_query_enters_the_documented_files_one_after_the_other(tmp_path: Path) -> None:
    spine = documented()
    assert len(spine) == 7
    entered, _ = walks(tmp_path)
    firsts = [entered.index(name) for name in spine]
    assert firsts == sorted(firsts)
