"""Sources of a token, valid addresses, and no secret in either's display."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from cstp.client.target import read_token
from cstp.client.transport import endpoint

URL = "http://127.0.0.1:1"


def found(token: str | None = None, file: Path | None = None, **environment: str) -> str:
    return read_token(None if token is None else SecretStr(token), file, environment).get_secret_value()


def test_the_argument_wins_then_the_file_then_the_variable(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from-file\n")
    assert found("given", CSTP_TOKEN="around") == "given"
    assert found(file=file, CSTP_TOKEN="around") == "from-file"
    assert found(CSTP_TOKEN="around") == "around"


def test_a_client_reads_variable_and_file(connect: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"token.*CSTP_TOKEN"):
        connect(URL)
    monkeypatch.setenv("CSTP_TOKEN", "around")
    connect(URL)
    monkeypatch.delenv("CSTP_TOKEN")
    (tmp_path / "token").write_text("from-file\n")
    connect(URL, token_file=tmp_path / "token")
    with pytest.raises(FileNotFoundError):
        connect(URL, token_file=tmp_path / "absent")


def test_a_token_and_a_file_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not both"):
        found("given", tmp_path)


@pytest.mark.parametrize("token", ["", "two words", "new\nline", "tab\t", "ünicode", "nul\0"])
def test_an_invalid_token_is_refused_without_being_repeated(token: str) -> None:
    with pytest.raises(ValueError, match="printable ASCII") as caught:
        found(token)
    assert token == "" or token not in str(caught.value)


def test_an_empty_variable_counts_as_absent() -> None:
    with pytest.raises(ValueError, match="no token"):
        found(CSTP_TOKEN="")


def test_a_client_shows_its_url_and_no_token(connect: Any) -> None:
    text = repr(connect(URL, "canary5b1f").client)
    assert "http://127.0.0.1:1/cstp" in text
    assert "canary" not in text


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://host:8100", "http://host:8100/cstp"),
        ("http://host:8100/", "http://host:8100/cstp"),
        ("https://host/cstp", "https://host/cstp"),
        ("https://host/cstp/", "https://host/cstp"),
        ("https://host/agents/one", "https://host/agents/one/cstp"),
    ],
)
def test_an_address_may_end_in_cstp_or_not(url: str, address: str) -> None:
    assert str(endpoint(url)) == address


@pytest.mark.parametrize("url", ["", "host:8100", "ftp://host", "http://", "/cstp", "http://host:port", "http://[::1"])
def test_an_invalid_address_is_refused(connect: Any, url: str) -> None:
    with pytest.raises(ValueError, match="http://host:8100"):
        connect(url, "t")


@pytest.mark.parametrize("url", ["http://user:canary@host", "http://host/?token=canary", "http://host/#canary"])
def test_a_secret_in_an_address_is_not_repeated(connect: Any, url: str, shown: Callable[[BaseException], str]) -> None:
    with pytest.raises(ValueError, match="goes into a header") as caught:
        connect(url, "t")
    assert "canary" not in str(caught.value)
    assert "Client without a target" in shown(caught.value)


@pytest.mark.parametrize(
    "named",
    [
        {"url": "no address"},
        {"url": URL, "timeout": -1},
        {"url": URL, "timeout": "soon"},
        {"url": URL, "retries": -1},
        {"url": URL, "token_file": "absent"},
        {"url": URL, "token": "canary\n"},
        {"url": URL, "token": b"canary"},
        {"url": URL, "token": None},
        {"url": URL, "token": None, "token_file": "token"},
        {"url": URL, "token": None, "token_file": "latin"},
    ],
    ids=str,
)
def test_a_failing_constructor_has_no_token_in_its_traceback(
    connect: Any,
    named: dict[str, Any],
    shown: Callable[[BaseException], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CSTP_TOKEN", "canary\r")
    Path("token").write_text("canary 2")
    Path("latin").write_bytes("canaryé".encode("latin-1"))
    with pytest.raises((ValueError, TypeError, OSError)) as caught:
        connect(**{"token": "canary5b1f"} | named)
    assert "in __init__" in shown(caught.value)
    assert "canary" not in shown(caught.value)
