"""Secrets in texts: how many are found, how few other texts are masked, and what holds for every text."""

from typing import Final

import pytest
from hypothesis import given, strategies as st

from cognition_engines.masking.masked_values import mask_text, mask_values
from cognition_engines.masking.policy import mask_of
from cognition_engines.masking.scanner import LONGEST_WINDOW, OVERLAP, WINDOW, find_secrets
from tests.masking.fakes import fake, key_block
from tests.masking.kept_texts import KEPT_WITH_SECRETS, KEPT_WITHOUT_SECRETS
from tests.masking.last_texts import LAST_WITH_SECRETS, LAST_WITHOUT_SECRETS
from tests.masking.with_secrets import WITH_SECRETS
from tests.masking.without_secrets import WITHOUT_SECRETS

LEAST: Final = 0.9
SETS: Final = (
    pytest.param(WITH_SECRETS, WITHOUT_SECRETS, id="written before the rules"),
    pytest.param(KEPT_WITH_SECRETS, KEPT_WITHOUT_SECRETS, id="written after the first rules"),
    pytest.param(LAST_WITH_SECRETS, LAST_WITHOUT_SECRETS, id="written after the second rules"),
)
TOKEN: Final = "ghp_" + fake(36)
plain = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=300)


@pytest.mark.parametrize(("with_secrets", "without"), SETS)
def test_nine_of_ten_secrets_are_masked_whole(with_secrets: list[tuple[str, str]], without: list[str]) -> None:
    missed = [text for text, secret in with_secrets if secret in mask_text(text)]
    assert len(missed) <= (1 - LEAST) * len(with_secrets), missed


@pytest.mark.parametrize(("with_secrets", "without"), SETS)
def test_nine_of_ten_masked_texts_have_a_secret(with_secrets: list[tuple[str, str]], without: list[str]) -> None:
    right = sum(secret not in mask_text(text) for text, secret in with_secrets)
    wrong = [mask_text(text) for text in without if mask_text(text) != text]
    assert right / (right + len(wrong)) >= LEAST, wrong


@pytest.mark.parametrize("text", [text for text, _ in (*WITH_SECRETS, *KEPT_WITH_SECRETS, *LAST_WITH_SECRETS)])
def test_a_masked_text_has_no_secret_any_more(text: str) -> None:
    assert find_secrets(mask_text(text)) == ()


@given(plain, plain)
def test_a_token_is_found_between_any_texts(before: str, after: str) -> None:
    assert TOKEN not in mask_text(f"{before} {TOKEN} {after}")


@given(plain)
def test_positions_are_those_of_characters(before: str) -> None:
    text = f"{before}\n{TOKEN}\n"
    assert text[find_secrets(text)[-1].start : find_secrets(text)[-1].end] == TOKEN


@pytest.mark.parametrize("filler", ["word ", "x", "é", "\n"])
def test_a_token_is_found_at_each_place_of_a_window(filler: str) -> None:
    for length in range(WINDOW - 2 * OVERLAP - 60, WINDOW + 60, 7):
        text = (filler * length)[:length] + f" {TOKEN} " + filler * WINDOW
        assert TOKEN not in mask_text(text), length


def test_a_token_is_found_after_a_long_text_without_blanks() -> None:
    for length in range(LONGEST_WINDOW - 50, LONGEST_WINDOW + 10, 7):
        assert TOKEN not in mask_text("x" * length + "/" + TOKEN + "/" + "x" * length), length


def test_a_private_key_longer_than_windows_is_masked_whole() -> None:
    block = key_block("RSA PRIVATE KEY", 200)
    assert mask_text(f"before {block} after") == f"before {mask_of('private-key')} after"


def test_a_name_at_the_end_of_a_text_says_nothing_about_the_next_text() -> None:
    assert mask_values(["password:", fake(20)]).secrets == ()


def test_a_key_of_json_says_what_its_value_is() -> None:
    found = mask_values({"db": {"password": "W1nter-in-Graz"}})
    assert found.value == {"db": {"password": "[masked: password]"}}
    assert [one.field for one in found.secrets] == ["db.password"]


def test_keys_with_equal_masks_stay_apart() -> None:
    first, second = "ghp_" + fake(36, seed="1"), "ghp_" + fake(36, seed="2")
    assert mask_values({first: 1, second: 2}).value == {"[masked: github-pat]": 1, "[masked: github-pat] 2": 2}


def test_prose_between_two_mentions_of_a_key_is_kept() -> None:
    begin, end = "-----BEGIN RSA PRIVATE " + "KEY-----", "-----END RSA PRIVATE " + "KEY-----"
    prose = "Long context: skills/cognition_engines/masking/key_blocks.py looks for it. Many paragraphs follow."
    for other in (begin, end):
        value = [f"We detect keys by their {begin} header", prose, f"Use a regex for {other} only", {"n": "why"}]
        masked = mask_values(value)
        assert (masked.value, masked.secrets) == (value, ())
    key = "\n".join([begin, "Comment: the key of the old build server", "Zq8vT2mKx9Ab3dEf" * 4, end])
    assert "Zq8vT2mKx9Ab3dEf" not in mask_text(key)
