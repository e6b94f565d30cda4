"""A query enters the files listed in docs/architecture.md, and the figures of the walks do not grow."""

import re

import pytest

from tests.house.figures import PAGE, Walked, measure, shown_figures
from tests.house.walk import QUERY

pytestmark = pytest.mark.long("traces calls through a server, and starts programs")
MOST = 1.1  # times the shown figure


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Walked:
    return measure(tmp_path_factory.mktemp("walks"))


def test_a_query_enters_the_documented_files_in_order(walked: Walked) -> None:
    page = PAGE.read_text(encoding="utf-8")
    listed = page.partition("<!-- spine -->")[2].partition("<!-- end of spine -->")[0]
    spine = re.findall(r"`([a-z_/]+\.py)`", listed)
    assert len(spine) == 7
    firsts = [walked.trails[QUERY].files.index(name) for name in spine]
    assert firsts == sorted(firsts)


def test_no_figure_of_a_walk_grows_by_more_than_a_tenth(walked: Walked) -> None:
    shown = shown_figures()
    assert shown.keys() == {figure.name for figure in walked.figures}
    for figure in walked.figures:
        before = shown[figure.name]
        assert figure.files <= MOST * before.files, f"{figure}, in docs/architecture.md {before.files}"
        assert (figure.calls or 0) <= MOST * (before.calls or 0), f"{figure}, in docs/architecture.md {before.calls}"
