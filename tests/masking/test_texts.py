"""Secrets in texts: the share found, the share of other texts masked, and rules for every text."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, strategies as st

from cognition_engines.masking.masked_values import mask_text, mask_values
from cognition_engines.masking.policy import MARK, mask_of
from cognition_engines.masking.scanner import LONGEST_WINDOW, OVERLAP, WINDOW, find_secrets, kind_of_rule, load_scanner
from cstp_server.tokens import create_token
from tests.masking.apart_texts import APART_WITH_SECRETS, APART_WITHOUT_SECRETS
from tests.masking.broken_texts import BROKEN_WITH_SECRETS, BROKEN_WITHOUT_SECRETS, SEED
from tests.masking.fakes import BASE64, DIGITS, HEX, LOWER, UPPER, fake, key_block, web_token
from tests.masking.kept_texts import KEPT_WITH_SECRETS, KEPT_WITHOUT_SECRETS
from tests.masking.last_texts import LAST_WITH_SECRETS, LAST_WITHOUT_SECRETS
from tests.masking.odd_texts import ODD_WITH_SECRETS, ODD_WITHOUT_SECRETS
from tests.masking.service_texts import SERVICE_WITH_SECRETS, SERVICE_WITHOUT_SECRETS
from tests.masking.with_secrets import WITH_SECRETS
from tests.masking.without_secrets import WITHOUT_SECRETS

LEAST: Final = 0.9
SETS: Final = (
    pytest.param(WITH_SECRETS, WITHOUT_SECRETS, id="written before the rules"),
    pytest.param(KEPT_WITH_SECRETS, KEPT_WITHOUT_SECRETS, id="written after the first rules"),
    pytest.param(LAST_WITH_SECRETS, LAST_WITHOUT_SECRETS, id="written after the second rules"),
    pytest.param(ODD_WITH_SECRETS, ODD_WITHOUT_SECRETS, id="of kinds that earlier rules missed"),
    pytest.param(APART_WITH_SECRETS, APART_WITHOUT_SECRETS, id="kept apart from the present rules"),
    pytest.param(BROKEN_WITH_SECRETS, BROKEN_WITHOUT_SECRETS, id="broken tokens, phrases of words, and arrows"),
    pytest.param(
        SERVICE_WITH_SECRETS, SERVICE_WITHOUT_SECRETS, id="tokens of more services, and passwords after flags"
    ),
)
TOKEN: Final = "ghp_" + fake(36)
# parts of texts with secrets, with their names, links, quotes, and masks
PARTS: Final = (
    *(
        "password",
        "token",
        "secret",
        "api_key",
        "key",
        "Authorization: Bearer ",
        "cookie: sid=",
        "aws_secret_access_key",
    ),
    *(
        "=",
        ": ",
        ", ",
        " is ",
        " ",
        "\n",
        '"',
        "'",
        "`",
        "|",
        "]",
        "(",
        ")",
        ";",
        "&",
        "0x",
        "$",
        "%",
        "https://u:",
        "@h/",
    ),
    *("[masked: password]", "[masked: github-pat]", "[masked:x]", "[masked: ", "Winter" + "2026!", "hunter" + "22"),
    *(TOKEN, "AKIA" + "QWERTYUIOPASDFGH", fake(40, BASE64), web_token(), key_block("RSA PRIVATE KEY", 1)),
    *(
        "->",
        "→",
        "\\_",
        "\u200b",
        "ａ",
        TOKEN.replace("_", "\\_"),
        f"{TOKEN[:20]}\n{TOKEN[20:]}",
        "passphrase",
        "seed phrase",
    ),
    *(text for text, _ in (*ODD_WITH_SECRETS[-30:], *BROKEN_WITH_SECRETS)),
)
# a token of each of some known shapes
TOKENS: Final = (
    *(
        TOKEN,
        "github_pat_" + fake(22) + "_" + fake(59),
        "glpat-" + fake(20),
        "npm_" + fake(36),
        "hf_" + fake(34, UPPER + LOWER),
    ),
    *("sk_live_"[:3] + "live_" + fake(24), "dop_v1_" + fake(64, HEX), "secret_" + fake(43), "sk-" + fake(48)),
    *("xoxb-" + fake(12, DIGITS) + "-" + fake(13, DIGITS) + "-" + fake(24), "shpat_" + fake(32, HEX)),
    *(
        "sk-ant-" + "api03-" + fake(93) + "AA",
        "AKIA" + "QWERTYUIOPASDFGH",
        "cstp_" + fake(12, HEX) + "_" + fake(64, HEX),
    ),
    *("sk-" + "proj-" + fake(48, seed="2"), "hf_" + fake(34), "nfp_" + fake(36), "sntrys_" + "eyJ" + fake(120)),
    "tskey-" + "auth-k" + fake(11) + "CNTRL-" + fake(32),
)
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


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
def test_a_masked_text_is_masked_no_further(text: str) -> None:
    masked = mask_text(text)
    assert mask_text(masked) == masked


def test_a_mask_of_each_kind_is_known_and_is_no_secret() -> None:
    for rule in load_scanner().rules.metadata():
        mask = mask_of(kind_of_rule(rule["id"]))
        assert MARK.fullmatch(mask), mask
        assert mask_text(f"password: {mask}") == f"password: {mask}"


def test_a_token_of_this_server_is_masked_wherever_it_stands(tmp_path: Path) -> None:
    _, token = create_token(tmp_path / "tokens.json", "ada", lifetime=timedelta(days=1))
    for text in ("use {} for it", "({}).", "https://h/?t={}&x", "https://cstp.test/{}/x"):
        assert token.rpartition("_")[2] not in mask_text(text.format(token))


@pytest.mark.parametrize("length", [4500, 9000, 100_000])
def test_a_secret_of_any_length_is_masked_whole(length: int) -> None:
    long = fake(length)
    for text in (f"token: {long}", f'{{"password": "{long}"}}', f"it is {TOKEN}{long} now"):
        assert long[-20:] not in mask_text(text)
    block = key_block("RSA PRIVATE KEY", length // 64).rpartition("\n")[0]
    assert mask_text(block + "\nab1") == mask_of("private-key")


@given(plain, plain)
def test_a_token_is_found_between_any_texts(before: str, after: str) -> None:
    assert TOKEN not in mask_text(f"{before} {TOKEN} {after}")


@given(st.sampled_from(TOKENS), st.data())
def test_a_token_is_masked_whole_with_escapes_or_invisible_characters_at_any_place(
    token: str, data: st.DataObject
) -> None:
    places = data.draw(st.sets(st.integers(1, len(token) - 1), max_size=4))
    breaks = st.sampled_from(["\u200b", "\u200d\u2060", "\u00ad", "\ufeff"])
    broken = "".join((data.draw(breaks) if place in places else "") + one for place, one in enumerate(token))
    escape = data.draw(st.sampled_from(["", "\\", "\\\\"]))
    broken = "".join(escape + one if one in "_-" and data.draw(st.booleans()) else one for one in broken)
    text = f"The token {broken} is new."
    assert re.fullmatch(r"The token \[masked: [a-z-]+\] is new\.", mask_text(text)), text


@given(st.sampled_from(TOKENS), st.data())
def test_a_token_is_masked_whole_with_full_width_characters_at_any_place(token: str, data: st.DataObject) -> None:
    places = data.draw(st.sets(st.integers(0, len(token) - 1)))
    broken = "".join(chr(ord(one) + 0xFEE0) if place in places else one for place, one in enumerate(token))
    assert re.fullmatch(r"The token \[masked: [a-z-]+\] is new\.", mask_text(f"The token {broken} is new.")), broken


@given(st.sampled_from(TOKENS), st.data(), st.sampled_from(["\n", "\r\n", "\n> ", "\n    "]))
def test_a_token_is_masked_whole_with_an_end_of_a_line_after_its_prefix(
    token: str, data: st.DataObject, line_end: str
) -> None:
    prefix = re.match(r"[a-z0-9]+[_-](?:pat_|v1_|live_|ant-)?|AKIA", token)
    assert prefix is not None
    place = data.draw(st.integers(prefix.end(), len(token) - 1))
    text = mask_text(f"The token {token[:place]}{line_end}{token[place:]} is new.")
    assert token[:place] not in text or token[place:] not in text


def test_a_token_prefix_shared_by_several_services_names_none_of_them() -> None:
    assert mask_text(f"use sk-{fake(48)} there") == f"use {mask_of('sk-api-key')} there"
    assert mask_text(f"deepseek: sk-{fake(32, HEX)} there") == f"deepseek: {mask_of('sk-api-key')} there"
    assert mask_text("sk-" + fake(20) + "T3Blbk" + "FJ" + fake(20)) == mask_of("openai-api-key")


def test_a_list_of_the_words_of_a_wallet_is_masked() -> None:
    words = SEED.split()
    assert mask_values({"mnemonic": words, "next": "word"}).value == {
        "mnemonic": [mask_of("wallet-seed")] * 12,
        "next": "word",
    }


@given(st.lists(st.sampled_from(("seed", "mnemonic", "passphrase", "words", ":", "=", "->", "\n", "the", "abc", "1."))))
def test_words_of_phrases_in_any_order_are_masked_no_further(words: list[str]) -> None:
    masked = mask_text(" ".join(words))
    assert mask_text(masked) == masked


def test_a_text_mentioning_the_lines_of_a_key_is_kept() -> None:
    for text in ('if b"Private-Lines:" in data:', "Private-Lines: many", "Private-Lines:"):
        assert mask_text(text) == text


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


def test_a_name_at_the_end_of_a_text_does_not_apply_to_the_next_text() -> None:
    assert mask_values(["password:", fake(20)]).secrets == ()


def test_a_json_key_describes_its_value() -> None:
    found = mask_values({"db": {"password": "W1nter-in-Graz"}})
    assert found.value == {"db": {"password": "[masked: password]"}}
    assert [one.field for one in found.secrets] == ["db.password"]


def test_a_number_is_masked_as_the_value_of_a_password() -> None:
    value: dict[str, object] = {
        "password": 839_204,
        "list": [{"pin": 4711, "secret": 77_120_334}],
        "pins": 4,
        "token": 839_204,
        "pin": 4,
        "pass": 145_440,
        "secret": 111_678,
    }
    masked = mask_values(value)
    assert masked.value == value | {
        "password": "[masked: password]",
        "list": [{"pin": "[masked: password]", "secret": "[masked: secret]"}],
    }
    assert [one.field for one in masked.secrets] == ["password", "list[0].pin", "list[0].secret"]


def test_text_after_a_mask_is_checked() -> None:
    real = "Wald" + "kauz91x"
    for text in (f"password: [masked: x y]{real}", f"password: [masked: password]{real}", f"password: [masked:{real}]"):
        assert real not in mask_text(text)
        assert real not in str(mask_values({"password": text.removeprefix("password: ")}).value)


def test_a_member_with_quotes_in_it_is_masked_whole() -> None:
    assert mask_values({"password": "ab\"c d1234'x"}).value == {"password": "[masked: password]"}


def test_a_field_is_named_once_and_the_next_field_is_not_blamed() -> None:
    cut = key_block("RSA PRIVATE KEY", 3).rpartition("\n")[0]
    value = {
        "content": f"{cut}\n",
        "status": "a1b2c3d4e5f6a7b8c9",
        "details": "and the password is",
        "note": "Winter" + "2026",
    }
    assert [one.field for one in mask_values(value).by_field] == ["content"]
    assert [one.field for one in mask_values({"a": f"{TOKEN} password: x1y2z3w4"}).by_field] == ["a"]


def test_keys_with_equal_masks_stay_apart() -> None:
    first, second = "ghp_" + fake(36, seed="1"), "ghp_" + fake(36, seed="2")
    assert mask_values({first: 1, second: 2}).value == {"[masked: github-pat]": 1, "[masked: github-pat] 2": 2}


def test_prose_between_two_mentions_of_a_key_is_kept() -> None:
    begin, end = "-----BEGIN RSA PRIVATE " + "KEY-----", "-----END RSA PRIVATE " + "KEY-----"
    prose = "Long context: skills/cognition_engines/masking/long_secrets.py looks for it. Many paragraphs follow."
    for other in (begin, end):
        value = [f"We detect keys by their {begin} header", prose, f"Use a regex for {other} only", {"n": "why"}]
        masked = mask_values(value)
        assert (masked.value, masked.secrets) == (value, ())
    key = "\n".join([begin, "Comment: the key of the old build server", "Zq8vT2mKx9Ab3dEf" * 4, end])
    assert "Zq8vT2mKx9Ab3dEf" not in mask_text(key)


@pytest.mark.parametrize("secret", ["Wint3r Rose", "Ha7bour Q9x", "wint3r rose garden"])
def test_a_password_with_blanks_between_quotes_is_masked_whole(secret: str) -> None:
    assert mask_text(f'export DB_PASS="{secret}" && run') == 'export DB_PASS="[masked: password]" && run'
