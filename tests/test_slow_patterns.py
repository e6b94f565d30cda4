"""No regular expression of the project takes far longer over a long text than in proportion to the length."""

import re

import pytest

from tests.pumped_patterns import UsedPattern, alarm, grows_too_fast, used_patterns

pytestmark = pytest.mark.long("imports every module and tries every pattern")


@pytest.mark.parametrize(
    ("pattern", "searched"),
    [(r"(?:[\w.-]+,?)+", False), (r"\[[^\[\]]*\s[^\[\]]*\]", False), (r"\s+;", True), (r"link:[^\s\[]+\[", True)],
)
def test_a_slow_pattern_is_found(pattern: str, searched: bool) -> None:
    with alarm():
        assert grows_too_fast(UsedPattern(re.compile(pattern), "", searched)) is not None


def test_every_pattern_takes_a_time_in_proportion_to_the_length_of_its_text() -> None:
    found = used_patterns(("cstp", "cstp_server", "cognition_engines"))
    assert len(found) > 200
    with alarm():
        slow = {(used.module, used.pattern.pattern): grows_too_fast(used) for used in found.values()}
    assert {place: text for place, text in slow.items() if text is not None} == {}
